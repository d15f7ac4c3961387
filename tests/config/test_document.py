"""YAML read strictly: what is refused, and what must go on working."""

from __future__ import annotations

import os

import pytest
import yaml

from app.config.document import MOST_BYTES, read_document

AMBIGUOUS = [
    # as written, as it is read
    ("no", "false"),
    ("NO", "false"),
    ("off", "false"),
    ("on", "true"),
    ("yes", "true"),
    ("true", "true"),
    ("~", "nothing (null)"),
    ("null", "nothing (null)"),
    ("7", "the number 7"),
    ("010", "a number with a leading zero, which some read as octal"),
    ("08", "a number with a leading zero, which some read as octal"),
    ("0o17", "an octal number"),
    ("0x1F", "the number 31"),
    ("1_000", "the number 1000"),
    ("1.10", "the number 1.1"),
    ("1e-3", "the number 0.001"),
    (".inf", "the number inf"),
    ("12:30", "a time, which YAML reads as a number in base 60"),
    ("12:30:00", "a time, which YAML reads as a number in base 60"),
    ("10:00", "a time, which YAML reads as a number in base 60"),
    ("09:30", "a time, which YAML reads as a number in base 60"),
    ("22:22", "a time, which YAML reads as a number in base 60"),
    ("2024-01-01", "a date"),
    ("2024-01-01 10:00:00", "a date"),
]


@pytest.mark.parametrize(("written", "said"), AMBIGUOUS)
def test_cfg_01_what_is_not_text_must_be_quoted_where_a_name_is_wanted(faults, read, small, written, said):
    assert faults(small(line=written)) == [
        f':1: line: must be text; {written} is read as {said}; quote it: "{written}"'
    ]
    assert read(small(line=f'"{written}"')).config.line == written


@pytest.mark.parametrize(("written", "said"), AMBIGUOUS)
def test_cfg_01_keys_that_are_names_must_be_quoted_too(faults, read, small, written, said):
    text = "judge: {scores: {%s: 0.5}}"
    assert faults(small(camera=text % written)) == [
        f':6: cameras.front.judge.scores.{_dotted(written)}: as a key, {written} is read as {said}; quote it: "{written}"'
    ]
    scores = read(small(camera=text % f'"{written}"')).config.cameras["front"].judge.scores
    assert scores == {written: 0.5}


def _dotted(name: str) -> str:
    return name if name.replace("_", "").isalnum() or name in {"1e-3", "2024-01-01"} else f'"{name}"'


NAMES = [
    # places in which a name stands
    ("models.parts.names[1]", {"part": ", names: [a, on]"}),
    ("models.parts.nms.groups[0][1]", {"part": ", nms: {groups: [[a, on]]}"}),
    ("cameras.front.gate.class", {"camera": "gate: {class: on}"}),
    ("cameras.front.judge.rules[0].forbid", {"camera": "judge: {rules: [{forbid: on}]}"}),
    ("cameras.front.source.device", {"source": "{kind: v4l2, device: on}"}),
    ("mqtt.host", {"mqtt": "{host: on}"}),
]


@pytest.mark.parametrize(("place", "pieces"), NAMES)
def test_cfg_01_a_name_must_be_quoted_wherever_it_stands(faults, small, place, pieces):
    assert any(
        f"{place}: must be" in fault and 'on is read as true; quote it: "on"' in fault
        for fault in faults(small(**pieces))
    )


TIMES = [
    # where, and what YAML would have made of it
    ({"mqtt": "{host: 10:00}"}, "mqtt.host"),  # 600
    ({"mqtt": "{host: 1:30}"}, "mqtt.host"),  # 90
    ({"mqtt": "{port: 22:22}"}, "mqtt.port"),  # 1342
    ({"source": "{kind: v4l2, device: 12:30:00}"}, "cameras.front.source.device"),  # 45000, which an int field takes
]


@pytest.mark.parametrize(("pieces", "place"), TIMES)
def test_cfg_02_a_time_never_becomes_a_number(faults, small, pieces, place):
    (fault,) = faults(small(**pieces))
    assert f"{place}: must be" in fault
    assert "is read as a time" in fault


def test_a_host_with_its_port_is_refused_by_name(faults, small):
    assert "the port, username and password have their own keys" in faults(small(mqtt='{host: "broker:1883"}'))[0]


NUMBERS = [
    # as written, its value
    ("1e-3", 1e-3),
    ("1E3", 1000.0),
    ("+.5", 0.5),
    ("5.", 5.0),
    ("1_0.5", 10.5),
    ("0x10", 16.0),
    ("0", 0.0),
]


@pytest.mark.parametrize(("written", "value"), NUMBERS)
def test_numbers_of_every_kind_are_numbers(read, small, written, value):
    camera = f"judge: {{rules: [{{forbid: a, min_area_px: {written}}}]}}"
    assert read(small(camera=camera)).config.cameras["front"].judge.rules[0].min_area_px == value


def test_a_number_with_a_leading_zero_is_no_number_either(faults, small):
    assert "write it plainly" in faults(small(mqtt="{port: 01883}"))[0]


def test_a_number_that_is_too_long_is_refused_and_not_worked_on(faults, small):
    assert "a number that is too long" in faults(small(mqtt=f"{{port: {'9' * 5000}}}"))[0]


def test_cfg_04_a_key_that_stands_twice_is_an_error_with_both_lines(faults, small):
    text = small() + "line: two\n"
    assert faults(text) == [":10: line: the key is in line 1 already; remove one of the two"]


def test_cfg_04_the_same_key_written_in_two_ways_is_the_same_key(faults, small):
    assert faults(small() + '"line": two\n') == [":10: line: the key is in line 1 already; remove one of the two"]


