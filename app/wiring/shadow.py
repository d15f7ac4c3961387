"""The candidates that are tried beside the line, camera by camera."""

from __future__ import annotations

from collections.abc import Mapping

from app.config import LoadedConfig
from app.frame import AnyImage
from app.publish.outbox import Outbox
from app.shadow import Candidate, Difference, Shadow
from app.verdict import Outcome
from app.wiring.cameras import build_judge
from app.wiring.models import WiredModel
from app.wiring.sinks import Keep


def candidates_of(loaded: LoadedConfig, models: Mapping[str, WiredModel]) -> dict[str, Candidate]:
    """Return what is tried, by camera.

    Raises:
        ConfigError: the rules name classes that a candidate does not know.
    """
    found = {}
    for name, camera in loaded.config.cameras.items():
        if camera.shadow is not None:
            model = models[camera.shadow.model]
            judge = build_judge(loaded, name, model.names)
            found[name] = Candidate(camera.shadow.model, model.engine, judge, camera.shadow.share, judge.min_score())
    return found


def build_shadow(candidates: Mapping[str, Candidate], outbox: Outbox, keep: Keep) -> Shadow:
    """Wire the trial; each comparison is an event, and what differs is kept among the evidence."""

    def tell(outcome: Outcome, image: AnyImage, difference: Difference) -> None:
        verdict, other = outcome.judgement.verdict, difference.verdict
        data: dict[str, object] = {
            "trace_id": outcome.trace_id,
            "verdict": verdict.value,
            "candidate_verdict": other.value,
            "model": outcome.model,
            "candidate": difference.candidate,
            "lost": dict(difference.lost),
            "invented": dict(difference.invented),
            "ms": round(_look_ms(outcome), 3),
            "candidate_ms": round(difference.candidate_ms, 3),
        }
        if verdict is not other:
            data["evidence"] = outcome.evidence or keep.also(outcome, image)
        text = f"{verdict.value}, and {other.value} by {difference.candidate}"
        outbox.event(outcome.camera, "shadow", text, **data)

    return Shadow(candidates, tell)


def _look_ms(outcome: Outcome) -> float:
    """What the line's own look took: the steps that a candidate is timed by as well."""
    steps = ("preprocess", "inference", "decode")
    return sum(ended_ns - began_ns for step, began_ns, ended_ns in outcome.trace.spans if step in steps) / 1e6
