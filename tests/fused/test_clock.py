"""What the GPU's own clock says is in a frame's trace, on the host's clock, without a gap or an overlap."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine import Look
from app.frame import PixelFormat
from app.fused.clock import STEPS, on_host
from app.gpu.event import Event
from app.trace import Trace
from tests.fused.cells import painted
from tests.fused.conftest import Make

STEPS_MS = dict(zip(STEPS, (0.5, 1.0, 4.0, 0.25, 0.25), strict=True))


def test_the_engine_s_time_is_counted_back_from_where_the_host_saw_the_end():
    began_ns, synced_ns = 1_000_000, 11_000_000

    engine_began_ns, engine_ended_ns = on_host(STEPS_MS, began_ns, synced_ns)

    assert (engine_began_ns, engine_ended_ns) == (6_500_000, 10_500_000)


@given(
    st.fixed_dictionaries({step: st.floats(0, 1e4) for step in STEPS}),
    st.integers(0, 10**15),
    st.integers(0, 10**11),
)
def test_whatever_the_gpu_says_no_step_begins_before_the_frame_or_ends_after_it(steps_ms, began_ns, took_ns):
    engine_began_ns, engine_ended_ns = on_host(steps_ms, began_ns, began_ns + took_ns)

    assert began_ns <= engine_began_ns <= engine_ended_ns <= began_ns + took_ns


@pytest.mark.parametrize("graph", [False, True])
def test_a_frame_s_inference_takes_what_the_events_around_the_engine_say(
    make: Make, monkeypatch: pytest.MonkeyPatch, *, graph: bool
):
    """A microsecond for each step, which always fits into what the host took."""
    fused = make(options={"formats": [(PixelFormat.BGR8, (160, 120))]}, refuses_capture=not graph)
    with fused.backend:
        for seed in range(3):
            fused.look([Look(painted(seed), 0.5)])
        monkeypatch.setattr(Event, "ms_since", lambda self, earlier: 0.001)
        trace = Trace("t", 0)
        fused.look([Look(painted(3), 0.5, trace)])
    spans = {step: ended - began for step, began, ended in trace.spans}
    assert spans["inference"] == 1000
    assert spans["decode"] >= 2000  # the candidates and the way down, and what the host does with them
