"""The configuration as it was, without its secrets."""

import json
from dataclasses import replace
from urllib.parse import quote

import msgspec
import pytest
import yaml

from app.config import load, sections
from app.evidence.settings import Settings, setting_of
from app.evidence.writer import Evidence
from tests.conftest import ROOT
from tests.evidence.conftest import IMAGE, loaded

SECRET = "g3heim/#x"


@pytest.fixture
def secret_line(tmp_path):
    """The demo line with a password wherever one can be."""
    tree = yaml.safe_load((ROOT / "configs" / "demo.yaml").read_text())
    tree["cameras"]["covers"]["source"] = {
        "kind": "stream",
        "url": f"rtsp://viewer:{quote(SECRET, safe='')}@10.0.0.9/1",
    }
    tree["cameras"]["behind"] = tree["cameras"]["covers"] | {
        "source": {
            "kind": "gstreamer",
            "preset": "own",
            "pipeline": f'rtspsrc location=rtsp://10.0.0.9/1 user-id=viewer user-pw="{SECRET}" ! decodebin ! appsink',
        }
    }
    tree["models"]["covers"]["path"] = str(ROOT / "engines" / "covers_640.onnx")
    tree["models"]["covers"]["names"] = ["cover", "screw", "hole", "brass", SECRET]  # whoever writes it there
    tree["mqtt"] = {"username": "line", "password": SECRET}
    path = tmp_path / "line.yaml"
    path.write_text(yaml.safe_dump(tree))
    return load(path)


def test_what_is_remembered_is_the_configuration_that_judged_and_not_the_one_of_now(outcome):
    first = loaded()
    second = replace(first, sha256="b" * 64)
    force = [first]
    settings = Settings(lambda: force[0], {"covers": "c" * 64})
    settings.look()
    force[0] = second
    settings.look()
    assert settings.of(first.sha256[:12], "covers").config == first.sha256
    assert settings.of("b" * 12, "covers").config == "b" * 64
    assert settings.of("d" * 12, "covers") is None
    assert settings.of("b" * 12, "gone") is None


def test_a_model_is_named_by_its_whole_path_and_hash():
    model = setting_of(loaded(), "covers", {"covers": "c" * 64}).models["covers"]
    assert model.section["path"] == str(ROOT / "configs" / ".." / "engines" / "covers_640.onnx")
    assert model.sha256 == "c" * 64


@pytest.mark.parametrize("camera", ["covers", "behind"])
def test_no_secret_of_a_configuration_is_in_the_evidence(camera, secret_line, tmp_path, outcome):
    settings = Settings(lambda: secret_line, {})
    section = sections.Evidence(path=str(tmp_path / "evidence"), min_free_bytes=0)
    with Evidence(section, None, line="l", settings=settings) as writer:
        named, jobs = writer.plan(outcome(1, camera=camera, config_hash=secret_line.sha256[:12]), IMAGE)
        writer.put(jobs)
    text = (tmp_path / "evidence" / named.evidence).read_text()
    assert json.loads(text)["replay"]["setting"]["camera"]["model"] == "covers"
    for written in (SECRET, "g3heim", "g3heim%2F%23x", "viewer"):
        assert written not in text


def test_many_reloads_are_not_all_remembered():
    first = loaded()
    force = [first]
    settings = Settings(lambda: force[0], {})
    for number in range(100):
        force[0] = replace(first, sha256=f"{number:064d}"[::-1])
        settings.look()
        assert settings.of(force[0].sha256[:12], "covers") is not None
    assert len(msgspec.to_builtins(list(settings._known))) <= 8
