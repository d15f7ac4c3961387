"""What a model file wants from outside itself: weights in other files, which may only lie in the model's own folder."""

from __future__ import annotations

import stat
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath, PureWindowsPath

from app.errors import ModelError
from app.inference.wire import Value, fields, text

# Field numbers of onnx.proto, which never change: from a message to those inside it that can lead to a tensor.
_MODEL, _GRAPH, _NODE, _ATTRIBUTE, _TENSOR, _SPARSE, _FUNCTION, _TRAINING = range(8)
_INSIDE = {
    _MODEL: {7: _GRAPH, 20: _TRAINING, 25: _FUNCTION},
    _TRAINING: {1: _GRAPH, 2: _GRAPH},
    _FUNCTION: {7: _NODE, 11: _ATTRIBUTE},
    _GRAPH: {1: _NODE, 5: _TENSOR, 15: _SPARSE},
    _NODE: {5: _ATTRIBUTE},
    _ATTRIBUTE: {5: _TENSOR, 6: _GRAPH, 10: _TENSOR, 11: _GRAPH, 22: _SPARSE, 23: _SPARSE},
    _SPARSE: {1: _TENSOR, 2: _TENSOR},
    _TENSOR: {},
}
_TENSOR_EXTERNAL_DATA, _ENTRY_KEY, _ENTRY_VALUE = 13, 1, 2


def locations(data: bytes) -> tuple[str, ...]:
    """Return the names of the files that tensors anywhere in a model say they are in, each once, as they are written.

    Every tensor is seen: of the graph, of the bodies of If and Loop, in attributes, in functions.

    Raises:
        ValueError: this isn't ONNX, or it is cut off.
    """
    found: dict[str, None] = {}
    waiting: list[tuple[int, memoryview]] = [(_MODEL, memoryview(data))]
    while waiting:  # a stack, not recursion: how deep a file is nested is its author's choice
        kind, message = waiting.pop()
        for number, value in fields(message):
            inside = _INSIDE[kind].get(number)
            if isinstance(value, int):
                continue
            if inside is not None:
                waiting.append((inside, value))
            elif kind == _TENSOR and number == _TENSOR_EXTERNAL_DATA:
                found.update(dict.fromkeys(_location(value)))
    return tuple(found)


def _location(entry: memoryview) -> Iterator[str]:
    """Yield the file's name where a pair of texts is the one with the key `location`."""
    pair: dict[int, Value] = dict(fields(entry))
    if text(pair.get(_ENTRY_KEY, 0)) == "location":
        yield text(pair.get(_ENTRY_VALUE, 0))


def confined(model: Path, names: Sequence[str]) -> tuple[Path, ...]:
    """Return the files of a model's weights.

    Args:
        model: the model's file.
        names: what its tensors say, as `locations` gives it.

    Raises:
        ModelError: one is not a plain file inside the model's folder, whatever links lead to; the text doesn't name
            the model.
    """
    return tuple(_inside(model.parent, name) for name in names)


def _inside(folder: Path, name: str) -> Path:
    said = f"its weights are in {name[:200]!r}"
    windows, posix = PureWindowsPath(name), PurePosixPath(name)
    is_relative = not (posix.is_absolute() or windows.drive or windows.root)
    if not name or "\0" in name or not is_relative or ".." in windows.parts:
        raise ModelError(f"{said}: only a file in the model's own folder is read; export it again")
    path = folder / name
    try:
        is_file = stat.S_ISREG(path.stat().st_mode)
        is_inside = path.resolve().is_relative_to(folder.resolve())
    except FileNotFoundError as error:
        raise ModelError(f"{said}, which is not there: copy it beside the model") from error
    except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: links that go round, in Python 3.10
        raise ModelError(f"{said}, which can't be read: copy it beside the model") from error
    if not is_inside:
        raise ModelError(f"{said}, a link out of the model's folder: put the file itself there")
    if not is_file:
        raise ModelError(f"{said}, which is no file: copy it beside the model")
    return path
