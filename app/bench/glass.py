"""Glass to result: the age of results by a clock in the picture itself, beside the age by the product's own stamps."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import monotonic, monotonic_ns
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from app.bench import machine, painted
from app.bench.line import quiet
from app.bench.timecode import read
from app.broker import LocalBroker
from app.config import LoadedConfig, load, sections
from app.decode.boxes import Plane
from app.decode.decoder import Decoder
from app.decode.end_to_end import EndToEnd
from app.engine import HostEngine
from app.errors import ConfigError, TaktsightError
from app.inference.base import Tensors
from app.inference.fake import FakeBackend
from app.latency.percentiles import Percentiles, percentiles
from app.model import TensorSpec
from app.preprocess.cpu import CpuPreprocessor
from app.preprocess.input_spec import InputSpec
from app.publish.message import Result
from app.verdict import Outcome
from app.watch import Subscriber
from app.wiring import Product, Watchers, build
from app.wiring.swap import Swap
from app.worker import Worker

DEMO = Path(__file__).resolve().parent.parent.parent / "configs" / "demo.yaml"
SPEC = InputSpec("images", *painted.SIZE_WH)
OUTPUT = "output0"
BYTES = 8
STEP_PX = 32
"""Box `i` carries byte `i` of the time as its width, and lies at this many pixels times i."""
SETTLE = 5
"""First results of a source, which find everything cold."""
LIMIT_MS = 5.0
CONNECT_S, RESULT_S = 10.0, 10.0
CLASS = 0

Kinds: TypeAlias = Mapping[str, Callable[[float], AbstractContextManager[sections.Source]]]
KINDS: Kinds = {
    "file": painted.folder,
    "http": painted.http,
    "rtsp": partial(painted.rtsp, path="/h264"),
    "rtsp-jpeg": partial(painted.rtsp, path="/jpeg"),
}


@dataclass(frozen=True, slots=True)
class Glass:
    """One kind of source, in milliseconds.

    Attributes:
        true: from the painting of the picture until its result was shown to a subscriber.
        own: from the exposure until the subscriber's word was back, by the product's stamps.
        difference: true less own, result by result: what the product can't know, or does not count.
        unread: results in which no time could be read.
    """

    kind: str
    true: Percentiles
    own: Percentiles
    difference: Percentiles
    unread: int

    @property
    def met(self) -> bool:
        """Whether product and picture agree."""
        return abs(self.difference.p50) < LIMIT_MS


def time_of(result: Result) -> int | None:
    """Return the time that a result's boxes carry, None where the engine could read none."""
    if len(result.detections) != BYTES:
        return None
    boxes = sorted(result.detections, key=lambda one: one.xyxy[1] or 0.0)
    widths = [round((one.xyxy[2] or 0.0) - (one.xyxy[0] or 0.0)) - 1 for one in boxes]
    return int.from_bytes(bytes(widths), "big") if all(0 <= width < 256 for width in widths) else None  # noqa: PLR2004 - a byte


def boxes_of(feeds: Tensors) -> dict[str, NDArray[np.float32]]:
    """Read the time in the network's input, and give it as boxes: the engine of this measurement.

    So the code takes the product's own way from the source to the subscriber, and nothing else carries it.
    """
    rows = np.zeros((1, BYTES, 6), np.float32)
    time_ns = read(feeds[SPEC.name][0, 1], scale=1.0, threshold=0.5)
    if time_ns is not None:
        for index, byte in enumerate(time_ns.to_bytes(BYTES, "big")):
            top = index * STEP_PX
            rows[0, index] = (0, top, byte + 1, top + STEP_PX / 2, 0.9, CLASS)
    return {OUTPUT: rows}


def engine_of() -> HostEngine:
    """Return an engine that reads time codes, in the place of the demo's."""
    batch = np.zeros((1, *SPEC.sample_shape), np.float32)
    decoder = Decoder(EndToEnd(OUTPUT, Plane(SPEC.network_wh), None), sections.Nms(), ("code",))
    return HostEngine(
        name="time code",
        backend=FakeBackend([TensorSpec(SPEC.name, batch.shape, "float32")], boxes_of),
        preprocessor=CpuPreprocessor(SPEC),
        feeds={SPEC.name: batch},
        sample=batch[0],
        decode=decoder.run,
    )


def line_of(source: sections.Source, broker: LocalBroker) -> LoadedConfig:
    """Return a line of one camera that publishes every picture's verdict to that broker."""
    if not DEMO.exists():
        raise ConfigError(f"{DEMO}: not there; run this from a checkout of the repository: scripts/glass_to_mqtt")
    loaded = load(DEMO)
    judge = sections.Judge(rules=[sections.RequireRule(require="cover")])
    camera = sections.Camera(source=source, model="covers", judge=judge, budget_ms=60_000.0)
    mqtt = sections.Mqtt(port=broker.port, version=broker.mqtt_version)
    update = {
        "cameras": {"glass": camera},
        "mqtt": mqtt,
        "jsonl": None,
        "evidence": None,
        "collect": None,
        "trace": None,
        "metrics": None,
    }
    return replace(loaded, config=loaded.config.model_copy(update=update))


