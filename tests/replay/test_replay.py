"""Kept pictures, judged again."""

import json
import shutil
from pathlib import Path

import cv2
import msgspec
import numpy as np
import onnx
import pytest

from app.capture.scripted import Scripted
from app.config import load
from app.errors import ConfigError, ModelError
from app.frame import Picture, PixelFormat
from app.replay.compare import Kind
from app.replay.run import replay
from app.replay.setup import Wanted
from app.replay.stored import find
from app.verdict import Verdict
from app.wiring import build
from app.wiring.swap import Swap
from tests.conftest import ROOT
from tests.replay.conftest import PICTURES, SMALL, run_line
from tests.system.test_pixel_formats import sent


def judged_again(folder, **wanted):
    pieces, unreadable = find([folder])
    return replay(pieces, Wanted(**wanted), unreadable)


def changed(record, change):
    """Write a record anew after a change."""
    tree = json.loads(record.read_text())
    change(tree)
    record.write_text(json.dumps(tree))


@pytest.fixture
def copy(evidence, tmp_path):
    """A copy of the evidence that a test may harm."""
    shutil.copytree(evidence, tmp_path / "copy")
    return tmp_path / "copy"


def test_the_stored_model_and_configuration_give_the_same_to_the_last_bit(evidence):
    found = judged_again(evidence)
    assert len(found.pictures) == PICTURES
    assert {one.kind for one in found.pictures} == {Kind.SAME}
    assert not found.differs
    assert found.skipped == ()
    assert sum(row.reference for row in found.classes) > 60


def test_the_record_has_more_digits_than_the_message(evidence):
    stored = find([evidence])[0][0]
    message = np.asarray([box.score for box in stored.record.result.detections])
    exact = stored.record.replay.boxes.detections().scores
    np.testing.assert_allclose(exact, message, atol=1e-4)
    assert (exact.astype(np.float64) != message).any()


def test_a_difference_in_the_last_bit_is_seen(copy):
    record = find([copy])[0][3].path

    def nudge(tree):
        scores = np.frombuffer(msgspec.convert(tree["replay"]["boxes"]["scores"], bytes), "<f4").copy()
        scores[0] = np.nextafter(scores[0], np.float32(0))
        tree["replay"]["boxes"]["scores"] = msgspec.to_builtins(scores.tobytes())

    changed(record, nudge)
    found = judged_again(copy)
    assert [one.stored.path for one in found.of(Kind.BOXES)] == [record]
    assert found.differs


def test_a_new_threshold_shows_which_parts_get_another_verdict(evidence, config):
    found = judged_again(evidence, config=load(config(judge={"scores": {"scratch": 0.99}})))
    flipped = found.of(Kind.FLIPPED)
    assert flipped
    assert {(one.before, one.after) for one in flipped} == {(Verdict.NG, Verdict.OK)}
    assert all("scratch" in one.stored.record.result.reasons[0].text for one in flipped)
    assert found.pictures[: len(flipped)] == tuple(flipped), "flips come first"
    rows = {row.name: row for row in found.classes}
    assert rows["scratch"].lost >= len(flipped)
    assert rows["screw"].lost == rows["screw"].invented == 0


def test_another_model_shows_scores_and_classes_that_differ(evidence):
    found = judged_again(evidence, model=ROOT / "engines" / "covers_640.onnx")
    assert found.of(Kind.BOXES)
    rows = {row.name: row for row in found.classes}
    assert 0 < rows["screw"].score_mean < 0.2
    assert rows["screw"].reference > 40


def test_a_model_with_other_names_is_told_by_its_names(evidence, config, tmp_path):
    names = ["deckel", "screw", "hole", "brass", "scratch"]
    path = config(models={"covers": {"path": str(SMALL), "names": names[: len(names_of(SMALL))]}})
    found = judged_again(evidence, config=load(path))
    assert found.of(Kind.FLIPPED) == []
    assert {row.name for row in found.classes if row.lost or row.invented} <= {"deckel", *names_of(SMALL)[:1]}


def names_of(path):
    return list(find_names(path))


def find_names(path):
    model = onnx.load(path)
    text = next(entry.value for entry in model.metadata_props if entry.key == "names")
    return [part.split(":")[1].strip(" '{}\"") for part in text.split(",")]


def test_a_model_that_is_gone_is_named_with_its_hash(copy, tmp_path):
    for stored in find([copy])[0]:
        changed(stored.path, lambda tree: setting(tree)["section"].update(path=str(tmp_path / "gone.onnx")))
    with pytest.raises(ModelError, match=r"gone\.onnx \(SHA-256 [0-9a-f]{64}\) is not there; name the file"):
        judged_again(copy)
    assert not judged_again(copy, model=SMALL).differs


def test_another_model_under_the_same_name_is_refused_with_both_hashes(copy, tmp_path):
    other = tmp_path / "covers.onnx"
    shutil.copy(ROOT / "engines" / "covers_640.onnx", other)
    for stored in find([copy])[0]:
        changed(stored.path, lambda tree: setting(tree)["section"].update(path=str(other)))
    with pytest.raises(ModelError, match=r"has the SHA-256 [0-9a-f]{64}, and this evidence was judged by [0-9a-f]{64}"):
        judged_again(copy)


def setting(tree):
    return tree["replay"]["setting"]["models"]["covers"]


