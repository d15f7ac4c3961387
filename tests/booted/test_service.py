"""The installed service on a machine of its own: it starts, lives, comes back, is upgraded, and goes without a trace."""

import os
import re
import signal
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.steady.huge_pages import setting
from tests.booted.conftest import CONFIG, files
from tests.booted.freeze import frozen
from tests.booted.machine import Machine, wait_for

pytestmark = [pytest.mark.booted, pytest.mark.timeout(900)]

ACTIVE_S = 20
STOP_S = 5
SECRET = "corr3ct-h0rse"


def is_active(machine: Machine) -> bool:
    return machine.show("ActiveState") == "active"


def status(machine: Machine) -> str:
    return machine.show("StatusText")


def configure(machine: Machine, text: str) -> None:
    machine.write("/etc/taktsight/taktsight.yaml", text)


def restarted(machine: Machine, text: str) -> float:
    """Restart the service with a configuration; return the seconds until it was ready."""
    configure(machine, text)
    began_s = time.monotonic()
    machine.run("systemctl restart taktsight", timeout_s=60)
    return time.monotonic() - began_s


def with_camera(name: str, source: str) -> str:
    """Return the configuration with one camera more, whose source is not there."""
    camera = f"  {name}:\n    source: {source}\n    model: covers\n    judge: {{rules: [{{require: cover}}]}}\n"
    return CONFIG.replace("cameras:\n", "cameras:\n" + camera)


def test_the_installed_service_is_active_soon_and_its_status_says_how_it_is(installed: Machine) -> None:
    assert is_active(installed)
    assert restarted(installed, CONFIG) < ACTIVE_S
    wait_for("a live line of status", lambda: re.match(r"\d+\.\d verdicts/s, p99 \d+ ms, cameras 1/1 online, outbox \d+ "
                                                       r"waiting$", status(installed)), 30)  # fmt: skip


def test_verdicts_arrive_at_the_machine_s_broker(installed: Machine) -> None:
    results = installed.results(10)
    assert {result["camera"] for result in results} == {"covers"}
    assert "OK" in {result["verdict"] for result in results}
    assert [result["seq"] for result in results] == list(range(results[0]["seq"], results[0]["seq"] + 10))


def test_the_units_are_well_formed_and_the_sandbox_is_tight(installed: Machine) -> None:
    assert installed.run("systemd-analyze verify taktsight.service taktsight@line2.service") == ""
    for unit in ("taktsight.service", "taktsight@line2.service"):
        said = installed.run(f"systemd-analyze security --no-pager {unit}")
        exposure = float(re.search(r"Overall exposure level for \S+: ([\d.]+)", said)[1])
        assert exposure <= 2.0, said


def test_in_the_sandbox_too_what_the_models_fill_lies_in_huge_pages(installed: Machine) -> None:
    said = Path(f"/proc/{installed.pid()}/smaps_rollup").read_text(encoding="ascii")
    found = re.search(r"^AnonHugePages: +(\d+) kB", said, re.MULTILINE)
    assert (int(found[1]) > 0) == (setting() in ("always", "madvise"))


def test_installing_again_changes_nothing_that_matters(installed: Machine) -> None:
    installed.write("/root/other.yaml", CONFIG.replace("booted", "other"))
    said = installed.run("/src/scripts/install.sh --wheelhouse /wheels --config /root/other.yaml", timeout_s=600)
    assert "/etc/taktsight/taktsight.yaml is there already and stays as it is" in said
    assert is_active(installed)
    assert len(list((installed.root / "opt/taktsight/releases").iterdir())) == 2, "this one and the one before"


def test_a_killed_service_comes_back(installed: Machine) -> None:
    before = installed.pid()
    os.kill(before, signal.SIGKILL)
    wait_for("the end", lambda: not Path(f"/proc/{before}").exists(), ACTIVE_S)
    wait_for("the restart", lambda: is_active(installed), ACTIVE_S)
    assert installed.results(3)


def test_ops_04_an_engine_that_hangs_is_ended_by_the_watchdog_and_comes_back(installed: Machine) -> None:
    before = installed.pid()
    with frozen(before, "inspect"):
        wait_for("the watchdog", lambda: installed.show("SubState") != "running", 60)
    wait_for("the restart", lambda: is_active(installed), ACTIVE_S)
    assert installed.results(3)
    journal = installed.journal()
    assert "Watchdog timeout" in journal
    assert "Current thread" in journal or "Thread 0x" in journal, "where every thread was"