def test_cfg_04_merge_keys_and_anchors_still_work(read):
    loaded = read("""\
line: one
cameras:
  left: &left
    source: {kind: synthetic, fps: 10}
    model: parts
    budget_ms: 50
  right:
    <<: *left
    budget_ms: 70
  middle:
    budget_ms: 90
    <<: [*left, {queue: every, budget_ms: 1}]
models: {parts: {path: x}}
""")
    cameras = loaded.config.cameras
    assert [cameras[name].budget_ms for name in ("left", "right", "middle")] == [50, 70, 90]
    assert cameras["right"].source == cameras["left"].source
    assert cameras["middle"].queue == "every"
    assert loaded.where("cameras", "right", "model").endswith(":5: cameras.right.model")


def test_cfg_04_duplicates_inside_a_merged_mapping_are_told_once(faults):
    found = faults("""\
line: one
cameras:
  left: &left
    source: {kind: synthetic}
    model: parts
    model: parts
  right: {<<: *left}
models: {parts: {path: x}}
""")
    assert found == [":6: cameras.left.model: the key is in line 5 already; remove one of the two"]


TABS = [
    # a file, the line of its tab
    ("line: one\ncameras:\n\tfront: 1\n", 3),
    ("line: one\ncameras:\n  front:\n    model: a\n\tsource: b\n", 5),
    ("\tline: one\n", 1),
    ("line: one\ncameras:\n  front:\n  \tmodel: a\n  \tsource: b\n", 4),
    ("line: one\ttwo\n", 1),
]


@pytest.mark.parametrize(("text", "line"), TABS)
def test_cfg_06_a_tab_is_named_with_its_line(faults, text, line):
    assert faults(text) == [f":{line}: tab in line {line}; replace it by spaces"]


def test_cfg_06_a_tab_that_harms_nothing_is_let_be(read, small):
    assert read(small(line="'a\tb' # a\tcomment") + "#\ta comment\n").config.line == "a\tb"


TAGS = [
    # an unsafe tag, what is said
    (
        "!!python/object/apply:os.system ['touch hacked']",
        "the tag !!python/object/apply:os.system is not allowed; write the plain value",
    ),
    ("!!python/name:os.system", "the tag !!python/name:os.system is not allowed; write the plain value"),
    ("!!binary aGk=", "the tag !!binary is not allowed; write the plain value"),
    ("!Geh3im", "tags are not allowed; a text that begins with ! must be quoted"),  # may be a password
]


@pytest.mark.parametrize(("written", "said"), TAGS)
def test_cfg_11_an_unsafe_tag_is_refused_and_never_run(faults, small, monkeypatch, written, said):
    monkeypatch.setattr(os, "system", lambda command: pytest.fail(f"ran {command}"))
    assert faults(small(line=written)) == [f":1: line: {said}"]


def test_cfg_11_the_tag_for_text_is_as_good_as_quotes(read, small):
    assert read(small(line="!!str no")).config.line == "no"


BROKEN = [
    # a file that is no YAML, what is said
    ("a: 'x", ":1: a quote that is never closed"),
    ("a: *foo", ":1: an alias without its anchor; a text that begins with * must be quoted"),
    ("a: @foo", ":1: a character that no value can begin with; quote the text"),
    ("a: [1, 2\n", ':2: a list [ ] or mapping { } that does not end; inside one, quote a text such as "${NAME}"'),
    ("a: 1\n---\na: 2\n", ":2: a second document (---); a configuration is one document"),
    ("", ":1: the file is empty; see configs/example.yaml"),
    ("# only a comment\n", ":1: the file is empty; see configs/example.yaml"),
    ("a: \x01", ":1: a control character; a configuration is plain text"),
    (b"a: 1\nb: \xff\n", ":2: a byte that is not UTF-8; save the file as UTF-8"),
]


@pytest.mark.parametrize(("text", "said"), BROKEN)
def test_cfg_07_what_is_no_yaml_is_one_readable_line(faults, text, said):
    assert faults(text) == [said]


def test_windows_line_ends_and_a_byte_order_mark_are_no_fault(read, small):
    assert read("﻿" + small().replace("\n", "\r\n")).config.line == "one"


def test_a_file_that_is_too_large_is_refused_before_it_is_parsed(faults):
    assert "more than the 262144 bytes" in faults("a: " + "x" * MOST_BYTES)[0]


def test_aliases_that_multiply_are_refused(faults):
    levels = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    assert "aliases make more than 50000 values" in faults("\n".join(levels))[0]


def test_merges_that_multiply_are_refused(faults):
    levels = ["a0: &a0 {k: 1}"]
    levels += [f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 10)}]}}" for n in range(1, 9)]
    assert "aliases make more than 50000 values" in faults("\n".join(levels))[0]


@pytest.mark.parametrize("text", ["a: &a [*a]", "a: &a {b: *a}", "a: &a {<<: *a}", "a: &a {b: {<<: *a}}"])
def test_an_alias_inside_its_own_anchor_is_refused(faults, text):
    assert faults(text) == [":1: an anchor holds an alias of itself; write the value out"]


@pytest.mark.parametrize("text", ["[" * 5000, "a: " + "{b: " * 5000, "- " * 5000])
def test_a_file_that_is_too_deep_is_refused(faults, text):
    assert "more than 32 levels" in faults(text)[0]


def test_plain_files_read_as_pyyaml_reads_them():
    text = "a: [1, -2, 3.5, x y, 'no', true]\nb: {c: null, d: \"é\"}\ne: |\n  two\n  lines\n"
    document = read_document(text.encode(), {})
    assert document.faults == []
    assert document.tree == yaml.safe_load(text)
