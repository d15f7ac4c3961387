"""What a second look finds and costs: on the sample line, and in big pictures; run by `scripts/second_look`."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import cv2
from rich.console import Console
from rich.progress import track

from app.bench.machine import describe
from tests.refine import covers_line
from tests.refine.batches import batches_table, parts_of_one_picture
from tests.refine.big_picture import Kind, covers
from tests.refine.covers_line import ROOT
from tests.refine.network import Network, with_open_batch
from tests.refine.scenes import SIZE
from tests.refine.screws import screws
from tests.refine.tally import Truth
from tests.refine.ways import measure

SIZES = ((0.5, 0.6), (0.6, 0.7), (0.7, 0.8))
"""Of the photos in a big picture; where the first look begins to see something lies between them."""


def main() -> None:
    """Print the tables."""
    wanted = _arguments()
    cv2.setNumThreads(1)
    console = Console(width=200)
    console.print(f"load before: {describe()['load']}")
    with TemporaryDirectory() as folder, ExitStack() as stack:
        enter = stack.enter_context
        small, middle = (enter(Network(ROOT / "engines" / f"covers_{side}.onnx")) for side in (320, 640))
        batched = with_open_batch(ROOT / "engines" / "covers_640.onnx", Path(folder) / "open.onnx")
        batch = enter(Network(batched, batches=[1, 2, 4, 8]))
        if not wanted.only or wanted.only == "line":
            _line(console, wanted, small, middle)
        if not wanted.only or wanted.only == "big":
            native = wanted.native and enter(Network(wanted.native, input=_padded(SIZE)))
            _big(console, wanted, covers(), [small, middle, native, batch])
        if not wanted.only or wanted.only == "batches":
            console.print(batches_table(middle, batch, parts_of_one_picture()))
        if wanted.screws:
            small, middle = (enter(Network(wanted.screws / "models" / f"screws_{side}.onnx")) for side in (320, 640))
            for scale in SIZES:
                _big(console, wanted, screws(wanted.screws / "photos" / "test.json", scale), [small, middle])
    console.print({**describe(), "opencv threads": "1"})


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/second_look", description=__doc__)
    parser.add_argument("--scenes", type=int, default=16, help="big pictures of each kind (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="times that every picture is seen (default: %(default)s)")
    parser.add_argument("--only", choices=("line", "big", "batches"), help="one of the tables")
    parser.add_argument("--native", type=Path, help="the covers model with an open size, for whole big pictures")
    parser.add_argument(
        "--screws", type=Path, help="folder with photos/test.json, photos/test/ and models/screws_*.onnx"
    )
    return parser.parse_args()


def _line(console: Console, wanted: argparse.Namespace, small: Network, middle: Network) -> None:
    ways = covers_line.ways_on(small, middle)
    pictures = [image for _, image in covers_line.parts()]
    measure(ways, track(pictures, "the line", console=console), wanted.rounds)
    console.print(covers_line.table_of(ways))


def _big(console: Console, wanted: argparse.Namespace, kind: Kind, networks: Sequence[Network]) -> None:
    truths: list[Truth] = []
    ways = kind.ways(*networks)
    measure(ways, kind.pictures(_shown(console, wanted.scenes, kind.title), truths), wanted.rounds)
    console.print(kind.table_of(ways, truths))


def _shown(console: Console, count: int, title: str) -> Iterator[int] | Iterable[int]:
    return track(range(count), title, console=console)


def _padded(size_wh: tuple[int, int]) -> dict[str, int]:
    """The least input that holds a picture, in multiples of 32."""
    width, height = (-(-side // 32) * 32 for side in size_wh)
    return {"width": width, "height": height}


if __name__ == "__main__":
    main()
