"""The CPUs of this process, not those of the machine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.inference import threads
from app.inference.threads import allowed_cpus, cgroup_quota


@pytest.fixture
def groups(tmp_path: Path) -> Path:
    """A control group /line/camera under a made-up root."""
    (tmp_path / "line" / "camera").mkdir(parents=True)
    (tmp_path / "membership").write_text("0::/line/camera\n")
    return tmp_path


QUOTAS = [
    ({}, None),  # no limits anywhere
    ({"cpu.max": "max 100000"}, None),  # said to be without
    ({"cpu.max": "150000 100000"}, 1.5),  # on the root, as a container sees its own
    ({"line/camera/cpu.max": "50000 100000"}, 0.5),  # on the group itself, as systemd's CPUQuota
    ({"line/cpu.max": "200000 100000", "line/camera/cpu.max": "max 100000"}, 2.0),  # on the group above
    ({"line/cpu.max": "100000 100000", "line/camera/cpu.max": "300000 100000"}, 1.0),  # the least of both
    ({"cpu.max": "what is this"}, None),  # unreadable
    ({"cpu.max": "100000 0"}, None),  # senseless
]


@pytest.mark.parametrize(("files", "quota"), QUOTAS)
def test_the_least_quota_of_the_groups_counts(groups: Path, files: dict[str, str], quota: float | None) -> None:
    for name, text in files.items():
        (groups / name).write_text(text + "\n")
    assert cgroup_quota(groups, groups / "membership") == quota


def test_without_control_groups_there_is_no_quota(tmp_path: Path) -> None:
    assert cgroup_quota(tmp_path, tmp_path / "missing") is None


@pytest.mark.parametrize(("quota", "cpus"), [(None, 4), (1.5, 2), (0.2, 1), (16.0, 4)])
def test_mdl_16_allowed_cpus_are_the_mask_cut_down_to_the_quota(
    monkeypatch: pytest.MonkeyPatch, quota: float | None, cpus: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 1, 2, 3})
    monkeypatch.setattr(threads, "cgroup_quota", lambda _root, _membership: quota)
    assert allowed_cpus() == cpus
