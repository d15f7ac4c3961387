"""A run reads the caller's memory and writes into arrays that are made once."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from app.inference.onnxruntime import OnnxBackend
from app.inference.ort_binding import Binding

Opener = Callable[..., OnnxBackend]
Saver = Callable[..., Path]


@pytest.fixture
def copying(save_graph: Saver) -> Path:
    """A model that hands a picture of 192 KiB on."""
    return save_graph("agraph (float[1,3,128,128] images) => (float[1,3,128,128] output0) { output0 = Relu(images) }")


def test_a_thousand_runs_allocate_nothing(open_backend: Opener, copying: Path) -> None:
    with open_backend(copying) as backend:
        feeds = {"images": np.ones((1, 3, 128, 128), np.float32)}
        for _ in range(100):
            backend.infer(feeds)
        tracemalloc.start()
        try:
            backend.infer(feeds)
            before, _ = tracemalloc.get_traced_memory()
            tracemalloc.reset_peak()
            for _ in range(1000):
                backend.infer(feeds)
            after, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert after - before < 16_384
    assert peak - before < 32_768  # no array in between either: one is 196,608 bytes


def test_outputs_stay_in_the_same_memory_and_are_overwritten(open_backend: Opener, copying: Path) -> None:
    with open_backend(copying) as backend:
        one = backend.infer({"images": np.full((1, 3, 128, 128), 1, np.float32)})["output0"]
        assert one[0, 0, 0, 0] == 1
        two = backend.infer({"images": np.full((1, 3, 128, 128), 2, np.float32)})["output0"]
        assert two is one
        assert one[0, 0, 0, 0] == 2


def test_the_callers_array_is_read_in_place(
    open_backend: Opener, copying: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    picture = np.full((1, 3, 128, 128), 1, np.float32)
    with open_backend(copying) as backend:
        backend.infer({"images": picture})
        monkeypatch.setattr(Binding, "_point", lambda *_: None)  # whatever comes now, nothing is bound again
        picture[:] = 7
        assert backend.infer({"images": picture})["output0"][0, 0, 0, 0] == 7


def test_arrays_that_take_turns_are_each_read(open_backend: Opener, copying: Path) -> None:
    pictures = [np.full((1, 3, 128, 128), value, np.float32) for value in (1, 2)]
    with open_backend(copying) as backend:
        found = [float(backend.infer({"images": pictures[turn % 2]})["output0"].max()) for turn in range(4)]
    assert found == [1, 2, 1, 2]


def test_outputs_whose_size_only_the_run_tells_come_back_in_every_size(open_backend: Opener, save_graph: Saver) -> None:
    path = save_graph(
        "agraph (float[1,3,4,4] images) => (int64[4,n] where, float[1,3,4,4] same)"
        "{ where = NonZero(images) same = Relu(images) }"
    )
    with open_backend(path) as backend:
        assert [spec.shape for spec in backend.outputs] == [(4, None), (1, 3, 4, 4)]
        for count in (0, 3, 48, 1, 0):
            picture = np.zeros((1, 3, 4, 4), np.float32)
            picture.reshape(-1)[:count] = 5
            outputs = backend.infer({"images": picture})
            np.testing.assert_array_equal(outputs["where"], np.nonzero(picture))
            np.testing.assert_array_equal(outputs["same"], picture)
