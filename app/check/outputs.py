"""Where verdicts go: topics, secrets and certificates of the broker, files and folders."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from app.check.files import refusal_to_make, refusal_to_read
from app.check.finding import Report
from app.check.secret_files import check_secret
from app.config.address import is_loopback
from app.config.outbox import AUTO, MEMORY
from app.config.sections import Config, Mqtt, Tls
from app.errors import ConfigError
from app.publish.tls import tls_context
from app.publish.topics import COMMANDS, Topics, collisions, slug


def check_outputs(config: Config, report: Report) -> None:
    """Check everything that is written or published to."""
    if config.mqtt is not None:
        _check_broker(config, config.mqtt, report)
    if config.jsonl is not None:
        _check_file(Path(config.jsonl.path), report, "jsonl")
    kept = [(name, part.path) for name, part in (("evidence", config.evidence), ("collect", config.collect)) if part]
    for name, path in kept:
        refusal = refusal_to_make(Path(path))
        if refusal:
            report.error(refusal, name, "path")
    if len({Path(path).absolute() for _, path in kept}) < len(kept):
        report.error(
            "it is the folder of evidence; each removes what it finds too much: name another", "collect", "path"
        )
    if config.mqtt is None and config.jsonl is None:
        report.warning("no verdict leaves this service; add mqtt or jsonl", "mqtt")


def _check_broker(config: Config, mqtt: Mqtt, report: Report) -> None:
    _check_topics(config, mqtt, report)
    _check_login(mqtt, report)
    if mqtt.tls is not None:
        _check_tls(mqtt.tls, report)
    if config.outbox.path not in (AUTO, MEMORY):
        _check_file(Path(config.outbox.path), report, "outbox")


def _check_topics(config: Config, mqtt: Mqtt, report: Report) -> None:
    legal = []
    for name in config.cameras:
        try:
            if slug(name) == COMMANDS:
                report.error(f"has the topic level `{COMMANDS}`, which is that of commands; rename it", "cameras", name)
            legal.append(name)
        except ValueError as error:
            report.error(str(error), "cameras", name)
    for group in collisions(legal):
        first, *others = group
        for name in others:
            text = f"has the topic level `{slug(name)}`, as camera `{first}` has; give one of them another name"
            report.error(text, "cameras", name)
    try:
        slug(config.line)
    except ValueError as error:
        report.error(str(error), "line")
        return
    try:
        Topics(mqtt.root, config.line)
    except ValueError as error:
        report.error(str(error), "mqtt", "root")


def _check_login(mqtt: Mqtt, report: Report) -> None:
    if mqtt.password_file is not None:
        check_secret(mqtt.password_file, report, "mqtt")
    if mqtt.password is not None:
        report.warning("whoever reads the configuration reads it; better a password_file", "mqtt", "password")
    if mqtt.username is not None and mqtt.tls is None and not is_loopback(mqtt.host):
        report.warning("without tls the password goes over the network in clear text; add tls", "mqtt", "username")


def _check_tls(tls: Tls, report: Report) -> None:
    refused = False
    for key in ("ca_file", "cert_file", "key_file"):
        path: str | None = getattr(tls, key)
        refusal = refusal_to_read(Path(path)) if path is not None else None
        if refusal:
            refused = True
            report.error(refusal, "mqtt", "tls", key)
    if refused:
        return
    if tls.key_file is not None and Path(tls.key_file).stat().st_mode & stat.S_IROTH:
        report.warning("every user of this machine may read it; chmod 600 or 640", "mqtt", "tls", "key_file")
    try:
        tls_context(tls)
    except ConfigError as error:
        report.error(str(error).removeprefix("mqtt.tls: "), "mqtt", "tls")


def _check_file(path: Path, report: Report, section: str) -> None:
    """Check a file that is made, with its folder, where it is missing."""
    refusal = refusal_to_make(path.parent)
    if refusal is None and path.is_dir():
        refusal = f"{path}: it is a folder; name a file in it"
    if refusal is None and path.exists() and not os.access(path, os.R_OK | os.W_OK):
        refusal = f"{path}: no permission to write to it; chown or chmod it, or name another"
    if refusal:
        report.error(refusal, section, "path")
