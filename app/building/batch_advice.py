"""Which batch to use: what memory would allow, what was measured, and what the cameras' budget leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

HELD_BACK = 2
"""Samples' worth of memory that stays free: for the frame before and for what else runs."""

BUSY = 0.8
"""Share of the time that an engine may be at work: above it waiting lines grow without end."""

WORTHWHILE = 1.05
"""How many times the pictures a second a larger batch must give to be worth its longer wait."""


@dataclass(frozen=True, slots=True)
class Measured:
    """How long one batch takes, from pictures in the host's memory to results there."""

    batch: int
    p50_ms: float
    p99_ms: float

    @property
    def pictures_per_s(self) -> float:
        """At full load."""
        return self.batch / self.p50_ms * 1000


@dataclass(frozen=True, slots=True)
class Room:
    """What memory allows.

    Attributes:
        free_bytes: now, before anything of this is loaded.
        fixed_bytes: the weights.
        sample_bytes: what one more picture in the batch takes.
    """

    free_bytes: int
    fixed_bytes: int
    sample_bytes: int

    @property
    def seed(self) -> int:
        """The largest batch that memory allows, two samples held back; 1 at least."""
        left = self.free_bytes - self.fixed_bytes
        return max(1, left // max(self.sample_bytes, 1) - HELD_BACK)


@dataclass(frozen=True, slots=True)
class Load:
    """What is asked of an engine.

    Attributes:
        budget_ms: from the picture's hand-over to the engine's results, waiting for the batch included.
    """

    cameras: int
    fps: float
    budget_ms: float

    @property
    def pictures_per_s(self) -> float:
        """Of all cameras together."""
        return self.cameras * self.fps

    def __str__(self) -> str:
        cameras = "1 camera" if self.cameras == 1 else f"{self.cameras} cameras"
        return f"{cameras} at {self.fps:g} fps within {self.budget_ms:g} ms"


@dataclass(frozen=True, slots=True)
class Fit:
    """What a batch would mean for a load.

    Attributes:
        fill_ms: the first picture of a batch waits so long for the last one.
        worst_ms: it waits, the batch before is still running, and then it runs: at the 99th percentile.
        busy: share of the time that the engine works.
    """

    measured: Measured
    fill_ms: float
    worst_ms: float
    busy: float

    def meets(self, load: Load) -> bool:
        """Whether every picture is in time and the engine keeps up."""
        return self.worst_ms <= load.budget_ms and self.busy <= BUSY


def room_of(free_bytes: int, used_bytes: Mapping[int, int]) -> Room | None:
    """Return what memory allows, from what batches were seen to take; None where nothing was.

    Args:
        free_bytes: before anything was loaded.
        used_bytes: what was taken while a batch of that size was loaded.
    """
    if not used_bytes:
        return None
    small, large = min(used_bytes), max(used_bytes)
    if small == large:
        return Room(free_bytes, 0, max(used_bytes[small] // small, 1))
    sample = max((used_bytes[large] - used_bytes[small]) // (large - small), 1)
    return Room(free_bytes, max(used_bytes[small] - small * sample, 0), sample)


def fit(measured: Measured, load: Load) -> Fit:
    """Return what a batch would mean for a load, pictures coming evenly spread."""
    fill_ms = (measured.batch - 1) / load.pictures_per_s * 1000
    busy = load.pictures_per_s / measured.pictures_per_s
    return Fit(measured, fill_ms, fill_ms + 2 * measured.p99_ms, busy)


def choose(rows: Sequence[Measured], load: Load, room: Room | None = None) -> Fit | None:
    """Return the smallest batch that meets a load; None where none does.

    The smallest, because a larger one only makes pictures wait longer once the engine keeps up.
    """
    allowed = [row for row in rows if room is None or row.batch <= room.seed]
    return next((one for row in allowed if (one := fit(row, load)).meets(load)), None)


def advice(rows: Sequence[Measured], load: Load, room: Room | None = None) -> str:
    """Say which batch to use for a load, or what would have to change.

    Args:
        rows: one at least, the smallest batch first.
        load: cameras, their rate and their budget.
        room: None where memory is not known.
    """
    found = choose(rows, load, room)
    if found is not None:
        return (
            f"{load}: batch {found.measured.batch}; a picture waits {found.fill_ms:.1f} ms for it to fill, it takes "
            f"{found.measured.p99_ms:.1f} ms (p99), the worst case is {found.worst_ms:.1f} ms, and the engine is busy "
            f"{found.busy:.0%} of the time"
        )
    return f"{load}: no batch does it. {_why_not(rows, load, room)}"


def seed_advice(rows: Sequence[Measured], room: Room | None) -> str:
    """Say what memory would allow, and from which batch on a larger one gains nothing; "" where there is one row only.

    The formula alone is a start: memory says how many pictures fit, only a clock says whether they should.
    """
    said = []
    if room is not None:
        said.append(
            f"memory allows batches up to {room.seed}: {_mb(room.free_bytes)} free, {_mb(room.fixed_bytes)} weights, "
            f"{_mb(room.sample_bytes)} a picture, {HELD_BACK} held back"
        )
    best = largest_worthwhile(rows)
    if len(rows) > 1:
        more = [row for row in rows if row.batch > best.batch]
        least = f"measured, batch {best.batch} is the largest of use: {best.pictures_per_s:.0f} pictures a second"
        said.append(f"{least}, {more[-1].pictures_per_s:.0f} with batch {more[-1].batch}" if more else least)
    return "; ".join(said)


def largest_worthwhile(rows: Sequence[Measured]) -> Measured:
    """Return the largest batch that gives clearly more pictures a second than all smaller ones."""
    best = rows[0]
    for row in rows[1:]:
        if row.pictures_per_s >= best.pictures_per_s * WORTHWHILE:
            best = row
    return best


def most_cameras(rows: Sequence[Measured], load: Load, room: Room | None = None) -> int:
    """Return how many cameras of this rate and budget there may be at most."""
    count = 0
    while count < load.cameras and choose(rows, Load(count + 1, load.fps, load.budget_ms), room) is not None:
        count += 1
    return count


def _why_not(rows: Sequence[Measured], load: Load, room: Room | None) -> str:
    most = max(row.pictures_per_s for row in rows)
    if load.pictures_per_s > BUSY * most:
        why = f"{load.pictures_per_s:.0f} pictures a second come and the engine gives {most:.0f} at most"
    else:
        fits = [fit(row, load) for row in rows]
        nearest = min((one for one in fits if one.busy <= BUSY), key=lambda one: one.worst_ms)
        why = f"the nearest is batch {nearest.measured.batch} with {nearest.worst_ms:.1f} ms in the worst case"
    cameras = most_cameras(rows, load, room)
    return f"{why}. It would do for {cameras} of these cameras" if cameras else f"{why}. Not one such camera would do"


def _mb(size: int) -> str:
    return f"{size / 1e6:,.0f} MB" if size >= 10e6 else f"{size / 1e6:.1f} MB"  # noqa: PLR2004 - digits that mean something
