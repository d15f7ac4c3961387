"""Pictures as the engine is fed with them: through the product's own preprocessing, into the product's own buffer."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from app.building.int8.pictures import CalibrationPicture, CalibrationSet
from app.capture.picture_file import load
from app.engine import HostEngine
from app.errors import ConfigError
from app.frame import Image
from app.inference.base import Tensors
from app.verdict import Reason

_PROBES_HW = ((45, 80), (90, 50))  # one wider, one taller than any network's input


def feeds_of(
    engine: HostEngine, pictures: Sequence[CalibrationPicture], on_picture: Callable[[], None] = lambda: None
) -> Iterator[Tensors]:
    """Yield the feeds of one picture after the other, borrowed until the next is asked for.

    Raises:
        ConfigError: a picture is not there any more.
    """
    for image in images_of(pictures):
        engine.preprocessor.run(image, engine.sample)
        yield engine.feeds
        on_picture()


def images_of(pictures: Iterable[CalibrationPicture]) -> Iterator[Image]:
    """Yield the pixels of one picture after the other.

    Raises:
        ConfigError: a picture is not there any more.
    """
    for picture in pictures:
        image = load(picture.path)
        if isinstance(image, Reason):
            raise ConfigError(f"{picture.path}: {image.text}: it was there a moment ago; leave the folder alone")
        yield image


def calibration_sha256(engine: HostEngine, pictures: CalibrationSet) -> str:
    """Return the hash of what a calibration rests on: the pictures, their parts in it, and how they are prepared.

    The preprocessing is not described but done: two pictures that are always the same go through it, so that whatever
    changes a tensor's last bit (size, colours, scale, padding, interpolation) makes another hash.
    """
    digest = hashlib.sha256()
    random = np.random.default_rng(0)
    for height, width in _PROBES_HW:
        engine.preprocessor.run(random.integers(0, 256, (height, width, 3), np.uint8), engine.sample)
        digest.update(f"{engine.sample.dtype} {engine.sample.shape}".encode())
        digest.update(engine.sample.tobytes())
    for part in (pictures.calibrate, pictures.held_out):
        digest.update("".join(picture.sha256 for picture in part).encode() + b"\n")
    return digest.hexdigest()
