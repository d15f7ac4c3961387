"""The whole product with its network as an engine on a GPU that is not there: the same verdicts as on the processor."""

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from app.config import LoadedConfig, load, sections
from app.inference.engine_file import EngineInput, Machine, Manifest, Range, Verified, write_manifest
from app.inference.machine import find_gpu
from app.inference.model_file import read_model
from app.verdict import Outcome
from app.wiring import Watchers, build
from tests.gpu import fake_tensorrt
from tests.gpu.fake_driver import FakeDriver
from tests.gpu.seeming import seeming_gpu
from tests.system.lines import CONFIGS


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDriver]:
    """A machine that seems to have a GPU, TensorRT, and a compiler of kernels."""
    with seeming_gpu(monkeypatch) as fake:
        yield fake


def engine_of(path: Path, folder: Path, **faults: object) -> Path:
    """An engine of a model, as the builder would have put it; with faults of `fake_tensorrt`."""
    info, data = read_model(path), path.read_bytes()
    plan, shape = fake_tensorrt.plan_of(data, **faults), tuple(info.inputs[0].shape)
    engine, gpu = folder / f"{path.stem}.engine", find_gpu()
    assert gpu is not None
    engine.write_bytes(plan)
    machine = Machine("tensorrt", "10.3.0", gpu.cuda, None, gpu.name, gpu.compute_capability)
    write_manifest(
        engine,
        Manifest(
            onnx=path.name,
            onnx_sha256=info.sha256,
            plan_sha256=hashlib.sha256(plan).hexdigest(),
            built_on=machine,
            compute_capabilities=(gpu.compute_capability,),
            precision="fp32",
            inputs=(EngineInput(info.inputs[0].name, "float32", (Range(shape, shape, shape),)),),
            outputs=info.outputs,
            verified=Verified(20, {}),
        ),
    )
    return engine


def line(folder: Path, **model: object) -> LoadedConfig:
    """A folder of five tiles, with a second look."""
    loaded = load(CONFIGS / "folder.yaml")
    refine = sections.Refine(mode="grid", tile_width=640, tile_height=480, max_regions=2)
    camera = loaded.config.cameras["covers"]
    source = camera.source.model_copy(update={"path": str(folder)})
    camera = camera.model_copy(update={"refine": refine, "source": source})
    models = {name: section.model_copy(update=model) for name, section in loaded.config.models.items()}
    update = {"cameras": {"covers": camera}, "models": models, "mqtt": None, "jsonl": None, "evidence": None}
    return replace(loaded, config=loaded.config.model_copy(update=update))


def run(loaded: LoadedConfig) -> list[Outcome]:
    outcomes: list[Outcome] = []
    product = build(loaded, Watchers(on_judged=outcomes.append))
    product.service.run()
    assert product.ledger.counts("covers").balanced
    return outcomes


def test_an_engine_gives_the_verdicts_of_its_model(driver: FakeDriver, tmp_path: Path, covers: Path) -> None:
    tiles = tmp_path / "tiles"
    tiles.mkdir()
    for tile in sorted(covers.glob("*.jpg"))[:5]:
        (tiles / tile.name).symlink_to(tile)
    on_cpu = run(line(tiles))
    model = next(iter(load(CONFIGS / "folder.yaml").config.models.values()))
    engine = engine_of(Path(model.path), tmp_path)
    on_gpu = run(line(tiles, device="tensorrt", engine=sections.BuiltEngine(path=str(engine))))

    assert len(on_gpu) == len(on_cpu) == 5
    assert on_gpu[0].model.endswith(":tensorrt 10.3.0")
    for mine, its in zip(on_gpu, on_cpu, strict=True):
        assert mine.judgement.verdict is its.judgement.verdict
        np.testing.assert_array_equal(mine.detections.classes, its.detections.classes)
        np.testing.assert_allclose(mine.detections.xyxy, its.detections.xyxy, atol=1.0)
        np.testing.assert_allclose(mine.detections.scores, its.detections.scores, atol=0.02)
    calls = driver.counted()
    assert calls["cuGraphLaunch"] > len(on_gpu)
    assert calls["cuCtxCreate_v4"] == 0


def test_a_camera_s_frames_go_up_from_its_own_memory_and_get_the_verdicts_of_the_model(
    driver: FakeDriver, tmp_path: Path, covers: Path
) -> None:
    """While the evidence, the gate and the second look hold pictures for as long as they like."""
    tiles = tmp_path / "tiles"
    tiles.mkdir()
    for tile in sorted(covers.glob("*.jpg"))[:3]:
        (tiles / tile.name).symlink_to(tile)
    belt = {"kind": "conveyor", "path": str(tiles), "belt_px_s": 3000.0, "fps": 10.0, "parts": 3, "paced": False}
    source = sections.ConveyorSource.model_validate(belt)

    def over_a_belt(loaded: LoadedConfig) -> list[Outcome]:
        camera = loaded.config.cameras["covers"].model_copy(update={"source": source, "queue": "every"})
        update = {"cameras": {"covers": camera}}
        return run(replace(loaded, config=loaded.config.model_copy(update=update)))

    on_cpu = over_a_belt(line(tiles))
    model = next(iter(load(CONFIGS / "folder.yaml").config.models.values()))
    engine = engine_of(Path(model.path), tmp_path)
    driver.forget()
    on_gpu = over_a_belt(line(tiles, device="tensorrt", engine=sections.BuiltEngine(path=str(engine))))

    assert len(on_gpu) == len(on_cpu) > 3
    for mine, its in zip(on_gpu, on_cpu, strict=True):
        assert mine.judgement.verdict is its.judgement.verdict
        np.testing.assert_allclose(mine.detections.xyxy, its.detections.xyxy, atol=1.0)
    calls = driver.counted()
    assert calls["cuMemHostRegister_v2"] == calls["cuMemHostUnregister"] > 0
    tried = 2 * calls["cuGraphInstantiateWithFlags"]
    assert calls["cuGraphNodeSetEnabled"] > tried, "for its second look no frame went up again"
