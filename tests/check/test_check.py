"""What is found before anything starts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.check import check
from app.config import load


def test_a_good_configuration_has_no_findings(found, good):
    assert found(good()) == []


@pytest.mark.parametrize("name", ["demo.yaml", "folder.yaml"])
def test_what_ships_with_its_pictures_has_no_findings(root, name):
    assert check(load(root / "configs" / name)) == []


MODELS = [
    # what is written of the model, the place, what is said
    ({"model": "missing.onnx"}, "10: models.covers.path", "there is no such file"),
    ({"more": f"sha256: {'0a' * 32}"}, "10: models.covers.path", "expected SHA-256 0a0a"),
    ({"more": "input: {width: 320}"}, "11: models.covers.input", "fixed to 640"),
    ({"more": "input: {layout: nhwc}"}, "11: models.covers.input", "check input.layout"),
    ({"more": "decode: {family: end_to_end}"}, "11: models.covers.decode", "end_to_end"),
    ({"more": "nms: {groups: [[screw, bras]]}"}, "11: models.covers.nms.groups", "no class 'bras'"),
    (
        {"more": "names: [a, b, c, d, hole]", "judge": "{rules: [{forbid: brass}]}"},
        "7: cameras.front.judge.rules[0]",
        "no class 'brass'",
    ),
]


@pytest.mark.parametrize(("pieces", "place", "said"), MODELS)
def test_a_model_that_does_not_fit_is_an_error(found, good, pieces, place, said):
    ((where, text),) = [(where, text) for level, where, text in found(good(**pieces)) if level == "error"]
    assert where == place
    assert said in text


def test_a_model_that_is_none_is_told_with_its_size(found, good, tmp_path):
    (tmp_path / "broken.onnx").write_bytes(b"<html>")
    ((level, _, text),) = found(good(model="broken.onnx"))
    assert level == "error"
    assert "web page" in text


def test_a_model_that_nobody_uses_is_a_warning(found, good, root):
    spare = f"  spare: {{path: {root / 'engines' / 'covers_640.onnx'}}}"
    assert found(good().replace("mqtt:", f"{spare}\nmqtt:")) == [
        ("warning", "12: models.spare", "no camera uses this model; remove it, or name it in a camera's model")
    ]


@pytest.mark.parametrize(("fallback", "then"), [("false", "it will not start"), ("true", "it will run on the CPU")])
def test_a_device_that_this_engine_lacks_is_a_warning(found, good, monkeypatch, fallback, then):
    monkeypatch.setattr("onnxruntime.get_available_providers", lambda: ["CPUExecutionProvider"])
    ((level, where, text),) = found(good(more=f"device: cuda\n    allow_cpu_fallback: {fallback}"))
    assert (level, where) == ("warning", "11: models.covers.device")
    assert then in text
    monkeypatch.setattr("onnxruntime.get_available_providers", lambda: ["CUDAExecutionProvider"])
    assert found(good(more="device: cuda")) == []


def test_a_model_on_a_server_needs_the_client_for_it(found, good, monkeypatch):
    assert found(good(more="triton: {url: 127.0.0.1:8001}")) == []
    monkeypatch.setattr("app.check.models.find_spec", lambda name: None)
    ((level, where, text),) = found(good(more="triton: {url: 127.0.0.1:8001}"))
    assert (level, where) == ("error", "11: models.covers.triton")
    assert "pip install 'taktsight[triton]'" in text


def test_a_server_and_a_built_engine_exclude_one_another(found, good, tmp_path):
    more = f"device: tensorrt\n    engine: {{path: {tmp_path / 'covers.engine'}}}\n    triton: {{}}"
    assert any(where.endswith("triton") and "exclude one another" in text for _, where, text in found(good(more=more)))


def test_a_built_engine_is_looked_for_with_its_manifest_and_its_gpu(found, good, tmp_path):
    engine = tmp_path / "covers.engine"
    said = found(good(more=f"device: tensorrt\n    engine: {{path: {engine}}}"))
    assert [(level, where) for level, where, _ in said] == [
        ("error", "12: models.covers.engine"),
        ("warning", "11: models.covers.device"),
    ]
    assert "there is no such file: build it with `taktsight engine build`" in said[0][2]
    assert "there is no NVIDIA GPU with a driver here: it will not start" in said[1][2]


CLASSES = [
    # a piece of the camera, the place, what is said
    ({"judge": "{rules: [{forbid: hoel}]}"}, "7: cameras.front.judge.rules[0]", "did you mean 'hole'?"),
    ({"judge": "{rules: [{forbid: hole}], scores: {rust: 0.5}}"}, "7: cameras.front.judge.scores", "no class 'rust'"),
    ({"judge": "{rules: []}"}, "7: cameras.front.judge.rules", "write at least one rule"),
    ({"camera": "gate: {class: covers}"}, "6: cameras.front.gate.class", "did you mean `cover`?"),
    ({"camera": "refine: {mode: grid, within: lid}"}, "6: cameras.front.refine.within", "no class 'lid'"),
]


@pytest.mark.parametrize(("pieces", "place", "said"), CLASSES)
def test_a_class_that_the_model_does_not_have_is_an_error(found, good, pieces, place, said):
    ((level, where, text),) = found(good(**pieces))
    assert (level, where) == ("error", place)
    assert said in text


REGIONS = [
    # corners in a picture of 640 x 480, level, what is said
    ("700,0,800,100", "error", "lies wholly outside the 640×480 picture"),
    ("540,0,740,100", "warning", "50.0% of its area lies outside the 640×480 picture"),
]


@pytest.mark.parametrize(("corners", "level", "said"), REGIONS)
def test_roi_02_a_region_off_the_picture_is_found_where_the_size_is_known(found, good, corners, level, said):
    judge = f"{{rules: [{{forbid: hole, region: r}}], regions: {{r: {{unit: pixels, polygon: '{corners}'}}}}}}"
    ((found_level, where, text),) = found(good(judge=judge))
    assert (found_level, where) == (level, "7: cameras.front.judge.regions.r")
    assert said in text


def test_the_size_is_that_of_the_first_picture_or_what_the_guard_asks_for(found, good, covers):
    outside = "{rules: [{forbid: hole}], regions: {r: {unit: pixels, polygon: '2000,0,3000,100'}}}"
    for source in (f"{{kind: images, path: {covers}}}", f"{{kind: conveyor, path: {covers}}}"):
        assert "outside the 960×720" in found(good(source=source, judge=outside))[0][2]
    stream = "{kind: stream, url: 'rtsp://host/1'}"
    assert found(good(source=stream, judge=outside)) == []
    guard = "guard: {width: 800, height: 600}"
    assert "outside the 800×600" in found(good(source=stream, judge=outside, camera=guard))[0][2]


def test_a_guard_that_would_refuse_every_picture_is_an_error(found, good):
    ((level, where, text),) = found(good(camera="guard: {width: 1280, height: 480}"))
    assert (level, where) == ("error", "6: cameras.front.guard.width")
    assert "have 640 pixels" in text


SOURCES = [
    # a source, the level, what is said
    ("{kind: images, path: gone}", "error", "there is no such file or folder"),
    ("{kind: video, path: gone.mp4}", "error", "there is no such file"),
    ("{kind: conveyor, path: gone}", "error", "there is no such folder"),
    ("{kind: conveyor, path: line.yaml}", "error", "it is a file; name a folder"),
    ("{kind: video, path: .}", "error", "it is a folder; name a file"),
    ("{kind: images, path: .}", "error", "no picture in it"),
    ("{kind: images, path: ., watch: true}", "warning", "no picture in it"),
    ("{kind: images, path: line.yaml}", "warning", "no picture that OpenCV can decode; such a picture is UNKNOWN"),
    ("{kind: images, path: 'line.yaml/x'}", "error", "there is no such file or folder"),
    ('{kind: images, path: "a\\0b"}', "error", "correct the path"),
    ("{kind: v4l2, device: 63}", "warning", "there is no /dev/video63 now"),
    ("{kind: stream, url: 'rtsp://a:Geh3im!x@host/1'}", "warning", "use username and password_file"),
    (
        "{kind: stream, url: 'rtsp://h', username: a, password_file: Geh3im!x}",
        "error",
        "there is no such file or credential",
    ),
]


@pytest.mark.parametrize(("source", "level", "said"), SOURCES)
def test_a_source_that_is_not_there_is_found(found, good, source, level, said):
    ((found_level, where, text),) = found(good(source=source))
    assert found_level == level
    assert where.startswith("4: cameras.front.source.")
    assert said in text
    assert "Geh3im" not in text


def test_no_permission_is_told_apart_from_not_there(found, good, covers, tmp_path, monkeypatch):
    (tmp_path / "film.mp4").write_bytes(b"x")
    monkeypatch.setattr(os, "access", lambda *_: False)
    for source in (f"{{kind: images, path: {covers}}}", "{kind: video, path: film.mp4}"):
        assert "no permission to read it" in found(good(source=source))[0][2]
    (tmp_path / "camera").touch()
    assert "group video" in found(good(source=f"{{kind: v4l2, device: {tmp_path / 'camera'}}}"))[0][2]


def test_a_folder_that_may_not_be_looked_into_is_told_apart_from_a_missing_one(found, good, monkeypatch):
    text = good(source="{kind: video, path: /locked/film.mp4}")
    real = Path.stat

    def stat(path, **options):
        if str(path).startswith("/locked"):
            raise PermissionError(13, "Permission denied")
        return real(path, **options)

    monkeypatch.setattr(Path, "stat", stat)
    assert "no permission to look into a folder above it" in found(text)[0][2]


def test_pictures_that_would_be_skipped_are_a_warning(found, good, covers):
    ((level, where, _),) = found(good(source=f"{{kind: images, path: {covers}}}", camera="queue: latest"))
    assert (level, where) == ("warning", "6: cameras.front.queue")


SAME = [
    # two ways to write one camera
    ("0", "/dev/video0"),
    ("0", '"0"'),
    ('"/dev/video0"', "/dev/video0"),
    ("0", "LINK"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_cam_11_two_cameras_on_one_device_are_an_error(found, good, tmp_path, one, other):
    link = tmp_path / "by-id-camera"
    link.symlink_to("/dev/video0")
    other = other.replace("LINK", str(link))
    second = f"  back:\n    source: {{kind: v4l2, device: {other}}}\n    model: covers\n    judge: {{rules: [{{forbid: hole}}]}}\nmodels:"
    findings = found(good(source=f"{{kind: v4l2, device: {one}}}").replace("models:", second))
    ((where, text),) = [(where, text) for level, where, text in findings if level == "error"]
    assert where == "9: cameras.back.source.device"
    assert "/dev/video0" in text
    assert "front" in text


def test_cam_11_two_devices_are_no_fault(found, good):
    second = (
        "  back:\n    source: {kind: v4l2, device: 1}\n    model: covers\n    judge: {rules: [{forbid: hole}]}\nmodels:"
    )
    findings = found(good(source="{kind: v4l2, device: 0}").replace("models:", second))
    assert [finding for finding in findings if finding[0] == "error"] == []


TOPICS = [
    # pieces, the place, what is said
    ({"name": "a+b"}, '3: cameras."a+b"', "MQTT wildcard"),
    ({"name": "'...'"}, '3: cameras."..."', "no letter or digit is left"),
    ({"mqtt": "{root: 'a/#'}"}, "12: mqtt.root", "must be topic levels without"),
    ({"mqtt": "{root: $SYS}"}, "12: mqtt.root", "belong to the broker"),
]


@pytest.mark.parametrize(("pieces", "place", "said"), TOPICS)
def test_names_that_make_no_topic_are_errors(found, good, pieces, place, said):
    ((level, where, text),) = found(good(**pieces))
    assert (level, where) == ("error", place)
    assert said in text


def test_a_line_that_makes_no_topic_is_an_error(found, good):
    assert found(good().replace("line: one", "line: a#"))[0][:2] == ("error", "1: line")


def test_cameras_that_share_a_topic_are_an_error_at_the_second(found, good):
    second = (
        "  Top Left:\n    source: {kind: synthetic}\n    model: covers\n    judge: {rules: [{forbid: hole}]}\nmodels:"
    )
    assert found(good(name="top_left").replace("models:", second)) == [
        (
            "error",
            '8: cameras."Top Left"',
            "has the topic level `top-left`, as camera `top_left` has; give one of them another name",
        )
    ]


def test_without_a_broker_names_are_free_but_verdicts_must_go_somewhere(found, good):
    assert found(good(mqtt="null", name="a+b")) == [
        ("warning", "12: mqtt", "no verdict leaves this service; add mqtt or jsonl")
    ]
    assert found(good(mqtt="null\njsonl: {path: out.jsonl}", name="a+b")) == []


OUTPUTS = [
    # pieces, the place, what is said
    ("jsonl: {path: TMP}", "13: jsonl.path", "it is a folder; name a file in it"),
    ("jsonl: {path: TMP/line.yaml/x.jsonl}", "13: jsonl.path", "it is a file, and a folder is wanted"),
    ("evidence: {path: TMP/line.yaml}", "13: evidence.path", "it is a file, and a folder is wanted"),
    ("outbox: {path: TMP}", "13: outbox.path", "it is a folder; name a file in it"),
    ("outbox: {path: TMP/line.yaml/x.sqlite}", "13: outbox.path", "it is a file, and a folder is wanted"),
]


@pytest.mark.parametrize("row", OUTPUTS)
def test_files_and_folders_that_can_not_be_made_are_errors(found, good, tmp_path, row):
    more, place, said = row
    ((level, where, text),) = found(good() + more.replace("TMP", str(tmp_path)))
    assert (level, where) == ("error", place)
    assert said in text


def test_folders_that_can_be_made_are_not_made_by_a_check(found, good, tmp_path):
    assert found(good() + f"evidence: {{path: {tmp_path}/a/b}}\njsonl: {{path: {tmp_path}/c/d.jsonl}}\n") == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["line.yaml"]


def test_a_camera_named_as_the_topic_of_commands_is_an_error(found, good):
    ((level, where, text),) = found(good(name="CMD"))
    assert (level, where) == ("error", "3: cameras.CMD")
    assert "commands" in text


def test_a_file_of_results_that_may_not_be_written_to_is_an_error(found, good, tmp_path, monkeypatch):
    (tmp_path / "a.sqlite").write_bytes(b"")
    allowed = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: str(path)[-6:] != "sqlite" and allowed(path, mode))
    ((level, where, text),) = found(good() + f"outbox: {{path: {tmp_path}/a.sqlite}}\n")
    assert (level, where) == ("error", "13: outbox.path")
    assert text.endswith("no permission to write to it; chown or chmod it, or name another")


@pytest.mark.parametrize("path", ["auto", "memory"])
def test_a_word_for_where_results_wait_is_no_file(path, found, good):
    assert found(good() + f"outbox: {{path: {path}}}\n") == []


def test_a_folder_that_may_not_be_written_to_is_an_error(found, good, tmp_path, monkeypatch):
    text = good() + f"evidence: {{path: {tmp_path}/a}}\n"
    monkeypatch.setattr(os, "access", lambda _, mode: not mode & os.W_OK)
    assert "no permission to write in it" in found(text)[0][2]


def test_cfg_09_the_brokers_secrets_are_checked_and_not_shown(found, good, tmp_path):
    (tmp_path / "secret").write_text("Geh3im!x\n")
    (tmp_path / "secret").chmod(0o644)
    tls = "tls: {ca_file: gone.pem}"
    findings = found(good(mqtt=f"{{username: a, password_file: ./secret, {tls}}}"))
    assert [(level, where) for level, where, _ in findings] == [
        ("warning", "12: mqtt.password_file"),
        ("error", "12: mqtt.tls.ca_file"),
    ]
    (tmp_path / "secret").chmod(0o600)
    assert found(good(mqtt="{username: a, password_file: ./secret, tls: {}}")) == []
    assert "Geh3im" not in str(findings)


def test_cfg_09_a_finding_that_would_repeat_a_secret_is_masked(found, good):
    secret = "{username: a, password: 'Geh3im!x', tls: {}}"
    findings = found(good(model="Geh3im%21x.onnx", mqtt=secret, name="rtsp://a:Geh3im!x@host"))
    assert "***.onnx: there is no such file" in findings[0][2]
    assert "Geh3im" not in str(findings)
    ((_, where, _),) = found(good(name="rtsp://a:Geh3im!x@host", camera="guard: {width: 5}"))
    assert where == '6: cameras."rtsp://***@host".guard.width'


OPEN = [
    # the broker, and what is warned of
    ("{username: a, password_file: ./secret}", []),  # nobody else is on this machine's loopback
    ("{host: localhost, username: a, password_file: ./secret}", []),
    ("{host: '::1', username: a, password_file: ./secret}", []),
    ("{host: 10.0.0.9, username: a, password_file: ./secret}", ["mqtt.username"]),
    ("{host: broker.plant, username: a, password_file: ./secret}", ["mqtt.username"]),
    ("{host: broker.plant, username: a, password_file: ./secret, tls: {}}", []),
    ("{username: a, password: 'Geh3im!x'}", ["mqtt.password"]),
    ("{host: broker.plant, username: a, password: 'Geh3im!x'}", ["mqtt.password", "mqtt.username"]),
]


@pytest.mark.parametrize(("mqtt", "keys"), OPEN)
def test_a_password_in_the_open_is_a_warning(found, good, tmp_path, mqtt, keys):
    (tmp_path / "secret").write_text("Geh3im!x\n")
    (tmp_path / "secret").chmod(0o600)
    findings = found(good(mqtt=mqtt))
    assert [(level, where) for level, where, _ in findings] == [("warning", f"12: {key}") for key in keys]
    assert all("add tls" in text for _, where, text in findings if "username" in where)
    assert "Geh3im" not in str(findings)


def test_a_clients_key_that_everybody_reads_is_a_warning_and_one_that_does_not_fit_an_error(
    found, good, root, tmp_path
):
    for name in ("client.pem", "client.key"):
        (tmp_path / name).write_bytes((root / "tests" / "publish" / "tls" / name).read_bytes())
    (tmp_path / "client.key").chmod(0o644)
    mqtt = "{host: broker.plant, tls: {cert_file: client.pem, key_file: client.key}}"
    ((level, where, _),) = found(good(mqtt=mqtt))
    assert (level, where) == ("warning", "12: mqtt.tls.key_file")
    (tmp_path / "client.key").chmod(0o600)
    assert found(good(mqtt=mqtt)) == []
    (tmp_path / "client.key").write_text("no key")
    ((level, where, _),) = found(good(mqtt=mqtt))
    assert (level, where) == ("error", "12: mqtt.tls")


def test_all_findings_come_at_once(found, good):
    findings = found(
        good(name="a#", model="gone.onnx", source="{kind: video, path: gone}", mqtt="{root: '+'}")
        + "evidence: {path: /dev/null}\n"
    )
    assert [where.partition(": ")[2] for _, where, _ in findings] == [
        "models.covers.path",
        'cameras."a#".source.path',
        'cameras."a#"',
        "mqtt.root",
        "evidence.path",
    ]


def test_without_an_engine_installed_a_check_says_so(found, good, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "app.inference.model_file", None)
    ((level, where, text),) = found(good())
    assert (level, where) == ("error", "9: models.covers")
    assert "pip install 'taktsight[cpu]'" in text
