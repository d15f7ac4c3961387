"""The demo: the covers line at line speed, a broker, a subscriber, a live table, and a summary that checks itself."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event

from rich.console import Console
from rich.live import Live

from app.board import Board, part_cells, summary_table
from app.broker import LocalBroker
from app.config import LoadedConfig, load, sections
from app.config.budget import budget_ms
from app.errors import ConfigError, TaktsightError
from app.latency.recorder import TOTAL
from app.publish.message import Preview, Result
from app.verdict import Outcome
from app.watch import Subscriber, line_of
from app.wiring import Product, Watchers, build
from app.worker import Worker

CONFIG = Path(__file__).resolve().parent.parent / "configs" / "demo.yaml"
SUBSCRIBE_S = 5.0
LAST_WORDS_S = 1.0
"""How long the subscriber may still hear messages after the last part."""


class DemoFailed(TaktsightError):  # noqa: N818 - named after the event
    """A part of the demo line was not judged as its ground truth says, or not exactly once."""


def run_demo(parts: int, out: Path, console: Console) -> None:
    """Run the demo line.

    Args:
        parts: how many parts pass the camera.
        out: folder for results, traces and evidence; made if missing.
        console: where the table goes; without a terminal, one line for each part.

    Raises:
        ConfigError: the demo's files are not there.
        DemoFailed: the verdicts are not those of the ground truth.
    """
    loaded = demo_config(parts, out)
    camera = loaded.config.cameras["covers"]
    clear(out)
    allowed_ms = budget_ms(camera.budget_ms)
    board = Board(allowed_ms, camera.shares.stages_ms(allowed_ms))
    with LocalBroker() as broker:
        console.print(f"broker: {broker.kind} on {broker.host}:{broker.port}", highlight=False)
        loaded = replace(loaded, config=at_broker(loaded.config, broker))
        product = build(loaded, Watchers(on_judged=board.judged, on_done=line_printer(board, console)))
        with Subscriber(sections.Mqtt(port=broker.port)) as subscriber:  # version auto: finds 3.1.1 by itself
            if not subscriber.wait_until_subscribed(SUBSCRIBE_S):
                raise TaktsightError(f"the demo's own broker ({broker.kind}) does not answer; run it again")
            with listening(subscriber, board, expected=parts), drawing(board, console):
                product.service.run()
    summarise(product, board, out, console)
    assert isinstance(camera.source, sections.ConveyorSource)
    compare(board.parts(), parts, Path(camera.source.path) / "truth.json", console)


def demo_config(parts: int, out: Path) -> LoadedConfig:
    """Return the demo's configuration for so many parts, writing under `out`."""
    if not CONFIG.exists():
        raise ConfigError(f"{CONFIG}: not there; the demo runs from a checkout of the repository: scripts/demo")
    loaded = load(CONFIG)
    camera = loaded.config.cameras["covers"]
    source = camera.source.model_copy(update={"parts": parts})
    update = {
        "cameras": {"covers": camera.model_copy(update={"source": source})},
        "jsonl": sections.Jsonl(path=str(out / "results.jsonl")),
        "evidence": sections.Evidence(path=str(out / "evidence"), verdicts=["NG"], borderline=0.0, late=False),
        "trace": sections.TraceFile(path=str(out / "trace.jsonl"), passed_over=1.0),
    }
    return replace(loaded, config=loaded.config.model_copy(update=update))


def clear(out: Path) -> None:
    """Remove what an earlier run left, so that what lies there is of this one."""
    kept = (path for path in (out / "evidence").rglob("covers-*") if path.is_file())
    for old in (out / "results.jsonl", out / "trace.jsonl", *kept):
        old.unlink(missing_ok=True)


def at_broker(config: sections.Config, broker: LocalBroker) -> sections.Config:
    """Return the configuration with that broker, and its version so that no part waits while that is found out."""
    return config.model_copy(update={"mqtt": sections.Mqtt(port=broker.port, version=broker.mqtt_version)})


@contextmanager
def listening(subscriber: Subscriber, board: Board, expected: int) -> Iterator[None]:
    """Let a thread take what a customer would receive, show and acknowledge it while the block runs."""
    heard_all = Event()

    def listen(stop: Event) -> None:
        parts: set[int | None] = {None}
        while not stop.is_set():
            arrival = subscriber.get(timeout_s=0.1)
            if arrival is None or isinstance(arrival.message, Preview):  # of which none was asked for
                continue
            board.receive(line_of(arrival.message))
            subscriber.acknowledge(arrival)
            if isinstance(arrival.message, Result):
                parts.add(arrival.message.part)
            if len(parts) > expected:
                heard_all.set()

    errors: list[BaseException] = []
    worker = Worker("subscriber", listen, lambda error: errors.append(error) if error else None)
    worker.start()
    try:
        yield
        heard_all.wait(LAST_WORDS_S)
    finally:
        worker.ask_to_stop()
        worker.join(LAST_WORDS_S)
    if errors:
        raise errors[0]


@contextmanager
def drawing(board: Board, console: Console) -> Iterator[None]:
    """Draw the board while the block runs, where there is a terminal to draw on."""
    if not console.is_terminal:
        yield
        return
    with Live(get_renderable=board.draw, console=console, refresh_per_second=5):
        yield


def line_printer(board: Board, console: Console) -> Callable[[Outcome], None]:
    """Return what prints one line for each part where there is no terminal for a table."""

    def show(outcome: Outcome) -> None:
        if not console.is_terminal:
            part, verdict, reason, *times = (str(cell) for cell in part_cells(outcome, board.shares_ms))
            console.print(f"part {part:>3} {verdict:<7} {times[-1]:>6} ms  {reason}", highlight=False, soft_wrap=True)

    return show


def summarise(product: Product, board: Board, out: Path, console: Console) -> None:
    """Print what was seen, how long it took, and where it lies."""
    judged = board.parts()
    verdicts = Counter(outcome.judgement.verdict.value for outcome in judged)
    counted = ", ".join(f"{verdicts[word]} {word}" for word in ("OK", "NG", "UNKNOWN"))
    misses = sum(tally.misses for tally in product.recorder.tallies().values())
    console.print(summary_table(product.recorder.overall(), {**board.shares_ms, TOTAL: board.budget_ms}))
    console.print(f"parts: {len(judged)} ({counted}); over the budget: {misses}", highlight=False)
    console.print(f"frames: {product.ledger.counts('covers')}", highlight=False)
    console.print(f"evidence of NG parts: {out / 'evidence'}", highlight=False, soft_wrap=True)
    console.print(f"results: {out / 'results.jsonl'}   traces: {out / 'trace.jsonl'}", highlight=False, soft_wrap=True)
    console.print(f"where the time went: taktsight report {out / 'trace.jsonl'}", highlight=False, soft_wrap=True)


def compare(outcomes: list[Outcome], parts: int, truth_file: Path, console: Console) -> None:
    """Check the verdicts against the ground truth of the tiles, which the product never sees."""
    tiles = json.loads(truth_file.read_text(encoding="utf-8"))["photos"]
    truth = [tiles[number % len(tiles)]["verdict"] for number in range(parts)]
    judged = [outcome.judgement.verdict.value for outcome in outcomes]
    if judged != truth:
        right = sum(said == true for said, true in zip(judged, truth, strict=False))
        raise DemoFailed(
            f"{right} of {parts} parts agree with the ground truth ({len(judged)} verdicts); on a machine too slow for "
            "the line's speed try again without other load, or see out/demo/trace.jsonl for where the time went"
        )
    console.print(f"[green]all {parts} verdicts agree with the ground truth[/]", highlight=False)
