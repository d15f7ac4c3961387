"""What a measurement puts in the place of the product's own parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from app.capture.base import Source
from app.engine import Engine
from app.pipeline import Emit, Judge
from app.refine.base import SecondLook


def _same_source(_: str, source: Source) -> Source:
    return source


def _same_engine(_: str, engine: Engine) -> Engine:
    return engine


def _same_judge(_: str, judge: Judge) -> Judge:
    return judge


def _same_second(_: str, second: SecondLook) -> SecondLook:
    return second


def _same_emit(emit: Emit) -> Emit:
    return emit


@dataclass(frozen=True, slots=True)
class Swap:
    """Each is given the product's part and returns the one that is used; by default the same.

    Attributes:
        source: by camera.
        engine: by camera, so that its preprocessor, backend and decoder may differ where cameras share a model.
        judge: by camera.
        second: by camera, where there is a second look.
        emit: takes every outcome; the product's own hands it to the evidence and the outbox.
    """

    source: Callable[[str, Source], Source] = _same_source
    engine: Callable[[str, Engine], Engine] = _same_engine
    judge: Callable[[str, Judge], Judge] = _same_judge
    second: Callable[[str, SecondLook], SecondLook] = _same_second
    emit: Callable[[Emit], Emit] = _same_emit
