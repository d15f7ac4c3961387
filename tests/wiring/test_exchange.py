"""Models that are loaded beside those that run: on another thread, handed over, and let go where a change can't be done."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TypeVar

import pytest

from app.config import LoadedConfig, load
from app.errors import ModelError, TaktsightError
from app.inference.onnxruntime import OnnxBackend
from app.wiring.exchange import Exchange
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
    found = Exchange(inspecting, {}, lambda *_, **__: None, aside).load(["a", "b"], loaded)
    assert inspecting.held == [model.engine.backend for model in found.values()]
    assert threading.current_thread().name not in {thread for _, thread in entered}


def test_where_one_can_not_be_loaded_those_before_it_are_let_go(loaded: LoadedConfig, entered, tmp_path: Path) -> None:
    (tmp_path / "b.onnx").write_bytes(b"not a model")
    inspecting = Inspecting()
    with pytest.raises(ModelError, match=r"b\.onnx"):
        Exchange(inspecting, {}, lambda *_, **__: None, aside).load(["a", "b"], loaded)
    ((first, _),) = entered
    assert inspecting.held == []
    assert not first._bindings


def test_where_the_inspection_hangs_what_was_loaded_is_let_go(loaded: LoadedConfig, entered) -> None:
    inspecting = Inspecting()
    inspecting.hangs = True
    with pytest.raises(TaktsightError, match="has hung"):
        Exchange(inspecting, {}, lambda *_, **__: None, aside).load(["a"], loaded)
    ((backend, _),) = entered
    assert not backend._bindings
