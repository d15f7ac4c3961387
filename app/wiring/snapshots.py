"""Pictures that somebody asked for."""

from __future__ import annotations


class Snapshots:
    """Cameras of which the next picture is kept, whatever its verdict."""

    def __init__(self) -> None:
        self._asked: set[str] = set()

    def ask(self, camera: str) -> None:
        """Want the camera's next picture; from any thread."""
        self._asked.add(camera)

    def wants(self, camera: str) -> bool:
        """Whether this picture was asked for; once for each time that it was."""
        if camera not in self._asked:
            return False
        self._asked.discard(camera)
        return True
