"""The covers line's model beside damaged copies of itself: what finds fewer scratches is refused, whatever the way."""

from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from rich.console import Console
from typer.testing import CliRunner

from app.building.verify_command import Setting, Wanted, check_draft, run_verify, setting_of
from app.cli import app
from app.config.verify import Verify
from app.errors import ConfigError, ModelError
from tests.conftest import ROOT

MODEL = ROOT / "engines" / "covers_640.onnx"
DEMO = ROOT / "configs" / "demo.yaml"
EASY = Verify(least_pictures=1)


def quiet():
    """A console that nobody reads."""
    return Console(file=io.StringIO())


def damaged(tmp_path, layer, factor):
    """Write the demo line's model with the weights of one convolution scaled."""
    model = onnx.load(MODEL)
    (name,) = [node.input[1] for node in model.graph.node if node.name == layer]
    for tensor in model.graph.initializer:
        if tensor.name == name:
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor) * np.float32(factor), name))
    path = tmp_path / "damaged.onnx"
    onnx.save(model, path)
    return path


@pytest.fixture(scope="module")
def covers_setting():
    return setting_of(Wanted(MODEL, config=DEMO))


@pytest.fixture(scope="module")
def scratched(covers, covers_truth, tmp_path_factory):
    """The pictures with scratches, and three without: enough for a comparison, and quicker than all."""
    folder = tmp_path_factory.mktemp("scratched")
    faults = [[one["name"] for one in photo["objects"]].count("scratch") for photo in covers_truth]
    chosen = [photo["file"] for photo, count in zip(covers_truth, faults, strict=True) if count]
    for name in (*chosen, *(photo["file"] for photo in covers_truth[:3])):
        (folder / name).write_bytes((covers / name).read_bytes())
    return folder


DAMAGES = [
    # one layer of the head that looks for middle-sized objects, halved
    ("/heads.1/cls/cls.1/cls.1.0/Conv", 0.5),
    # the way down to it, lost
    ("/d3/d3.0/Conv", 0.0),
]


@pytest.mark.parametrize(("layer", "factor"), DAMAGES)
def test_an_engine_that_finds_fewer_scratches_than_the_model_is_refused(
    covers_setting, scratched, tmp_path, layer, factor
):
    wanted = Wanted(damaged(tmp_path, layer, factor), config=DEMO, pictures=scratched)
    report = run_verify(wanted, covers_setting, quiet())
    lost = re.fullmatch(r"class scratch: (\d+) of 14 lost, at most 2% may be \(max_lost\)", report.refused[0])
    assert lost is not None, report.refused
    assert int(lost[1]) >= 3
    assert any("are NG for the model and not for the candidate" in line for line in report.refused)
    assert "lost: scratch" in report.worst[0].words()


def test_the_model_itself_passes_and_its_map_is_its_own(covers_setting, covers):
    report = run_verify(Wanted(MODEL, config=DEMO, pictures=covers), covers_setting, quiet())
    assert report.passed
    assert report.notes == ()
    assert report.precision[0] == report.precision[1]
    assert report.precision[0].labels == 252
    assert (report.verdicts.same, report.verdicts.pictures) == (48, 48)


def test_the_command_says_why_and_ends_with_one(scratched, tmp_path):
    candidate = damaged(tmp_path, *DAMAGES[0])
    out = tmp_path / "out" / "verify"
    options = ["--config", str(DEMO), "--pictures", str(scratched), "--out", str(out)]
    said = CliRunner().invoke(app, ["engine", "verify", str(candidate), *options])
    assert said.exit_code == 1
    assert re.search(r"refused: class scratch: \d+ of 14 lost", said.output)
    assert out.with_suffix(".html").is_file()
    assert out.with_suffix(".json").is_file()


def test_a_build_s_draft_is_refused_with_its_reason_and_the_report_stays(covers_setting, scratched, tmp_path):
    wanted = Wanted(Path("unused"), config=DEMO, pictures=scratched)
    check = check_draft(wanted, covers_setting, quiet(), tmp_path / "covers.verify")
    with pytest.raises(ModelError, match=r"damaged.onnx: refused: class scratch: \d+ of 14 lost.*covers.verify.html"):
        check(damaged(tmp_path, *DAMAGES[0]))
    assert (tmp_path / "covers.verify.html").is_file()
    verified = check(MODEL)
    assert (verified.pictures, verified.report) == (len(list(scratched.iterdir())), "covers.verify.html")
    assert verified.figures["same_verdicts"] == 1.0


WANTED = [
    # neither a model nor a configuration
    (Wanted(MODEL), "which model was it made from"),
    # a camera that is not there
    (Wanted(MODEL, config=DEMO, camera="front"), "no camera 'front'; name one of covers"),
]


@pytest.mark.parametrize(("wanted", "said"), WANTED)
def test_what_is_not_told_is_asked_for(wanted, said):
    with pytest.raises(ConfigError, match=said):
        setting_of(wanted)


def test_pictures_must_be_named_and_there(covers_setting, tmp_path):
    with pytest.raises(ConfigError, match="on which pictures"):
        run_verify(Wanted(MODEL, config=DEMO), covers_setting, quiet())
    with pytest.raises(ConfigError, match="there is no picture in it"):
        run_verify(Wanted(MODEL, config=DEMO, pictures=tmp_path), covers_setting, quiet())


def test_names_that_a_conversion_dropped_are_the_model_s(covers_setting, covers, tmp_path):
    model = onnx.load(MODEL)
    del model.metadata_props[:]
    onnx.save(model, tmp_path / "nameless.onnx")
    limits = covers_setting.model.model_copy(update={"verify": EASY})
    few = tmp_path / "few"
    few.mkdir()
    (few / "000_OK.jpg").write_bytes((covers / "000_OK.jpg").read_bytes())
    wanted = Wanted(tmp_path / "nameless.onnx", pictures=few)
    assert run_verify(wanted, Setting(limits, covers_setting.camera), quiet()).passed


def test_a_larger_batch_is_looked_at_whole_and_gives_what_single_pictures_give(covers_setting, covers, tmp_path):
    model = onnx.load(MODEL)
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.shape.dim[0].dim_param = "n"
    onnx.save(model, tmp_path / "open.onnx")
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    for name in ("000_OK.jpg", "003_NG.jpg", "006_NG.jpg", "008_NG.jpg", "011_NG.jpg"):
        (pictures / name).write_bytes((covers / name).read_bytes())
    setting = Setting(covers_setting.model.model_copy(update={"verify": EASY}), covers_setting.camera)
    report = run_verify(Wanted(tmp_path / "open.onnx", pictures=pictures, together=3), setting, quiet())
    assert report.refused == ()
    assert all(one.compared.pairing.ious.min(initial=1) > 0.999 for one in report.worst)


def test_a_fixed_batch_can_not_be_compared_with_a_larger_one(covers, covers_setting):
    with pytest.raises(ModelError, match="its batch is fixed to 1: leave --batch out"):
        run_verify(Wanted(MODEL, config=DEMO, pictures=covers, together=2), covers_setting, quiet())


@pytest.mark.parametrize("command", ["verify", "bench"])
def test_a_device_that_is_none_is_refused_with_those_that_are(command, covers):
    options = ["--pictures", str(covers), "--config", str(DEMO)] if command == "verify" else []
    said = CliRunner().invoke(app, ["engine", command, str(MODEL), "--device", "gpu", *options])
    assert isinstance(said.exception, ConfigError)
    assert str(said.exception) == "--device gpu: one of cpu, cuda, tensorrt"
