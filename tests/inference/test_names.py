"""Class names come out of a text that nobody can trust."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from app.inference.names import choose_names, parse_names

READABLE = [
    ("{0: 'ok', 1: \"d'ent\", 2: 'scratch: deep'}", ("ok", "d'ent", "scratch: deep")),  # quotes and colons in names
    ('["ok","ng"]', ("ok", "ng")),  # a list
    ("('ok',)", ("ok",)),  # a tuple
    ('{"0":"ok"}', ("ok",)),  # JSON has only text keys
    ('{"1": "ng", "0": "ok"}', ("ok", "ng")),  # keys out of order
    ("{0: 'a', 2: 'c'}", ("a", "class_1", "c")),  # a hole in the numbering
    ("{0: 0, 1: 1}", ("0", "1")),  # digits as classes
    ("{0: 'bolt (m8) [left] {x}'}", ("bolt (m8) [left] {x}",)),  # brackets in a name nest nothing
    ("{0: 'ma\\'am', 1: 'größe'}", ("ma'am", "größe")),  # an escaped quote, letters of other languages
    (" {0: 'ok',} \n", ("ok",)),  # white space and a last comma
    ("{0: '  ', 1: 'b'}", ("class_0", "b")),  # a name of nothing
    ("{0: 'a\\x1b[2Jb'}", ("a\\x1b[2Jb",)),  # what a terminal would obey is shown instead
]

HOSTILE = [
    "__import__('os').system('touch {file}')",  # a call
    "{{0: __import__('os').system('touch {file}')}}",  # a call inside a dict
    "[open('{file}', 'w')]",  # another
    "[" * 1_000_000,  # nests deeper than any parser likes
    "[" * 100_000,  # the same, under the size limit
    "{{0: " + "-" * 100_000 + "1}}",  # operators nest too
    "['a'" + "+'a'" * 50_000 + "]",  # sums as well
    "{{0: 'a', 1: " + "(" * 5000 + "'b'" + ")" * 5000 + "}}",  # brackets inside the dict
    "{{99999999999: 'a'}}",  # a list of 100 thousand million names
    "{{0: 'a', 1: 9**9**9}}",  # a number that never ends
]

UNREADABLE = [
    "ok,ng",  # no literal at all
    "ok",  # one word
    "",  # nothing
    "[]",  # no names
    "{}",  # none either
    "'ok'",  # a text, not a list
    "('ok')",  # a text in brackets is one too
    "{'ok', 'ng'}",  # a set has no order
    "{'ok': 0}",  # names and numbers the wrong way round
    "[['a'], ['b']]",  # a list of lists
    "{0: 'a', 1}",  # broken
    "{0: 'a'",  # cut off
    "{-1: 'a'}",  # no such index
]


@pytest.mark.parametrize(("text", "names"), READABLE)
def test_mdl_07_names_are_read_from_lists_and_dicts(text: str, names: tuple[str, ...]) -> None:
    assert parse_names(text) == names


@pytest.mark.parametrize("template", HOSTILE, ids=range(len(HOSTILE)))
def test_mdl_07_hostile_names_fall_back_and_run_nothing(template: str, tmp_path: Path) -> None:
    file = tmp_path / "pwned"
    text = template.replace("{{", "{").replace("}}", "}").replace("{file}", str(file))
    began = time.thread_time()
    names, warnings = choose_names(text, None)
    assert time.thread_time() - began < 1
    assert names is None
    assert "can't be read" in warnings[0]
    assert len(warnings[0]) < 200
    assert not file.exists()


@pytest.mark.parametrize("text", UNREADABLE)
def test_mdl_07_anything_else_falls_back_with_a_warning(text: str) -> None:
    names, warnings = choose_names(text, None)
    assert names is None
    assert "can't be read" in warnings[0]
    assert "set `names`" in warnings[0]


def test_mdl_06_a_file_without_names_is_warned_of() -> None:
    names, (warning,) = choose_names(None, None)
    assert names is None
    assert "no class names" in warning
    assert "class_0" in warning


def test_mdl_06_configured_names_win_and_the_difference_is_told() -> None:
    names, (warning,) = choose_names("['ok', 'dent', 'hole']", ["ok", "scratch", "hole"])
    assert names == ("ok", "scratch", "hole")
    assert "1 'dent' → 'scratch'" in warning
    assert "'hole'" not in warning


def test_mdl_06_configured_names_of_another_count_are_told() -> None:
    names, (warning,) = choose_names("['ok', 'dent']", ["ok"])
    assert names == ("ok",)
    assert "the configuration has 1 and the file 2" in warning


@pytest.mark.parametrize("text", [None, "ok,ng", "['ok', 'ng']"])
def test_configured_names_that_agree_or_stand_alone_are_no_matter(text: str | None) -> None:
    assert choose_names(text, ["ok", "ng"]) == (("ok", "ng"), ())


def test_many_differences_stay_one_short_line() -> None:
    own = [f"a{index}" for index in range(80)]
    _, (warning,) = choose_names(repr(own), [f"b{index}" for index in range(80)])
    assert "and 75 more" in warning
    assert len(warning) < 300


def test_a_name_that_stands_twice_is_warned_of() -> None:
    names, (warning,) = choose_names("['ok', 'ng', 'ok']", None)
    assert names == ("ok", "ng", "ok")
    assert "'ok'" in warning
