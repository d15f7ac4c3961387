"""What pydantic finds, as faults with a place in the file, the rule and the remedy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from app.config.document import Document, Spot
from app.config.fault import Fault, KeyPath, is_word
from app.config.keys import keys_at
from app.config.references import nearest
from app.config.scalars import Unclear, reading, resolve

_EXPECTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "dict_type": "a mapping (lines of `key: value`)",
    "model_type": "a mapping (lines of `key: value`)",
    "model_attributes_type": "a mapping (lines of `key: value`)",
    "list_type": "a list (lines of `- value`)",
    "greater_than": "greater than {gt:g}",
    "greater_than_equal": "{ge:g} or more",
    "less_than": "less than {lt:g}",
    "less_than_equal": "{le:g} or less",
    "finite_number": "a finite number",
    "literal_error": "one of {expected}",
    "string_too_long": "at most {max_length} characters long",
    "string_pattern_mismatch": "of the form {pattern}",
}
NOT_TEXT = frozenset({"int_type", "float_type", "bool_type"})
_WIDEST = 40
_SECRET = frozenset({"password", "password_file", "url"})
_KINDS = {
    "usb": "v4l2",
    "webcam": "v4l2",
    "rtsp": "stream",
    "http": "stream",
    "csi": "gstreamer",
    "gst": "gstreamer",
    "ip": "stream",
    "folder": "images",
    "file": "images",
}


def violations(section: type[BaseModel], error: ValidationError, document: Document) -> Iterator[Fault]:
    """Yield one fault for each place that pydantic refused, in the order of its findings.

    The arms of a union complain one by one; they are brought together into one sentence. What has been reported while
    the file was read is left out.
    """
    reported = {fault.path for fault in document.faults}
    grouped: dict[KeyPath, list[ErrorDetails]] = {}
    for details in error.errors(include_url=False, include_input=False):
        grouped.setdefault(_place(details, document.tree), []).append(details)
    for path, several in grouped.items():
        if path in reported:
            continue
        if several[0]["type"] == "extra_forbidden":
            yield _unknown(section, path, document)
        else:
            yield Fault(document.line(path), path, _text(path, several, document))


def _place(details: ErrorDetails, tree: object) -> KeyPath:
    """Return where in the file it is: pydantic's place without the names of union arms that it puts in between."""
    path: list[str | int] = []
    steps = [step for step in details["loc"] if step != "[key]"]
    for index, step in enumerate(steps):
        last = index == len(steps) - 1
        if _has(tree, step) or (last and details["type"] == "missing"):
            path.append(step)
            tree = tree[step] if _has(tree, step) else None  # type: ignore[index] # _has has looked
    if details["type"].startswith("union_tag") and isinstance(tree, dict):
        path += [str(details["ctx"]["discriminator"]).strip("'")]
    return tuple(path)


def _has(tree: object, step: str | int) -> bool:
    if isinstance(tree, dict):
        return step in tree
    return isinstance(tree, list) and isinstance(step, int) and 0 <= step < len(tree)


def _unknown(section: type[BaseModel], path: KeyPath, document: Document) -> Fault:
    """Return the fault of a key that is none.

    One with more than a word in it is not repeated: without its colon `password "…"` is a key, secret and all.
    """
    keys = keys_at(section, path[:-1], document.tree)
    if is_word(str(path[-1])):
        return Fault(document.line(path), path, f"unknown key; {nearest(str(path[-1]), keys)}")
    text = f"an unknown key; is its `:` missing, or the space after it? There are: {', '.join(keys)}"
    return Fault(document.line(path), path[:-1], text)


def _text(path: KeyPath, several: Sequence[ErrorDetails], document: Document) -> str:
    """Return the sentence for one place."""
    details = several[0]
    kind = details["type"]
    if kind == "missing" or (kind == "union_tag_not_found" and path[-1] == "kind"):
        return f"required; add `{path[-1]}:` with its value"
    if kind == "union_tag_not_found":
        return _expectation(path, [{**details, "type": "model_type"}], document)
    if any(each["type"] in _EXPECTED for each in several):
        return _expectation(path, several, document)
    return _single(details, document.spots.get(path))


