"""Models beside those that run: loaded on another thread, handed over, let go where that can't be done, and watched."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest

from app.config import LoadedConfig, load
from app.detections import Detections
from app.errors import ModelError, TaktsightError
from app.inference.onnxruntime import OnnxBackend
from app.preprocess.helpers import Helpers
from app.probation import LEAST, REMEMBERED
from app.steady.huge_pages import FULL
from app.trace import Trace
from app.verdict import Judgement, Outcome, Verdict
from app.wiring import exchange
from app.wiring.exchange import Exchange, Probation
from app.wiring.models import WiredModel
from tests.conftest import ROOT

T = TypeVar("T")
CAMERA = "{{source: {{kind: synthetic}}, model: {model}, judge: {{rules: [{{require: cover}}]}}}}"


class Inspecting:
    """Does what is to be done between two frames at once; or hangs."""

    def __init__(self) -> None:
        self.held: list[AbstractContextManager[Any]] = []
        self.hangs = False

    def between_frames(self, change: Callable[[], T]) -> T:
        if self.hangs:
            raise TaktsightError("an engine has hung")
        return change()

    def hold(self, backend: AbstractContextManager[Any]) -> None:
        self.held.append(backend)

    def release(self, backend: AbstractContextManager[Any]) -> None:
        self.held.remove(backend)
        backend.__exit__(None, None, None)


def aside(do: Callable[[], WiredModel]) -> WiredModel:
    """As the service does it, without beats."""
    found: list[WiredModel | TaktsightError] = []

    def run() -> None:
        try:
            found.append(do())
        except TaktsightError as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if isinstance(found[0], TaktsightError):
        raise found[0]
    return found[0]


@pytest.fixture
def loaded(tmp_path: Path) -> LoadedConfig:
    """Two cameras, each with a model of its own."""
    for name in ("a", "b"):
        shutil.copy(ROOT / "engines/covers_320.onnx", tmp_path / f"{name}.onnx")
    cameras = ", ".join(f"{name}: {CAMERA.format(model=name)}" for name in ("a", "b"))
    models = "{a: {path: a.onnx}, b: {path: b.onnx}}"
    (tmp_path / "line.yaml").write_text(f"line: l\ncameras: {{{cameras}}}\nmodels: {models}\nmqtt: null\n")
    return load(tmp_path / "line.yaml")


@pytest.fixture
def entered(monkeypatch: pytest.MonkeyPatch) -> list[tuple[OnnxBackend, str]]:
    """Which engines were entered, and on which thread."""
    entered: list[tuple[OnnxBackend, str]] = []
    enter = OnnxBackend.__enter__

    def noted(backend: OnnxBackend) -> OnnxBackend:
        entered.append((backend, threading.current_thread().name))
        return enter(backend)

    monkeypatch.setattr(OnnxBackend, "__enter__", noted)
    return entered


def test_models_are_loaded_on_another_thread_and_held_by_the_one_that_looks(loaded: LoadedConfig, entered) -> None:
    inspecting = Inspecting()
    found = Exchange(inspecting, {}, lambda *_, **__: None, aside, Helpers(0)).load(["a", "b"], loaded)
    assert inspecting.held == [model.engine.backend for model in found.values()]
    assert threading.current_thread().name not in {thread for _, thread in entered}


def test_where_one_can_not_be_loaded_those_before_it_are_let_go(loaded: LoadedConfig, entered, tmp_path: Path) -> None:
    (tmp_path / "b.onnx").write_bytes(b"not a model")
    inspecting = Inspecting()
    with pytest.raises(ModelError, match=r"b\.onnx"):
        Exchange(inspecting, {}, lambda *_, **__: None, aside, Helpers(0)).load(["a", "b"], loaded)
    ((first, _),) = entered
    assert inspecting.held == []
    assert not first._bindings


def test_where_the_inspection_hangs_what_was_loaded_is_let_go(loaded: LoadedConfig, entered) -> None:
    inspecting = Inspecting()
    inspecting.hangs = True
    with pytest.raises(TaktsightError, match="has hung"):
        Exchange(inspecting, {}, lambda *_, **__: None, aside, Helpers(0)).load(["a"], loaded)
    ((backend, _),) = entered
    assert not backend._bindings


@pytest.mark.parametrize("wanted", [True, False])
def test_a_new_model_goes_into_huge_pages_only_where_that_takes_no_more_memory(
    loaded: LoadedConfig, wanted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[float] = []
    monkeypatch.setattr(exchange, "use_huge_pages", lambda *, least_full: calls.append(least_full))
    process = loaded.config.process.model_copy(update={"huge_pages": wanted})
    loaded = replace(loaded, config=loaded.config.model_copy(update={"process": process}))
    Exchange(Inspecting(), {}, lambda *_, **__: None, aside, Helpers(0)).load(["a", "b"], loaded)
    assert calls == [FULL, FULL] * wanted


# ── probation ────────────────────────────────────────────────────────────────────────────────────────────────────────


def outcome(verdict: Verdict = Verdict.OK, ms: float = 20.0, camera: str = "front") -> Outcome:
    """A verdict that took so long."""
    trace = Trace("t", 0)
    trace.add("inference", 0, int(ms * 1e6))
    return Outcome("t", camera, 1, Judgement(verdict), (6, 4), Detections.none(), trace, 100.0, 0)


class Watched:
    """A probation after so many good frames; whatever it finds is noted."""

    def __init__(self, *cameras: str) -> None:
        self.found: list[str | None] = []
        self.probation = Probation(lambda do: do())
        for camera in cameras:
            self.judged(100, camera=camera)
        self.probation.watch(cameras, self.found.append)

    def judged(self, count: int, **like: Any) -> None:
        for _ in range(count):
            self.probation.judged(outcome(**like))


def test_a_rise_of_unknown_ends_the_probation_at_once() -> None:
    watched = Watched("front")
    watched.judged(LEAST, verdict=Verdict.UNKNOWN)
    assert watched.found == ["front: 100% of its pictures are UNKNOWN, 0% were"]
    watched.judged(REMEMBERED, verdict=Verdict.UNKNOWN)
    assert len(watched.found) == 1


def test_so_does_a_rise_of_the_time_that_a_verdict_takes() -> None:
    watched = Watched("front", "side")
    watched.judged(LEAST, camera="side", ms=60.0)
    assert watched.found == ["side: a verdict takes 60 ms, it took 20 ms"]


def test_a_model_that_does_no_worse_is_kept_after_so_many_frames_of_each_camera() -> None:
    watched = Watched("front", "side")
    watched.judged(REMEMBERED)
    watched.judged(REMEMBERED - 1, camera="side")
    assert watched.found == []
    watched.judged(1, camera="side")
    assert watched.found == [None]


def test_other_cameras_have_no_say() -> None:
    watched = Watched("front")
    watched.judged(5 * REMEMBERED, camera="side", verdict=Verdict.UNKNOWN, ms=900.0)
    assert watched.found == []
