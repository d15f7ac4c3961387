"""The sections of what the service says of its own speed."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, field_validator, model_validator
from typing_extensions import Self

from app.config.address import check_host, is_loopback
from app.config.section import Name, Positive, Section

Percent = Annotated[float, Field(gt=0, le=100)]


class Alerts(Section):
    """When an event says that something is too slow; it ends when the value is clearly back."""

    p99_ms: Positive | None = Field(
        None, description="milliseconds of the total, of 99 % of a minute's results; null: the camera's budget"
    )
    gpu_percent: Percent = Field(95.0, description="load of the GPU above which it is said to be too high")
    batch_percent: Percent = Field(
        50.0,
        description="share of a batch's places with a picture in them, below which batches are said to be too empty",
    )


class Latency(Section):
    """How long the stages take, as published and watched all the time."""

    period_s: Annotated[float, Field(ge=1, le=3600)] = Field(10.0, description="seconds between two messages")
    alerts: Alerts = Field(Alerts())


class Metrics(Section):
    """Pages for Prometheus (`/metrics`) and for whoever watches the service (`/healthz`)."""

    host: Name = Field("127.0.0.1", description="address to listen on; 0.0.0.0, the whole network, needs a token")
    port: Annotated[int, Field(ge=1, le=65535)] = Field(9464, description="of http://host:port/metrics")
    token_file: str | None = Field(
        None, description="a file, or the name of a systemd credential; who asks sends it as a bearer token"
    )

    @field_validator("host")
    @classmethod
    def _host_is_one_name(cls, host: str) -> str:
        return check_host(host)

    @model_validator(mode="after")
    def _what_the_network_reads_has_a_token(self) -> Self:
        if self.token_file is None and not is_loopback(self.host):
            raise ValueError(f"host {self.host} is reachable from the network; add token_file, or set host: 127.0.0.1")
        return self
