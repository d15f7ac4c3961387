"""Labels beside pictures, in the three forms that people have: COCO, YOLO text files, and the samples' own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec
import numpy as np

from app.detections import Detections
from app.errors import ConfigError
from app.letterbox import xywh_to_xyxy

BESIDE = ("truth.json", "_annotations.coco.json", "annotations.json", "labels")
"""Names by which labels are found in a folder of pictures."""

_NUMBERS_A_LINE = 5  # class, centre x, centre y, width, height


class Labels(Protocol):
    """What is really in the pictures."""

    def of(self, picture: Path, size_wh: tuple[int, int]) -> Detections | None:
        """Return a picture's labels in its pixels, or None where it has none (an empty one has none in it)."""
        ...


def find_labels(pictures: Path, names: Sequence[str], given: Path | None = None) -> Labels | None:
    """Return the labels that were given, or those that lie with the pictures; None where there are none.

    Raises:
        ConfigError: what was given can't be read, or names a class that the model has not.
    """
    places = [given] if given is not None else [pictures / name for name in BESIDE]
    place = next((each for each in places if each.exists()), None)
    if given is not None and place is None:
        raise ConfigError(f"{given}: there is no such file or folder of labels; correct --labels")
    if place is None:
        return YoloLabels(pictures, names) if next(pictures.glob("*.txt"), None) is not None else None
    return YoloLabels(place, names) if place.is_dir() else _read(place, names)


class BoxLabels:
    """Labels from one file, by the pictures' names.

    Args:
        boxes: by file name, each object's class name and its corners in pixels.
        names: the model's class names by index.
        where: the file, for errors.

    Raises:
        ConfigError: a class that the model has not.
    """

    def __init__(
        self, boxes: Mapping[str, Sequence[tuple[str, Sequence[float]]]], names: Sequence[str], where: Path
    ) -> None:
        unknown = sorted({name for rows in boxes.values() for name, _ in rows} - set(names))
        if unknown:
            raise ConfigError(
                f"{where}: labels of {', '.join(unknown)}, which the model has not; it has {', '.join(names)}"
            )
        self._boxes, self._names = boxes, tuple(names)

    def of(self, picture: Path, size_wh: tuple[int, int]) -> Detections | None:
        """See `Labels`."""
        rows = self._boxes.get(picture.name)
        if rows is None:
            return None
        return _labels([corners for _, corners in rows], [self._names.index(name) for name, _ in rows], self._names)


class YoloLabels:
    """A text file for each picture, one line an object: class, centre x, centre y, width, height, as fractions."""

    def __init__(self, folder: Path, names: Sequence[str]) -> None:
        self._folder, self._names = folder, tuple(names)

    def of(self, picture: Path, size_wh: tuple[int, int]) -> Detections | None:
        """See `Labels`.

        Raises:
            ConfigError: a line is not what it should be.
        """
        path = self._folder / f"{picture.stem}.txt"
        if not path.is_file():
            return None
        lines = [line.split() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        try:
            classes = [int(words[0]) for words in lines]
            numbers = [[float(word) for word in words[1:_NUMBERS_A_LINE]] for words in lines]
            fractions = np.asarray(numbers, np.float32).reshape(len(lines), 4)
        except (ValueError, IndexError) as error:
            raise ConfigError(f"{path}: each line needs class cx cy w h ({error}); correct the labels") from error
        if any(not 0 <= index < len(self._names) for index in classes):
            raise ConfigError(f"{path}: classes are 0…{len(self._names) - 1} for this model, got {max(classes)}")
        return _labels(xywh_to_xyxy(fractions) * np.asarray(size_wh * 2, np.float32), classes, self._names)


def _read(path: Path, names: Sequence[str]) -> BoxLabels:
    try:
        tree = msgspec.json.decode(path.read_bytes())
        boxes = _coco(tree) if "annotations" in tree else _samples(tree)
    except (OSError, ValueError, KeyError, TypeError, msgspec.DecodeError) as error:
        raise ConfigError(
            f"{path}: neither COCO (images, annotations, categories) nor photos with objects: {error}"
        ) from error
    return BoxLabels(boxes, names, path)


def _coco(tree: Mapping[str, Any]) -> dict[str, list[tuple[str, list[float]]]]:
    names = {each["id"]: str(each["name"]) for each in tree["categories"]}
    files = {each["id"]: Path(each["file_name"]).name for each in tree["images"]}
    boxes: dict[str, list[tuple[str, list[float]]]] = {name: [] for name in files.values()}
    for each in tree["annotations"]:
        left, top, width, height = (float(value) for value in each["bbox"])
        if not each.get("iscrowd"):
            boxes[files[each["image_id"]]].append((names[each["category_id"]], [left, top, left + width, top + height]))
    return boxes


def _samples(tree: Mapping[str, Any]) -> dict[str, list[tuple[str, list[float]]]]:
    return {
        str(photo["file"]): [(str(each["name"]), [float(v) for v in each["bbox_xyxy"]]) for each in photo["objects"]]
        for photo in tree["photos"]
    }


def _labels(corners: Any, classes: Sequence[int], names: tuple[str, ...]) -> Detections:  # noqa: ANN401 - rows or array
    xyxy = np.asarray(corners, np.float32).reshape(-1, 4)
    return Detections(xyxy, np.ones(len(xyxy), np.float32), np.asarray(classes, np.int64), names)
