"""What is asked of each camera's parts: class names, regions in the picture, sizes that can be."""

from __future__ import annotations

from collections.abc import Mapping

from app.capture.kinds import is_live
from app.check.finding import Report
from app.config.references import nearest
from app.config.sections import Camera, Config
from app.errors import ConfigError
from app.judge import Judge
from app.refine import Refiner
from app.regions import RegionShape


def check_cameras(
    config: Config, names: Mapping[str, tuple[str, ...]], sizes: Mapping[str, tuple[int, int]], report: Report
) -> None:
    """Check every camera.

    Args:
        config: whole.
        names: class names by model, of the models that could be read.
        sizes: width and height of the pictures in pixels by camera, of the sources that tell.
        report: is written to.
    """
    for name, camera in config.cameras.items():
        classes = _classes(name, camera, names, report)
        if classes is not None:
            _check_classes(name, camera, classes, report)
        _check_small(name, camera, names, report)
        size = _size(name, camera, sizes.get(name), report)
        if size is not None:
            _check_regions(name, camera, size, report)
        if camera.queue == "latest" and not is_live(camera.source):
            report.warning("pictures of files are skipped when they come too fast; use every", "cameras", name, "queue")


def _classes(name: str, camera: Camera, names: Mapping[str, tuple[str, ...]], report: Report) -> tuple[str, ...] | None:
    """Return the class names that the camera's rules may use, those of a second look's model too; None: not known."""
    first = names.get(camera.model)
    second = names.get(camera.refine.model) if camera.refine is not None and camera.refine.model else first
    if first is None or second is None or camera.refine is None:
        return first if second is not None else None
    try:
        return Refiner(camera.refine, first, camera.judge.regions, None if second is first else second).names
    except ConfigError as error:
        report.refuse(error, "cameras", name)
        return first


def _check_small(name: str, camera: Camera, names: Mapping[str, tuple[str, ...]], report: Report) -> None:
    first, small = names.get(camera.model), names.get(camera.small_model or camera.model)
    if first is not None and small is not None and first != small:
        text = f"it has other classes than `{camera.model}` ({', '.join(small)}), so rules would not hold; use its twin"
        report.error(text, "cameras", name, "small_model")


def _check_classes(name: str, camera: Camera, classes: tuple[str, ...], report: Report) -> None:
    try:
        Judge(camera.judge, classes)
    except ConfigError as error:
        report.refuse(error, "cameras", name)
    if camera.gate is not None and camera.gate.cls not in classes:
        text = f"the model has no class `{camera.gate.cls}`; {nearest(camera.gate.cls, classes)}"
        report.error(text, "cameras", name, "gate", "class")


def _size(name: str, camera: Camera, source: tuple[int, int] | None, report: Report) -> tuple[int, int] | None:
    """Return the size of pictures that are judged, after a look at whether any can be."""
    guard = camera.guard
    if source is not None:
        for key, asked, given in (("width", guard.width, source[0]), ("height", guard.height, source[1])):
            if asked not in (None, given):
                text = f"pictures of this source have {given} pixels, so that every one would be UNKNOWN; correct it"
                report.error(text, "cameras", name, "guard", key)
        return source
    return (guard.width, guard.height) if guard.width is not None and guard.height is not None else None


def _check_regions(name: str, camera: Camera, size_wh: tuple[int, int], report: Report) -> None:
    for region, section in camera.judge.regions.items():
        place = ("cameras", name, "judge", "regions", region)
        try:
            lost = RegionShape.of(section, size_wh, region).lost
        except ConfigError as error:
            report.error(str(error).partition(": ")[2], *place)
            continue
        if lost > 0:
            text = f"{lost:.1%} of its area lies outside the {size_wh[0]}×{size_wh[1]} picture; that part is ignored"
            report.warning(text, *place)
