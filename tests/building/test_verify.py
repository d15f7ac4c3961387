"""A candidate beside its model: what is the same may be used, what finds less is refused in the user's terms."""

from __future__ import annotations

import io
import json
import re

import cv2
import numpy as np
import pytest
from rich.console import Console

from app.building.verify import Question, Side, pictures_in, verify
from app.building.verify_draw import side_by_side
from app.building.verify_labels import find_labels
from app.building.verify_report import page, write_report
from app.building.verify_rules import Rules
from app.config import sections
from app.config.verify import Verify
from app.detections import Detections
from app.errors import BadOutput, ConfigError, ModelError
from tests.conftest import ROOT

MODEL = ROOT / "engines" / "covers_640.onnx"
DEMO = ROOT / "configs" / "demo.yaml"
NAMES = ("cover", "scratch")
BOX = (10, 10, 40, 40)
EASY = Verify(least_pictures=1)


def quiet():
    """A console that nobody reads."""
    return Console(file=io.StringIO())


def seen(*rows, names=NAMES):
    """Detections from rows of class name, score and corners."""
    return Detections(
        np.asarray([corners for _, _, corners in rows], np.float32).reshape(-1, 4),
        np.asarray([score for _, score, _ in rows], np.float32),
        np.asarray([names.index(name) for name, _, _ in rows], np.int64),
        names,
    )


def side(label, *found, names=NAMES):
    """A side that sees what a test says, picture after picture; the last is repeated."""
    calls = []

    def look(images, least):
        calls.append((len(images), least))
        first = sum(count for count, _ in calls[:-1])
        return [found[min(first + number, len(found) - 1)] for number in range(len(images))]

    made = Side(label, names, look)
    return made, calls


@pytest.fixture
def folder(tmp_path):
    """Three small pictures."""
    for number in range(3):
        cv2.imwrite(str(tmp_path / f"{number}.png"), np.full((48, 64, 3), 40 * (number + 1), np.uint8))
    return tmp_path


SCRATCHED = seen(("cover", 0.9, BOX), ("scratch", 0.8, (20, 20, 30, 30)))
CLEAN = seen(("cover", 0.9, BOX))
RULES = sections.Judge(score=0.5, rules=[sections.ForbidRule(forbid="scratch")])


def camera(judge=RULES, gate=None):
    return sections.Camera(source=sections.ImagesSource(kind="images", path="."), model="m", judge=judge, gate=gate)


def run(folder, model, candidate, **question):
    question.setdefault("limits", EASY)
    return verify(side("model", *model)[0], side("candidate", *candidate)[0], pictures_in(folder), Question(**question))


# ── the decision ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_what_finds_the_same_may_be_used(folder):
    report = run(folder, [SCRATCHED], [SCRATCHED], rules=Rules(camera(), NAMES))
    assert report.passed
    assert (report.pictures, report.verdicts.same, report.refused) == (3, 3, ())
    assert report.figures() == {
        "lost": 0.0,
        "invented": 0.0,
        "least_iou_mean": 1.0,
        "most_score_difference_mean": 0.0,
        "same_verdicts": 1.0,
    }


def test_what_finds_fewer_is_refused_and_the_worst_picture_comes_first(folder):
    report = run(folder, [CLEAN, SCRATCHED, SCRATCHED], [CLEAN, SCRATCHED, CLEAN], rules=Rules(camera(), NAMES))
    assert not report.passed
    assert report.refused[0] == "class scratch: 1 of 2 lost, at most 2% may be (max_lost)"
    assert report.refused[1].startswith("verdicts: 1 of 3 pictures are NG for the model and not for the candidate")
    assert report.worst[0].path.name == "2.png"
    assert report.worst[0].words() == "NG → OK; lost: scratch 0.80; least IoU 1.000, scores differ by up to 0.000"


def test_what_is_invented_is_refused(folder):
    report = run(folder, [CLEAN], [SCRATCHED])
    assert report.refused == ("class scratch: 3 invented beside the model's 0, at most 2% may be (max_invented)",)


def test_numbers_that_can_not_be_are_a_reason_of_their_own(folder):
    report = run(folder, [CLEAN], [CLEAN, BadOutput("a score of 1.3"), CLEAN], rules=Rules(camera(), NAMES))
    assert "1 of 3 pictures: the candidate's numbers can't be (a score of 1.3)" in report.refused
    assert report.worst[0].path.name == "1.png"
    assert [verdict.value for verdict in report.worst[0].verdicts] == ["OK", "UNKNOWN"]


