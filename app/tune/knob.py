"""Which buffer a source has, from which size it is tried, and how it is named in the configuration."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from app.config import sections
from app.errors import ConfigError

V4L2_DEFAULT = 4
"""Pictures that OpenCV asks a driver to keep by itself."""

TCP_DEFAULT, UDP_DEFAULT = Path("/proc/sys/net/ipv4/tcp_rmem"), Path("/proc/sys/net/core/rmem_default")
FALLBACK_BYTES = 131072
SMALLEST_BYTES = 8192


@dataclass(frozen=True, slots=True)
class Knob:
    """The buffer of one source.

    Attributes:
        key: of the source's section.
        unit: for a person.
        sizes: from the default downwards, each half of the one before.
    """

    key: str
    unit: str
    sizes: tuple[int, ...]


def knob_of(source: sections.Source) -> Knob:
    """Return the buffer of a source.

    Raises:
        ConfigError: it has none.
    """
    match source:
        case sections.V4l2Source():
            return Knob("buffers", "pictures", halves(max(V4L2_DEFAULT, source.buffers), 1))
        case sections.StreamSource(transport="tcp") if source.url.lower().startswith("rtsp"):
            raise ConfigError(
                "RTSP over tcp has no buffer of its own: the system sizes it as the stream asks; "
                "with transport: udp there is one to tune"
            )
        case sections.StreamSource():
            udp = source.url.lower().startswith("rtsp")
            default = system_bytes(UDP_DEFAULT if udp else TCP_DEFAULT)
            return Knob("buffer_bytes", "bytes", halves(max(default, source.buffer_bytes or 0), SMALLEST_BYTES))
    raise ConfigError(f"kind: {source.kind} has no buffer to tune; cameras of kind v4l2 and stream have one")


def halves(largest: int, smallest: int) -> tuple[int, ...]:
    """Return a size, half of it, and so on, down to the smallest that is allowed."""
    sizes = [largest]
    while sizes[-1] // 2 >= smallest:
        sizes.append(sizes[-1] // 2)
    return tuple(sizes)


def system_bytes(file: Path) -> int:
    """Return the system's default for a socket's receive buffer: of three numbers the middle one."""
    try:
        numbers = [int(word) for word in file.read_text(encoding="ascii").split()]
    except (OSError, ValueError):
        return FALLBACK_BYTES
    return numbers[len(numbers) // 2] if numbers else FALLBACK_BYTES
