"""Where pictures come from: whether it is there and may be read, and how large its pictures are."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeAlias

from app.capture.devices import device_path, same_devices
from app.capture.listing import pictures_in
from app.check.files import refusal_to_read
from app.check.finding import Report
from app.check.secret_files import check_secret
from app.config.pipeline_text import warnings
from app.config.secrets import mask_url
from app.config.sections import (
    Config,
    ConveyorSource,
    GstreamerSource,
    ImagesSource,
    Source,
    StreamSource,
    SyntheticSource,
    V4l2Source,
    VideoSource,
)
from app.errors import ConfigError
from app.verdict import Reason

Size: TypeAlias = "tuple[int, int]"


def check_sources(config: Config, report: Report) -> dict[str, Size]:
    """Check every camera's source and return the picture sizes, in pixels, of those that can be told."""
    devices = {
        name: camera.source.device for name, camera in config.cameras.items() if isinstance(camera.source, V4l2Source)
    }
    for fault in same_devices(devices):
        report.refuse(ConfigError(fault))
    sizes = {name: _check_source(camera.source, report, name) for name, camera in config.cameras.items()}
    return {name: size for name, size in sizes.items() if size is not None}


def _check_source(source: Source, report: Report, camera: str) -> Size | None:
    place = ("cameras", camera, "source")
    match source:
        case V4l2Source():
            _check_device(source, report, *place)
            return source.width, source.height
        case SyntheticSource():
            return source.width, source.height
        case StreamSource():
            _check_stream(source, report, *place)
        case GstreamerSource():
            _check_pipeline(source, report, *place)
            return None if source.preset in ("own", "rtsp-hw") else (source.width, source.height)
        case VideoSource():
            refusal = refusal_to_read(Path(source.path))
            if refusal:
                report.error(refusal, *place, "path")
        case ImagesSource() | ConveyorSource():
            return _check_pictures(source, report, *place)
    return None


def _check_device(source: V4l2Source, report: Report, *place: str) -> None:
    path = device_path(source.device)
    if not path.exists():
        report.warning(f"there is no {path} now; plug the camera in, or see `ls /dev/v4l/by-id`", *place, "device")
    elif not os.access(path, os.R_OK | os.W_OK):
        report.error(f"no permission to use {path}; put the user into the group video", *place, "device")


def _check_stream(source: StreamSource, report: Report, *place: str) -> None:
    if mask_url(source.url) != source.url:
        report.warning("a user name or a secret stands in it; use username and password_file", *place, "url")
    if source.password_file is not None:
        check_secret(source.password_file, report, *place)


def _check_pipeline(source: GstreamerSource, report: Report, *place: str) -> None:
    for warning in warnings(source.pipeline or ""):
        report.warning(warning, *place, "pipeline")
    if source.url is not None and mask_url(source.url) != source.url:
        report.warning("a user name or a secret stands in it; use username and password_file", *place, "url")
    if source.password_file is not None:
        check_secret(source.password_file, report, *place)


def _check_pictures(source: ImagesSource | ConveyorSource, report: Report, *place: str) -> Size | None:
    from app.capture.picture_file import SUFFIXES, load  # noqa: PLC0415 - a leaf, with OpenCV in it

    path = Path(source.path)
    refusal = refusal_to_read(path, "any" if isinstance(source, ImagesSource) else "folder")
    if refusal:
        report.error(refusal, *place, "path")
        return None
    pictures = pictures_in(path, SUFFIXES) if path.is_dir() else [path]
    if not pictures:
        waits = isinstance(source, ImagesSource) and source.watch
        note = report.warning if waits else report.error
        note(f"{path}: no picture in it ({', '.join(sorted(SUFFIXES))}); sub-folders are not read", *place, "path")
        return None
    first = load(pictures[0], source.bit_depth if isinstance(source, ImagesSource) else None)
    if isinstance(first, Reason):
        report.warning(f"{pictures[0]}: {first.text}; such a picture is UNKNOWN", *place, "path")
        return None
    return first.shape[1], first.shape[0]
