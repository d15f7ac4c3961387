"""Everything that a frame costs beside its engine: the real pipeline around an engine that does nothing."""

from __future__ import annotations

from statistics import median
from time import monotonic_ns

import numpy as np

from app.bench import decode
from app.bench.letterbox import SPEC, picture
from app.bench.ratio import Timing
from app.bench.row import Row, limit_row
from app.config.sections import CountRule, ForbidRule, Rule
from app.config.sections import Judge as JudgeSection
from app.engine import HostEngine
from app.frame import AnyImage, Frame, Image, Picture
from app.inference.fake import FakeBackend
from app.judge import Judge
from app.ledger import Ledger
from app.model import TensorSpec
from app.pipeline import Pipeline
from app.preprocess.cpu import CpuPreprocessor
from app.publish.build import result_of
from app.publish.clock import UtcClock
from app.publish.message import encode
from app.verdict import Outcome

PART = "1080p frame without its engine"
CAMERA = "bench"
BELOW_MS = 2.0
WARM_UP = 10
CANDIDATES, OBJECTS = 300, 30
RULES: list[Rule] = [CountRule(count="class_3", min=1), ForbidRule(forbid="class_70")]


class Bench:
    """A camera's pipeline as the product wires it; the message is built and encoded where the outbox would take it."""

    def __init__(self, backend: FakeBackend) -> None:
        decoder = decode.decoder()
        batch = np.zeros((1, *SPEC.sample_shape), SPEC.dtype)
        self.ledger = Ledger((CAMERA,))
        self.payload = b""
        self.outcome: Outcome | None = None
        judge = Judge(JudgeSection(score=decode.MIN_SCORE, rules=RULES), decoder.names)
        self._pipeline = Pipeline(
            run_id="bench",
            config_hash="0" * 12,
            budget_ms=100.0,
            engine=HostEngine(
                name="bench",
                backend=backend,
                preprocessor=CpuPreprocessor(SPEC),
                feeds={SPEC.name: batch},
                sample=batch[0],
                decode=decoder.run,
            ),
            min_score=judge.min_score(),
            gate=None,
            judge=judge,
            ledger=self.ledger,
            emit=self._emit,
            steady=lambda verdict, exposed_ns: None,  # as the product does where nothing is debounced
            utc=UtcClock().label,
        )

    def _emit(self, outcome: Outcome, _: AnyImage) -> None:
        self.outcome = outcome
        self.payload = encode(result_of(outcome, "bench"))

    def run(self, image_hwc: Image, seq: int) -> tuple[int, dict[str, float]]:
        """Inspect one picture.

        Returns:
            Nanoseconds without the engine's, and milliseconds by column.
        """
        now_ns = monotonic_ns()
        frame = Frame(CAMERA, seq, Picture(image_hwc, now_ns, now_ns), now_ns)
        began_ns = monotonic_ns()
        self.ledger.capture(CAMERA, seq)
        self._pipeline.run(frame)
        spent_ns = monotonic_ns() - began_ns
        assert self.outcome is not None
        columns = {name: spent or 0.0 for name, spent in self.outcome.trace.columns_ms().items()}
        return spent_ns - int(columns["inference"] * 1e6), columns


def backend() -> FakeBackend:
    """Return an engine that always gives the usual output of the decode bench."""
    spec = TensorSpec(SPEC.name, (1, *SPEC.sample_shape), SPEC.dtype)
    return FakeBackend([spec], {decode.OUTPUT: decode.output(8400, CANDIDATES, OBJECTS)})


def rows(frames: int) -> list[Row]:
    """Measure the whole, and which part of it goes where."""
    image_hwc = picture()
    with backend() as engine:
        bench = Bench(engine)
        found = [bench.run(image_hwc, seq) for seq in range(1, frames + WARM_UP + 1)][WARM_UP:]
    whole = [spent_ns / 1e6 for spent_ns, _ in found]
    preprocess = [columns["preprocess"] for _, columns in found]
    postprocess = [columns["postprocess"] for _, columns in found]
    rest = [total - before - after for total, before, after in zip(whole, preprocess, postprocess, strict=True)]
    everything = limit_row(PART, "everything", Timing(median(whole), min(whole), frames), BELOW_MS)
    shares = {"preprocess": preprocess, "decode, NMS, judge": postprocess, "ledger, trace, message": rest}
    return [everything, *(Row(PART, f"… {name}", median(spent), min(spent)) for name, spent in shares.items())]
