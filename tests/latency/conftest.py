"""A clock that a test sets."""

import pytest


class Clock:
    """A monotonic clock in nanoseconds that stands still until it is told."""

    def __init__(self, at_s=1000.0):
        self.now_ns = int(at_s * 1e9)

    def __call__(self):
        return self.now_ns

    def advance(self, seconds):
        self.now_ns += round(seconds * 1e9)


@pytest.fixture
def clock():
    return Clock()
