"""The section of the encryption to the broker."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator
from typing_extensions import Self

from app.config.section import Section


class Tls(Section):
    """Encryption to the broker."""

    ca_file: str | None = Field(None, description="PEM; null: the system's certificates")
    cert_file: str | None = Field(None, description="client certificate, PEM")
    key_file: str | None = Field(None, description="client key, PEM, without a passphrase")
    min_version: Literal["1.2", "1.3"] = Field("1.2", description="of TLS; a broker with less is not spoken to")

    @model_validator(mode="after")
    def _certificate_has_its_key(self) -> Self:
        if (self.cert_file is None) != (self.key_file is None):
            raise ValueError("cert_file and key_file go together; add the other one")
        return self
