"""Small parts in a picture of 12 megapixels, seen in several ways; `scripts/second_look` prints the table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from rich.table import Table

from app.config.sections import Refine
from tests.refine.covers_line import IOUS, NAMES, SHY
from tests.refine.network import Network
from tests.refine.scenes import SIZE, Piece, cover_pieces, scene
from tests.refine.tally import Tally, Truth, tallies, together
from tests.refine.ways import Way, refined, tiles_only, whole

SMALL, MIDDLE, NATIVE = "small input", "middle input", "native input"
TILES, LARGE_TILES = "tiles", "larger tiles"
TWICE, BATCHES = "first look + second", "… in batches"


@dataclass(frozen=True, eq=False)
class Kind:
    """A set of big pictures and how they are looked at.

    Attributes:
        scale, count, cell_wh: see `scene`.
        tiles, larger: tiles over the whole picture, at native resolution and scaled down.
        twice: the second look.
        least, ious: by class, where they differ from 0.5.
    """

    title: str
    names: tuple[str, ...]
    pieces: Sequence[Piece]
    scale: tuple[float, float]
    count: tuple[int, int]
    cell_wh: tuple[int, int]
    tiles: Refine
    larger: Refine
    twice: Refine
    least: Mapping[str, float] = field(default_factory=dict)
    ious: Mapping[str, float] = field(default_factory=dict)

    def pictures(self, seeds: Sequence[int], truths: list[Truth]) -> Iterator[np.ndarray]:
        """Paint one scene after the other, and say what is in it."""
        for seed in seeds:
            painted = scene(self.pieces, seed, count=self.count, scale=self.scale, cell_wh=self.cell_wh)
            truths.append(painted.truth)
            yield painted.image

    def ways(
        self, small: Network, middle: Network, native: Network | None = None, batched: Network | None = None
    ) -> list[Way]:
        """All ways that are compared.

        Args:
            small: a network with a small input, for the whole picture only.
            middle: the one for tiles and for both looks.
            native: one that takes the whole picture as it is.
            batched: the middle one with an open batch.
        """
        ways = [
            Way(SMALL, (small,), whole(small)),
            Way(MIDDLE, (middle,), whole(middle)),
            Way(TILES, (middle,), tiles_only(middle, self.tiles)),
            Way(LARGE_TILES, (middle,), tiles_only(middle, self.larger)),
            Way(TWICE, (middle,), refined(middle, self.twice)),
        ]
        if batched is not None:
            ways.append(Way(BATCHES, (middle, batched), refined(middle, self.twice, batched)))
        if native is not None:
            ways.insert(2, Way(NATIVE, (native,), whole(native)))
        return ways

    def tallied(self, way: Way, truths: Sequence[Truth]) -> dict[str, Tally]:
        """Recall and precision of a way, by class."""
        return tallies(way.found, truths, self.names, self.least, self.ious)

    def table_of(self, ways: Sequence[Way], truths: Sequence[Truth]) -> Table:
        """Show what they gave; the tiles at native resolution are the reference of time."""
        there = {name: tally.there for name, tally in self.tallied(ways[0], truths).items()}
        heads = [
            "way",
            "looks",
            *(f"{name} ({there[name]})" for name in self.names),
            "all",
            "time",
            "CPU",
            "p50 ms",
            "p99 ms",
        ]
        table = Table(
            *heads, title=f"{self.title}, {len(truths)} pictures of {SIZE[0]} × {SIZE[1]}: recall / precision"
        )
        tiles = by_name(ways)[TILES]
        for way in ways:
            by_class = self.tallied(way, truths)
            table.add_row(
                way.name,
                f"{way.looks_each:.2f}",
                *(str(tally) for tally in by_class.values()),
                str(together(by_class)),
                f"{way.total_ms / tiles.total_ms:.3f}",
                f"{way.total_cpu_ms / tiles.total_cpu_ms:.3f}",
                f"{way.percentile_ms(0.5):.0f}",
                f"{way.percentile_ms(0.99):.0f}",
            )
        return table


def by_name(ways: Sequence[Way]) -> dict[str, Way]:
    """Find ways by their names."""
    return {way.name: way for way in ways}


def covers() -> Kind:
    """Covers of the sample line, 360 to 460 pixels wide.

    Whatever the first look finds of them is small and is looked at again, whatever it takes it for.
    """
    return Kind(
        title="Covers",
        names=NAMES,
        pieces=cover_pieces(),
        scale=(0.55, 0.7),
        count=(6, 11),
        cell_wh=(720, 560),
        tiles=Refine(mode="grid", tile_width=640, tile_height=480, max_regions=64),
        larger=Refine(mode="grid", tile_width=960, tile_height=720, max_regions=64),
        twice=Refine(mode="uncertain", tile_width=640, tile_height=480, small_px=640, max_regions=12, clear="all"),
        least={"scratch": 0.3, **SHY},
        ious=IOUS,
    )
