"""Runs a wired product in the foreground: logging, signals, and the summary at the end."""

from __future__ import annotations

import logging
import signal
from collections.abc import Iterable
from types import FrameType

from app.config.secrets import mask
from app.log import logging_to_stderr
from app.wiring import Product

logger = logging.getLogger(__name__)


def run_until_stopped(product: Product, secrets: Iterable[str] = ()) -> list[str]:
    """Run until every source has ended, or SIGTERM or SIGINT comes.

    Args:
        product: from `wiring.build`.
        secrets: masked in every line of the log, whoever wrote it.

    Returns:
        The threads that are stuck in a driver; the process has to end without waiting for them.
    """

    def stop(number: int, _: FrameType | None) -> None:
        logger.info("stopping on %s", signal.Signals(number).name)
        product.service.stop()

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        with logging_to_stderr(lambda text: mask(text, secrets)):
            product.service.run(on_ready=lambda: logger.info("ready: inspecting"))
            report(product)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return product.service.stuck


def report(product: Product) -> None:
    """Log what became of every camera's frames, and which threads did not stop."""
    for camera in product.ledger.cameras:
        counts = product.ledger.counts(camera)
        level = logging.INFO if counts.balanced else logging.ERROR
        logger.log(level, "%s: %s", camera, counts)
    if product.service.stuck:
        logger.warning("ending without %s: blocked in a driver", ", ".join(product.service.stuck))
