"""What every page is made of: tiles, sections, tables and pictures in one file that fetches nothing."""

from __future__ import annotations

import base64
from collections.abc import Sequence

import cv2

from app.frame import Image
from app.traces.markup import tag, text
from app.traces.style import STYLE

META = '<meta charset="utf-8"/><meta name="viewport" content="width=device-width,initial-scale=1"/>'
PICTURES = (
    "img{display:block;width:100%;height:auto;border-radius:6px;margin:6px 0 18px}"
    "ul{margin:4px 0 10px;padding-left:20px}li{margin:3px 0}"
)
QUALITY = 82


def document(title: str, *parts: str) -> str:
    """Return the whole page; its first heading is part of `parts`."""
    head = tag("head", META, tag("title", text(title)), tag("style", STYLE, PICTURES))
    return f"<!DOCTYPE html>\n{tag('html', head, tag('body', tag('main', *parts)), lang='en')}\n"


def tile(figure: str, words: str, style: str = "") -> str:
    """Return one figure with what it is; `style` is `good`, `alarm` or nothing."""
    return tag("div", tag("b", text(figure), class_=style), tag("span", text(words)), class_="tile")


def section(title: str, words: str, *content: str) -> str:
    """Return a section with a heading and a line about it."""
    return tag("section", tag("h2", text(title)), tag("p", text(words)), *content)


def table(names: Sequence[str], rows: Sequence[Sequence[object]], hit: Sequence[bool] = ()) -> str:
    """Return a table; rows that are `hit` stand out, the first column and one called `meaning` are words."""

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


def picture(image_hwc: Image, words: str) -> str:
    """Return a picture, in the page itself."""
    done, jpeg = cv2.imencode(".jpg", image_hwc, [cv2.IMWRITE_JPEG_QUALITY, QUALITY])
    assert done
    source = f"data:image/jpeg;base64,{base64.b64encode(jpeg.tobytes()).decode()}"
    return tag("img", src=source, alt=words).replace("></img>", "/>")
