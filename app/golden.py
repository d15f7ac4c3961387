"""A model's golden set: pictures kept beside it with what it must find in them, whatever runs it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import cv2
import msgspec
import numpy as np

from app.agreement import Compared, Thresholds, by_class, compare, refusals
from app.config.verify import Verify
from app.detections import Detections
from app.engine import Engine, Look
from app.errors import BadOutput, ModelError
from app.frame import Image

FILE = "golden.json"


class Box(msgspec.Struct, frozen=True, kw_only=True, rename={"name": "class"}):
    """One detection, in pixels of its picture."""

    name: str
    score: float
    xyxy: tuple[float, float, float, float]


class Golden(msgspec.Struct, frozen=True, kw_only=True):
    """The file `golden.json`.

    Attributes:
        model: SHA-256 of the model that found them.
        pictures: what it found, by the picture's name in the same folder.
    """

    model: str
    pictures: dict[str, list[Box]]


def golden_folder(model: Path) -> Path:
    """Return where a model's golden set lies, if it has one: `covers.golden` beside `covers.onnx`."""
    return model.with_suffix(".golden")


def read_golden(model: Path) -> Golden | None:
    """Return a model's golden set; None where it has none.

    Raises:
        ModelError: the file is damaged.
    """
    file = golden_folder(model) / FILE
    if not file.exists():
        return None
    try:
        return msgspec.json.decode(file.read_bytes(), type=Golden)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ModelError(
            f"{file}: can't be read as a golden set: {error}; make it again: taktsight model golden"
        ) from error


def write_golden(
    model: Path, sha256: str, engine: Engine, pictures: Sequence[Path], least: float, step: Callable[[], object]
) -> Path:
    """Write down what an engine that is entered finds; return the folder.

    Args:
        model: the file beside which it goes.
        sha256: of that file.
        engine: runs the model, best in float32.
        pictures: copied as they are; two of one name are an error.
        least: score of what is written down.
        step: called after each picture.

    Raises:
        ModelError: a picture can't be read, or two have one name.
    """
    folder = golden_folder(model)
    folder.mkdir(exist_ok=True)
    found: dict[str, list[Box]] = {}
    for path in pictures:
        if path.name in found:
            raise ModelError(f"{path}: another picture is called {path.name} as well; rename one")
        found[path.name] = [*_boxes(_seen(engine, _read(path), least, path))]
        (folder / path.name).write_bytes(path.read_bytes())
        step()
    draft = folder / f"{FILE}.part"
    draft.write_bytes(msgspec.json.format(msgspec.json.encode(Golden(model=sha256, pictures=found))))
    draft.replace(folder / FILE)
    return folder


def check_golden(model: Path, engine: Engine, names: Sequence[str], limits: Verify) -> str:
    """See that an engine that is entered finds what the golden set says; return what was checked, as one line.

    Raises:
        ModelError: it does not, or the set is damaged.
    """
    golden = read_golden(model)
    if golden is None or not golden.pictures:
        return f"{model.name} has no golden set, so nothing was checked; make one: taktsight model golden"
    thresholds = Thresholds(other=limits.score, slack=limits.slack)
    compared: list[Compared] = []
    for name, boxes in golden.pictures.items():
        path = golden_folder(model) / name
        found = _seen(engine, _read(path), thresholds.floor, path)
        compared.append(compare(_detections(boxes, names), found, thresholds, limits.overlap))
    wrong = list(refusals(by_class(compared), limits))
    if wrong:
        raise ModelError(f"{model}: does not find what its golden set says: {wrong[0]}; it is not used")
    return f"{model.name} finds what its golden set says in {len(compared)} pictures"


def _read(path: Path) -> Image:
    try:
        picture = cv2.imdecode(np.frombuffer(path.read_bytes(), np.uint8), cv2.IMREAD_COLOR)
    except (OSError, cv2.error) as error:
        raise ModelError(f"{path}: can't be read: {error}") from error
    if picture is None:
        raise ModelError(f"{path}: no picture; take PNG or JPEG files")
    return picture.astype(np.uint8, copy=False)


def _seen(engine: Engine, picture: Image, least: float, path: Path) -> Detections:
    (found,) = engine.look([Look(picture, least)])
    if isinstance(found, BadOutput):
        raise ModelError(f"{path}: {found}")
    return found


def _boxes(found: Detections) -> Iterator[Box]:
    for row in range(len(found)):
        x1, y1, x2, y2 = (round(float(edge), 2) for edge in found.xyxy[row])
        yield Box(name=found.name(row), score=round(float(found.scores[row]), 4), xyxy=(x1, y1, x2, y2))


def _detections(boxes: Sequence[Box], names: Sequence[str]) -> Detections:
    """Return what is written down as detections; a class that the model does not know is one that it never finds."""
    known = [*names, *dict.fromkeys(box.name for box in boxes if box.name not in names)]
    return Detections(
        np.array([box.xyxy for box in boxes], np.float32).reshape(-1, 4),
        np.array([box.score for box in boxes], np.float32),
        np.array([known.index(box.name) for box in boxes], np.int64),
        tuple(known),
    )
