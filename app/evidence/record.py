"""What lies beside a kept picture: the message as it was published, and all that judges the picture again."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import msgspec

from app.evidence.boxes import Boxes
from app.evidence.pixels import PictureNote
from app.evidence.settings import CameraSetting
from app.publish.build import result_of
from app.publish.message import Result
from app.verdict import Outcome

FORMAT = 1


class Replay(msgspec.Struct, frozen=True, kw_only=True):
    """What judges a picture again.

    Attributes:
        format: of this record.
        why: the picture was kept: "verdict", "late", "borderline", "asked", "sample".
        version: of the product.
        picture: the file beside the record.
        boxes: what took part in the judgement.
        region: where the part lay, to the last bit; None where no gate found one.
        setting: the configuration as it was; None where it is not known any more.
    """

    format: int = FORMAT
    why: list[str]
    version: str
    picture: PictureNote
    boxes: Boxes
    region: tuple[float, float, float, float] | None = None
    setting: CameraSetting | None = None


class Record(msgspec.Struct, frozen=True):
    """A record as it is read again."""

    result: Result
    replay: Replay


def record_of(
    outcome: Outcome, line: str, why: Sequence[str], picture: PictureNote, setting: CameraSetting | None
) -> bytes:
    """Return the JSON: the message's own fields, and `replay` beside them."""
    replay = Replay(
        why=list(why),
        version=version("taktsight"),
        picture=picture,
        boxes=Boxes.of(outcome.detections),
        region=outcome.region_xyxy,
        setting=setting,
    )
    message: dict[str, Any] = msgspec.to_builtins(result_of(outcome, line))
    return msgspec.json.format(msgspec.json.encode({**message, "replay": replay}), indent=1)


def read_record(payload: bytes) -> Record:
    """Return a record.

    Raises:
        ValueError: it is none.
    """
    try:
        tree = msgspec.json.decode(payload, type=dict[str, msgspec.Raw])
        result = msgspec.json.decode(payload, type=Result)
        if "replay" not in tree:
            raise ValueError("there is no `replay` in it")
        replay = msgspec.json.decode(tree["replay"], type=Replay)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ValueError(str(error)) from error
    if replay.format != FORMAT:
        raise ValueError(f"it has the format {replay.format}; this version reads {FORMAT}")
    return Record(result, replay)