def _single(details: ErrorDetails, spot: Spot | None) -> str:
    """Return the sentence for a finding that stands alone and needs no value beside it."""
    context = details.get("ctx", {})
    match details["type"]:
        case "union_tag_invalid":
            return _kind(str(context["tag"]), str(context["expected_tags"]))
        case "value_error":
            return str(context["error"])
        case "too_short":
            return f"must have at least {_entries(context['min_length'])}; add one"
        case "string_too_short":
            return f"must not be empty{_variables(spot)}"
    return details["msg"]


def _entries(count: int) -> str:
    return "one entry" if count == 1 else f"{count} entries"


def _kind(given: str, expected: str) -> str:
    kinds = [kind.strip().strip("'") for kind in expected.split(",")]
    remedy = f"did you mean `{_KINDS[given]}`?" if given in _KINDS else nearest(given, kinds)
    return f"must be one of {expected}; got {given}; {remedy}"


def _expectation(path: KeyPath, several: Sequence[ErrorDetails], document: Document) -> str:
    known = [each for each in several if each["type"] in _EXPECTED]
    phrases = [_EXPECTED[each["type"]].format(**each.get("ctx", {})) for each in known]
    wanted = f"must be {' or '.join(dict.fromkeys(phrases))}"
    value, there = _value(document.tree, path)
    spot = document.spots.get(path)
    if spot is None or not there:
        return wanted
    if spot.variables:
        return f"{wanted}; what {_names(spot)} holds is not{_empty(value)}"
    return f"{wanted}; {_got(path, value, spot, known)}"


def _got(path: KeyPath, value: object, spot: Spot, known: Sequence[ErrorDetails]) -> str:
    """Return what was found instead, and the remedy where it is known."""
    if isinstance(value, Mapping):
        return "got a mapping; quote a text that begins with {, and write ${NAME} for an environment variable"
    if isinstance(value, list):
        return "got a list"
    if isinstance(value, str):
        types = {each["type"] for each in known}
        if types & NOT_TEXT and spot.quoted and not isinstance(resolve(value), str):
            return f'got the text "{_shown(path, spot)}"; write it without quotes'
        if path and (path[0] == "mqtt" or "source" in path):  # beside a password people may take the wrong line for it
            return "got another text"
        return f'got the text "{_shown(path, spot)}"'
    return _got_scalar(path, value, spot, known)


def _got_scalar(path: KeyPath, value: object, spot: Spot, known: Sequence[ErrorDetails]) -> str:
    if spot.text == "":
        return "got nothing; write a value, null for none, or remove the line"
    shown = _shown(path, spot)
    if _wants(spot.text, known):
        return f'{shown} is read as {_reading(path, value)}; quote it: "{shown}"'
    if isinstance(value, Unclear):
        return f"{shown} is read as {_reading(path, value)}; write it plainly"
    return f"got {shown}"


def _shown(path: KeyPath, spot: Spot) -> str:
    """Return a scalar as it may be repeated in a message: no secret, and short."""
    if path and path[-1] in _SECRET:
        return "…"
    fits = len(spot.text) <= _WIDEST and "\n" not in spot.text
    return spot.text if fits else f"{spot.text[:_WIDEST].splitlines()[0]}…"


def _reading(path: KeyPath, value: object) -> str:
    return "a number" if path and path[-1] in _SECRET and isinstance(value, int | float) else reading(value)


def _wants(text: str, known: Sequence[ErrorDetails]) -> bool:
    """Return whether the place takes text and would take this one if it were quoted."""
    types = {each["type"] for each in known}
    literal = any(f"'{text}'" in str(each.get("ctx", {}).get("expected", "")) for each in known)
    return literal or ("string_type" in types and types <= {"string_type", *NOT_TEXT})


def _value(tree: Any, path: KeyPath) -> tuple[Any, bool]:  # noqa: ANN401 - a YAML tree is anything
    for step in path:
        if not _has(tree, step):
            return None, False
        tree = tree[step]
    return tree, True


def _names(spot: Spot) -> str:
    return " and ".join(f"${{{name}}}" for name in spot.variables)


def _empty(value: object) -> str:
    return " (it is empty)" if value == "" else ""


def _variables(spot: Spot | None) -> str:
    return f"; {_names(spot)} is set but empty" if spot and spot.variables else ""
