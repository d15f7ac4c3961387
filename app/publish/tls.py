"""Encryption to the broker: what it is set up with, and what its faults mean."""

from __future__ import annotations

import ssl

from app.config.sections import Tls
from app.errors import ConfigError

_VERSIONS = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}

# What OpenSSL says, in small letters, and what to do. The first that is found is told.
_REMEDIES = (
    ("hostname mismatch", "its certificate is for another name; write that one as mqtt.host"),
    ("ip address mismatch", "its certificate is for another address; write that one as mqtt.host"),
    ("certificate has expired", "get the broker a new certificate, or set this machine's clock"),
    ("not yet valid", "set this machine's clock"),
    ("certificate_verify_failed", "name the authority that has signed its certificate in mqtt.tls.ca_file"),
    ("unsupported protocol", "it speaks an older TLS than mqtt.tls.min_version"),
    ("protocol version", "it wants another version of TLS; see mqtt.tls.min_version"),
    ("certificate required", "it wants a client's certificate; add mqtt.tls.cert_file and key_file"),
    ("unknown ca", "it does not know who has signed mqtt.tls.cert_file"),
    ("wrong version number", "nothing speaks TLS there; is mqtt.port right (usually 8883)?"),
)


def tls_context(tls: Tls) -> ssl.SSLContext:
    """Return what encrypts: the broker's certificate and name are always verified.

    Raises:
        ConfigError: a file can't be read, is no PEM, or is a key with a passphrase.
    """
    try:
        context = ssl.create_default_context(cafile=tls.ca_file)
        context.minimum_version = _VERSIONS[tls.min_version]
        if tls.cert_file is not None:
            # Without a passphrase given, OpenSSL would ask for it on the terminal, and wait.
            context.load_cert_chain(tls.cert_file, tls.key_file, password=lambda: "")
    except (OSError, ssl.SSLError) as error:
        files = ", ".join(filter(None, (tls.ca_file, tls.cert_file, tls.key_file)))
        raise ConfigError(
            f"mqtt.tls: {files} can't be used ({error}); it takes PEM files that this user may read, no passphrase"
        ) from error
    return context


def tls_remedy(error: Exception) -> str | None:
    """Return what to do about an encrypted connection that failed; None where encryption is not the reason."""
    if isinstance(error, ConnectionResetError):  # mosquitto's answer to TLS on a port without
        return "does it speak TLS on mqtt.port (usually 8883)?"
    if not isinstance(error, ssl.SSLError):
        return None
    text = str(error).lower().replace("_", " ")
    found = (remedy for words, remedy in _REMEDIES if words.replace("_", " ") in text)
    return next(found, "see mqtt.tls")
