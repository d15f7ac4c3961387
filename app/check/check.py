"""All checks of one configuration, in the order of its sections."""

from __future__ import annotations

from app.check.cameras import check_cameras
from app.check.finding import Finding, Report
from app.check.models import check_models
from app.check.outputs import check_outputs
from app.check.process import check_process
from app.check.sources import check_sources
from app.config import LoadedConfig


def check(loaded: LoadedConfig) -> list[Finding]:
    """Return everything that can be found without starting: no camera, engine or connection is opened.

    Models are read, but not run; of a folder of pictures the first one is decoded to learn its size. What is found
    holds for the user that checks, who may have other permissions than the service.
    """
    report = Report(loaded)
    names = check_models(loaded.config, report)
    sizes = check_sources(loaded.config, report)
    check_cameras(loaded.config, names, sizes, report)
    check_outputs(loaded.config, report)
    check_process(loaded.config.process, report)
    return report.findings
