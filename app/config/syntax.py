"""What is wrong with a file that is no YAML, in words that name the line and the remedy."""

from __future__ import annotations

import re

import yaml

from app.config.fault import Fault

# PyYAML's words, and ours. None repeats what is in the file: it may be a password.
_HINTS = (
    (
        "mapping values are not allowed",
        "a `:` where none can be; mend the indentation, or the line above, or quote a text that holds `: `",
    ),
    ("could not find expected ':'", "a key without its `:`"),
    ("expected <block end>", "the indentation does not fit the lines above, or a quoted text is followed by more"),
    ("undefined alias", "an alias without its anchor; a text that begins with * must be quoted"),
    ("tag", "a tag that can't be used; a text that begins with ! must be quoted"),
    ("cannot start any token", "a character that no value can begin with; quote the text"),
    ("expected ',' or", 'a list [ ] or mapping { } that does not end; inside one, quote a text such as "${NAME}"'),
    ("expected alphabetic or numeric", "a text that begins with & or * must be quoted"),
    ("but found another document", "a second document (---); a configuration is one document"),
    ("unexpected end of stream", "a quote that is never closed"),
)
_NEAR = 3  # PyYAML may stumble a line or two below the tab
_TAB = re.compile(r"^ *\t")
_QUOTED = re.compile(r"'[^']{3,}'")


def explain(error: yaml.YAMLError, text: str) -> Fault:
    """Return the fault for what PyYAML could not read."""
    if isinstance(error, yaml.reader.ReaderError):
        line = text.count("\n", 0, int(error.position)) + 1
        return Fault(line, (), "a control character; a configuration is plain text")
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return Fault(1, (), "it is not YAML")
    line = error.problem_mark.line + 1
    tab = _tab_line(error, text.split("\n"), line)
    if tab:
        return Fault(tab, (), f"tab in line {tab}; replace it by spaces")
    problem = error.problem or ""
    for words, hint in _HINTS:
        if words in problem:
            return Fault(line, (), hint)
    return Fault(line, (), f"it is not YAML: {_QUOTED.sub('…', problem)}")


def _tab_line(error: yaml.MarkedYAMLError, lines: list[str], line: int) -> int | None:
    """Return the line whose tab led to the error: the nearest above it that is indented with one."""
    if "'\\t'" in (error.problem or ""):
        return line
    near = range(max(1, line - _NEAR + 1), line + 1)
    indented = [number for number in near if number <= len(lines) and _TAB.match(lines[number - 1])]
    return indented[-1] if indented else None
