"""The scripted engine plays its script."""

from __future__ import annotations

import numpy as np
import pytest

from app.inference.fake import FakeBackend
from app.model import TensorSpec

IMAGES = (TensorSpec("images", (1, 3, 8, 8), "float32"),)
PICTURE = np.ones((1, 3, 8, 8), np.float32)
ANSWER = np.zeros((1, 5, 3), np.float32)


def test_mdl_19_a_slow_first_run_is_spent_while_entering() -> None:
    spent: list[float] = []
    with FakeBackend(IMAGES, {"output0": ANSWER}, delays_s=(2.0, 0.005), wait=spent.append) as backend:
        assert spent == [2.0]
        for _ in range(3):
            backend.infer({"images": PICTURE})
    assert spent == [2.0, 0.005, 0.005, 0.005]


def test_an_error_comes_at_its_call_and_the_next_call_works() -> None:
    with FakeBackend(IMAGES, {"output0": ANSWER}, errors={2: RuntimeError("the device is gone")}) as backend:
        backend.infer({"images": PICTURE})
        with pytest.raises(RuntimeError, match="gone"):
            backend.infer({"images": PICTURE})
        assert "output0" in backend.infer({"images": PICTURE})
        assert backend.calls == 4


def test_an_error_of_the_warm_up_leaves_it_closed() -> None:
    backend = FakeBackend(IMAGES, {"output0": ANSWER}, errors={0: RuntimeError("no device")})
    with pytest.raises(RuntimeError, match="no device"):
        backend.__enter__()
    with pytest.raises(RuntimeError, match="no device"):
        backend.__enter__()  # it tries again, instead of taking itself for entered


def test_results_can_depend_on_the_feeds() -> None:
    with FakeBackend(IMAGES, lambda feeds: {"sum": feeds["images"].sum(keepdims=True)}) as backend:
        assert backend.outputs == (TensorSpec("sum", (1, 1, 1, 1), "float32"),)
        assert backend.infer({"images": PICTURE})["sum"].item() == 192


def test_the_script_itself_is_never_lent() -> None:
    with FakeBackend(IMAGES, {"output0": ANSWER}) as backend:
        backend.infer({"images": PICTURE})["output0"][:] = 9
    assert not ANSWER.any()


def test_results_may_change_their_shape() -> None:
    sizes = iter((0, 2, 1))
    with FakeBackend(IMAGES, lambda _feeds: {"rows": np.zeros((next(sizes), 6), np.float32)}) as backend:
        assert [len(backend.infer({"images": PICTURE})["rows"]) for _ in range(2)] == [2, 1]
