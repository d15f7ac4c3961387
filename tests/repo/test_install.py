"""What the installer asks of Python and pip, on a PC and on a Jetson; it really runs in tests/booted."""

import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT

FAKE_PYTHON = """#!/bin/bash
echo "$@" >>"$LOG"
for release; do :; done
[ "$2" = venv ] || exit 0
mkdir -p "$release/bin"
cp "$0" "$release/bin/python"
cp "$0" "$release/bin/taktsight"
"""
"""Writes down how it is called; as `-m venv` it makes a folder with itself in it."""

NAMES = "OPT=$PWD/opt TEGRA=$PWD/nv_tegra_release UNITS=$PWD/units TMPFILES=$PWD/tmpfiles UDEV=$PWD/udev ETC=$PWD/etc COMMAND=$PWD/command"
FAKES = "system_python() { echo $PWD/python; }; reload_managers() { :; }; systemctl() { :; }; install() { :; }; all_units() { :; };"


@pytest.fixture
def calls(tmp_path: Path):
    """Run functions of the installer in a folder of their own; return the lines that Python was called with."""
    python = tmp_path / "python"
    python.write_text(FAKE_PYTHON)
    python.chmod(0o755)
    for name in ("docs", "README.md", "LICENSE", "systemd", "configs"):
        (tmp_path / name).symlink_to(ROOT / name)

    def run(code: str, *, fakes: str = FAKES) -> list[str]:
        log = tmp_path / "log"
        log.unlink(missing_ok=True)
        script = f"set -e; source {ROOT}/scripts/install.sh; {NAMES}; {fakes} {code}"
        done = subprocess.run(
            ["bash", "-c", script], cwd=tmp_path, env={"LOG": str(log), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
            capture_output=True, text=True, check=False, timeout=30,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return log.read_text().splitlines() if log.exists() else []

    return run


def make_jetson(folder: Path) -> None:
    (folder / "nv_tegra_release").write_text("# R36 (release), REVISION: 4.3\n")


# What is asked for on which machine, whether the environment sees the system's packages, and what pip installs.
CASES = [
    # a PC
    (False, "", False, ".[cpu]"),
    (False, "gpu", False, ".[gpu]"),
    (False, "none", False, "."),
    # a Jetson: TensorRT and GStreamer's bindings are the system's, and no ONNX Runtime unless asked for
    (True, "", True, "."),
    (True, "cpu", True, ".[cpu]"),
    (True, "cpu,jetson", True, ".[cpu,jetson]"),
]


@pytest.mark.parametrize(("is_jetson", "extra", "sees_system", "installed"), CASES)
def test_the_environment_is_made_for_the_machine(tmp_path, calls, is_jetson, extra, sees_system, installed) -> None:
    if is_jetson:
        make_jetson(tmp_path)
    venv, pip, _version = calls(f"make_release '' '{extra}'")
    assert venv.startswith("-m venv ")
    assert ("--system-site-packages" in venv) is sees_system
    assert pip == f"-m pip install --quiet --disable-pip-version-check {installed}"


def test_a_wheelhouse_on_a_jetson_still_gives_an_environment_that_sees_the_system(tmp_path, calls) -> None:
    make_jetson(tmp_path)
    (tmp_path / "wheels").mkdir()
    (tmp_path / "wheels/taktsight-0.1.0-py3-none-any.whl").touch()
    venv, pip, _version = calls("make_release $PWD/wheels ''")
    assert "--system-site-packages" in venv
    wheels = tmp_path / "wheels"
    assert pip.endswith(f"--no-index --find-links {wheels} {wheels}/taktsight-0.1.0-py3-none-any.whl")


@pytest.mark.parametrize("extra", ["gpu", "none", "cpu,jetson"])
def test_an_upgrade_brings_what_the_version_before_was_installed_with(calls, extra) -> None:
    calls(f"ln -s $(make_release '' '{extra}') $OPT/current")
    pip = calls("make_release '' ''")[1]
    assert pip.endswith("." if extra == "none" else f".[{extra}]")
    assert calls("make_release '' cpu")[1].endswith(".[cpu]"), "what is said counts"


def test_only_a_jetson_gets_its_drop_ins_and_they_go_without_yours(tmp_path, calls) -> None:
    fakes = FAKES.replace("install() { :; };", 'install() { case "$*" in *-D*) command install "$@" ;; esac; };')
    calls("place_files", fakes=fakes)
    assert sorted(path.name for path in (tmp_path / "units").iterdir()) == ["taktsight.service", "taktsight@.service"]
    make_jetson(tmp_path)
    calls("place_files", fakes=fakes)
    folders = [tmp_path / "units" / f"{name}.service.d" for name in ("taktsight", "taktsight@")]
    for folder in folders:
        assert (folder / "10-jetson.conf").read_text() == (ROOT / "systemd/taktsight-jetson.conf").read_text()
    (folders[0] / "override.conf").write_text("[Service]\nCPUAffinity=0-3\n")
    calls("uninstall no", fakes=fakes)
    assert [path.name for path in folders[0].iterdir()] == ["override.conf"]
    assert not folders[1].exists()
