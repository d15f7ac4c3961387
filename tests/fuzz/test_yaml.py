"""Any bytes as a configuration: it is read, or every fault of it is a line that says where."""

import json
from pathlib import Path

import yaml
from hypothesis import strategies as st

from app.config import load
from app.config.secrets import mask, mask_url, secrets_in
from app.errors import ConfigError
from tests.conftest import ROOT
from tests.fuzz.hunt import any_json, damaged, hunt, mutated

EXAMPLE = (ROOT / "configs" / "example.yaml").read_bytes()
SEEDS = [EXAMPLE, *((ROOT / "configs" / name).read_bytes() for name in ("demo.yaml",))]
PIECES = [
    "line: a\n",
    "cameras:\n",
    "  top:\n",
    "    source: ",
    "{kind: images, path: .}",
    "&a ",
    "*a",
    "<<: *a\n",
    "? ",
    ": ",
    "- ",
]
PIECES += [
    "!!python/object/apply:os.system [x]",
    "!!binary aGk=",
    "${HOME}",
    "${",
    "$",
    "\t",
    "\0",
    "'",
    '"',
    "|\n  x\n",
    ">\n",
    "---\n",
    "...\n",
]
PIECES += [
    "%YAML 1.1\n",
    "#",
    "[",
    "]",
    "{",
    "}",
    ",",
    "\n",
    "  ",
    "0x1f",
    "1e400",
    ".nan",
    ".inf",
    "no",
    "~",
    "1:30",
    "\ufeff",
    "\x85",
    "é",
    "😀",
]
SMALL = {
    "line": "a",
    "cameras": {
        "top": {"source": {"kind": "stream", "url": "rtsp://h/1"}, "model": "m", "judge": {"rules": [{"require": "a"}]}}
    },
    "models": {"m": {"path": "m.onnx", "names": ["a"], "input": {}, "nms": {}, "decode": {}}},
    "mqtt": {"host": "h", "username": "u", "password": "p", "tls": {"min_version": "1.3"}},
}
WORDS = [
    "line",
    "cameras",
    "source",
    "kind",
    "url",
    "model",
    "models",
    "judge",
    "rules",
    "count",
    "min",
    "equals",
    "region",
    "regions",
]
WORDS += [
    "gate",
    "mqtt",
    "tls",
    "path",
    "stream",
    "v4l2",
    "gstreamer",
    "pipeline",
    "password",
    "evidence",
    "refine",
    "shares",
    "rtsp://a:b@c",
]


def read(content: bytes, path: Path) -> str:
    path.write_bytes(content)
    faults: tuple[str, ...] = ()
    try:
        load(path, {"HOME": "/root"})
    except ConfigError as error:
        faults = error.faults or ("none told",)
    for fault in faults:
        assert "\n" not in fault, fault
        assert fault.startswith(f"{path}"), fault
    return "refused" if faults else "read"


def test_bytes_that_were_a_configuration(tmp_path):
    words = hunt("YAML: bytes", mutated(SEEDS), lambda content: read(content, tmp_path / "c.yaml"))
    assert words["read"] > 0
    assert words["refused"] > 0


def test_pieces_of_yaml(tmp_path):
    texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=40).map("".join)
    assert hunt("YAML: pieces", texts, lambda text: read(text.encode("utf-8", "surrogatepass"), tmp_path / "c.yaml"))


def test_values_of_any_kind_in_any_place(tmp_path):
    trees = damaged([SMALL, yaml.safe_load(EXAMPLE)], WORDS)
    assert hunt("YAML: values", trees, lambda tree: read(json.dumps(tree).encode(), tmp_path / "c.yaml"))


TEXTS = st.lists(
    st.sampled_from(
        ["://", "@", ":", "a", "-", ".", "?", "&", "token=", "user-pw=", "'", '"', " ", "%41", "pass", "secret"]
    ),
    max_size=400,
).map("".join)


def test_masking_of_any_text():
    def check(text):
        assert isinstance(mask_url(text * 20), str)
        shown = mask(f"x rtsp://u:{'s3cr3t'}@h {text} Geh3im!x {text}", ["Geh3im!x"])
        assert "Geh3im!x" not in shown
        secrets_in({"a": text, "b": [text]})
        return "masked"

    hunt("masking of secrets", TEXTS, check)


def test_secrets_of_any_tree():
    assert hunt("secrets in a tree", any_json(), lambda tree: "found" if secrets_in(tree) else "none")
