"""Ways of looking at pictures, compared with one another on the same pictures in turns."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from app.config.sections import Refine
from app.detections import Detections
from app.refine import Refiner
from tests.refine.network import LEAST, Network

See = Callable[[np.ndarray], Detections]


@dataclass
class Way:
    """One way of looking, and what it gave.

    Attributes:
        found: in each picture.
        spent_ms: by round, for each picture.
        cpu_ms: by round, for all pictures: the processor's time, which neighbours on the machine add little to.
        looks: pictures and parts that its networks looked at, in all rounds.
    """

    name: str
    networks: tuple[Network, ...]
    see: See
    found: list[Detections] = field(default_factory=list)
    spent_ms: list[list[float]] = field(default_factory=list)
    cpu_ms: list[float] = field(default_factory=list)
    looks: int = 0

    @property
    def total_ms(self) -> float:
        """For all pictures, the median round's: looks are not spread evenly over pictures."""
        return statistics.median(sum(spent) for spent in self.spent_ms)

    @property
    def total_cpu_ms(self) -> float:
        """The processor's time for all pictures, the median round's."""
        return statistics.median(self.cpu_ms)

    @property
    def looks_each(self) -> float:
        """Looks at one picture, on average."""
        return self.looks / sum(len(spent) for spent in self.spent_ms)

    def percentile_ms(self, share: float) -> float:
        """Nearest rank over all pictures and rounds."""
        every = sorted(value for spent in self.spent_ms for value in spent)
        return every[max(0, int(np.ceil(share * len(every))) - 1)]

    def go(self, image: np.ndarray, turn: int) -> None:
        """Look at one picture once."""
        before = sum(network.looks for network in self.networks)
        begin, begin_cpu = time.perf_counter_ns(), time.thread_time_ns()
        found = self.see(image)
        # All is done on this thread: the networks have one, and OpenCV is told so.
        spent_ms, cpu_ms = (time.perf_counter_ns() - begin) / 1e6, (time.thread_time_ns() - begin_cpu) / 1e6
        self.looks += sum(network.looks for network in self.networks) - before
        if turn == 0:
            self.found.append(found)
        if turn == len(self.spent_ms):
            self.spent_ms.append([])
            self.cpu_ms.append(0.0)
        self.spent_ms[turn].append(spent_ms)
        self.cpu_ms[turn] += cpu_ms


def whole(network: Network) -> See:
    """One look at the whole picture."""
    return network.look


def refined(first: Network, section: Refine, second: Network | None = None) -> See:
    """A first look at the whole picture and a second one at parts, with the same network or another one."""
    refiner = Refiner(section, first.names)
    least = min(LEAST, refiner.min_score)
    look_again = (second or first).look_at_all
    return lambda image: refiner.run(image, first.look(image, least), look_again).detections


def tiles_only(network: Network, section: Refine) -> See:
    """Tiles without a first look."""
    refiner = Refiner(section, network.names)
    return lambda image: refiner.run(image, Detections.none(network.names), network.look_at_all).detections


def measure(ways: list[Way], pictures: Iterable[np.ndarray], rounds: int) -> None:
    """Have all ways look at each picture in turns; each time another one begins."""
    for index, picture in enumerate(pictures):
        for turn in range(rounds):
            first = (index + turn) % len(ways)
            for way in ways[first:] + ways[:first]:
                way.go(picture, turn)
