"""What an MQTT 5 message says of itself beside its payload."""

from __future__ import annotations

from functools import lru_cache

from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties


@lru_cache(maxsize=256)
def properties_of(content_type: str, expiry_s: int | None) -> Properties:
    """Return the same for all messages that say the same: paho takes long to make it, and only reads it afterwards.

    Args:
        content_type: of the payload; empty: not said.
        expiry_s: the broker gives it to nobody later than so; None or 0: it may at any time.
    """
    properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]  # paho leaves it so
    if content_type:
        properties.ContentType = content_type
    if expiry_s:
        properties.MessageExpiryInterval = expiry_s
    return properties
