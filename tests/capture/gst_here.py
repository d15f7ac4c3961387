"""Whether this Python can have GStreamer; where it is only not installed, tests must fail and not stay away."""

from app.capture.gst import SYSTEM, refusal

WHY_NOT = refusal(SYSTEM) if (SYSTEM / "gi").is_dir() else None
"""Debian builds the bindings for one version of Python alone: with any other there is nothing to test."""
