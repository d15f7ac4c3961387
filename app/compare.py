"""What a candidate that was tried beside a line is worth: how often both agree, and whether they differ one way."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import comb
from pathlib import Path
from time import monotonic

import msgspec
from rich.console import Console
from rich.table import Table

from app.config.sections import Mqtt
from app.errors import ConfigError, SinkLost
from app.latency.percentiles import Percentiles, percentiles
from app.publish.message import Event, MalformedMessage, decode
from app.watch import Subscriber

VERDICTS = ("OK", "NG", "UNKNOWN")
CONNECT_S = 5.0
DOUBTFUL = 0.05
"""A p-value from which on differing one way more often may well be chance."""


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """The data of an event of the kind `shadow`: one picture as the line's model and the candidate saw it."""

    verdict: str
    candidate_verdict: str
    model: str
    candidate: str
    ms: float
    candidate_ms: float
    trace_id: str = ""
    lost: dict[str, int] = {}
    invented: dict[str, int] = {}
    evidence: str = ""


@dataclass(slots=True)
class Trial:
    """All comparisons of one camera with one candidate."""

    camera: str
    candidate: str
    verdicts: Counter[tuple[str, str]] = field(default_factory=Counter)
    lost: Counter[str] = field(default_factory=Counter)
    invented: Counter[str] = field(default_factory=Counter)
    ms: list[float] = field(default_factory=list)
    candidate_ms: list[float] = field(default_factory=list)
    evidence: list[str] = field(default_factory=list)

    def add(self, one: Comparison) -> None:
        """Take one picture."""
        self.verdicts[one.verdict, one.candidate_verdict] += 1
        self.lost.update(one.lost)
        self.invented.update(one.invented)
        self.ms.append(one.ms)
        self.candidate_ms.append(one.candidate_ms)
        if one.evidence:
            self.evidence.append(one.evidence)

    @property
    def pictures(self) -> int:
        """How many were compared."""
        return self.verdicts.total()

    @property
    def agreed(self) -> int:
        """Of those, on how many both said the same."""
        return sum(self.verdicts[verdict, verdict] for verdict in VERDICTS)

    @property
    def only_model_ng(self) -> int:
        """NG by the line's model alone: escapes, if the candidate is wrong."""
        return sum(count for (one, other), count in self.verdicts.items() if one == "NG" != other)

    @property
    def only_candidate_ng(self) -> int:
        """NG by the candidate alone: false rejects, if it is wrong."""
        return sum(count for (one, other), count in self.verdicts.items() if other == "NG" != one)


def mcnemar(one_way: int, other_way: int) -> float:
    """Return the p-value of McNemar's exact test: how likely it is to differ so unevenly, or more, by chance.

    Under chance each picture on which the two differ falls either way with 1/2, so that the smaller number is binomial
    (McNemar, 1947; two-sided, doubled tail).

    Args:
        one_way: pictures on which only the first says NG.
        other_way: pictures on which only the second does.
    """
    differing = one_way + other_way
    if differing == 0:
        return 1.0
    tail = sum(comb(differing, count) for count in range(min(one_way, other_way) + 1))
    return min(1.0, float(2 * tail / 2**differing))


def show_comparison(files: Iterable[Path], console: Console, *, as_json: bool) -> None:
    """Print what files of messages (`jsonl:`) say of the candidates.

    Raises:
        ConfigError: a file can't be read, or there is no comparison in any.
    """
    _show(list(trials(event for file in files for event in _events_in(file))), console, as_json=as_json)


def show_live_comparison(section: Mqtt, console: Console, *, line: str, seconds: float, as_json: bool) -> None:
    """Listen to a running line for a while and print what there was.

    Raises:
        SinkLost: the broker can't be reached.
        ConfigError: there was no comparison.
    """
    with Subscriber(section, line=line) as subscriber, console.status(f"listening for {seconds:g} s …"):
        if not subscriber.wait_until_subscribed(CONNECT_S):
            raise SinkLost(f"{section.host}:{section.port}: no broker takes us within {CONNECT_S:g} s; is it running?")
        found = list(_events_of(subscriber, monotonic() + seconds))
    _show(list(trials(found)), console, as_json=as_json)


