"""Loopback ports that nobody listens on and that nobody is given by chance.

The system gives connections that go out, and listeners that do not mind, ports from a range of its own (32768 and up). A port
of that range may be taken between a test's question and its use, or while a broker is away, and a client that asks for
it again and again may at last be connected to itself.
"""

import itertools
import os
import random
import socket
from collections.abc import Iterator
from functools import cache

FIRST, COUNT = 20_000, 1_500
"""Where a worker's ports begin, and how many each has; pytest-xdist's workers have numbers."""
WORKERS = 8


@cache
def _ports() -> Iterator[int]:
    """Every port of this worker's, round and round, from any on: other runs of the tests may be under way."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % WORKERS
    begin = random.SystemRandom().randrange(COUNT)
    return (FIRST + worker * COUNT + (begin + step) % COUNT for step in itertools.count())


def free_port() -> int:
    """Return a port that nobody listens on."""
    for port in itertools.islice(_ports(), COUNT):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
    raise OSError("no port is free")