def measure_kind(kind: str, frames: int, fps: float) -> Glass:
    """Run the product on one kind of source until so many results have come.

    Raises:
        TaktsightError: no results come.
    """
    own_ms: dict[str, float] = {}

    def shown(outcome: Outcome) -> None:
        own_ms[outcome.trace.trace_id] = outcome.trace.total_ms

    with quiet(), LocalBroker() as broker, KINDS[kind](fps) as source:
        line = line_of(source, broker)
        product = build(line, Watchers(on_shown=shown), Swap(engine=lambda *_: engine_of()))
        assert line.config.mqtt is not None
        with Subscriber(line.config.mqtt) as subscriber:
            if not subscriber.wait_until_subscribed(CONNECT_S):
                raise TaktsightError(f"{kind}: the broker of this measurement does not answer")
            true_ms = _results(kind, product, subscriber, frames + SETTLE)
    return _summed(kind, dict(list(true_ms.items())[SETTLE:]), own_ms)


def _results(kind: str, product: Product, subscriber: Subscriber, wanted: int) -> dict[str, float | None]:
    """Return the true age of each result by its trace id, None where its picture showed no time."""
    errors: list[BaseException] = []
    worker = Worker("product", lambda _: product.service.run(), lambda error: errors.append(error) if error else None)
    worker.start()
    ages_ms: dict[str, float | None] = {}
    until_s = monotonic() + RESULT_S
    try:
        while len(ages_ms) < wanted and monotonic() < until_s and not errors:
            arrival = subscriber.get(timeout_s=0.2)
            if arrival is None or not isinstance(arrival.message, Result):
                continue
            shown_ns, until_s = monotonic_ns(), monotonic() + RESULT_S
            subscriber.acknowledge(arrival)
            painted_ns = time_of(arrival.message)
            age_ms = None if painted_ns is None else (shown_ns - painted_ns) / 1e6
            ages_ms[arrival.message.trace_id] = age_ms
    finally:
        product.service.stop()
        worker.join(CONNECT_S)
    if errors:
        raise errors[0]
    if len(ages_ms) < wanted:
        raise TaktsightError(f"{kind}: {len(ages_ms)} results instead of {wanted}, and none for {RESULT_S:.0f} s")
    return ages_ms


def _summed(kind: str, true_ms: dict[str, float | None], own_ms: dict[str, float]) -> Glass:
    pairs = [(age, own_ms[trace]) for trace, age in true_ms.items() if age is not None and trace in own_ms]
    if not pairs:
        raise TaktsightError(f"{kind}: no result shows the time that was painted into its picture")
    return Glass(
        kind,
        true=percentiles([true for true, _ in pairs]),
        own=percentiles([own for _, own in pairs]),
        difference=percentiles([true - own for true, own in pairs]),
        unread=sum(age is None for age in true_ms.values()),
    )


def table(found: Sequence[Glass]) -> Table:
    """Return the kinds side by side."""
    columns = ("source", "true p50", "true p99", "own p50", "own p99", "difference p50", "p90", "max", "results", "")
    made = Table(*columns, title="from the painted picture to the shown result, ms")
    for column in made.columns[1:9]:
        column.justify = "right"
    for one in found:
        times = (one.true.p50, one.true.p99, one.own.p50, one.own.p99)
        apart = (one.difference.p50, one.difference.p90, one.difference.max)
        cells: list[Any] = [*(f"{value:.2f}" for value in times), *(f"{value:+.2f}" for value in apart)]
        unread = f" ({one.unread} unread)" if one.unread else ""
        made.add_row(one.kind, *cells, f"{one.true.count}{unread}", "[green]met[/]" if one.met else "[red]missed[/]")
    made.caption = (
        f"asked: the difference under {LIMIT_MS:g} ms at p50; it is what happens before the product's own stamp"
    )
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure every kind that is named; 1 where one of them is not as asked."""
    parser = argparse.ArgumentParser(
        prog="scripts/glass_to_mqtt", description="The age of results by a clock in the picture itself."
    )
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"{', '.join(KINDS)}; without any, all of them")
    parser.add_argument("--frames", type=int, default=200, help="results of each kind (%(default)s)")
    parser.add_argument("--fps", type=float, default=20.0, help="pictures a second (%(default)s)")
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.kinds) - set(KINDS))
    if unknown:
        parser.error(f"no kind of source {', '.join(unknown)}; there are: {', '.join(KINDS)}")
    console = Console()
    console.print(", ".join(f"{key} {value}" for key, value in machine.describe().items()), highlight=False)
    found: list[Glass] = []
    try:
        for kind in options.kinds or KINDS:
            with console.status(f"measuring {kind}"):
                found.append(measure_kind(kind, options.frames, options.fps))
    except TaktsightError as error:
        sys.stderr.write(f"glass_to_mqtt: {error}\n")
        return error.exit_code
    console.print(table(found))
    return 0 if all(one.met for one in found) else 1


if __name__ == "__main__":
    sys.exit(main())
