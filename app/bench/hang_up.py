"""The end of a paho client that has a thread of its own."""

from __future__ import annotations

from contextlib import suppress

from paho.mqtt.client import Client


def hang_up(client: Client) -> None:
    """Disconnect, and wait until the client's thread has ended.

    paho 2.2 forgets its thread as that ends, and where this is between its own look and its own wait, it raises
    AttributeError: there is nothing to wait for any more then.
    """
    client.disconnect()
    with suppress(AttributeError):
        client.loop_stop()
