"""GStreamer's Python bindings: found, loaded once, or refused with the package that is missing."""

from __future__ import annotations

import sys
import threading
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from app.capture.gst_packages import BINDINGS
from app.errors import SourceError

SYSTEM = Path("/usr/lib/python3/dist-packages")
"""Where Debian, and so JetPack, keep the modules of the system's Python."""

_loading = threading.Lock()


@dataclass(frozen=True, slots=True)
class Libraries:
    """What is used of GStreamer; untyped, because the bindings are made while they are loaded."""

    gst: Any
    video: Any
    glib: Any


def load() -> Libraries:
    """Return GStreamer, initialised.

    A virtual environment sees it if it was made with --system-site-packages. In any other the bindings of the system's
    Python are used where they were built for the same version of Python; nothing else of the system is.

    Raises:
        SourceError: the bindings are not there; the text names the packages.
    """
    with _loading:
        return _load()


@cache
def _load() -> Libraries:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the bindings' own importer is of an old kind
        _bindings()
        try:
            return _libraries()
        except (ImportError, ValueError) as error:
            raise SourceError(f"GStreamer's Python bindings are incomplete: {error}; install {BINDINGS}") from error


def _bindings() -> ModuleType:
    """Import `gi`, from the system's folder where this environment has none."""
    try:
        import gi  # noqa: PLC0415 - only where a camera wants it
    except ImportError:
        why = refusal(SYSTEM)
        if why is not None:
            raise SourceError(f"kind gstreamer: {why}") from None
        sys.path.append(str(SYSTEM))
        try:
            import gi  # noqa: PLC0415 - as above
        finally:
            sys.path.remove(str(SYSTEM))
    return gi  # type: ignore[no-any-return]  # it has no types


def _libraries() -> Libraries:
    import gi  # noqa: PLC0415 - as above

    for name in ("Gst", "GstApp", "GstVideo"):
        gi.require_version(name, "1.0")
    from gi.repository import GLib, Gst, GstApp, GstVideo  # noqa: F401, PLC0415 - GstApp gives appsinks their methods

    Gst.init(None)
    return Libraries(Gst, GstVideo, GLib)


def refusal(folder: Path, version: tuple[int, int] = sys.version_info[:2]) -> str | None:
    """Return why this Python can't use the bindings of the system's, with what to do, or None where it can."""
    if not (folder / "gi").is_dir():
        return f"GStreamer's Python bindings are not installed; install {BINDINGS}"
    built = sorted(path.name.split(".")[1] for path in (folder / "gi").glob("_gi.cpython-*.so"))
    tag = "cpython-{}{}-".format(*version)
    if any(name.startswith(tag) for name in built):
        return None
    return (
        "GStreamer's Python bindings are for the system's Python ({}), this is Python {}.{}; install Taktsight with "
        "the system's Python"
    ).format(", ".join(built) or "of an unknown version", *version)
