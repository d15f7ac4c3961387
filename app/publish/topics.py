"""Names of topics: `<root>/<line>/<camera>/result`, with the line's and the camera's name made into one topic level."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from app.publish.message import Latency, Message, Result

MAX_NAME_CHARACTERS = 64
MAX_SLUG_BYTES = 128
FORBIDDEN = "+#"
COMMANDS = "cmd"
"""The topic level below a line under which commands come; no camera may have it."""
GERMAN = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})


@lru_cache(maxsize=1024)  # asked for with each message
def slug(name: str) -> str:
    """Return the topic level that stands for a line's or a camera's name.

    The rule: lower case; ä, ö, ü, ß become ae, oe, ue, ss; other Latin letters lose their accents; letters and digits
    of any script stay; every run of anything else (spaces, dots, slashes, underscores, …) becomes one hyphen, and none
    is left at either end. `Ofen-Tür 2` gives `ofen-tuer-2`.

    Raises:
        ValueError: the name is empty, longer than 64 characters, or holds `+`, `#` or a control character; or nothing
            is left of it.
    """
    _check(name)
    lowered = unicodedata.normalize("NFC", name).lower().translate(GERMAN)
    plain = unicodedata.normalize("NFC", _without_accents(lowered))
    words = "".join(character if _stays(character) else " " for character in plain).split()
    result = "-".join(words)
    if not result:
        raise ValueError(f"name {name!r}: no letter or digit is left for a topic; use at least one")
    if len(result.encode()) > MAX_SLUG_BYTES:
        raise ValueError(f"name {name!r}: its topic level is longer than {MAX_SLUG_BYTES} bytes; use a shorter name")
    return result


def collisions(names: Iterable[str]) -> list[tuple[str, ...]]:
    """Return the groups of different names that share one slug, in the order of their first name.

    Raises:
        ValueError: as `slug`.
    """
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for name in dict.fromkeys(names):
        groups[slug(name)].append(name)
    return [tuple(group) for group in groups.values() if len(group) > 1]


def _check(name: str) -> None:
    if not name.strip():
        raise ValueError(f"name {name!r}: is empty; a topic needs at least one letter or digit")
    if len(name) > MAX_NAME_CHARACTERS:
        raise ValueError(f"name {name[:20]!r}…: has {len(name)} characters; at most {MAX_NAME_CHARACTERS} are allowed")
    for character in name:
        if character in FORBIDDEN:
            raise ValueError(f"name {name!r}: {character!r} is an MQTT wildcard; use letters, digits and hyphens")
        if unicodedata.category(character) in ("Cc", "Cs"):
            raise ValueError(f"name {name!r}: holds the control character {character!r}; remove it")


def _without_accents(text: str) -> str:
    """Drop combining marks that sit on a Latin letter; those of other scripts are part of the letter."""
    kept: list[str] = []
    on_latin = False
    for character in unicodedata.normalize("NFKD", text):
        if not unicodedata.combining(character):
            on_latin = character.isascii()
        elif on_latin:
            continue
        kept.append(character)
    return "".join(kept)


def _stays(character: str) -> bool:
    return unicodedata.category(character)[0] in "LNM"


@dataclass(frozen=True, slots=True)
class Topics:
    """The topics of one line.

    Args:
        root: first level or levels, as configured.
        line: the line's name, not yet a slug.

    Raises:
        ValueError: the root holds a wildcard or a control character, or the line's name has no slug.
    """

    root: str
    line: str
    base: str = field(init=False)

    def __post_init__(self) -> None:
        root = self.root.strip("/")
        if not root or any(c in FORBIDDEN or unicodedata.category(c) in ("Cc", "Cs") for c in root):
            raise ValueError(f"mqtt.root {self.root!r}: must be topic levels without +, # and control characters")
        if root.startswith("$"):
            raise ValueError(f"mqtt.root {self.root!r}: topics that begin with $ belong to the broker")
        object.__setattr__(self, "base", f"{root}/{slug(self.line)}")

    def result(self, camera: str) -> str:
        """Return where a camera's results go."""
        return f"{self.base}/{slug(camera)}/result"

    def of(self, message: Message) -> str:
        """Return where a message goes; an event of a camera without a topic goes to the line's own.

        Raises:
            ValueError: the camera's name can't be part of a topic.
        """
        if isinstance(message, Result):
            return self.history(message.camera) if message.history else self.result(message.camera)
        if isinstance(message, Latency):
            return self.latency(message.camera)
        try:
            return self.event(message.camera)
        except ValueError:
            return self.event()

    def history(self, camera: str) -> str:
        """Return where a camera's results go that are no longer live."""
        return f"{self.base}/{slug(camera)}/history"

    def event(self, camera: str = "") -> str:
        """Return where events go: a camera's, or the line's own where no camera is named."""
        return f"{self.base}/{slug(camera)}/event" if camera else f"{self.base}/event"

    def status(self, camera: str = "") -> str:
        """Return the retained online/offline topic: a camera's, or the service's own where no camera is named."""
        return f"{self.base}/{slug(camera)}/status" if camera else f"{self.base}/status"

    def latency(self, camera: str) -> str:
        """Return where the figures of a camera's speed go."""
        return f"{self.base}/{slug(camera)}/latency"

    def ack(self, camera: str) -> str:
        """Return where subscribers say what they showed of a camera."""
        return f"{self.base}/{slug(camera)}/ack"

    @property
    def all_acks(self) -> str:
        """The subscription that covers `ack` of every camera."""
        return f"{self.base}/+/ack"

    @property
    def all_commands(self) -> str:
        """The subscription to whatever is asked of the line."""
        return f"{self.base}/{COMMANDS}/+"

    @property
    def answer(self) -> str:
        """Where it says what became of a command."""
        return f"{self.base}/answer"