REFUSED = [
    # nothing was found, so nothing was compared
    ([Detections.none(NAMES)], {}, "the model finds nothing on these pictures"),
    # three pictures are no proof
    ([CLEAN], {"limits": Verify()}, "3 pictures prove nothing, 10 are needed"),
]


@pytest.mark.parametrize(("both", "question", "said"), REFUSED)
def test_what_proves_nothing_is_refused(folder, both, question, said):
    assert any(line.startswith(said) for line in run(folder, both, both, **question).refused)


def test_the_model_itself_must_work(folder):
    with pytest.raises(ModelError, match=r"model: 0\.png: all zero: the model itself can't be used"):
        run(folder, [BadOutput("all zero")], [CLEAN])


def test_other_classes_are_another_model(folder):
    other, _ = side("candidate", CLEAN, names=("screw", "hole"))
    with pytest.raises(ModelError, match="it was not made from that model"):
        verify(side("model", CLEAN)[0], other, pictures_in(folder), Question(EASY))


def test_a_class_that_is_on_no_picture_is_said_to_be_unknown(folder):
    notes = run(folder, [CLEAN], [CLEAN]).notes
    assert notes[0] == "the model finds no scratch on these pictures, so nothing is known about it"
    assert notes[1].startswith("no camera's rules were named")


def test_a_picture_that_can_not_be_read_is_left_out_and_named(folder):
    (folder / "3.png").write_bytes(b"")
    report = run(folder, [CLEAN], [CLEAN])
    assert (report.pictures, report.skipped) == (3, ("3.png: the file has 0 bytes",))


def test_larger_batches_are_given_to_the_candidate_only(folder):
    model, model_calls = side("model", CLEAN)
    candidate, calls = side("candidate", CLEAN)
    verify(model, candidate, pictures_in(folder), Question(EASY, together=2))
    assert [count for count, _ in model_calls] == [1, 1, 1]
    assert [count for count, _ in calls] == [2, 1]


def test_both_look_down_to_the_threshold_less_the_slack(folder):
    rules = Rules(camera(sections.Judge(score=0.5, scores={"scratch": 0.3}, rules=RULES.rules)), NAMES)
    candidate, calls = side("candidate", CLEAN)
    verify(side("model", CLEAN)[0], candidate, pictures_in(folder), Question(EASY, rules=rules))
    assert [least for _, least in calls] == [pytest.approx(0.25)] * 3


def test_progress_is_told_for_each_picture(folder):
    (folder / "3.png").write_bytes(b"")
    told = []
    run(folder, [CLEAN], [CLEAN], on_picture=lambda: told.append(1))
    assert len(told) == 4


# ── rules of a still picture ─────────────────────────────────────────────────────────────────────────────────────────


def test_a_gate_gives_the_best_box_of_its_class_with_its_margin():
    outside = seen(
        ("cover", 0.9, (10, 10, 30, 30)), ("cover", 0.6, (40, 10, 60, 30)), ("scratch", 0.8, (44, 14, 50, 20))
    )
    judge = sections.Judge(rules=[sections.ForbidRule(forbid="scratch", region="part")])
    verdicts = [
        Rules(camera(judge, sections.Gate.model_validate({"class": "cover", "margin_px": margin})), NAMES)
        .judge(outside, (64, 48))
        .verdict.value
        for margin in (0.0, 25.0)
    ]
    assert verdicts == ["OK", "NG"]


def test_a_cap_that_only_the_lower_score_reaches_makes_no_verdict_unknown(folder):
    # At the line's own score nothing is cut off, so the line would say OK.
    full = Detections(CLEAN.xyxy, CLEAN.scores, CLEAN.classes, NAMES, saturated=True)
    looks = Side("model", NAMES, lambda images, least: [CLEAN if least >= 0.5 else full for _ in images])
    report = verify(looks, looks, pictures_in(folder), Question(EASY, rules=Rules(camera(), NAMES)))
    assert [[verdict.value for verdict in one.verdicts] for one in report.worst] == [["OK", "OK"]] * 3


# ── labels ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def coco(folder):
    tree = {
        "images": [{"id": 7, "file_name": "sub/0.png"}, {"id": 8, "file_name": "1.png"}],
        "categories": [{"id": 3, "name": "scratch"}],
        "annotations": [
            {"image_id": 7, "category_id": 3, "bbox": [20, 20, 10, 10]},
            {"image_id": 8, "category_id": 3, "bbox": [0, 0, 64, 48], "iscrowd": 1},
        ],
    }
    (folder / "_annotations.coco.json").write_text(json.dumps(tree))


