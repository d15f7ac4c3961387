"""CPUs that are asked for and that this machine does not have."""

from __future__ import annotations

import os

import pytest

from app.check import process
from app.check.process import online_cpus

PLACE = "13: process.inspect_cpus"


@pytest.fixture
def cpus(monkeypatch):
    """Give this machine such CPUs, and this process the right to some of them."""

    def give(online, allowed):
        monkeypatch.setattr(process, "online_cpus", lambda: set(online))
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(allowed))

    return give


def asking(good, cpus):
    return good() + f"process: {{inspect_cpus: {cpus}}}\n"


def test_cpus_that_are_there_are_no_finding(found, good, cpus):
    cpus(range(4), range(4))
    assert found(asking(good, [2, 3])) == []
    assert found(good()) == []


def test_a_cpu_that_is_not_there_is_an_error_with_those_that_are(found, good, cpus):
    cpus([0, 1, 2, 3, 6], range(8))
    text = "this machine has no CPU 5, 8-9 (or it is off); of 0-3, 6 choose which"
    assert found(asking(good, [3, 5, 8, 9])) == [("error", PLACE, text)]


def test_a_cpu_that_this_user_may_not_use_is_a_warning_since_the_service_may(found, good, cpus):
    cpus(range(4), [0, 1])
    ((level, place, text),) = found(asking(good, [1, 3]))
    assert (level, place) == ("warning", PLACE)
    assert "CPU 3 may not be used from here" in text


LISTS = [("0", {0}), ("0-1", {0, 1}), ("0-3,6", {0, 1, 2, 3, 6}), ("0,2-3", {0, 2, 3})]


@pytest.mark.parametrize(("text", "numbers"), LISTS)
def test_the_kernels_list_is_read(tmp_path, text, numbers):
    (tmp_path / "online").write_text(f"{text}\n")
    assert online_cpus(tmp_path / "online") == numbers


def test_this_machine_has_the_cpus_that_this_process_runs_on(tmp_path):
    assert os.sched_getaffinity(0) <= online_cpus()
    assert online_cpus(tmp_path / "none") == set(range(os.cpu_count()))
