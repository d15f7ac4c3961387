"""A process that reads a source which does what its `path` says; started by the tests of isolated sources."""

import json
import logging
import os
import signal
import sys
import time

import numpy as np

from app.capture.inmate import lines, serve, settle_in
from app.capture.parcel import Pixels
from app.errors import EndOfStream, SourceError, SourceLost
from app.frame import NO_IMAGE, Picture, PixelFormat
from app.verdict import Code, Reason


class Doing:
    """Three numbered pictures of growing size, then what was asked for."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.count = 0

    def __enter__(self):
        if self.what == "absent":
            raise SourceLost("no such camera")
        if self.what == "hang_open":
            time.sleep(1000)
        logging.getLogger("driver").warning("the driver says %s", self.what)
        return self

    def __exit__(self, *_):
        """Nothing is held."""

    def read(self, timeout_s):
        self.count += 1
        return self.picture() if self.count <= 3 else getattr(self, self.what)()

    def crash(self):
        os.kill(os.getpid(), signal.SIGSEGV)

    def hang(self):
        time.sleep(1000)

    def slow(self):
        os.kill(os.getpid(), signal.SIGSTOP)  # until the test lets it go on
        return self.picture()

    def end(self):
        raise EndOfStream("that was all")

    def never(self):
        raise SourceError("a format that nobody knows")

    def bug(self):
        raise ZeroDivisionError("bug")

    def torn(self):
        return Picture(NO_IMAGE, 5, 6, "label", 2, Reason(Code.TORN, "cut off"))

    def picture(self):
        size_wh = (32 * self.count, 24 * self.count)
        data = np.random.default_rng(self.count).integers(60, 180, PixelFormat.NV12.shape(size_wh), np.uint8)
        now_ns = time.monotonic_ns()
        return Picture(data, now_ns, now_ns, f"picture {self.count}", format=PixelFormat.NV12)


def main(answers: int, memory: int, last_words: int) -> None:
    kept, asked = settle_in(last_words), lines()
    print("what a driver prints is nobody's answer", flush=True)
    serve(Doing(json.loads(next(asked))["path"]), asked, answers, Pixels(memory), kept)


main(*map(int, sys.argv[1:]))
