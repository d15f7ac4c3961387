"""What can go wrong between this machine and a Triton server."""

from __future__ import annotations

from app.errors import ModelError


class TritonFault(ModelError):  # noqa: N818 - named after the event
    """A call to the server failed; the text says why and what to do."""


class TritonAway(TritonFault):
    """Nobody answers at its address, or the answer is that it can't now."""


class TritonLate(TritonFault):
    """It did not answer in time; it may still be at work on the call."""


class TritonRefused(TritonFault):
    """It answers, and what it has is not this model: no wait makes that better."""