def trials(events: Iterable[Event]) -> Iterator[Trial]:
    """Sum up the events of the kind `shadow`, by camera and candidate."""
    found: dict[tuple[str, str], Trial] = {}
    for event in events:
        if event.kind == "shadow":
            one = msgspec.convert(event.data, Comparison)
            key = event.camera, one.candidate
            found.setdefault(key, Trial(*key)).add(one)
    yield from found.values()


def _events_in(file: Path) -> Iterator[Event]:
    try:
        lines = file.read_bytes().splitlines()
    except OSError as error:
        raise ConfigError(f"{file}: can't be read: {error.strerror}") from error
    for line in lines:
        try:
            message = decode(line)
        except MalformedMessage:
            continue  # the last line of a file that is being written
        if isinstance(message, Event):
            yield message


def _events_of(subscriber: Subscriber, until_s: float) -> Iterator[Event]:
    while (left_s := until_s - monotonic()) > 0:
        arrival = subscriber.get(left_s)
        if arrival is not None and isinstance(arrival.message, Event):
            yield arrival.message


def _show(found: list[Trial], console: Console, *, as_json: bool) -> None:
    if not found:
        raise ConfigError("no picture was compared; does a camera have `shadow`, and is there time to spare for it?")
    if as_json:
        sys.stdout.write(msgspec.json.encode([_plain(trial) for trial in found]).decode() + "\n")
        return
    for trial in found:
        console.print(
            f"{trial.camera}: {trial.candidate} beside the line's model, {trial.pictures} pictures", markup=False
        )
        console.print(_matrix(trial))
        console.print(_times(trial))
        for text in sentences(trial):
            console.print(text, markup=False, highlight=False)


def _matrix(trial: Trial) -> Table:
    table = Table("line \\ candidate", *VERDICTS)
    for column in table.columns[1:]:
        column.justify = "right"
    for verdict in VERDICTS:
        table.add_row(verdict, *(str(trial.verdicts[verdict, other]) for other in VERDICTS))
    return table


def _times(trial: Trial) -> Table:
    table = Table("a look, ms", "p50", "p90", "p99", "max")
    for column in table.columns[1:]:
        column.justify = "right"
    for name, times in (("line", trial.ms), ("candidate", trial.candidate_ms)):
        spread: Percentiles = percentiles(times)
        table.add_row(name, *(f"{value:.2f}" for value in (spread.p50, spread.p90, spread.p99, spread.max)))
    return table


def sentences(trial: Trial) -> list[str]:
    """Say what it means."""
    share = trial.agreed / trial.pictures
    one_way, other_way = trial.only_model_ng, trial.only_candidate_ng
    p = mcnemar(one_way, other_way)
    said = [f"both agree on {trial.agreed} of {trial.pictures} ({share:.1%})",
            f"NG by the line's model alone: {one_way}; by the candidate alone: {other_way}"]  # fmt: skip
    if one_way + other_way == 0:
        said.append("McNemar: nothing to tell them apart by")
    elif p < DOUBTFUL:
        stricter = "the line's model" if one_way > other_way else "the candidate"
        verdict = f"{stricter} says NG more often, and not by chance; look at the pictures to see who is right"
        said.append(f"McNemar: p = {p:.3g}: {verdict}")
    else:
        said.append(f"McNemar: p = {p:.3g}: that may well be chance")
    for word, counts in (("found by the line's model alone", trial.lost), ("by the candidate alone", trial.invented)):
        if counts:
            said.append(f"{word}: {', '.join(f'{count} {name}' for name, count in counts.most_common())}")
    said += [f"evidence: {path}" for path in trial.evidence[:10]]
    return said


def _plain(trial: Trial) -> dict[str, object]:
    return {
        "camera": trial.camera,
        "candidate": trial.candidate,
        "pictures": trial.pictures,
        "agreed": trial.agreed,
        "verdicts": {f"{one}/{other}": count for (one, other), count in sorted(trial.verdicts.items())},
        "mcnemar_p": mcnemar(trial.only_model_ng, trial.only_candidate_ng),
        "ms": percentiles(trial.ms).p50,
        "candidate_ms": percentiles(trial.candidate_ms).p50,
        "lost": trial.lost,
        "invented": trial.invented,
        "evidence": trial.evidence,
    }
