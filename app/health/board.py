"""Keeps what each camera does and makes one picture of the whole service from it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from threading import Lock
from time import monotonic

from app.capture.state import CameraState
from app.health.vitals import Vitals
from app.latency.recorder import TOTAL, Recorder
from app.ledger import Counts, Ledger
from app.publish.health import CameraHealth, Health, ServiceHealth
from app.publish.lane import LaneCounts
from app.verdict import Outcome, Verdict

HOUR_S = 3600.0
RATE_S = 10.0
"""Verdicts a second are counted over so long."""
P99_WINDOW_S = 60
OLDEST_S = 10.0
"""A result that has waited longer for the broker is a problem to be told of."""
DISK_BYTES = 200 << 20
"""Less room than this is one, too."""
FIRST_PICTURES = 2
"""Good pictures after which a camera works: a graph on a GPU is proved on two before it is trusted."""
FIRST_PICTURE_S = 10.0
"""How long a camera that is there may take to them before the service is ready without it."""


@dataclass(slots=True)
class _Camera:
    """What is known of one camera; guarded by the board's lock."""

    began_s: float
    state: CameraState = CameraState.CONNECTING
    reason: str = "not opened yet"
    since_s: float = 0.0
    good: int = 0
    lost_s: deque[float] = field(default_factory=deque)
    stalled_s: deque[float] = field(default_factory=deque)


