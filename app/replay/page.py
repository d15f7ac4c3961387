"""A replay as one page: the pictures with another verdict, then and now side by side."""

from __future__ import annotations

from pathlib import Path

from app.bgr import to_bgr
from app.building.verify_draw import side_by_side
from app.errors import TaktsightError
from app.evidence.pixels import DamagedPicture
from app.replay.compare import Differences, Kind, Replayed
from app.replay.show import summary
from app.traces.markup import tag, text
from app.traces.page import document, picture, section, table, tile

MOST_PICTURES = 40
LEFT_RIGHT = (
    "Left what was found then, right what is found now. Red: lost. Orange: new. Dashes show where the other side has a "
    "box that is missing here. Below them, enlarged, what differs."
)


def write_page(found: Differences, path: Path) -> None:
    """Write the page.

    Raises:
        TaktsightError: it can't be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page(found), encoding="utf-8")
    except OSError as error:
        raise TaktsightError(f"{path}: can't be written: {error.strerror}; choose another --html") from error


def page(found: Differences) -> str:
    """Return the page, its pictures in it."""
    flipped, boxes = found.of(Kind.FLIPPED), found.of(Kind.BOXES)
    tiles = [
        tile(str(len(found.pictures)), "pictures judged again"),
        tile(str(len(flipped)), "with another verdict", "alarm" if flipped else "good"),
        tile(str(len(boxes)), "with other boxes or scores", "alarm" if boxes else "good"),
        tile(str(len(found.of(Kind.SAME))), "the same to the last bit"),
    ]
    names = ("class", "then", "now", "lost", "new", "mean Δ score")
    rows = [
        (row.name, row.reference, row.candidate, row.lost, row.invented, f"{row.score_mean:.3f}")
        for row in found.classes
    ]
    hit = [bool(row.lost or row.invented) for row in found.classes]
    shown = [one for one in found.pictures if one.kind is not Kind.SAME][:MOST_PICTURES]
    return document(
        "Judged again",
        tag("h1", text("Judged again")),
        tag("div", *tiles, class_="tiles"),
        tag("ul", *(tag("li", text(line)) for line in summary(found))),
        section("By class", "Boxes over the thresholds.", table(names, rows, hit)),
        section("Pictures that differ", LEFT_RIGHT, *(_shown(one) for one in shown)),
    )


def _shown(one: Replayed) -> str:
    title = tag("h3", tag("code", text(one.stored.path.stem)), text(f": {one.words()}"))
    try:
        image = to_bgr(one.stored.load())
    except DamagedPicture as error:
        return title + tag("p", text(str(error)))
    titles = (f"then: {one.before.value}", f"now: {one.after.value}")
    return title + picture(side_by_side(image, one.compared, titles), one.words())
