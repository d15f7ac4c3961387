"""A model's engine file in the place of the model: found, checked, entered, or refused with every reason."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from app.config import sections
from app.detections import Detections
from app.engine import Engine, HostEngine, Look, hand_over, take_over
from app.errors import ModelError
from app.frame import PixelFormat
from app.inference.chosen_engine import runs_engine
from app.inference.engine_file import EngineInput, Machine, Manifest, Range, Verified, write_manifest
from app.inference.machine import find_gpu
from app.wiring import fused
from app.wiring.cameras import build_camera_source
from app.wiring.fused import EngineOnGpu, Expected, expected_of, formats_of
from app.wiring.models import build_model
from tests.fused.cells import NAMES, cells, host_engine, painted, profiles
from tests.gpu import fake_tensorrt
from tests.gpu.fake_driver import FakeDriver, fake_driver
from tests.gpu.seeming import seeming_gpu


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDriver]:
    """A machine that seems to have a GPU, TensorRT, and a compiler of kernels."""
    with seeming_gpu(monkeypatch) as fake:
        yield fake


def model(folder: Path, **more: object) -> sections.Model:
    """The model's file with its engine and manifest beside it, and the model's section."""
    onnx, engine = folder / "cells.onnx", folder / "cells.engine"
    onnx.write_bytes(cells())
    plan = fake_tensorrt.plan_of(cells(), profiles(1))
    engine.write_bytes(plan)
    write_manifest(engine, manifest(plan))
    return sections.Model.model_validate(
        {"path": str(onnx), "device": "tensorrt", "names": list(NAMES), "input": {"width": 64, "height": 64}} | more
    )


def manifest(plan: bytes) -> Manifest:
    shape = (1, 3, 64, 64)
    gpu = find_gpu()
    here = Machine("tensorrt", "10.3.0", None, None, None, None)
    if gpu is not None:
        here = replace(here, cuda=gpu.cuda, gpu=gpu.name, compute_capability=gpu.compute_capability)
    return Manifest(
        onnx="cells.onnx",
        onnx_sha256=hashlib.sha256(cells()).hexdigest(),
        plan_sha256=hashlib.sha256(plan).hexdigest(),
        built_on=here,
        compute_capabilities=("8.7",),
        precision="fp16",
        inputs=(EngineInput("images", "float32", (Range(shape, shape, shape),)),),
        outputs=(),
        verified=Verified(20, {}),
    )


def found_by(engine: Engine, seed: int) -> list[int]:
    (found,) = engine.look([Look(painted(seed), 0.5)])
    assert isinstance(found, Detections)
    return sorted(found.classes.tolist())


def test_a_model_with_an_engine_beside_it_runs_as_that_engine(driver: FakeDriver, tmp_path: Path) -> None:
    wired, host = build_model("cells", model(tmp_path)), host_engine(tmp_path)
    assert isinstance(wired.engine, EngineOnGpu)
    assert wired.names == NAMES
    with wired.engine.backend, host.backend:
        assert wired.engine.label().endswith(":tensorrt 10.3.0")
        for seed in range(4):
            assert found_by(wired.engine, seed) == found_by(host, seed)


def test_other_devices_and_models_without_an_engine_run_the_model_itself(tmp_path: Path) -> None:
    section = model(tmp_path)
    assert runs_engine(section)
    assert not runs_engine(section.model_copy(update={"device": "cpu"}))
    (tmp_path / "cells.engine").unlink()
    assert not runs_engine(section)
    assert isinstance(build_model("cells", section).engine, HostEngine)


@pytest.mark.parametrize(
    "source",
    [
        {"kind": "stream", "url": "rtsp://camera/1"},
        {"kind": "video", "path": "a.mp4"},
        {"kind": "v4l2", "device": 0},
        {"kind": "gstreamer", "preset": "test"},
    ],
    ids=lambda source: source["kind"],
)
def test_a_camera_copies_its_pictures_for_a_gpu_that_reads_them_and_for_nobody_else(
    tmp_path: Path, source: dict
) -> None:
    camera = sections.Camera.model_validate({"source": source, "model": "m"})
    for device, worth_it in (("tensorrt", True), ("cpu", False)):
        made = build_camera_source(camera, {"m": model(tmp_path, device=device)})
        assert made._memory.worth_a_copy is worth_it  # type: ignore[attr-defined]  # each of these has one


def test_an_engine_that_is_named_and_not_there_is_refused_and_not_replaced(driver: FakeDriver, tmp_path: Path) -> None:
    section = model(tmp_path, engine={"path": str(tmp_path / "other.engine")})
    with pytest.raises(ModelError, match=r"other.engine"), build_model("cells", section).engine.backend:
        pass


def test_mdl_12_the_manifest_is_looked_at_before_tensorrt_sees_the_engine(
    driver: FakeDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    section = model(tmp_path)
    path = tmp_path / "cells.engine.json"
    stored = json.loads(path.read_text())
    stored["built_on"] |= {"runtime_version": "10.7.0", "gpu": "Orin Nano"}
    path.write_text(json.dumps(stored))

    def seen(*_: object) -> None:
        raise AssertionError("TensorRT saw it")

    monkeypatch.setattr(fake_tensorrt.Runtime, "deserialize_cuda_engine", seen)
    with pytest.raises(ModelError) as caught, build_model("cells", section).engine.backend:
        pass
    said = str(caught.value)
    assert "tensorrt version: built with 10.7.0, here is 10.3.0" in said
    assert "GPU: built with Orin Nano, here is Host memory (no GPU)" in said
    assert "\n" not in said


def test_without_a_gpu_it_is_refused_or_runs_on_the_cpu_as_configured(tmp_path: Path) -> None:
    fake_driver().reset(present=False)
    section = model(tmp_path)
    with pytest.raises(ModelError, match="there is no NVIDIA GPU"), build_model("cells", section).engine.backend:
        pass
    allowed = section.model_copy(update={"allow_cpu_fallback": True})
    engine = build_model("cells", allowed).engine
    with engine.backend:
        assert engine.label().endswith(":CPUExecutionProvider")
        assert found_by(engine, 0)


def test_an_engine_that_has_to_run_without_a_graph_is_told(driver: FakeDriver, tmp_path: Path) -> None:
    told: list[str] = []
    section = model(tmp_path)
    driver.fail("cuStreamEndCapture", code=901)
    expected = fused.Expected(((PixelFormat.BGR8, (160, 120)),))
    engine = build_model("cells", section, expected, told.append).engine
    with engine.backend:
        assert found_by(engine, 0)
    assert len(told) == 1
    assert "runs without its CUDA graph: GPU: cuStreamEndCapture: 901" in told[0]


def test_without_pycuda_it_says_what_to_install(
    driver: FakeDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("app.fused.engine", "app.fused.lanes"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ModelError, match=r"pip install 'taktsight\[gpu\]'"):
        build_model("cells", model(tmp_path)).engine.backend.__enter__()


def test_it_does_not_look_before_it_is_entered(tmp_path: Path) -> None:
    engine = build_model("cells", model(tmp_path)).engine
    assert engine.label().startswith("cells:")
    with pytest.raises(ModelError, match="not loaded"):
        engine.look([Look(painted(0), 0.5)])


# ── what is known before a camera is open ────────────────────────────────────────────────────────────────────────────

NV12, BGR8 = PixelFormat.NV12, PixelFormat.BGR8
SOURCES = [
    ({"kind": "synthetic", "width": 640, "height": 480}, {}, (BGR8, (640, 480))),
    ({"kind": "v4l2", "device": 0, "width": 1280, "height": 720}, {}, (BGR8, (1280, 720))),
    ({"kind": "v4l2", "device": 0, "pixel_format": "native"}, {}, None),  # the camera says which
    ({"kind": "gstreamer", "preset": "csi"}, {}, (NV12, (1920, 1080))),
    ({"kind": "stream", "url": "rtsp://10.0.0.2/1"}, {}, None),  # only its first frame tells
    ({"kind": "stream", "url": "rtsp://10.0.0.2/1"}, {"width": 1920, "height": 1080}, (BGR8, (1920, 1080))),
    ({"kind": "images", "path": "pictures"}, {"width": 800}, None),  # half is not enough
]


@pytest.mark.parametrize(("source", "guard", "known"), SOURCES)
def test_what_a_camera_will_give_is_known_as_far_as_its_section_says(source: dict, guard: dict, known: object) -> None:
    camera = sections.Camera.model_validate({"source": source, "guard": guard, "model": "cells"})
    assert expected_of({"a": camera}, "cells").formats == (() if known is None else (known,))
    assert expected_of({"a": camera}, "other").formats == ()


def test_a_format_of_two_cameras_is_one_and_one_of_them_may_ask_for_every_frame() -> None:
    latest = sections.Camera.model_validate({"source": {"kind": "synthetic"}, "model": "cells"})
    every = latest.model_copy(update={"queue": "every"})
    assert not expected_of({"a": latest}, "cells").every
    both = expected_of({"a": latest, "b": every}, "cells")
    assert both == fused.Expected(((BGR8, (640, 480)),), True)


def test_an_engine_that_takes_its_place_is_made_ready_for_what_came_meanwhile(
    driver: FakeDriver, tmp_path: Path
) -> None:
    engine = build_model("cells", model(tmp_path), Expected()).engine
    assert formats_of(engine) == ()
    with engine.backend:
        for seed in range(2):  # a format that comes a second time gets a lane
            engine.look([Look(painted(seed), 0.5)])
        assert formats_of(engine) == ((PixelFormat.BGR8, (160, 120)),)
    assert formats_of(host_engine(tmp_path)) == ()


@pytest.mark.parametrize("has_gpu", [True, False])
def test_whichever_of_the_two_runs_is_handed_over(driver: FakeDriver, tmp_path: Path, has_gpu: bool) -> None:
    section = model(tmp_path, allow_cpu_fallback=True)
    driver.reset(present=has_gpu)
    engine = build_model("cells", section).engine

    def enter() -> None:
        engine.backend.__enter__()
        hand_over(engine.backend)

    with ThreadPoolExecutor(1) as pool:
        pool.submit(enter).result()
    take_over(engine.backend)
    with engine.backend:
        assert ("tensorrt" in engine.label()) is has_gpu
        (found,) = engine.look([Look(painted(0), 0.5)])
        assert len(found) > 0
