"""What is wrong with a camera reaches its health, its retained status and an event, once each way."""

from __future__ import annotations

import threading
import time

import numpy as np

from app.capture.scripted import Scripted, picture_of
from app.frame import Picture
from app.wiring import build
from app.wiring.swap import Swap
from tests.system.lines import demo_line


class Paced(Scripted):
    """A scripted camera of a picture every 20 ms, each exposed when it is read."""

    def read(self, timeout_s):
        time.sleep(0.02)
        now_ns = time.monotonic_ns()
        picture = super().read(timeout_s)
        return Picture(picture.data, now_ns, now_ns)


def test_a_camera_that_goes_dark_is_said_to_be_black_once_and_online_again_once():
    good = [picture_of(90 + number) for number in range(8)]
    dark = [Picture(np.zeros((48, 64, 3), np.uint8), 1, 1)] * 12
    source, told, healths = Paced([*good, *dark, *good]), [], []
    line = demo_line()
    product = build(line, swap=Swap(source=lambda name, _: source))
    (name,) = line.config.cameras
    put = product.outbox.event

    def event(camera, kind, text, **data):
        if kind == "camera":
            told.append(data["state"])
            healths.append(product.board.health().cameras[name])
        put(camera, kind, text, **data)

    product.outbox.event = event
    thread = threading.Thread(target=product.service.run, name="service")
    thread.start()
    thread.join(60)
    assert not thread.is_alive()
    assert told == ["connecting", "online", "black", "online", "ended"]
    assert [health.state for health in healths] == told
    assert healths[2].reason == "no pixel is brighter than 12; is the light on and the lens open?"
    assert healths[-1].stalls_per_h == 1
    assert healths[-1].reconnects_per_h == 0
    assert product.ledger.counts(name).balanced
