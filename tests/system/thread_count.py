"""Run a configuration until every camera has a verdict; print the threads of the process then, Python's by name."""

import json
import sys
import threading
from pathlib import Path

import cv2

from app.config import load
from app.log.setup import logging_to_stderr
from app.wiring import Watchers, build


def main(config: str) -> None:
    loaded = load(Path(config))
    open_cameras, everyone = set(loaded.config.cameras), threading.Event()

    def judged(outcome) -> None:
        open_cameras.discard(outcome.camera)
        if not open_cameras:
            everyone.set()

    with logging_to_stderr(loaded.config.log):
        product = build(loaded, Watchers(on_judged=judged))
        running = threading.Thread(target=product.service.run, name="service")
        running.start()
        assert everyone.wait(60), f"no verdict from {open_cameras}"
        count = len(list(Path("/proc/self/task").iterdir()))
        names = sorted(thread.name for thread in threading.enumerate() if thread is not running)
        product.service.stop()
        running.join()
    # The product's own main thread runs the service; here it waits for it.
    print(json.dumps({"threads": count - 1, "python": names, "opencv": cv2.getNumThreads()}))


main(sys.argv[1])
