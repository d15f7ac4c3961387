"""The units of systemd: the one for several lines is the plain one but for its names, and both hold what the pages say."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT

FOLDER = ROOT / "systemd"
PLAIN, INSTANCE = FOLDER / "taktsight.service", FOLDER / "taktsight@.service"
JETSON = FOLDER / "taktsight-jetson.conf"
DROP_INS = [[], [JETSON]]
EXPOSURE = 2.0

needs_systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="systemd-analyze is not on this machine: it belongs to systemd"
)


def settings(path: Path) -> list[str]:
    """Return the lines that mean something, in order."""
    lines = (line.strip() for line in path.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def placed(folder: Path, unit: Path, drop_ins: list[Path]) -> Path:
    """Lay a unit out as the installer does, with a command that this machine has."""
    text = unit.read_text(encoding="utf-8")
    command = "ExecStart=/opt/taktsight/current/bin/taktsight"
    assert text.count(command) == 1
    target = folder / unit.name.replace("@.", "@press4.")
    target.write_text(text.replace(command, "ExecStart=/bin/true"), encoding="utf-8")
    for drop_in in drop_ins:
        beside = folder / f"{target.name}.d"
        beside.mkdir()
        shutil.copy(drop_in, beside / "10-jetson.conf")
    return target


def test_a_line_of_several_is_run_as_the_only_one_is_but_for_its_name() -> None:
    # The folders of one line lie in those of the product; everything else that differs is the name itself.
    folders = "WorkingDirectory=/var/lib/|StateDirectory=|CacheDirectory=|RuntimeDirectory=|HOME=/var/lib/|XDG_CACHE_HOME=/var/cache/"
    text = "\n".join(settings(PLAIN))
    text = text.replace("/etc/taktsight/taktsight.yaml", "/etc/taktsight/%i.yaml")
    text = text.replace("inspection of a production line", "inspection of the line %i")
    text = re.sub(rf"\b({folders})taktsight\b", r"\1taktsight/%i", text)
    assert settings(INSTANCE) == text.splitlines()


def test_every_name_of_the_line_is_its_own() -> None:
    kinds = (
        "StateDirectory",
        "CacheDirectory",
        "RuntimeDirectory",
        "WorkingDirectory",
        "ConditionPathExists",
        "ExecStart",
    )
    named = [line for line in settings(INSTANCE) if line.startswith(tuple(f"{kind}=" for kind in kinds))]
    assert len(named) == len(kinds)
    assert [line for line in named if "%i" not in line] == []


def test_what_only_a_jetson_needs_is_not_in_the_units() -> None:
    # Anyone may put something of the socket's name into /tmp, so it is let in only where NVIDIA's daemon makes it.
    assert not re.search("argus|nvmap|nvgpu|nvhost", "\n".join(settings(PLAIN)))
    jetson = settings(JETSON)
    assert "BindReadOnlyPaths=-/tmp/argus_socket" in jetson, "with the minus: a board without CSI cameras starts, too"
    assert "After=nvargus-daemon.service" in jetson
    assert not [line for line in jetson if line.startswith(("Requires=", "BindsTo=", "PartOf="))], "it must run without"


@needs_systemd
@pytest.mark.parametrize("unit", [PLAIN, INSTANCE], ids=lambda path: path.name)
@pytest.mark.parametrize("drop_ins", DROP_INS, ids=["PC", "Jetson"])
def test_systemd_finds_no_fault_in_the_units(tmp_path: Path, unit: Path, drop_ins: list[Path]) -> None:
    target = placed(tmp_path, unit, drop_ins)
    command = ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    # Units that the machine itself has are not ours; a line about ours names it.
    about_ours = [line for line in (done.stdout + done.stderr).splitlines() if "taktsight" in line]
    assert (about_ours, done.returncode) == ([], 0)


@needs_systemd
@pytest.mark.parametrize("unit", [PLAIN, INSTANCE], ids=lambda path: path.name)
@pytest.mark.parametrize("drop_ins", DROP_INS, ids=["PC", "Jetson"])
def test_the_sandbox_stays_tight(tmp_path: Path, unit: Path, drop_ins: list[Path]) -> None:
    target = placed(tmp_path, unit, drop_ins)
    command = [
        "systemd-analyze",
        "security",
        "--offline=true",
        "--no-pager",
        f"--threshold={EXPOSURE * 10:.0f}",
        str(target),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    found = re.search(r"Overall exposure level for \S+: ([\d.]+)", done.stdout)
    assert found, done.stderr
    assert float(found[1]) <= EXPOSURE, done.stdout
