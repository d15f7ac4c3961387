"""What the process takes of its machine."""

import os

from app.health.vitals import PAGE_BYTES, vitals


def test_a_running_process_sees_itself(tmp_path):
    with (tmp_path / "open").open("w"):
        found = vitals([tmp_path / "not" / "there" / "yet"])
    assert found.rss_bytes > 1 << 20
    assert found.files >= 3
    assert found.threads >= 1
    assert 0 < found.disk_free_bytes <= os.statvfs(tmp_path).f_bfree * os.statvfs(tmp_path).f_frsize


def test_what_a_machine_does_not_tell_is_none(tmp_path):
    found = vitals([], tmp_path)
    assert (found.rss_bytes, found.files, found.disk_free_bytes, found.hottest_c) == (None, None, None, None)


def test_the_hottest_sensor_counts_and_a_broken_one_does_not(tmp_path):
    for number, text in enumerate(("41500\n", "63250\n", "", "broken")):
        zone = tmp_path / "sys/class/thermal" / f"thermal_zone{number}"
        zone.mkdir(parents=True)
        (zone / "temp").write_text(text)
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/statm").write_text("900 25 3 1 0 9 0")
    found = vitals([], tmp_path)
    assert found.hottest_c == 63.25
    assert found.rss_bytes == 25 * PAGE_BYTES
