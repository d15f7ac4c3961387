"""A thread with one owner."""

from pathlib import Path
from threading import Event, Thread, current_thread, get_native_id

from app.worker import Worker, left_behind


def test_the_owner_learns_the_error_that_ended_a_worker() -> None:
    ends: list[BaseException | None] = []

    def body(_: Event) -> None:
        raise RuntimeError("boom")

    worker = Worker("w", body, ends.append)
    worker.start()
    assert worker.join(5)
    assert [str(error) for error in ends] == ["boom"]


def test_the_owner_learns_of_a_worker_that_wants_to_end_the_process() -> None:
    ends: list[BaseException | None] = []

    def body(_: Event) -> None:
        raise SystemExit(0)

    worker = Worker("w", body, ends.append)
    worker.start()
    assert worker.join(5)
    assert [type(error) for error in ends] == [SystemExit]


def test_a_thread_that_the_end_of_the_process_would_wait_for_is_named() -> None:
    release = Event()
    stuck, daemon = (Thread(target=release.wait, args=(30,), name=name, daemon=name == "daemon")
                     for name in ("stuck", "daemon"))  # fmt: skip
    stuck.start()
    daemon.start()
    assert left_behind(0.01) == ["stuck"]
    release.set()
    assert left_behind(20) == []


def test_a_worker_is_named_is_no_daemon_and_stops_when_asked() -> None:
    seen = []

    def body(stop: Event) -> None:
        known = Path(f"/proc/self/task/{get_native_id()}/comm").read_text().strip()
        seen.append((current_thread().name, current_thread().daemon, known))
        stop.wait(30)

    ends: list[BaseException | None] = []
    worker = Worker("capture-front-left", body, ends.append)
    worker.start()
    worker.ask_to_stop()
    assert worker.join(5)
    assert seen == [("capture-front-left", False, "capture-front-l")], "the kernel keeps 15 characters"
    assert ends == [None]


def test_a_worker_that_was_never_started_has_stopped() -> None:
    assert Worker("w", lambda _: None, lambda _: None).join(0)


def test_a_worker_that_does_not_stop_is_told_by_join() -> None:
    release = Event()
    worker = Worker("w", lambda _: release.wait(30) and None, lambda _: None)
    worker.start()
    worker.ask_to_stop()
    assert not worker.join(0.01)
    release.set()
    assert worker.join(5)
