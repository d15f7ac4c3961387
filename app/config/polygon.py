"""The corners of a region: the forms in which people write them, and what makes no polygon."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, TypeAlias

Point: TypeAlias = "tuple[float, float]"

FORMS = "write [[x, y], [x, y], …], 'x,y,x,y,…' or ['x,y', …]"
BOX_CORNERS = 2
FEWEST_CORNERS = 3
MOST_CORNERS = 256

CORNERS_SCHEMA: dict[str, Any] = {
    "anyOf": [
        {"type": "string"},
        {
            "type": "array",
            "items": {
                "anyOf": [
                    {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2},
                    {"type": "string"},
                    {"type": "number"},
                ]
            },
        },
    ]
}
"""The accepted forms as JSON Schema."""


def corners(value: object) -> list[Point]:
    """Return the corners of a polygon in any of the accepted forms; two corners become the box between them.

    Accepted are `[[x, y], …]`, `"x,y,x,y,…"`, `["x,y", …]` and `[x, y, x, y, …]`. A corner that repeats the one before
    it, or the first one at the end, is left out.

    Raises:
        ValueError: it is none of these, has too few or too many corners, crosses itself or has no area.
    """
    numbers = _numbers(value)
    if len(numbers) % 2:
        raise ValueError(f"{len(numbers)} numbers are no list of corners, each needs an x and a y; {FORMS}")
    points = _without_repeats(list(zip(numbers[::2], numbers[1::2], strict=True)))
    if len(points) == BOX_CORNERS:
        points = _box(*points)
    if len(points) < FEWEST_CORNERS:
        raise ValueError(f"{len(points)} corners make no area; give three or more, or two that are a box")
    if len(points) > MOST_CORNERS:
        raise ValueError(f"{len(points)} corners are more than {MOST_CORNERS}; leave some out")
    if area(points) == 0:
        raise ValueError("the corners lie on one line and enclose no area; move one of them")
    _check_simple(points)
    return points


def area(points: Sequence[Point]) -> float:
    """Return the area inside a polygon, whichever way round it is written."""
    following = [*points[1:], *points[:1]]
    return abs(sum(x1 * y2 - x2 * y1 for (x1, y1), (x2, y2) in zip(points, following, strict=True))) / 2


def _numbers(value: object) -> list[float]:
    if isinstance(value, str):
        return [_number(part) for part in value.split(",")]
    if not isinstance(value, list | tuple):
        raise ValueError(f"it must be a list of corners; {FORMS}")  # noqa: TRY004 - pydantic turns only ValueError into a fault
    numbers: list[float] = []
    for item in value:
        numbers += _corner(item) if isinstance(item, str | list | tuple) else [_number(item)]
    return numbers


def _corner(item: str | Sequence[object]) -> list[float]:
    parts: Sequence[object] = item.split(",") if isinstance(item, str) else item
    if len(parts) != 2:  # noqa: PLR2004 - x and y
        raise ValueError(f"a corner has an x and a y, this one has {len(parts)} numbers; {FORMS}")
    return [_number(part) for part in parts]


def _number(value: object) -> float:
    """Return a finite number; true and false, percentages and empty parts are none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"a coordinate must be a number; {FORMS}")  # noqa: TRY004 - as above
    try:
        number = float(value)
    except ValueError:
        raise ValueError(f"'{value}' is not a number; {FORMS}") from None
    if not abs(number) < float("inf"):
        raise ValueError("a coordinate must be a finite number")
    return number


def _without_repeats(points: list[Point]) -> list[Point]:
    kept = [point for index, point in enumerate(points) if index == 0 or point != points[index - 1]]
    return kept[:-1] if len(kept) > 1 and kept[0] == kept[-1] else kept


def _box(first: Point, second: Point) -> list[Point]:
    left, right = sorted((first[0], second[0]))
    top, bottom = sorted((first[1], second[1]))
    return [(left, top), (right, top), (right, bottom), (left, bottom)]


def _check_simple(points: Sequence[Point]) -> None:
    edges = list(zip(points, [*points[1:], *points[:1]], strict=True))
    for (i, one), (j, other) in combinations(enumerate(edges), 2):
        if _neighbours(i, j, len(edges)):
            continue
        if _cross(one, other):
            raise ValueError(
                f"the sides from corners {i + 1} and {j + 1} cross; give the corners in order of the outline"
            )


def _neighbours(i: int, j: int, count: int) -> bool:
    return j - i == 1 or (i == 0 and j == count - 1)


def _side(a: Point, b: Point, c: Point) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def _cross(one: tuple[Point, Point], other: tuple[Point, Point]) -> bool:
    """Return whether two sides cut each other in their inside; touching is allowed (two areas joined at a corner)."""
    (a, b), (c, d) = one, other
    return _side(a, b, c) * _side(a, b, d) < 0 and _side(c, d, a) * _side(c, d, b) < 0
