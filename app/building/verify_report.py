"""A comparison as one page that shows the worst pictures, and as JSON; the page opens anywhere and fetches nothing."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path

import cv2
import msgspec

from app.building.verify_draw import side_by_side
from app.building.verify_json import as_json
from app.building.verify_result import PictureReport, VerifyReport
from app.capture.picture_file import load
from app.errors import TaktsightError
from app.traces.markup import tag, text
from app.traces.style import STYLE
from app.verdict import Reason

META = '<meta charset="utf-8"/><meta name="viewport" content="width=device-width,initial-scale=1"/>'
MORE_STYLE = (
    "img{display:block;width:100%;height:auto;border-radius:6px;margin:6px 0 18px}"
    "ul{margin:4px 0 10px;padding-left:20px}li{margin:3px 0}"
)
QUALITY = 82
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
        _section("By class", BY_CLASS, _classes(report)),
        *([_precision(report)] if report.precision is not None else []),
        _worst(report.worst),
        _section("What was allowed", "Keys of models.*.verify in the configuration.", _limits(report)),
    ]
    head = tag("head", META, tag("title", text(f"{said}: {report.candidate}")), tag("style", STYLE, MORE_STYLE))
    return f"<!DOCTYPE html>\n{tag('html', head, tag('body', tag('main', *parts)), lang='en')}\n"


def _tiles(report: VerifyReport) -> str:
    lost, invented = (sum(getattr(row, name) for row in report.classes) for name in ("lost", "invented"))
    boxes = sum(row.reference for row in report.classes)
    tiles = [
        _tile("yes" if report.passed else "no", "may be used", "good" if report.passed else "alarm"),
        _tile(str(lost), f"of the model's {boxes} boxes lost", "alarm" if lost else "good"),
        _tile(str(invented), "invented", "alarm" if invented else "good"),
    ]
    if report.verdicts is not None:
        verdicts = report.verdicts
        tiles.append(_tile(f"{verdicts.same} / {verdicts.pictures}", "pictures keep their verdict"))
        tiles.append(_tile(str(verdicts.escapes), "NG no more", "alarm" if verdicts.escapes else "good"))
    if report.precision is not None:
        before, after = report.precision
        tiles.append(_tile(f"{after.mean:.3f}", f"mAP; the model has {before.mean:.3f}"))
    return tag("div", *tiles, class_="tiles")


def _tile(figure: str, words: str, style: str = "") -> str:
    return tag("div", tag("b", text(figure), class_=style), tag("span", text(words)), class_="tile")


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
    return _table(names, rows, hit)


def _precision(report: VerifyReport) -> str:
    assert report.precision is not None
    before, after = report.precision
    rows = [
        (name, f"{value:.3f}", f"{after.by_class[name]:.3f}", f"{after.by_class[name] - value:+.3f}")
        for name, value in before.by_class.items()
    ]
    rows.append(("all", f"{before.mean:.3f}", f"{after.mean:.3f}", f"{after.mean - before.mean:+.3f}"))
    words = f"AP over IoU 0.50 … 0.95 at 101 recalls, as COCO defines it, against {before.labels} labels."
    return _section("Against the labels", words, _table(("class", "model", "candidate", "difference"), rows))


def _worst(pictures: Sequence[PictureReport]) -> str:
    shown = [_shown(one) for one in pictures]
    return _section("The pictures that differ most", LEFT_RIGHT, *shown)


def _shown(one: PictureReport) -> str:
    title = tag("h3", tag("code", text(one.path.name)), text(f": {one.words()}"))
    image = load(one.path)
    if isinstance(image, Reason):
        return title + tag("p", text(image.text))
    done, jpeg = cv2.imencode(".jpg", side_by_side(image, one.compared), [cv2.IMWRITE_JPEG_QUALITY, QUALITY])
    assert done
    source = f"data:image/jpeg;base64,{base64.b64encode(jpeg.tobytes()).decode()}"
    return title + tag("img", src=source, alt=one.words()).replace("></img>", "/>")


def _limits(report: VerifyReport) -> str:
    meanings = {name: field.description or "" for name, field in type(report.limits).model_fields.items()}
    rows = [(name, value, meanings[name]) for name, value in report.limits.model_dump().items() if name != "pictures"]
    return _table(("key", "value", "meaning"), rows)


def _section(title: str, words: str, *content: str) -> str:
    return tag("section", tag("h2", text(title)), tag("p", text(words)), *content)


def _table(names: Sequence[str], rows: Sequence[Sequence[object]], hit: Sequence[bool] = ()) -> str:
    def style(column: int) -> str:
        return "name" if column == 0 or names[column] == "meaning" else ""

    head = tag("tr", *(tag("th", text(name), class_=style(column)) for column, name in enumerate(names)))
    body = (
        tag(
            "tr",
            *(tag("td", text(value), class_=style(column)) for column, value in enumerate(row)),
            class_="hit" if number < len(hit) and hit[number] else "",
        )
        for number, row in enumerate(rows)
    )
    return tag("div", tag("table", tag("thead", head), tag("tbody", *body)), class_="scroll")
