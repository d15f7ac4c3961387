"""A machine that seems to have a GPU, TensorRT, and a compiler of kernels."""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.fused.cells import our_kernels
from tests.gpu import fake_tensorrt
from tests.gpu.fake_driver import EMULATED, FakeDriver, fake_driver


@contextmanager
def seeming_gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDriver]:
    """Have it until the block ends, and see that nothing is left on it then."""
    our_kernels()
    fake = fake_driver()
    fake.reset(present=True)
    monkeypatch.setitem(sys.modules, "tensorrt", fake_tensorrt.module())
    monkeypatch.setattr(importlib.import_module("app.gpu.compiler"), "nvrtc", lambda *_: EMULATED)
    yield fake
    fake.reset(present=False)
    assert fake.live() == {}
