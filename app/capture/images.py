"""Picture files as a source: one file, or a folder in natural order, watched or not."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from time import monotonic_ns
from types import TracebackType

from typing_extensions import Self

from app.capture.listing import label_of, pictures_in
from app.capture.picture_file import SUFFIXES, load
from app.capture.watch import Arrival, Arrivals
from app.config.sections import ImagesSource
from app.errors import EndOfStream, SourceError, SourceLost
from app.frame import NO_IMAGE, Picture
from app.verdict import Reason


class Images:
    """Pictures from the disk, every one of them; a bad file is a picture with a fault, never left out.

    `exposed_ns` is when the reading of the file began; in a watched folder, when the file was last written to.
    """

    def __init__(self, section: ImagesSource) -> None:
        self._section = section
        self._path = Path(section.path)
        self._waiting: deque[Path | Arrival] = deque()
        self._arrivals: Arrivals | None = None
        self._loop = 0

    def __enter__(self) -> Self:
        """List the files.

        Raises:
            SourceError: the path is not there or holds no picture, and nothing would ever come.
            SourceLost: the watched folder is not there now.
        """
        self._loop = 0
        self._arrivals = Arrivals(self._path, SUFFIXES) if self._section.watch else None
        self._waiting = deque(self._listing())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Forget the files."""
        self._waiting.clear()
        self._arrivals = None

    def read(self, timeout_s: float) -> Picture | None:
        """Return the next file's picture; None where a watched folder got no new file in time."""
        if not self._waiting and not self._refill(timeout_s):
            return None
        item = self._waiting.popleft()
        path, exposed_ns = (item.path, item.written_ns) if isinstance(item, Arrival) else (item, monotonic_ns())
        loaded = load(path, self._section.bit_depth)
        image, fault = (NO_IMAGE, loaded) if isinstance(loaded, Reason) else (loaded, None)
        return Picture(image, exposed_ns, monotonic_ns(), label_of(path), self._loop, fault)

    def _refill(self, timeout_s: float) -> bool:
        """Find more files; False where none came in time."""
        if self._arrivals is not None:
            self._waiting.extend(self._arrivals.wait(timeout_s))
            return bool(self._waiting)
        if self._section.on_end == "stop":
            raise EndOfStream(f"{self._path}: the last picture was read")
        self._loop += 1
        self._waiting.extend(self._listing())
        return True

    def _listing(self) -> list[Path]:
        """Return the files there are now; none yet of a watched folder, whose files come as they are complete."""
        if self._arrivals is not None:
            if not self._path.is_dir():
                raise SourceLost(f"{self._path}: the watched folder is not there; make it or mount it")
            return []
        if self._path.is_file():
            return [self._path]
        return self._folder()

    def _folder(self) -> list[Path]:
        """List a folder; an empty one is an error and not a silent success."""
        try:
            paths = pictures_in(self._path, SUFFIXES)
        except OSError as error:
            raise SourceError(f"{self._path}: {error.strerror}; images need a picture or a folder of them") from error
        if not paths:
            kinds = " ".join(sorted(SUFFIXES))
            raise SourceError(f"{self._path}: no picture in this folder ({kinds}; sub-folders are not read)")
        return paths
