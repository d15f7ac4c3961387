"""How the service itself runs: what it logs, and what it asks of the interpreter and the system."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from app.config.section import Positive, Section


class Log(Section):
    """What is written to stderr; never waited for."""

    level: Literal["debug", "info", "warning", "error"] = Field("info", description="least level of a line")
    format: Literal["auto", "json", "console"] = Field(
        "auto", description="one JSON object a line, or text for people; auto: text on a terminal, else JSON"
    )
    frames_per_s: Annotated[float, Field(ge=0)] = Field(
        1.0, description="lines a second about frames that were OK and on time; all others always have one; 0: none"
    )
    max_waiting: Annotated[int, Field(ge=16)] = Field(
        1000, description="lines that may wait for a slow terminal or disk; more are dropped and counted"
    )


class Process(Section):
    """What is asked of the interpreter and the system so that frames take equally long; null: left as it is."""

    switch_interval_ms: Positive | None = Field(
        1.0, description="milliseconds after which Python lets another thread go on; Python's own is 5"
    )
    gc: Literal["idle", "python"] = Field(
        "idle", description="collect garbage between frames while none waits, or whenever Python likes"
    )
    gc_every_s: Positive = Field(5.0, description="for gc: idle, seconds between two whole collections")
    opencv_threads: Annotated[int, Field(ge=1)] = Field(1, description="threads of one OpenCV call")
    huge_pages: bool = Field(
        True, description="move what the models fill into huge pages once they are warm, where the system has them"
    )
    max_batch_wait_ms: Annotated[float, Field(ge=0, le=20)] = Field(
        5.0, description="milliseconds that a picture may wait for others to share a call with, under load; 0: never"
    )
    inspect_cpus: Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1)] | None = Field(
        None, description="CPUs for the inspect thread and the engine's threads, e.g. [2, 3]"
    )
    inspect_nice: Annotated[int, Field(ge=-20, le=19)] | None = Field(
        None, description="niceness of those threads; below 0 needs a right"
    )
    publish_realtime: Annotated[int, Field(ge=1, le=99)] | None = Field(
        1, description="real-time priority of what publishes at the last moment before a deadline, where it is allowed"
    )
    inspect_realtime: Annotated[int, Field(ge=1, le=99)] | None = Field(
        None, description="priority of those threads in the real-time class FIFO; needs a right"
    )
