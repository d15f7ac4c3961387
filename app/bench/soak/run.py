"""One soak: the faults of the plan, one after the other, while the line runs and is looked at."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from time import monotonic

from app.bench.soak.faults import Fault, Plan
from app.bench.soak.gateway import Gateway
from app.bench.soak.receiver import Arrived, Receiver, Viewer
from app.bench.soak.samples import Sample, look
from app.bench.soak.stage import Broker, Files, Line, fill, small_disk
from app.errors import TaktsightError

READY_S = 60.0
DELIVERED_S = 60.0
SAMPLE_S = 0.5
HEALTH_EVERY = 4
"""Samples between two looks at the health."""


class SoakFailed(TaktsightError):  # noqa: N818 - named after the event
    """The soak could not be carried out."""


@dataclass(slots=True)
class Found:
    """What a soak has seen.

    Attributes:
        done: the faults that took place, with the second at which each was over.
        samples: from outside.
        unbalanced: looks at which a camera's frames did not add up, as text.
        looked: how often the ledger was looked at.
        judged: ids of the results that were judged.
        arrived: what has come.
        unanswered: commands that were not answered as they had to be.
        asked: commands.
        log: the line's own.
        exit_code: of its process; None where it had to be killed.
        stop_s: how long it took to stop.
        has_disk: whether there was a small disk to fill.
    """

    plan: Plan
    fps: float
    done: list[tuple[Fault, float]] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    unbalanced: list[str] = field(default_factory=list)
    looked: int = 0
    judged: set[str] = field(default_factory=set)
    arrived: Arrived = field(default_factory=Arrived)
    unanswered: list[str] = field(default_factory=list)
    asked: int = 0
    log: list[dict[str, object]] = field(default_factory=list)
    exit_code: int | None = None
    stop_s: float = 0.0
    has_disk: bool = False

    @property
    def missing(self) -> set[str]:
        """The results that were judged and have not come."""
        return self.judged - self.arrived.ids

    @property
    def invented(self) -> set[str]:
        """Those that have come and were never judged."""
        return self.arrived.ids - self.judged


class Soak:
    """Runs a plan.

    Args:
        plan: what goes wrong, and when.
        fps: pictures a second of each camera.
        tell: told of each fault.
    """

    def __init__(self, plan: Plan, fps: float, tell: Callable[[str], None] = lambda _: None) -> None:
        self.found = Found(plan, fps)
        self._plan = plan
        self._tell = tell
        self._began_s = 0.0
        self._changed = False
        self._never = Event()

    def run(self) -> Found:
        """Run it to its end.

        Raises:
            SoakFailed: the line did not come up, or has ended in the middle.
        """
        with ExitStack() as stack:
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="taktsight-soak-")))
            disk = stack.enter_context(small_disk(folder))
            self._disk = disk
            self.found.has_disk = disk is not None
            self._broker = stack.enter_context(Broker())
            self._gateway = stack.enter_context(Gateway(self._broker.port))
            self._files = Files(folder, disk or folder / "disk", self.found.fps, self._gateway.port)
            self._receiver = stack.enter_context(Receiver(self._broker.port))
            self._viewer = stack.enter_context(Viewer(self._broker.port))
            self._line = stack.enter_context(Line(self._files))
            self._wait_until_ready()
            self._carry_out()
            self._end()
        return self.found

    @property
    def _now_s(self) -> float:
        return monotonic() - self._began_s

    def _wait_until_ready(self) -> None:
        until_s = monotonic() + READY_S
        while monotonic() < until_s and self._line.is_running:
            health = self._line.health()
            if health is not None and all(camera.state == "online" for camera in health.cameras.values()):
                return
            self._never.wait(0.2)
        raise SoakFailed(f"the line did not come up:\n{self._files.log.read_text(encoding='utf-8')[-2000:]}")

    def _carry_out(self) -> None:
        self._began_s = monotonic()
        for fault in self._plan.faults:
            self._watch_until(fault.begins_s)
            if fault.kind is self._plan.kinds[0]:
                self._line.order("memory", "", 0)
            if fault.kind.name == "disk" and self._disk is None:
                continue
            self._tell(f"round {fault.round + 1} of {self._plan.rounds}: {fault.kind.text}")
            undo = self._begin(fault)
            self._watch_until(fault.begins_s + fault.lasts_s)
            undo()
            self.found.done.append((fault, self._now_s))
            self._files.rotate()
        self._watch_until(self._plan.seconds)

    def _watch_until(self, until_s: float) -> None:
        while (left_s := until_s - self._now_s) > 0:
            if not self._line.is_running:
                raise SoakFailed(f"the line has ended:\n{self._files.log.read_text(encoding='utf-8')[-3000:]}")
            self._sample()
            self._never.wait(min(SAMPLE_S, left_s))

    def _sample(self) -> None:
        health = self._line.health() if len(self.found.samples) % HEALTH_EVERY == 0 else None
        if health is not None:
            self.found.looked += 1
            self.found.unbalanced += [
                f"{self._now_s:.0f} s: {name}: {camera.frames}"
                for name, camera in health.cameras.items()
                if not camera.balanced
            ]
        self.found.samples.append(look(self._line.pid, self._now_s, health))

    def _begin(self, fault: Fault) -> Callable[[], None]:
        """Have something go wrong; return what sets it right, where that is not done by itself."""
        kind = fault.kind
        if kind.inside:
            self._line.order(kind.name, kind.at, fault.lasts_s)
            if kind.name == "clock":
                return lambda: self._line.order("clock", "", 0)
            return _nothing
        begin: Callable[[Fault], Callable[[], None]] = getattr(self, f"_fault_{kind.name}")
        return begin(fault)

    # ── what is done from outside ────────────────────────────────────────────────────────────────────────────────────

    def _fault_broker(self, _: Fault) -> Callable[[], None]:
        self._gateway.shut()
        if not self._receiver.catch_up(20.0):
            raise SoakFailed("the broker did not answer the soak's own subscriber")
        self._broker.stop()
        self._receiver.forget()  # on a busy machine it may not have seen yet that the broker is gone

        def undo() -> None:
            self._broker.start()
            if not self._receiver.wait_until_subscribed(20.0):
                raise SoakFailed("the soak's own subscriber did not come back")
            self._gateway.open()

        return undo

    def _fault_cut(self, _: Fault) -> Callable[[], None]:
        self._gateway.cut()
        return self._gateway.cut

    def _fault_disk(self, _: Fault) -> Callable[[], None]:
        assert self._disk is not None
        ballast = fill(self._disk)
        return lambda: ballast.unlink(missing_ok=True)

    def _fault_reload(self, _: Fault) -> Callable[[], None]:
        def turn() -> None:
            self._changed = not self._changed
            self._files.write(changed=self._changed)
            self._line.reload()

        turn()
        return turn

    def _fault_commands(self, _: Fault) -> Callable[[], None]:
        ask = self._receiver.ask
        wanted = {
            ask("pause", camera="front"): True,
            ask("resume", camera="front"): True,
            ask("snapshot", camera="side"): True,
            ask("set_threshold", camera="side", score=0.4, **{"class": "cover"}): True,
            ask("pause", camera="nowhere"): False,
            ask("explode", camera="front"): False,
        }

        def undo() -> None:
            self.found.asked += len(wanted)
            for one, is_done in wanted.items():
                if (said := self._receiver.answer(one)) is not is_done:
                    self.found.unanswered.append(f"{one}: {said}")

        return undo

    def _fault_slow(self, fault: Fault) -> Callable[[], None]:
        self._viewer.be_slow(fault.lasts_s)
        return _nothing

    # ── the end ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _end(self) -> None:
        """Wait until the broker has everything, then stop the line, and look at what it leaves."""
        until_s = monotonic() + DELIVERED_S
        while monotonic() < until_s:
            health = self._line.health()
            if health is not None and health.service.outbox_oldest_s < 1.0:
                break
            self._never.wait(0.2)
        began_s = monotonic()
        self.found.exit_code = self._line.stop()
        self.found.stop_s = monotonic() - began_s
        self.found.judged = self._files.judged()
        until_s = monotonic() + DELIVERED_S / 6
        while self.found.judged - self._receiver.arrived.ids and monotonic() < until_s:
            self._never.wait(0.1)
        self.found.arrived = self._receiver.arrived
        self.found.log = self._files.lines()


def _nothing() -> None:
    """It is over by itself."""
