"""Looks at the health again and again: publishes it, and tells of frames that are not accounted for."""

from __future__ import annotations

import logging
from collections.abc import Callable

import msgspec

from app.health.board import Board
from app.publish.base import StatusBoard

logger = logging.getLogger(__name__)

EVERY_S = 10.0


class Checkup:
    """Done in a rhythm by whoever has one.

    Args:
        board: asked each time.
        status: keeps the retained status.
        event: takes camera, kind, text and data; must not wait.
    """

    def __init__(self, board: Board, status: StatusBoard, event: Callable[..., None]) -> None:
        self._board = board
        self._status = status
        self._event = event
        self._unbalanced: set[str] = set()

    def page(self) -> tuple[bool, bytes]:
        """Return whether all is well, and how everything is, as JSON."""
        health = self._board.health()
        return health.service.healthy, msgspec.json.encode(health)

    def look(self) -> None:
        """Publish how everything is; an error event for a camera whose frames no longer add up, once each time."""
        health = self._board.health()
        self._status.set_health(health)
        unbalanced = {name for name, camera in health.cameras.items() if not camera.balanced}
        for name in sorted(unbalanced - self._unbalanced):
            frames = health.cameras[name].frames
            logger.error("%s: the frames don't add up: %s", name, frames)
            self._event(name, "error", "its frames don't add up; this is a fault of the product", **frames)
        self._unbalanced = unbalanced
