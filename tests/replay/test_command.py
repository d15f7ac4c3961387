"""`taktsight replay`, as people call it."""

import html.parser
import io
import json
import subprocess
import sys

from rich.console import Console

from app.config import load
from app.replay.command import run_replay
from app.replay.page import page
from app.replay.run import replay
from app.replay.setup import Wanted
from app.replay.show import show
from app.replay.stored import find
from tests.conftest import ROOT
from tests.replay.conftest import PICTURES


def taktsight(*words):
    command = [sys.executable, "-m", "app", "replay", *map(str, words)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)


def test_nothing_differs_is_exit_code_0(evidence):
    said = taktsight(evidence)
    assert said.returncode == 0, said.stdout + said.stderr
    assert said.stdout == f"{PICTURES} pictures judged again: {PICTURES} the same to the last bit\n"


def test_a_difference_is_exit_code_1_a_table_and_a_page(evidence, config, tmp_path):
    new = config(judge={"scores": {"scratch": 0.99}})
    said = taktsight(evidence, "--config", new, "--html", tmp_path / "page.html")
    assert said.returncode == 1, said.stdout + said.stderr
    assert "NG → OK" in said.stdout
    assert "scratch" in said.stdout
    assert (tmp_path / "page.html").read_text().count("<img ") >= 1


def test_json_is_for_machines(evidence, config, capsys):
    quiet = Console(file=io.StringIO())
    new = config(judge={"scores": {"scratch": 0.99}})
    how = {"model": None, "device": "cpu", "html": None, "to_json": True, "console": quiet, "errors": quiet}
    assert run_replay([evidence], config=new, **how)
    found = json.loads(capsys.readouterr().out)
    assert found["differs"] is True
    assert sum(found["counts"].values()) == len(found["pictures"]) == PICTURES
    assert found["flips"]["NG>OK"] == found["counts"]["flipped"]


def test_what_can_not_be_done_is_one_line(evidence):
    said = taktsight(evidence, "--model", "gone.onnx")
    assert said.returncode == 3
    assert said.stderr.strip().endswith("models.covers: gone.onnx is not there; name the file with --model")
    assert "Traceback" not in said.stderr


def test_the_page_shows_the_pictures_that_differ_side_by_side(evidence, config):
    found = replay(find([evidence])[0], Wanted(load(config(judge={"scores": {"scratch": 0.99}}))))
    shown = page(found)
    html.parser.HTMLParser().feed(shown)
    assert shown.count("<img ") == sum(one.kind.value != "same" for one in found.pictures)
    assert "http" not in shown.replace("http-equiv", "")


def test_the_table_says_why_a_part_was_ng_where_it_is_no_more(evidence, config):
    found = replay(find([evidence])[0], Wanted(load(config(judge={"scores": {"scratch": 0.99}}))))
    console = Console(file=io.StringIO(), width=160)
    show(found, console)
    said = console.file.getvalue()
    assert "then: scratch" in said
