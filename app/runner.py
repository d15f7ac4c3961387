"""Runs a configuration in the foreground: log, signals, and the summary at the end."""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from types import FrameType

from app.config import LoadedConfig, load
from app.config.secrets import mask, secrets_in
from app.errors import ConfigError, TaktsightError
from app.heartbeat import Heartbeat
from app.log.setup import logging_to_stderr
from app.notify import Notifier
from app.steady.arenas import few_arenas
from app.wiring import Product, Watchers, build
from app.wiring.swap import Swap

logger = logging.getLogger(__name__)


def run_until_stopped(loaded: LoadedConfig, swap: Swap | None = None) -> list[str]:
    """Run until every source has ended, or SIGTERM or SIGINT comes.

    Args:
        loaded: the configuration.
        swap: what stands in the place of the product's own parts, in a trial.

    Returns:
        The threads that are stuck in a driver; the process has to end without waiting for them.

    Raises:
        ModelError: a model file can't be used as configured.
        ConfigError: rules and model don't fit together.
    """
    few_arenas()
    config, notifier = loaded.config, Notifier()
    with logging_to_stderr(config.log, partial(mask, secrets=secrets_in(config))) as log:
        notifier.status("loading the models")
        product = build(loaded, Watchers(on_judged=log.judged, log_dropped=lambda: log.writer.dropped), swap)
        product.service.look_after(log.writer.thread)
        heart = Heartbeat(notifier, product.board, lambda: product.service.turns)

        def ready() -> None:
            product.board.engines_ready()
            logger.info("ready: inspecting")

        def reload() -> None:
            if reloaded(loaded.path, product, notifier):
                log.configure(product.reload.in_force.config.log)

        with stopping_on_signals(product.service.stop), reloading_on_signal(partial(product.service.ask, reload)):
            try:
                product.service.run(ready, heart.beat, heart.every_s)
            finally:
                notifier.stopping("delivering what waits")
                report(product)
    return [*product.service.stuck, *(["log"] if log.writer.stuck else [])]


@contextmanager
def stopping_on_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` on SIGTERM and SIGINT while the block runs."""

    def heed(number: int, _: FrameType | None) -> None:
        logger.info("stopping on %s", signal.Signals(number).name)
        stop()

    before = {number: signal.signal(number, heed) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def reloading_on_signal(ask: Callable[[], None]) -> Iterator[None]:
    """Have the configuration read again on SIGHUP while the block runs."""
    before = signal.signal(signal.SIGHUP, lambda *_: ask())
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)


def reloaded(path: Path, product: Product, notifier: Notifier) -> bool:
    """Read a configuration again and go by it; where it can't be, say why and go on with the one before."""
    notifier.reloading()
    try:
        found = product.reload(load(path))
    except TaktsightError as error:
        faults = error.faults if isinstance(error, ConfigError) else (str(error),)
        for fault in faults:
            logger.error("not reloaded: %s", fault)  # noqa: TRY400 - a planned refusal, whose traceback tells nothing
        text = f"{path} is refused, and what was in force stays: {faults[0]}"
        product.outbox.event("", "reload", text, faults=list(faults))
        notifier.ready(text)
        return False
    notifier.ready(f"reloaded: {found}")
    return True


def report(product: Product) -> None:
    """Log what became of every camera's frames, and which threads did not stop."""
    for camera in product.ledger.cameras:
        counts = product.ledger.counts(camera)
        level = logging.INFO if counts.balanced else logging.ERROR
        logger.log(level, "%s: %s", camera, counts, extra={"camera": camera, "counts": asdict(counts)})
    if product.service.stuck:
        logger.warning("ending without %s: blocked in a driver", ", ".join(product.service.stuck))