def test_a_reload_takes_what_can_be_changed_and_loses_no_frame(installed: Machine) -> None:
    configure(installed, CONFIG.replace("score: 0.3", "score: 0.99"))
    installed.run("systemctl reload taktsight")
    wait_for("the new rules", lambda: "judged anew covers" in installed.journal(), 30)
    results = installed.results(20)
    assert {result["verdict"] for result in results} == {"UNKNOWN"}, "nothing scores 0.99"
    assert [result["seq"] for result in results] == list(range(results[0]["seq"], results[0]["seq"] + 20))


def test_a_reload_that_can_not_be_is_refused_and_the_line_goes_on(installed: Machine) -> None:
    before = installed.show("MainPID")
    configure(installed, CONFIG.replace("line: booted", "line: renamed"))
    installed.run("systemctl reload taktsight")
    wait_for("the refusal", lambda: "line: can't be changed while the line runs" in installed.journal(), 30)
    assert is_active(installed)
    assert installed.show("MainPID") == before
    assert {result["line"] for result in installed.results(3)} == {"booted"}
    configure(installed, CONFIG)


def test_mqtt_a_broker_that_is_down_at_the_start_gets_its_results_later(installed: Machine) -> None:
    installed.run("systemctl stop mosquitto")
    assert restarted(installed, CONFIG) < ACTIVE_S, "ready without a broker: the verdicts wait"
    wait_for("results that wait", lambda: "outbox 0 waiting" not in status(installed), 30)
    installed.run("systemctl start mosquitto")
    assert installed.results(3)[0]["seq"] < 100


def test_ops_01_a_camera_that_is_absent_at_boot_does_not_keep_the_service_from_starting(installed: Machine) -> None:
    assert restarted(installed, with_camera("usb", "{kind: v4l2, device: /dev/video7}")) < ACTIVE_S
    wait_for("the camera's name in the status", lambda: "camera usb: " in status(installed), 30)
    assert "cameras 1/2 online" in status(installed)
    assert installed.results(3)


def test_ops_03_it_stops_soon_with_the_broker_down_and_a_camera_absent(installed: Machine) -> None:
    installed.run("systemctl stop mosquitto")
    began_s = time.monotonic()
    installed.run("systemctl stop taktsight", timeout_s=30)
    assert time.monotonic() - began_s < STOP_S
    assert (installed.show("Result"), installed.show("ExecMainStatus")) == ("success", "0")
    installed.run("systemctl start mosquitto")


def test_a_wrong_configuration_is_told_and_is_not_tried_again(installed: Machine) -> None:
    configure(installed, CONFIG.replace("score: 0.3", "score: 30"))
    installed.run("systemctl restart taktsight", check=False)
    wait_for("the end", lambda: installed.show("ActiveState") == "failed", 30)
    assert installed.show("NRestarts") == "0"
    assert "cameras.covers.judge.score" in installed.journal()


def test_cfg_09_no_secret_comes_into_the_journal(installed: Machine) -> None:
    (installed.root / "etc/credstore").mkdir(exist_ok=True)
    (installed.root / "etc/credstore/taktsight-mqtt").write_text(SECRET)
    text = with_camera("yard", f"{{kind: stream, url: 'rtsp://viewer:{SECRET}@127.0.0.1:8554/yard'}}")
    log_in = "mqtt: {host: 127.0.0.1, username: line, password_file: taktsight-mqtt}\nlog: {level: debug}"
    restarted(installed, text.replace("mqtt: {host: 127.0.0.1}", log_in))
    assert installed.results(3), "mosquitto without accounts takes any"
    wait_for("words about the camera", lambda: "camera yard: " in status(installed), 30)
    assert SECRET not in status(installed)
    assert SECRET not in installed.run(f"cat /proc/{installed.show('MainPID')}/cmdline")
    assert SECRET not in installed.journal()


def test_an_upgrade_that_does_not_run_goes_back_by_itself(installed: Machine) -> None:
    restarted(installed, CONFIG)
    before = (installed.root / "opt/taktsight/current").readlink()
    make_bad_wheelhouse(installed)
    said = installed.run("/src/scripts/install.sh --upgrade --wheelhouse /root/bad", check=False, timeout_s=600)
    assert "going back to the old one" in said
    assert "upgrade undone" in said
    assert "planted fault" in said, "why the new one did not run"
    assert (installed.root / "opt/taktsight/current").readlink() == before
    assert is_active(installed)
    assert installed.results(3)


