"""A comparison as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from app.building.verify_precision import Precision
from app.building.verify_result import PictureReport, VerifyReport
from app.detections import Detections

FORMAT = 1
_DIGITS = 6


def as_json(report: VerifyReport) -> dict[str, Any]:
    """Return what a comparison found, as plain values."""
    precision = report.precision
    return {
        "format": FORMAT,
        "made_at": report.made_at,
        "passed": report.passed,
        "refused": list(report.refused),
        "reference": report.reference,
        "candidate": report.candidate,
        "pictures": report.pictures,
        "skipped": list(report.skipped),
        "classes": [_rounded(asdict(row)) for row in report.classes],
        "verdicts": None if report.verdicts is None else asdict(report.verdicts),
        "map": None if precision is None else {"reference": _map(precision[0]), "candidate": _map(precision[1])},
        "figures": report.figures(),
        "limits": report.limits.model_dump(),
        "notes": list(report.notes),
        "worst": [_picture(one) for one in report.worst],
    }


def _map(precision: Precision) -> dict[str, Any]:
    return {
        "mean": round(precision.mean, _DIGITS),
        "at_half": round(precision.at_half, _DIGITS),
        "classes": _rounded(precision.by_class),
        "labels": precision.labels,
    }


def _picture(one: PictureReport) -> dict[str, Any]:
    pairing = one.compared.pairing
    return {
        "file": one.path.name,
        "says": one.words(),
        "verdicts": None if one.verdicts is None else [verdict.value for verdict in one.verdicts],
        "lost": [_box(one.compared.reference, row) for row in pairing.lost.tolist()],
        "invented": [_box(one.compared.candidate, row) for row in pairing.invented.tolist()],
    }


def _box(found: Detections, row: int) -> dict[str, Any]:
    corners = [round(value, 1) for value in found.xyxy[row].tolist()]
    return {"class": found.name(row), "score": round(float(found.scores[row]), 3), "xyxy": corners}


def _rounded(values: dict[str, Any]) -> dict[str, Any]:
    return {name: round(value, _DIGITS) if isinstance(value, float) else value for name, value in values.items()}
