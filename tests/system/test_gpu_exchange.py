"""Another engine while the line looks on a GPU: loaded and captured beside, handed over, and nothing of the old one left.

The GPU is not there: its driver and TensorRT are those of tests/gpu, on the host's memory.
"""

import threading
from collections.abc import Iterator
from pathlib import Path

import cv2
import onnx
import pytest

from app.capture.synthetic import draw
from app.config import load, sections
from app.errors import ModelError
from app.golden import write_golden
from app.service import ASIDE, INSPECT
from app.wiring import Watchers, build
from app.wiring.models import build_model
from tests.fused.cells import cells
from tests.gpu import fake_tensorrt
from tests.gpu.fake_driver import FakeDriver
from tests.gpu.fake_tensorrt import Gate, IExecutionContext
from tests.gpu.seeming import seeming_gpu
from tests.system.test_gpu_line import engine_of
from tests.system.test_reload import WAIT_S, Rig, running, without_gap

CAMERA = """
  {name}:
    source: {{kind: synthetic, width: 160, height: 120, fps: 40}}
    queue: every
    deadline: false
    model: cells
    judge: {{score: 0.5, rules: [{{require: red, otherwise: UNKNOWN}}]}}
"""


def network(*, blind: bool = False, text: str = "") -> onnx.ModelProto:
    """The network of cells for one picture a call; a blind one gives every cell a score of 0."""
    model = onnx.load_from_string(cells())
    model.doc_string = text
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.shape.dim[0].dim_value = 1
    if blind:
        at, scores = next((at, node) for at, node in enumerate(model.graph.node) if "scores" in node.output)
        scores.output[0] = "seen"
        model.graph.node.insert(at + 1, onnx.helper.make_node("Sub", ["seen", "seen"], ["scores"]))
    return model


class OnGpu(Rig):
    """Two cameras that see a bright square, on one engine; a second engine lies beside it.

    Args:
        blind: the second engine's network sees nothing; else it sees what the first one does.
        faults: of the second engine; see `fake_tensorrt`.
    """

    def __init__(self, folder: Path, *, blind: bool = False, **faults: object) -> None:
        self.folder, self.path = folder, folder / "line.yaml"
        self.outcomes, self.events = [], []
        onnx.save(network(), folder / "a.onnx")
        onnx.save(network(blind=blind, text="another one"), folder / "b.onnx")
        for name, these in (("a", {}), ("b", faults)):
            engine_of(folder / f"{name}.onnx", folder, **these)
        self.use("a")
        self.product = build(load(self.path), Watchers(on_judged=self.outcomes.append))
        event, reload = self.product.outbox.event, self.product.reload

        def heard(*news: str, **data: object) -> None:
            self.events.append(news)
            event(*news, **data)

        reload._shared.outbox.event = reload._exchange._event = heard

    def use(self, model: str) -> None:
        cameras = "".join(CAMERA.format(name=name) for name in ("front", "side"))
        section = f"{{path: {model}.onnx, names: [red, green, blue], device: tensorrt}}"
        self.path.write_text(f"line: gpu\ncameras:\n{cameras}models:\n  cells: {section}\nmqtt: null\n")

    def told(self, word: str) -> list[str]:
        return [text for _, kind, text in self.events if kind == "model" and word in text]

    def models(self, name: str) -> list[str]:
        return [outcome.model for outcome in self.of(name)]


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDriver]:
    """A machine that seems to have a GPU, and a probation that is over soon."""
    monkeypatch.setattr("app.wiring.exchange.REMEMBERED", 30)
    monkeypatch.setattr("app.probation.SLOWER", float("inf"))  # whatever else the machine does meanwhile
    with seeming_gpu(monkeypatch) as fake:
        yield fake


def settled(rig: Rig, driver: FakeDriver) -> dict[str, int]:
    """What the line has on the GPU once both cameras' graphs are there."""
    rig.wait_for_more("front", 20)
    rig.wait_for_more("side", 20)
    return taken(driver)


def taken(driver: FakeDriver) -> dict[str, int]:
    """What there is on the GPU, but for the cameras' own memory, of which it sees more as the cameras take more."""
    return {kind: count for kind, count in driver.live().items() if kind != "registered"}


def whole(rig: Rig) -> None:
    """No frame is lost, by its numbers and by the ledger."""
    for name in ("front", "side"):
        assert without_gap(rig, name)
        assert rig.product.ledger.counts(name).balanced


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    gate = Gate()
    monkeypatch.setitem(fake_tensorrt.GATES, "the test", gate)
    yield gate
    gate.open()


def test_frames_are_judged_while_an_engine_loads_for_as_long_as_that_takes(
    driver: FakeDriver, gate: Gate, tmp_path: Path
) -> None:
    with running(OnGpu(tmp_path, waits_for="the test")) as rig:
        before = settled(rig, driver)
        IExecutionContext.made_on.clear()
        rig.use("b")
        changed = threading.Event()
        rig.product.service.ask(lambda: (rig.product.reload(load(rig.path)), changed.set()))
        assert gate.reached.wait(WAIT_S)
        for name in ("front", "side"):
            rig.wait_for_more(name, 30)
        assert not changed.is_set()
        assert {model.rpartition(":")[2] for model in rig.models("front")} == {"tensorrt 10.3.0"}
        gate.open()
        assert changed.wait(WAIT_S)
        assert set(IExecutionContext.made_on) == {ASIDE}, "what the new engine needs for its graphs is made beside"
        rig.wait(lambda: rig.told("is kept"), "the end of its probation")
        rig.wait(lambda: taken(driver) == before, f"the old engine's memory: {taken(driver)}, it was {before}")
        assert len(set(rig.models("front"))) == 2, "the old and the new hash"
        assert INSPECT not in IExecutionContext.made_on
    whole(rig)


def test_an_engine_that_does_not_find_what_its_golden_set_says_leaves_nothing_on_the_gpu(
    driver: FakeDriver, tmp_path: Path
) -> None:
    with running(OnGpu(tmp_path, blind=True)) as rig:
        before = settled(rig, driver)
        golden(rig)
        rig.use("b")
        with pytest.raises(ModelError, match="does not find what its golden set says"):
            rig.reload()
        rig.wait_for_more("front")
        assert taken(driver) == before
        assert len(set(rig.models("front"))) == 1
    whole(rig)


def test_an_engine_that_does_worse_is_taken_back_and_leaves_nothing_on_the_gpu(
    driver: FakeDriver, tmp_path: Path
) -> None:
    with running(OnGpu(tmp_path, blind=True)) as rig:
        before = settled(rig, driver)
        rig.use("b")
        rig.reload()
        rig.wait(lambda: rig.told("taken back"), "the end of its probation")
        rig.wait(lambda: taken(driver) == before, f"the new engine's memory: {taken(driver)}, it was {before}")
        rig.wait_for_more("front", 30)
        first, *_, last = rig.models("front")
        assert (first, len(set(rig.models("front")))) == (last, 2), "one, the other, and the one again"
    whole(rig)


def golden(rig: Rig) -> None:
    """Write down for the second model what the first one finds in a picture."""
    section = sections.Model(path=str(rig.folder / "a.onnx"), names=["red", "green", "blue"])
    model = build_model("m", section)
    with model.engine.backend:
        pictures = [rig.folder / "0.png"]
        cv2.imwrite(str(pictures[0]), draw(7, (160, 120)))
        write_golden(rig.folder / "b.onnx", model.sha256, model.engine, pictures, 0.25, lambda: None)
