"""The way in: a file becomes a configuration, or all of its faults at once."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from app.config import load
from app.errors import ConfigError


def test_a_small_file_loads_with_the_defaults_of_the_product(read, small):
    loaded = read(small())
    assert loaded.config.line == "one"
    assert loaded.config.cameras["front"].judge.score == 0.5
    assert loaded.config.mqtt.port == 1883


def test_the_hash_is_that_of_the_files_bytes(read, small):
    assert read(small()).sha256 == hashlib.sha256(small().encode()).hexdigest()


def test_every_key_knows_its_line(read, small):
    loaded = read(small())
    assert loaded.where("cameras", "front", "model").endswith("line.yaml:5: cameras.front.model")
    assert loaded.where("models", "parts", "sha256").endswith("line.yaml:8: models.parts.sha256")


def test_paths_of_models_and_sources_are_seen_from_the_files_folder(read, small, tmp_path):
    loaded = read(small(source="{kind: images, path: pictures}", part=", device: cpu"))
    assert loaded.config.models["parts"].path == str(tmp_path / "parts.onnx")
    assert loaded.config.cameras["front"].source.path == str(tmp_path / "pictures")


def test_absolute_paths_stay(read, small):
    assert read(small(source="{kind: images, path: /data}")).config.cameras["front"].source.path == "/data"


def test_all_faults_are_told_at_once_in_the_order_of_the_file(faults, small):
    text = small(line="no", model="part", camera="budget_ms: -5", mqtt="{prot: 1883}")
    assert faults(text) == [
        ':1: line: must be text; no is read as false; quote it: "no"',
        ":5: cameras.front.model: there is no model `part`; did you mean `parts`?",
        ":6: cameras.front.budget_ms: must be greater than 0 or one of 'inspection' or 'surveillance'; got -5",
        ":9: mqtt.prot: unknown key; did you mean `port`?",
    ]


UNREADABLE = [
    # the file                 what is said
    ("missing.yaml", "there is no such file"),
    (".", "it is a folder"),
]


@pytest.mark.parametrize(("name", "said"), UNREADABLE)
def test_a_file_that_can_not_be_read_is_one_line(tmp_path, name, said):
    with pytest.raises(ConfigError, match=said) as caught:
        load(tmp_path / name)
    assert len(caught.value.faults) == 1


def test_a_file_that_may_not_be_read_is_told_apart_from_a_missing_one(tmp_path, monkeypatch):
    def refuse(*_args, **_kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(ConfigError, match="this user may not read it"):
        load(tmp_path / "line.yaml")


def test_cfg_05_a_misspelt_key_is_refused_with_its_line_and_the_nearest_valid_key(faults, small):
    assert faults(small(camera="judge: {rolws: []}")) == [
        ":6: cameras.front.judge.rolws: unknown key; did you mean `rules`?"
    ]


MISSPELT = [
    # where                                       the place told                      the remedy
    ({"source": "{kind: synthetic, widht: 4}"}, "cameras.front.source.widht", "did you mean `width`?"),
    ({"mqtt": "{tls: {ca: x}}"}, "mqtt.tls.ca", "did you mean `ca_file`?"),
    ({"camera": "judge: {rules: [{forbid: a, min_scores: 1}]}"}, "rules[0].min_scores", "did you mean `min_score`?"),
    ({"camera": "zzz: 1"}, "cameras.front.zzz", "there are: source, model, small_model"),
    ({"camera": "gate: {cls: a}"}, "cameras.front.gate.cls", "did you mean `class`?"),
]


@pytest.mark.parametrize(("pieces", "place", "remedy"), MISSPELT)
def test_cfg_05_the_nearest_key_is_one_of_the_same_place(faults, small, pieces, place, remedy):
    found = [fault for fault in faults(small(**pieces)) if "unknown key" in fault]
    assert len(found) == 1
    assert place in found[0]
    assert remedy in found[0]


def test_cfg_05_a_key_without_its_colon_is_told(faults):
    assert faults("line: one\ncameras:\n  front\n    model: parts\n")[0].startswith(":4: a `:` where none can be")


SHAPES = [
    # the file                                         the place and the rule
    (
        "line: a\ncameras: [1]\nmodels: {m: {path: x}}",
        ":2: cameras: must be a mapping (lines of `key: value`); got a list",
    ),
    ("- line", ":1: must be a mapping (lines of `key: value`); got a list"),
    ("text", ':1: must be a mapping (lines of `key: value`); got the text "text"'),
    (
        "line: a\ncameras: {f: {model: m}}\nmodels: {m: {path: x}}",
        ":2: cameras.f.source: required; add `source:` with its value",
    ),
    (
        "line: a\ncameras:\n  f:\n    source:\n    model: m\nmodels: {m: {path: x}}",
        ":4: cameras.f.source: must be a mapping (lines of `key: value`); got nothing; write a value, null for none, or remove the line",
    ),
    ("line: a\ncameras: {}\nmodels: {m: {path: x}}", ":2: cameras: must have at least one entry; add one"),
    (
        "line: a\n cameras: {}\n",
        ":2: a `:` where none can be; mend the indentation, or the line above, or quote a text that holds `: `",
    ),
]


@pytest.mark.parametrize(("text", "said"), SHAPES)
def test_cfg_07_a_wrong_shape_is_one_line_with_its_place(faults, text, said):
    assert faults(text) == [said]


def test_cfg_07_a_missing_kind_of_source_is_named_without_the_words_of_the_validator(faults, small):
    assert faults(small(source="{}")) == [":4: cameras.front.source.kind: required; add `kind:` with its value"]
    assert faults(small(source="{kind: usb}")) == [
        ":4: cameras.front.source.kind: must be one of 'images', 'video', 'v4l2', 'stream', 'gstreamer', 'synthetic', 'conveyor'; "
        "got usb; did you mean `v4l2`?"
    ]
    assert faults(small(source="{kind: v4l2}")) == [
        ":4: cameras.front.source.device: required; add `device:` with its value"
    ]


def test_cfg_03_false_is_off_and_text_is_no_boolean(read, faults, small):
    assert read(small(source="{kind: images, path: x, watch: false}")).config.cameras["front"].source.watch is False
    assert faults(small(source='{kind: images, path: x, watch: "false"}')) == [
        ':4: cameras.front.source.watch: must be true or false; got the text "false"; write it without quotes'
    ]


def test_an_empty_value_does_not_silently_switch_a_section_off(read, faults, small):
    assert read(small(mqtt="null")).config.mqtt is None
    assert "got nothing; write a value, null for none" in faults(small(mqtt=""))[0]


def test_a_name_with_a_line_end_or_an_escape_in_it_is_told_on_one_line(faults, small):
    """Found by fuzzing."""
    found = faults(small(model="nothing").replace("parts:", '"a\\n\\e[2J":'))
    assert found
    assert all("\n" not in fault and "\x1b" not in fault for fault in found)


@pytest.mark.parametrize("trigger", ["queue: every", "trigger: command"])
def test_what_was_found_before_is_never_said_of_a_part_that_a_trigger_stands_for(faults, small, trigger):
    (fault,) = faults(small(camera=f"{trigger}\n    reuse_static: true"))
    assert "cameras.front.reuse_static: a part that a trigger stands for is always looked at itself" in fault


def test_a_free_running_camera_may_use_what_was_found_before(read, small):
    assert read(small(camera="queue: latest\n    reuse_static: true")).config.cameras["front"].reuse_static
