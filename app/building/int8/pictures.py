"""Which pictures of a line calibrate a model: spread over time and cameras, no two alike, some held out."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TypeAlias, TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

from app.building.int8.collected import Collected, collected_in
from app.capture.picture_file import decode
from app.errors import ConfigError
from app.frame import Image
from app.verdict import Reason

LEAST = 100
"""Distinct pictures; with fewer, ranges are those of a few parts under one light."""
MOST = 300
"""Distinct pictures that are used; more take longer and change no range."""
HELD_OUT = 3
"""Every so many-th picture takes no part in the calibration and judges it."""
SHORT_S = 3600.0
"""Pictures of less time than this have seen one light, one shift and one lot of parts."""
_ALIKE = 2
_SIDE_PX = 32
_SPARE = 4  # so many times MOST are read, because duplicates go

Thumbnail: TypeAlias = NDArray[np.int16]
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class CalibrationPicture:
    """One picture file.

    Attributes:
        camera: as the result beside it says, else its folder's name.
        taken: UTC as the result beside it says, else "".
        sha256: of the file.
    """

    path: Path
    camera: str
    taken: str
    sha256: str


@dataclass(frozen=True, slots=True)
class CalibrationSet:
    """What was chosen, and what was not.

    Attributes:
        calibrate: pictures whose values set the ranges.
        held_out: pictures that judge the result; none of them is in `calibrate`.
        found: pictures in the folders.
        duplicates: pictures left out because one that is kept shows the same.
        skipped: pictures that can't be used, each with its reason.
        notes: what a person should know who trusts this set.
    """

    calibrate: tuple[CalibrationPicture, ...]
    held_out: tuple[CalibrationPicture, ...]
    found: int
    duplicates: int
    skipped: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def cameras(self) -> tuple[str, ...]:
        """The cameras that the pictures come from."""
        return tuple(sorted({picture.camera for picture in (*self.calibrate, *self.held_out)}))


def choose(
    folders: Sequence[Path], *, least: int = LEAST, most: int = MOST, on_picture: Callable[[], None] = lambda: None
) -> CalibrationSet:
    """Choose pictures from folders and the folders in them.

    Args:
        folders: what `collect` has written, or any pictures that the line's cameras took.
        least: distinct pictures that are needed.
        most: distinct pictures that are used.
        on_picture: called after each picture that is read.

    Raises:
        ConfigError: there is no such folder, or it holds too few pictures that differ.
    """
    files = [file for folder in folders for file in collected_in(folder)]
    unfit = [f"{file.path.name}: {file.unfit}" for file in files if file.unfit]
    candidates = _spread([(file, file.camera, file.taken) for file in files if not file.unfit], most * _SPARE)
    distinct = _Distinct()
    for file, *_ in candidates:
        distinct.add(file)
        on_picture()
    if len(distinct.kept) < least:
        raise ConfigError(_too_few(folders, len(files), distinct, len(unfit), least))
    kept = _spread([(picture, picture.camera, picture.taken) for picture in distinct.kept], most)
    chosen = [picture for picture, *_ in kept]
    return CalibrationSet(
        calibrate=tuple(picture for index, picture in enumerate(chosen) if index % HELD_OUT),
        held_out=tuple(chosen[::HELD_OUT]),
        found=len(files),
        duplicates=distinct.duplicates,
        skipped=(*unfit, *distinct.unreadable),
        notes=tuple(_notes(chosen)),
    )


class _Distinct:
    """Keeps pictures that show something else than all kept so far."""

    def __init__(self) -> None:
        self.kept: list[CalibrationPicture] = []
        self.duplicates = 0
        self.unreadable: list[str] = []
        self._thumbnails: list[Thumbnail] = []

    def add(self, file: Collected) -> None:
        """Keep one file, count it as a duplicate, or note why it can't be used."""
        try:
            data = file.path.read_bytes()
        except OSError as error:
            self.unreadable.append(f"{file.path.name}: can't be read ({error.strerror})")
            return
        image = decode(data)
        if isinstance(image, Reason):
            self.unreadable.append(f"{file.path.name}: {image.text}")
            return
        thumbnail = thumbnail_of(image)
        if self._is_known(thumbnail):
            self.duplicates += 1
            return
        self._thumbnails.append(thumbnail)
        self.kept.append(CalibrationPicture(file.path, file.camera, file.taken, hashlib.sha256(data).hexdigest()))

    def _is_known(self, thumbnail: Thumbnail) -> bool:
        if not self._thumbnails:
            return False
        differences = np.abs(np.asarray(self._thumbnails) - thumbnail).reshape(len(self._thumbnails), -1)
        return bool((differences.max(axis=1) <= _ALIKE).any())


def thumbnail_of(image_hwc: Image) -> Thumbnail:
    """Return int16 (32, 32), the grey of each part of a picture: noise goes, a scratch stays."""
    grey = cv2.cvtColor(image_hwc, cv2.COLOR_BGR2GRAY)
    return cv2.resize(grey, (_SIDE_PX, _SIDE_PX), interpolation=cv2.INTER_AREA).astype(np.int16)


def _spread(items: Sequence[tuple[_T, str, str]], most: int) -> list[tuple[_T, str, str]]:
    """Return at most so many items, as many of each camera as can be, evenly over each camera's time.

    Args:
        items: anything with its camera and time; those without a time keep their order.
        most: how many to return.
    """
    by_camera: Mapping[str, list[tuple[_T, str, str]]] = defaultdict(list)
    for item in items:
        by_camera[item[1]].append(item)
    chosen, left = [], most
    # The cameras with the fewest pictures first: what they can't fill is shared among the others.
    for done, camera in enumerate(sorted(by_camera, key=lambda name: (len(by_camera[name]), name))):
        of_camera = sorted(by_camera[camera], key=lambda item: item[2])
        share = min(left // (len(by_camera) - done), len(of_camera))
        rows = np.linspace(0, len(of_camera) - 1, share).round().astype(int).tolist()
        chosen += [of_camera[row] for row in rows]
        left -= share
    return chosen


def _too_few(folders: Sequence[Path], found: int, distinct: _Distinct, unfit: int, least: int) -> str:
    where = ", ".join(str(folder) for folder in folders) or "no folder"
    gone = [f"{distinct.duplicates} show what another shows"] if distinct.duplicates else []
    gone += [f"{len(distinct.unreadable)} can't be read"] if distinct.unreadable else []
    gone += [f"{unfit} are evidence, or show what the network never sees"] if unfit else []
    why = f" ({', '.join(gone)})" if gone else ""
    return (
        f"{where}: {len(distinct.kept)} of {found} pictures can calibrate{why}; INT8 needs {least} that differ: let "
        "the line collect more (collect:), over shifts and lights, or build with --fp16"
    )


def _notes(chosen: Sequence[CalibrationPicture]) -> Iterable[str]:
    cameras = sorted({picture.camera for picture in chosen})
    if len(cameras) == 1:
        yield f"all pictures are of one camera ({cameras[0] or 'without a name'}): use the engine for no other"
    times = [time for picture in chosen if (time := _time(picture.taken)) is not None]
    if len(times) < len(chosen):
        yield "no result beside the pictures says when they were taken: see to it yourself that they are of many hours"
    elif (max(times) - min(times)).total_seconds() < SHORT_S:
        minutes = (max(times) - min(times)).total_seconds() / 60
        yield f"all pictures are of {minutes:.0f} minutes: other light and other lots may lie beyond these ranges"


def _time(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None
