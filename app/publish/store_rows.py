"""Parcels as rows of the outbox's file, and back."""

from __future__ import annotations

import logging
import time

from app.publish.message import Event, Latency, MalformedMessage, Result, decode, encode
from app.publish.parcels import Parcel
from app.publish.store import Row

logger = logging.getLogger(__name__)


def row_of(number: int, parcel: Parcel) -> Row | None:
    """Return what is written of a parcel; None for figures, of which newer ones come, and for what can't be built."""
    message = parcel.message
    if message is None or isinstance(message, Latency):
        return None
    age_ns = time.monotonic_ns() - parcel.put_ns
    return Row(number, parcel.kind, parcel.put_ns, time.time_ns() - age_ns, encode(message, "msgpack"))


def parcel_of(row: Row) -> Parcel | None:
    """Return what was read; None where it is no message of this version."""
    try:
        message = decode(row.message)
    except MalformedMessage as error:
        logger.warning("a stored message can't be read and is dropped: %s", error)
        return None
    return Parcel(message.id, row.put_ns, None, message) if isinstance(message, Result | Event) else None
