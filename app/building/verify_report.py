"""A comparison as one page that shows the worst pictures, and as JSON; the page opens anywhere and fetches nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from app.building.verify_draw import side_by_side
from app.building.verify_json import as_json
from app.building.verify_result import PictureReport, VerifyReport
from app.capture.picture_file import load
from app.errors import TaktsightError
from app.traces.markup import tag, text
from app.traces.page import document, picture, section, table, tile
from app.verdict import Reason

BY_CLASS = (
    "Boxes over the threshold of their class. Fell and rose: found by both, but the candidate's score is a little "
    "under the threshold, or the model's is."
)
LEFT_RIGHT = (
    "Left what the model finds, right what the candidate finds. Red: lost. Orange: invented. Dashes show where the "
    "other side has a box that is missing here. Below them, enlarged, what differs."
)


def write_report(report: VerifyReport, stem: Path) -> tuple[Path, Path]:
    """Write `STEM.json` and `STEM.html`, and return their paths.

    Raises:
        TaktsightError: they can't be written.
    """
    paths = Path(f"{stem}.json"), Path(f"{stem}.html")
    try:
        stem.parent.mkdir(parents=True, exist_ok=True)
        paths[0].write_bytes(msgspec.json.format(msgspec.json.encode(as_json(report)), indent=2))
        paths[1].write_text(page(report), encoding="utf-8")
    except OSError as error:
        raise TaktsightError(f"{error.filename}: can't be written: {error.strerror}; choose another --out") from error
    return paths


def page(report: VerifyReport) -> str:
    """Return the page, its pictures in it."""
    said = "May be used" if report.passed else "Refused"
    parts = [
        tag("h1", text(f"{said}: {report.candidate}")),
        tag("p", text(f"beside {report.reference}, on {report.pictures} pictures, {report.made_at}")),
        _tiles(report),
        _reasons(report),
        section("By class", BY_CLASS, _classes(report)),
        *([_precision(report)] if report.precision is not None else []),
        _worst(report.worst),
        section("What was allowed", "Keys of models.*.verify in the configuration.", _limits(report)),
    ]
    return document(f"{said}: {report.candidate}", *parts)


def _tiles(report: VerifyReport) -> str:
    lost, invented = (sum(getattr(row, name) for row in report.classes) for name in ("lost", "invented"))
    boxes = sum(row.reference for row in report.classes)
    tiles = [
        tile("yes" if report.passed else "no", "may be used", "good" if report.passed else "alarm"),
        tile(str(lost), f"of the model's {boxes} boxes lost", "alarm" if lost else "good"),
        tile(str(invented), "invented", "alarm" if invented else "good"),
    ]
    if report.verdicts is not None:
        verdicts = report.verdicts
        tiles.append(tile(f"{verdicts.same} / {verdicts.pictures}", "pictures keep their verdict"))
        tiles.append(tile(str(verdicts.escapes), "NG no more", "alarm" if verdicts.escapes else "good"))
    if report.precision is not None:
        before, after = report.precision
        tiles.append(tile(f"{after.mean:.3f}", f"mAP; the model has {before.mean:.3f}"))
    return tag("div", *tiles, class_="tiles")


def _reasons(report: VerifyReport) -> str:
    refused = [tag("li", text(f"refused: {line}"), class_="alarm") for line in report.refused]
    notes = [tag("li", text(line)) for line in report.notes]
    return tag("ul", *refused, *notes) if refused or notes else ""


def _classes(report: VerifyReport) -> str:
    names = (
        "class",
        "model",
        "candidate",
        "lost",
        "invented",
        "fell",
        "rose",
        "mean IoU",
        "least",
        "mean Δ score",
        "most",
    )
    rows = [
        (
            *(row.name, row.reference, row.candidate, row.lost, row.invented, row.fell, row.rose),
            *(
                f"{value:.3f}" if row.is_paired else "·"
                for value in (row.iou_mean, row.iou_least, row.score_mean, row.score_most)
            ),
        )
        for row in report.classes
    ]
    hit = [bool(row.lost or row.invented) for row in report.classes]
    return table(names, rows, hit)


def _precision(report: VerifyReport) -> str:
    assert report.precision is not None
    before, after = report.precision
    rows = [
        (name, f"{value:.3f}", f"{after.by_class[name]:.3f}", f"{after.by_class[name] - value:+.3f}")
        for name, value in before.by_class.items()
    ]
    rows.append(("all", f"{before.mean:.3f}", f"{after.mean:.3f}", f"{after.mean - before.mean:+.3f}"))
    words = f"AP over IoU 0.50 … 0.95 at 101 recalls, as COCO defines it, against {before.labels} labels."
    return section("Against the labels", words, table(("class", "model", "candidate", "difference"), rows))


def _worst(pictures: Sequence[PictureReport]) -> str:
    shown = [_shown(one) for one in pictures]
    return section("The pictures that differ most", LEFT_RIGHT, *shown)


def _shown(one: PictureReport) -> str:
    title = tag("h3", tag("code", text(one.path.name)), text(f": {one.words()}"))
    image = load(one.path)
    if isinstance(image, Reason):
        return title + tag("p", text(image.text))
    return title + picture(side_by_side(image, one.compared), one.words())


def _limits(report: VerifyReport) -> str:
    meanings = {name: field.description or "" for name, field in type(report.limits).model_fields.items()}
    rows = [(name, value, meanings[name]) for name, value in report.limits.model_dump().items() if name != "pictures"]
    return table(("key", "value", "meaning"), rows)
