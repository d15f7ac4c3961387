"""Files that hold secrets: readable by the service, and by nobody else."""

from __future__ import annotations

import stat
from pathlib import Path

from app.check.finding import Report
from app.config.secrets import is_credential, read_secret
from app.errors import ConfigError


def check_secret(password_file: str, report: Report, *path: str) -> None:
    """Check a `password_file`; `path` is that of its section."""
    try:
        read_secret(password_file)
    except ConfigError as error:
        report.error(str(error).removeprefix("password_file: "), *path, "password_file")
        return
    if not is_credential(password_file) and Path(password_file).stat().st_mode & stat.S_IROTH:
        report.warning("every user of this machine may read it; chmod 600 or 640", *path, "password_file")