def test_a_damaged_picture_is_left_out_and_named(copy):
    pictures = sorted(copy.rglob("*.bgr8"))
    pictures[0].write_bytes(pictures[0].read_bytes()[:-1])
    pictures[1].unlink()
    found = judged_again(copy)
    assert len(found.skipped) == 2
    assert {line.partition(":")[0] for line in found.skipped} == {f"{path.stem}.json" for path in pictures[:2]}
    assert not found.differs


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("{", "truncated"),  # cut off
        ('{"type": "result"}', "missing required field"),  # a message that lies among the evidence
        ("[]", "Expected"),
    ],
)
def test_a_record_that_is_none_is_left_out_and_named(content, why, copy):
    record = find([copy])[0][0].path
    record.write_text(content)
    pieces, unreadable = find([copy])
    assert len(unreadable) == 1
    assert unreadable[0].startswith(record.name)
    assert why in unreadable[0]
    assert len(pieces) == PICTURES - 1


def test_where_no_evidence_is_says_what_to_name(tmp_path):
    with pytest.raises(ConfigError, match="no record of evidence"):
        find([tmp_path])
    with pytest.raises(ConfigError, match="it is not there"):
        find([tmp_path / "gone"])


def test_any_file_of_a_piece_names_it(evidence):
    record = find([evidence])[0][0].path
    for name in (record, record.with_suffix(".bgr8"), record.with_suffix(".view.jpg")):
        if name.exists():
            assert [stored.path for stored in find([name])[0]] == [record]


def test_a_camera_that_the_new_configuration_lacks_is_named(evidence, config):
    path = config()
    path.write_text(path.read_text().replace("cameras:\n  covers:", "cameras:\n  other:"))
    with pytest.raises(ConfigError, match="there is no camera 'covers' in it; there are: other"):
        judged_again(evidence, config=load(path))


def test_a_configuration_that_this_version_can_not_read_says_so(copy):
    changed(find([copy])[0][0].path, lambda tree: tree["replay"]["setting"]["camera"].update(from_the_future=1))
    with pytest.raises(ConfigError, match=r"can't be read by this version \(cameras\.covers\.from_the_future"):
        judged_again(copy)


@pytest.mark.parametrize(
    "pixels",
    [PixelFormat.NV12, PixelFormat.YUYV, PixelFormat.GRAY8, PixelFormat.BAYER_GRBG8, PixelFormat.BAYER_RGGB12],
)
def test_a_camera_of_any_format_replays_to_the_last_bit(pixels, config, tmp_path, covers):
    images = [sent(cv2.imread(str(covers / name)), pixels) for name in ("002_OK.jpg", "003_NG.jpg", "015_NG.jpg")]
    pictures = [Picture(image.data, 1, 2, format=image.format) for image in images]
    build(load(config()), swap=Swap(lambda *_: Scripted(pictures))).service.run()
    found = judged_again(tmp_path / "evidence")
    assert [one.kind for one in found.pictures] == [Kind.SAME] * 3
    assert sum(len(one.again.detections) for one in found.pictures) > 0


def test_a_second_look_replays_to_the_last_bit(config, tmp_path):
    refine = {"mode": "grid", "tile_width": 640, "tile_height": 480, "max_regions": 4}
    run_line(config(camera={"refine": refine}))
    found = judged_again(tmp_path / "evidence")
    assert {one.kind for one in found.pictures} == {Kind.SAME}
    assert any(one.stored.record.result.looked for one in found.pictures)


def test_a_required_second_look_that_had_no_time_replays_as_it_was(config, tmp_path):
    class ShortOfTime:
        def __init__(self, inner):
            self.inner = inner

        def run(self, image, coarse, max_regions):
            return self.inner.run(image, coarse, 1)

    refine = {"mode": "grid", "tile_width": 640, "tile_height": 480, "max_regions": 4, "required": True}
    build(load(config(camera={"refine": refine})), swap=Swap(second=lambda _, inner: ShortOfTime(inner))).service.run()
    found = judged_again(tmp_path / "evidence")
    assert {one.kind for one in found.pictures} == {Kind.SAME}
    assert {one.stored.record.result.verdict for one in found.pictures} == {Verdict.NG, Verdict.UNKNOWN}
    assert all(one.stored.record.result.unlooked for one in found.pictures)


def test_a_gate_on_a_moving_line_replays_to_the_last_bit(tmp_path):
    demo = load(ROOT / "configs" / "demo.yaml")
    camera = demo.config.cameras["covers"]
    source = camera.source.model_copy(update={"parts": 5, "paced": False})
    path = tmp_path / "evidence"
    section = demo.config.evidence.model_copy(
        update={"path": str(path), "verdicts": ["OK", "NG", "UNKNOWN"], "min_free_bytes": 0, "max_per_s": 1000.0}
    )
    run_line(
        ROOT / "configs" / "demo.yaml",
        cameras={"covers": camera.model_copy(update={"source": source})},
        evidence=section,
        mqtt=None,
        jsonl=None,
    )
    found = judged_again(path)
    assert {one.kind for one in found.pictures} == {Kind.SAME}
    assert [one.stored.record.result.part for one in sorted(found.pictures, key=lambda one: one.stored.path)] == [
        1,
        2,
        3,
        4,
        5,
    ]
    for one in found.pictures:
        assert one.again.region == one.stored.record.replay.region
    assert len(list(Path(path).rglob("*.crop.png"))) == 5


def test_black_pictures_are_left_out_and_late_ones_are_judged_for_the_first_time(copy):
    stored = find([copy])[0]

    def becomes(code):
        def change(tree):
            tree["verdict"], tree["reasons"] = "UNKNOWN", [{"code": code, "text": "…", "boxes": []}]
            tree["replay"]["boxes"].update(xyxy="", scores="", classes="")

        return change

    changed(stored[0].path, becomes("black"))
    changed(stored[1].path, becomes("late"))
    found = judged_again(copy)
    assert len(found.skipped) == 1
    assert "the network is never asked about such a picture (black)" in found.skipped[0]
    (first,) = found.of(Kind.FIRST)
    assert (first.before, first.after) == (Verdict.UNKNOWN, Verdict(stored[1].path.stem.split("-")[2]))
    assert not found.differs