def test_an_upgrade_replaces_the_version_and_can_be_taken_back(installed: Machine) -> None:
    before = (installed.root / "opt/taktsight/current").readlink()
    installed.run("/src/scripts/install.sh --upgrade --wheelhouse /wheels", timeout_s=600)
    after = (installed.root / "opt/taktsight/current").readlink()
    assert after != before
    assert is_active(installed)
    installed.run("/src/scripts/install.sh --rollback", timeout_s=300)
    assert (installed.root / "opt/taktsight/current").readlink() == before
    assert is_active(installed)
    assert installed.results(3)


LISTEN = """
import socket, os
server = socket.socket(socket.AF_UNIX)
server.bind("/tmp/argus_socket")
os.chmod("/tmp/argus_socket", 0o777)
server.listen()
while True:
    server.accept()[0].send(b"argus")
"""
CALL = 'import socket; s = socket.socket(socket.AF_UNIX); s.connect("/tmp/argus_socket"); print(s.recv(5).decode())'


@pytest.fixture
def jetson(installed: Machine) -> Iterator[Machine]:
    """The machine with what tells a Jetson, a package as JetPack brings it, and a stand-in of the cameras' daemon."""
    package = installed.root / "usr/lib/python3/dist-packages/tensorrt"
    package.mkdir()
    (package / "__init__.py").write_text("__version__ = 'of the system'\n")
    installed.write("/etc/nv_tegra_release", "# R36 (release), REVISION: 4.3\n")
    installed.write("/root/argus.py", LISTEN)
    yield installed
    installed.run("systemctl stop argus", check=False)
    installed.run("rm -rf /etc/nv_tegra_release /tmp/argus_socket /usr/lib/python3/dist-packages/tensorrt")


def test_on_a_jetson_the_system_s_tensorrt_and_the_cameras_daemon_are_reached(jetson: Machine) -> None:
    jetson.run("/src/scripts/install.sh --upgrade --wheelhouse /wheels", timeout_s=600)
    assert is_active(jetson), "without the daemon's socket, and with the ONNX Runtime that was installed before"
    said = jetson.run("/opt/taktsight/current/bin/python -B -c 'import tensorrt; print(tensorrt.__version__)'")
    assert said.strip() == "of the system"
    jetson.run("systemd-run --quiet --unit=argus python3 /root/argus.py")
    jetson.run("systemctl restart taktsight", timeout_s=60)
    inside = f"nsenter -t {jetson.show('MainPID')} -m runuser -u taktsight -- "
    assert jetson.run(f"{inside}python3 -c '{CALL}'").strip() == "argus", "from the service's own /tmp"
    assert jetson.results(3)
    said = jetson.run("systemd-analyze security --no-pager taktsight.service")
    assert float(re.search(r"Overall exposure level for \S+: ([\d.]+)", said)[1]) <= 2.0


def test_taken_off_it_leaves_nothing(installed: Machine, before: set[str]) -> None:
    installed.run("/src/scripts/install.sh --uninstall")
    kept = {path for path in files(installed) - before if path.count("/") < 3}
    assert kept <= {"etc/credstore", "etc/credstore/taktsight-mqtt", "etc/taktsight", "etc/taktsight/example.yaml",
                    "etc/taktsight/taktsight.schema.json", "etc/taktsight/taktsight.yaml", "var/lib/taktsight",
                    "var/cache/taktsight"}, "configuration and results, until told otherwise"  # fmt: skip
    assert "etc/taktsight/taktsight.yaml" in kept
    installed.run("/src/scripts/install.sh --uninstall --purge")
    assert files(installed) - before <= {"etc/credstore"}, "the test made that folder"
    assert "taktsight" not in installed.run("getent passwd") + installed.run("getent group")
    assert installed.run("systemctl list-units --all --no-legend taktsight*").strip() == ""


def make_bad_wheelhouse(machine: Machine) -> None:
    """Copy the wheelhouse, with a product that says its version and then can't run."""
    folder = machine.root / "root/bad"
    machine.run("cp -r /wheels /root/bad")
    (wheel,) = folder.glob("taktsight-*.whl")
    with zipfile.ZipFile(wheel) as old:
        contents = {name: old.read(name) for name in old.namelist()}
    contents["app/runner.py"] = b'raise SystemExit("planted fault")\n'
    with zipfile.ZipFile(wheel, "w") as new:
        for name, content in contents.items():
            new.writestr(name, content)
