"""Reading a source to its end."""

from app.capture.base import Source
from app.errors import EndOfStream
from app.frame import Picture


def read_all(source: Source, timeout_s: float = 0.0) -> list[Picture]:
    """Enter the source and return all its pictures."""
    pictures = []
    with source:
        try:
            while True:
                picture = source.read(timeout_s)
                pictures += [picture] if picture is not None else []
        except EndOfStream:
            return pictures