class Board:
    """Told of states and outcomes from any thread; asked by whoever shows them.

    Args:
        ledger: where every frame's fate stands.
        recorder: what was measured.
        outbox: the counts of the broker's lane and its oldest message's age in seconds; zeros without a broker.
        vitals: of the process and its machine.
        broker: says why the broker can't be reached; empty where it can.
        engines: names the models that run, each with the place where it does.
        clock: seconds, monotonic.
    """

    def __init__(
        self,
        ledger: Ledger,
        recorder: Recorder,
        outbox: Callable[[], tuple[LaneCounts, float]],
        vitals: Callable[[], Vitals],
        broker: Callable[[], str] = str,
        engines: Callable[[], Sequence[str]] = tuple,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._ledger = ledger
        self._recorder = recorder
        self._outbox = outbox
        self._vitals = vitals
        self._broker = broker
        self._engines = engines
        self._clock = clock
        self._began_s = clock()
        self._lock = Lock()
        self._cameras = {name: _Camera(self._began_s, since_s=self._began_s) for name in ledger.cameras}
        self._verdicts_s: deque[float] = deque()

    def add_camera(self, name: str) -> None:
        """Look after one camera more, or after one that begins anew."""
        with self._lock:
            self._cameras[name] = _Camera(self._clock(), since_s=self._clock())

    def remove_camera(self, name: str) -> None:
        """Look after it no longer."""
        with self._lock:
            del self._cameras[name]

    def set_camera(self, name: str, state: CameraState, reason: str) -> None:
        """Take a change of a camera's state; of one that was removed it is no news."""
        now_s = self._clock()
        with self._lock:
            camera = self._cameras.get(name)
            if camera is None:
                return
            if state is CameraState.LOST:
                camera.lost_s.append(now_s)
            elif state.is_stall:
                camera.stalled_s.append(now_s)
            camera.state, camera.reason, camera.since_s = state, reason, now_s

    def is_online(self, name: str) -> bool:
        """Whether a camera gives pictures now."""
        with self._lock:
            return name in self._cameras and self._cameras[name].state is CameraState.ONLINE

    def judged(self, outcome: Outcome) -> None:
        """Take a verdict."""
        now_s = self._clock()
        with self._lock:
            self._verdicts_s.append(now_s)
            _forget(self._verdicts_s, now_s - RATE_S)
            camera = self._cameras.get(outcome.camera)
            if camera is not None and outcome.judgement.verdict is not Verdict.UNKNOWN:
                camera.good += 1

    def unsettled(self) -> list[str]:
        """Return the cameras that may yet give their first good picture; while there are any, the service begins."""
        now_s = self._clock()
        with self._lock:
            return [name for name, camera in self._cameras.items() if self._begins(name, camera, now_s)]

    def _begins(self, name: str, camera: _Camera, now_s: float) -> bool:
        if camera.good >= FIRST_PICTURES or camera.state in (CameraState.LOST, CameraState.ENDED):
            return False
        # A gate passes pictures over without a verdict: that is work done as well.
        return self._ledger.counts(name).skipped == 0 and now_s - camera.began_s < FIRST_PICTURE_S

    def engines_ready(self) -> None:
        """Count the cameras' time to their first picture from here: until now none was opened."""
        with self._lock:
            for camera in self._cameras.values():
                camera.began_s = self._clock()

    def health(self) -> Health:
        """Return how everything is now."""
        now_s = self._clock()
        levels = self._recorder.budget_counts().levels
        counts = {name: self._ledger.counts(name) for name in self._ledger.cameras}
        with self._lock:
            cameras = {
                name: _camera_health(camera, counts[name], levels.get(name, ""), now_s)
                for name, camera in self._cameras.items()
            }
            _forget(self._verdicts_s, now_s - RATE_S)
            per_s = len(self._verdicts_s) / min(RATE_S, max(now_s - self._began_s, 1.0))
        return Health(service=self._service(cameras, per_s, now_s), cameras=cameras)

    def _service(self, cameras: dict[str, CameraHealth], per_s: float, now_s: float) -> ServiceHealth:
        lane, oldest_s = self._outbox()
        vitals, broker = self._vitals(), self._broker()
        problems = [*_camera_problems(cameras), *filter(None, [broker]), *_other_problems(oldest_s, vitals)]
        return ServiceHealth(
            healthy=not problems,
            problems=problems,
            uptime_s=round(now_s - self._began_s, 1),
            verdicts_per_s=round(per_s, 2),
            p99_ms=self._p99_ms(),
            engines=list(self._engines()),
            broker=broker,
            outbox_waiting=lane.waiting,
            outbox_oldest_s=round(oldest_s, 3),
            outbox_dropped=lane.dropped,
            **asdict(vitals),
        )

    def _p99_ms(self) -> float | None:
        rows = self._recorder.window(P99_WINDOW_S, TOTAL)
        return max((round(row.percentiles.p99, 2) for row in rows), default=None)


def _camera_health(camera: _Camera, counts: Counts, level: str, now_s: float) -> CameraHealth:
    for times_s in (camera.lost_s, camera.stalled_s):
        _forget(times_s, now_s - HOUR_S)
    return CameraHealth(
        state=camera.state.value,
        reason=camera.reason,
        since_s=round(now_s - camera.since_s, 1),
        reconnects_per_h=len(camera.lost_s),
        stalls_per_h=len(camera.stalled_s),
        level=level,
        frames=asdict(counts),
        balanced=counts.balanced,
    )


def _camera_problems(cameras: dict[str, CameraHealth]) -> Iterable[str]:
    for name, camera in cameras.items():
        if camera.state not in (CameraState.ONLINE.value, CameraState.ENDED.value):
            yield f"camera {name}: {camera.state}: {camera.reason}"
        if not camera.balanced:
            yield f"camera {name}: its frames don't add up: {camera.frames}"


def _other_problems(oldest_s: float, vitals: Vitals) -> Iterable[str]:
    if oldest_s > OLDEST_S:
        yield f"a result has waited for the broker for {oldest_s:.0f} s"
    if vitals.disk_free_bytes is not None and vitals.disk_free_bytes < DISK_BYTES:
        yield f"only {vitals.disk_free_bytes >> 20} MB are left on the disk"


def _forget(times_s: deque[float], before_s: float) -> None:
    while times_s and times_s[0] < before_s:
        times_s.popleft()


def status_line(health: Health) -> str:
    """Say it in one line, as `systemctl status` shows it."""
    service, online = health.service, sum(camera.state == "online" for camera in health.cameras.values())
    p99 = "no results yet" if service.p99_ms is None else f"p99 {service.p99_ms:.0f} ms"
    text = f"{service.verdicts_per_s:.1f} verdicts/s, {p99}, cameras {online}/{len(health.cameras)} online, "
    text += f"outbox {service.outbox_waiting} waiting"
    return text if service.healthy else f"{text}; {service.problems[0]}"
