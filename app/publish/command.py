"""What may be asked of a running line, and the answer: one strict schema for each command."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import msgspec

from app.publish.message import MalformedMessage

Id: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
Name: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
By: TypeAlias = Annotated[str, msgspec.Meta(max_length=64)]

MOST_BYTES = 4096


class Command(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What all commands carry.

    Attributes:
        id: chosen by whoever asks; the answer names it, and a command that comes twice is done once.
        by: who asks, for the log; nobody checks it.
    """

    id: Id
    by: By = ""


class Pause(Command, frozen=True, kw_only=True):
    """Judge no pictures of a camera until it is resumed: they are UNKNOWN with the reason `paused`."""

    camera: Name


class Resume(Command, frozen=True, kw_only=True):
    """Judge them again."""

    camera: Name


class Snapshot(Command, frozen=True, kw_only=True):
    """Keep the camera's next picture among the evidence, whatever its verdict."""

    camera: Name


class Trigger(Command, frozen=True, kw_only=True):
    """Judge the next picture of a camera with `trigger: command`; its result carries this command's id."""

    camera: Name


class Reload(Command, frozen=True, kw_only=True):
    """Read the configuration file again."""


class SetThreshold(Command, frozen=True, kw_only=True, rename={"name": "class"}):
    """Change the least score of a class, until the configuration is read again.

    Attributes:
        name: the class; the key is `class`.
    """

    camera: Name
    name: Name
    score: Annotated[float, msgspec.Meta(ge=0, le=1)]


class SetModel(Command, frozen=True, kw_only=True):
    """Have a camera look with another file, until the configuration is read again.

    Attributes:
        file: its name, in the folder of the camera's present model; nothing outside of it can be named.
    """

    camera: Name
    file: Name


Any: TypeAlias = SetModel | Pause | Resume | Snapshot | Trigger | Reload | SetThreshold

COMMANDS: dict[str, type[Any]] = {
    "pause": Pause,
    "resume": Resume,
    "snapshot": Snapshot,
    "trigger": Trigger,
    "reload": Reload,
    "set_model": SetModel,
    "set_threshold": SetThreshold,
}


class Answer(msgspec.Struct, frozen=True, kw_only=True, tag="answer", tag_field="type"):
    """What became of a command.

    Attributes:
        id: the command's; empty where it had none that could be read.
        ok: it was done.
        text: what was done, or why not; one line.
    """

    id: str
    command: str
    ok: bool
    text: str
    utc: str


def parse(name: str, payload: bytes) -> Any:
    """Return a command.

    Raises:
        MalformedMessage: there is no such command, or the payload is not one.
    """
    kind = COMMANDS.get(name)
    if kind is None:
        raise MalformedMessage(f"there is no command {name[:32]!r}; there are {', '.join(COMMANDS)}")
    if len(payload) > MOST_BYTES:
        raise MalformedMessage(f"{name}: {len(payload)} bytes; a command has {MOST_BYTES} at most")
    try:
        return msgspec.json.decode(payload, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise MalformedMessage(f"{name}: {error}") from error


def id_of(payload: bytes) -> str:
    """Return the id of a payload that may be anything, so that even a refusal finds whoever asked."""
    try:
        found = msgspec.json.decode(payload[:MOST_BYTES])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ""
    wanted = found.get("id") if isinstance(found, dict) else None
    return wanted[:64] if isinstance(wanted, str) else ""
