"""Damaged files: whatever is done to one, it loads or its faults are told; nothing else ever comes out."""

from __future__ import annotations

import random

import pytest

from app.errors import ConfigError

SECRET = "Geh3im!x"
WHOLE = f"""\
line: one
cameras:
  left: &left
    source: {{kind: v4l2, device: 0}}
    model: parts
    judge:
      regions: {{top: {{unit: pixels, polygon: "1,2,3,4"}}}}
      rules:
        - {{count: screw, min: 1, region: top}}
  right:
    <<: *left
    source: {{kind: stream, url: "rtsp://me:{SECRET}@host/1"}}
models: {{parts: {{path: parts.onnx, names: [screw, hole], nms: {{groups: [[screw, hole]]}}}}}}
mqtt:
  username: me
  password: {SECRET}
"""
PIECES = [
    *" \n\t:-[]{}&*!|>%@`\"'#,?~0",
    "<<",
    "${X}",
    "${",
    "null",
    "no",
    "12:30",
    "1e999",
    "\n  ",
    "!!str",
    "---",
    "...",
    "x: ",
    "[]",
    "{}",
    "9" * 50,
    ".nan",
    "\u2028",
    "\ufeff",
]


def damaged(chance: random.Random) -> str:
    """Return the file with a piece put in, a piece cut out, a word exchanged or a line repeated, up to three times."""
    text = WHOLE
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(text))
        words, lines = text.split(" "), text.split("\n")
        words[chance.randrange(len(words))] = chance.choice(PIECES)
        lines.insert(chance.randrange(len(lines)), chance.choice(lines))
        inserted = text[:at] + chance.choice(PIECES) + text[at:]
        cut = text[:at] + text[at + chance.randint(1, 8) :]
        text = chance.choice([inserted, cut, " ".join(words), "\n".join(lines)])
    return text


@pytest.mark.parametrize("seed", range(5))
def test_a_damaged_file_loads_or_is_refused_with_a_place_and_without_secrets(read, seed):
    chance = random.Random(seed)
    refused: list[str] = []
    for text in [damaged(chance) for _ in range(40)]:
        try:
            read(text, {"X": "value"})
        except ConfigError as error:
            refused += error.faults
    assert len(refused) > 20
    assert all("line.yaml:" in fault and "\n" not in fault for fault in refused)
    assert [fault for fault in refused if SECRET in fault] == []
