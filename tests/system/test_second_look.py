"""The second look in the whole product: a small input sees the line, larger looks see the scratches."""

from dataclasses import replace
from pathlib import Path

import pytest

from app.config import LoadedConfig, load, sections
from app.detections import Detections
from app.errors import ConfigError
from app.frame import AnyImage
from app.refine import Refined, SecondLook
from app.verdict import Outcome
from app.wiring import Watchers, build
from app.wiring.swap import Swap
from tests.system.lines import CONFIGS, run


def with_refine(pictures: Path, **refine: object) -> LoadedConfig:
    """The folder line with a second look and nothing that leaves the process."""
    loaded = load(CONFIGS / "folder.yaml")
    camera = loaded.config.cameras["covers"]
    update = {
        "source": sections.ImagesSource(kind="images", path=str(pictures)),
        "refine": sections.Refine(**refine),
    }
    cameras = {"covers": camera.model_copy(update=update)}
    models = {**loaded.config.models, "small": sections.Model(path=str(CONFIGS.parent / "engines" / "covers_320.onnx"))}
    config = {"cameras": cameras, "models": models, "mqtt": None, "jsonl": None, "evidence": None}
    return replace(loaded, config=loaded.config.model_copy(update=config))


@pytest.fixture
def pictures(tmp_path: Path, covers: Path) -> Path:
    """Four parts of the line: good, hole, good, brass."""
    for name in ("002_OK.jpg", "003_NG.jpg", "004_OK.jpg", "015_NG.jpg"):
        (tmp_path / name).symlink_to(covers / name)
    return tmp_path


def said(outcomes: list[Outcome]) -> dict[str, str]:
    """The last verdict of each picture."""
    return {outcome.label: outcome.judgement.verdict.value for outcome in outcomes}


def test_what_was_looked_at_twice_is_said_and_timed(pictures: Path) -> None:
    outcomes, product = run(with_refine(pictures, mode="grid", tile_width=640, tile_height=480, max_regions=6))
    assert said(outcomes) == {path.name: path.stem[-2:] for path in pictures.iterdir()}
    for outcome in outcomes:
        assert len(outcome.looked) >= 4, "tiles over the whole picture"
        assert "refine" in {step for step, _, _ in outcome.trace.spans}
        assert outcome.level == "full"
    assert product.ledger.counts("covers").balanced


def test_a_second_model_may_look_again(pictures: Path) -> None:
    outcomes, _ = run(with_refine(pictures, mode="grid", model="small", tile_width=640, tile_height=480, max_regions=6))
    assert all(outcome.looked for outcome in outcomes)
    assert said(outcomes)["015_NG.jpg"] == "NG"


def test_coarse_first_gives_the_first_look_at_once_and_overrides_it(pictures: Path) -> None:
    refine = {"mode": "grid", "tile_width": 640, "tile_height": 480, "max_regions": 6, "coarse_first": True}
    outcomes, product = run(with_refine(pictures, **refine))
    revisions: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        revisions.setdefault(outcome.trace_id, []).append(outcome)
    assert len(revisions) == 4
    for first, second in revisions.values():
        assert (first.rev, second.rev) == (1, 2)
        assert (first.looked, first.late, second.late) == ((), False, False)
        assert second.looked
        assert first.trace is not second.trace, "each revision has its own times"
    counts = product.ledger.counts("covers")
    assert counts.balanced
    assert counts.judged == 4, "a frame has one fate, however many revisions"


def test_a_small_model_of_the_same_classes_is_entered_and_one_of_others_is_refused(pictures: Path) -> None:
    loaded = with_refine(pictures, mode="grid")
    cameras = {"covers": loaded.config.cameras["covers"].model_copy(update={"refine": None, "small_model": "small"})}
    config = loaded.config.model_copy(update={"cameras": cameras})
    outcomes, _ = run(replace(loaded, config=config))
    assert len(outcomes) == 4
    other = config.models["small"].model_copy(update={"names": ["a", "b", "c", "d", "e"]})
    config = config.model_copy(update={"models": {**config.models, "small": other}})
    with pytest.raises(ConfigError, match="other classes than `covers`"):
        run(replace(loaded, config=config))


class ShortOfTime:
    """A second look that never gets more than so many regions."""

    def __init__(self, inner: SecondLook, most: int) -> None:
        self.inner, self.most = inner, most

    def run(self, image: AnyImage, coarse: Detections, max_regions: int) -> Refined:
        return self.inner.run(image, coarse, min(max_regions, self.most))


@pytest.mark.parametrize("most", [0, 2])
def test_a_required_second_look_that_had_no_time_lets_no_part_pass_and_every_fault_that_was_seen_stand(
    most: int, pictures: Path
) -> None:
    refine = {"mode": "grid", "tile_width": 640, "tile_height": 480, "max_regions": 6, "required": True}
    outcomes: list[Outcome] = []
    swap = Swap(second=lambda _, inner: ShortOfTime(inner, most))
    build(with_refine(pictures, **refine), Watchers(on_judged=outcomes.append), swap=swap).service.run()
    assert said(outcomes) == {path.name: {"OK": "UNKNOWN", "NG": "NG"}[path.stem[-2:]] for path in pictures.iterdir()}
    for outcome in outcomes:
        assert outcome.judgement.reasons[-1].code.value == "unlooked"
        assert len(outcome.looked) == most
        assert outcome.unlooked
