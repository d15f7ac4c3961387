"""What every way to look promises, tried on all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from app.detections import Detections
from app.engine import Engine, Found, Look
from app.errors import BadOutput, ModelError
from app.frame import PixelFormat, Pixels, crop
from app.fused.fallback import Fallback
from app.trace import Trace
from tests.fused.cells import fused_engine, host_engine, our_kernels, painted
from tests.gpu.fake_driver import fake_driver


def three_steps(folder: Path) -> Engine:
    return host_engine(folder)


def one_launch(folder: Path) -> Engine:
    return fused_engine(folder, formats=[(PixelFormat.BGR8, (160, 120))])


def one_launch_for_several(folder: Path) -> Engine:
    return fused_engine(folder, most=4, paired=True)


def instead(folder: Path) -> Engine:
    return Fallback(fused_engine(folder, faults={"refuses": True}), host_engine(folder))


WAYS = [three_steps, one_launch, one_launch_for_several, instead]


@pytest.fixture(params=WAYS, ids=lambda make: make.__name__)
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """Sees how red, green and blue each cell of a picture is; not entered yet."""
    our_kernels()
    fake_driver().reset(present=True)
    make: Callable[[Path], Engine] = request.param
    yield make(tmp_path)
    fake_driver().reset(present=False)
    assert fake_driver().live() == {}


def seen(found: list[Found]) -> list[list[tuple[int, ...]]]:
    """Class and corners of each box, rounded, in an order of their own."""
    boxes = []
    for one in found:
        assert isinstance(one, Detections)
        boxes.append(sorted((int(c), *map(int, box.round())) for c, box in zip(one.classes, one.xyxy, strict=True)))
    return boxes


def test_there_is_one_answer_for_each_look_in_their_order(engine: Engine) -> None:
    images = [painted(seed) for seed in range(5)]
    with engine.backend:
        for _ in range(4):
            one_by_one = [seen(engine.look([Look(image, 0.5)]))[0] for image in images]
            assert seen(engine.look([Look(image, 0.5) for image in images])) == one_by_one
    assert len({str(boxes) for boxes in one_by_one}) == 5


def test_a_picture_has_the_same_in_it_whatever_was_looked_at_before(engine: Engine) -> None:
    with engine.backend:
        first = seen(engine.look([Look(painted(0), 0.5)]))
        for seed in range(1, 5):
            engine.look([Look(painted(seed), 0.5)])
            assert seen(engine.look([Look(painted(0), 0.5)])) == first


def test_more_pictures_than_go_into_one_call_are_looked_at_in_several(engine: Engine) -> None:
    with engine.backend:
        assert engine.most >= 1
        images = [painted(seed) for seed in range(2 * engine.most + 1)]
        one_by_one = [seen(engine.look([Look(image, 0.5)]))[0] for image in images]
        assert seen(engine.look([Look(image, 0.5) for image in images])) == one_by_one


def test_nothing_to_look_at_is_no_answer(engine: Engine) -> None:
    with engine.backend:
        assert engine.look([]) == []


def test_each_look_has_its_own_least_score(engine: Engine) -> None:
    image = painted(2)
    with engine.backend:
        for _ in range(3):
            low, high = engine.look([Look(image, 0.05), Look(image, 0.99)])
            assert isinstance(low, Detections)
            assert isinstance(high, Detections)
            assert len(low) > len(high)
            assert (low.scores >= 0.05).all()
            assert (high.scores >= 0.99).all()


def test_a_part_of_a_picture_is_looked_at_as_if_it_were_a_picture(engine: Engine) -> None:
    image = painted(3)
    part = crop(image, (40, 20, 150, 110))
    with engine.backend:
        assert seen(engine.look([Look(part, 0.5)])) == seen(engine.look([Look(np.ascontiguousarray(part), 0.5)]))


def test_a_camera_s_own_format_is_understood(engine: Engine) -> None:
    grey = painted(4)[:, :, 0].copy()
    with engine.backend:
        as_grey = seen(engine.look([Look(Pixels(grey, PixelFormat.GRAY8), 0.5)]))
        assert as_grey == seen(engine.look([Look(np.repeat(grey[:, :, np.newaxis], 3, 2), 0.5)]))


def test_pictures_are_not_written_to(engine: Engine) -> None:
    image = painted(5)
    image.flags.writeable = False
    with engine.backend:
        engine.look([Look(image, 0.5)])
    assert (image == painted(5)).all()


def test_answers_are_kept_whatever_is_looked_at_later(engine: Engine) -> None:
    with engine.backend:
        found = engine.look([Look(painted(0), 0.5)])
        before = seen(found)
        for seed in range(1, 4):
            engine.look([Look(painted(seed), 0.01)])
        assert seen(found) == before
    assert seen(found) == before


def test_the_three_steps_are_stamped_in_their_order_without_an_overlap(engine: Engine) -> None:
    with engine.backend:
        for _ in range(4):
            traces = [Trace(f"t-{number}", 0) for number in range(3)]
            engine.look([Look(painted(number), 0.5, trace) for number, trace in enumerate(traces)])
            for trace in traces:
                assert [step for step, _, _ in trace.spans] == ["preprocess", "inference", "decode"]
                times = [time for _, began, ended in trace.spans for time in (began, ended)]
                assert times == sorted(times)


def test_the_label_says_what_ran(engine: Engine) -> None:
    with engine.backend:
        assert engine.label().rpartition(":")[2] in ("CPUExecutionProvider", "tensorrt 10.3.0")


def test_it_can_be_left_and_entered_again(engine: Engine) -> None:
    for _ in range(2):
        with engine.backend:
            assert seen(engine.look([Look(painted(0), 0.5)]))[0]


def test_it_does_not_look_before_it_is_entered(engine: Engine) -> None:
    with pytest.raises(ModelError, match="not loaded"):
        engine.look([Look(painted(0), 0.5)])


def test_numbers_that_cannot_be_are_an_answer_and_spoil_no_other_frame(tmp_path: Path) -> None:
    our_kernels()
    fake_driver().reset(present=True)
    engine = fused_engine(tmp_path, faults={"spoilt": float("nan")})
    with engine.backend:
        found = engine.look([Look(painted(0), 0.5), Look(painted(1), 0.5)])
    fake_driver().reset(present=False)
    assert [type(one) for one in found] == [BadOutput, BadOutput]