def yolo(folder):
    (folder / "labels").mkdir()
    (folder / "labels" / "0.txt").write_text("1 0.390625 0.5208333 0.15625 0.2083333\n")
    (folder / "labels" / "1.txt").write_text("")


def samples(folder):
    objects = [{"name": "scratch", "bbox_xyxy": [20, 20, 30, 30]}]
    tree = {"photos": [{"file": "0.png", "objects": objects}, {"file": "1.png", "objects": []}]}
    (folder / "truth.json").write_text(json.dumps(tree))


@pytest.mark.parametrize("write", [coco, yolo, samples])
def test_labels_are_found_beside_the_pictures_in_each_form(folder, write):
    write(folder)
    labels = find_labels(folder, NAMES)
    first, empty, none = (labels.of(folder / f"{number}.png", (64, 48)) for number in range(3))
    assert np.allclose(first.xyxy, [[20, 20, 30, 30]], atol=1e-3)
    assert first.name(0) == "scratch"
    assert len(empty) == 0
    assert none is None


def test_without_labels_there_is_no_map(folder):
    assert find_labels(folder, NAMES) is None
    assert run(folder, [CLEAN], [CLEAN]).precision is None


def test_a_lower_map_is_refused_where_there_are_labels(folder):
    samples(folder)
    limits = Verify(least_pictures=1, max_lost=1.0)
    report = run(folder, [SCRATCHED], [CLEAN], limits=limits, labels=find_labels(folder, NAMES))
    # Of two pictures with labels, the model finds a scratch in both and one is labelled.
    assert report.refused == ("mAP: 0.000, the model has 1.000, at most 0.01 less is allowed (max_map_drop)",)


BAD_LABELS = [
    # a class that the model has not
    ('{"photos": [{"file": "0.png", "objects": [{"name": "dent", "bbox_xyxy": [0, 0, 1, 1]}]}]}', "labels of dent"),
    # something else
    ('{"pictures": []}', "neither COCO"),
    # no JSON
    ("{", "neither COCO"),
]


@pytest.mark.parametrize(("content", "said"), BAD_LABELS)
def test_labels_that_do_not_fit_are_refused_with_the_file(folder, content, said):
    (folder / "truth.json").write_text(content)
    with pytest.raises(ConfigError, match=said) as caught:
        find_labels(folder, NAMES)
    assert "truth.json" in str(caught.value)


@pytest.mark.parametrize("line", ["scratch 0 0 1 1", "1 0.5 0.5", "9 0.5 0.5 1 1"])
def test_a_yolo_line_that_is_not_one_is_refused(folder, line):
    yolo(folder)
    (folder / "labels" / "0.txt").write_text(line)
    with pytest.raises(ConfigError, match=r"0\.txt"):
        find_labels(folder, NAMES).of(folder / "0.png", (64, 48))


# ── the report ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def report(folder):
    samples(folder)
    labels = find_labels(folder, NAMES)
    return run(folder, [SCRATCHED], [CLEAN, SCRATCHED], rules=Rules(camera(), NAMES), labels=labels)


def test_the_page_names_and_shows_the_worst_pictures_and_fetches_nothing(report):
    html = page(report)
    assert html.index("0.png") < html.index("1.png")
    assert "NG → OK; lost: scratch 0.80" in html
    assert html.count("data:image/jpeg;base64,") == 3
    assert re.findall(r'(?:src|href)="(?!data:)', html) == []
    assert "http" not in html.replace("data:image", "")
    assert "refused: class scratch: 1 of 3 lost" in html


def test_the_json_holds_what_a_program_needs(report, tmp_path):
    paths = write_report(report, tmp_path / "deep" / "verify")
    assert [path.name for path in paths] == ["verify.json", "verify.html"]
    tree = json.loads(paths[0].read_text())
    assert tree["passed"] is False
    assert tree["classes"][1] | {"lost": 1, "name": "scratch"} == tree["classes"][1]
    assert tree["worst"][0]["lost"] == [{"class": "scratch", "score": 0.8, "xyxy": [20.0, 20.0, 30.0, 30.0]}]
    assert tree["map"]["reference"]["labels"] == 1
    assert tree["limits"]["max_lost"] == 0.02


def test_what_is_lost_is_drawn_red_on_the_left_and_dashed_on_the_right(report):
    drawn = side_by_side(np.zeros((480, 640, 3), np.uint8), report.worst[0].compared)
    red = (drawn == (40, 40, 230)).all(axis=2)
    half = drawn.shape[1] // 2
    assert red[:, :half].sum() > red[:, half:].sum() > 0
