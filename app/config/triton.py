"""The section of a Triton server that runs a model in this machine's place."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator

from app.config.section import Name, Section


class Triton(Section):
    """A Triton Inference Server that has the same model; spoken to by gRPC (KServe v2)."""

    url: str = Field("127.0.0.1:8001", description="host:port of its gRPC, or unix:PATH of its socket")
    model: Name | None = Field(None, description="the model's name there; null: the file's name without its ending")
    version: str = Field("", description="of the model there; empty: the newest")
    priority: Annotated[int, Field(ge=0)] = Field(
        0, description="in its queue, 1 goes first; 0: as the model says there"
    )
    timeout_ms: Annotated[float, Field(gt=0)] = Field(
        200.0, description="no call waits longer; less where a frame's deadline or the local engine's time wants it"
    )
    shared_memory: Literal["auto", "on", "off"] = Field(
        "auto", description="tensors go by /dev/shm; auto: where the server is on this machine and takes them"
    )
    fail_over: bool = Field(True, description="run the model here while the server is away; false: inspection stops")
    late_calls: Annotated[int, Field(ge=1)] = Field(3, description="calls in a row that may be late before it is away")
    retry_s: Annotated[float, Field(gt=0)] = Field(
        1.0, description="seconds between two looks for a server that is away"
    )
    well_after: Annotated[int, Field(ge=1)] = Field(3, description="good looks in a row after which it is used again")
    tolerance: Annotated[float, Field(gt=0)] = Field(
        0.001, description="how far its outputs may be from the file's own, in shares of an output's largest number"
    )

    @field_validator("url")
    @classmethod
    def _url_is_an_address(cls, url: str) -> str:
        host, _, port = url.rpartition(":")
        if not url.startswith("unix:") and not (host and port.isdigit() and "/" not in url):
            raise ValueError(f"{url!r} is no address of a gRPC server: write host:port without http://, or unix:PATH")
        return url
