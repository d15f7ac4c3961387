"""The builder's process: what is said when it crashes, and that nothing of it stays."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.building.build import Workshop, build_engine
from app.building.options import BuildOptions
from app.building.request import PhaseStarted, Report
from app.errors import ModelError
from app.inference.engine_file import read_engine

ROOT = Path(__file__).parents[2]

IN_A_PHASE = """
class Builder(real.Builder):
    def build_serialized_network(self, network, config):
        config.progress_monitor.phase_start("Building engine", None, 6)
        config.progress_monitor.phase_start("Timing tactics", "Building engine", 3)
        {what}
"""
AT_ONCE = "class Builder(real.Builder):\n    def __init__(self, logger):\n        {what}\n"

# Where, what happens there, and what must be said: the phase, the finding, the remedy.
ENDINGS = [
    # The system takes the memory's worst user, whose signal is 9.
    (IN_A_PHASE, "os.kill(os.getpid(), signal.SIGKILL)", r"was killed in the phase 'Timing tactics'.*--workspace"),
    # A kernel or a driver that doesn't fit.
    (IN_A_PHASE, "os.kill(os.getpid(), signal.SIGSEGV)", r"crashed in the phase 'Timing tactics' \(SIGSEGV\).*driver"),
    # C++ gave up, and said why on stderr.
    (
        IN_A_PHASE,
        "os.write(2, b'terminate called after throwing std::bad_alloc\\n'); os.abort()",
        r"ran out of memory in the phase 'Timing tactics' \(terminate called.*bad_alloc\).*--workspace",
    ),
    # The GPU's memory: no crash, only no plan.
    (
        IN_A_PHASE,
        "self.logger.log(real.ILogger.ERROR, 'Requested amount of GPU memory: out of memory'); return None",
        r"ran out of memory in the phase 'Timing tactics'.*--workspace",
    ),
    # No plan and no reason.
    (IN_A_PHASE, "return None", r"the builder gives no plan: it does not say why \(in the phase 'Timing tactics'\)"),
    # It has left the inner phase.
    (
        IN_A_PHASE,
        "config.progress_monitor.phase_finish('Timing tactics'); os._exit(3)",
        r"ended in the phase 'Building engine' with exit code 3",
    ),
    # The disk is full.
    (
        IN_A_PHASE,
        "raise OSError(28, 'No space left on device')",
        r"can't be written: No space left on device: make room",
    ),
    # What Python sees of a driver that doesn't work.
    (AT_ONCE, "raise TypeError('pybind11::init(): factory function returned nullptr')", r"the builder can't be made"),
    # It crashes as it is made.
    (AT_ONCE, "os.kill(os.getpid(), signal.SIGSEGV)", r"crashed before its first phase \(SIGSEGV"),
    # It ends by itself.
    (AT_ONCE, "os._exit(3)", r"ended before its first phase with exit code 3"),
]


@pytest.mark.parametrize(("where", "what", "said"), ENDINGS)
def test_how_the_builder_ended_is_said_in_one_line_with_the_phase_and_a_remedy(
    options: BuildOptions, stand_in: Callable[[str], Workshop], where: str, what: str, said: str
) -> None:
    with pytest.raises(ModelError, match=said) as caught:
        build_engine(options, stand_in(where.format(what=what)))
    assert "\n" not in str(caught.value)
    assert list(options.out.parent.iterdir()) == []  # no engine, no draft


NO_MEMORY = """
import resource
class Builder(real.Builder):
    def build_serialized_network(self, network, config):
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 20), used + (1 << 20)))
        return super().build_serialized_network(network, config)
"""


def test_a_builder_that_really_has_no_memory_left_takes_nobody_with_it(
    options: BuildOptions, stand_in: Callable[[str], Workshop]
) -> None:
    demo = replace(options, onnx=ROOT / "engines" / "covers_320.onnx")
    # Where the library looks it says so; elsewhere it crashes, which takes its own process only.
    with pytest.raises(ModelError, match=r"(ran out of memory|crashed) in the phase '.*memory"):
        build_engine(demo, stand_in(NO_MEMORY))


def test_a_crash_leaves_the_engine_from_before(
    options: BuildOptions, rtx: Workshop, stand_in: Callable[[str], Workshop]
) -> None:
    before = build_engine(options, rtx)
    with pytest.raises(ModelError, match="crashed"):
        build_engine(options, stand_in(IN_A_PHASE.format(what="os.kill(os.getpid(), signal.SIGSEGV)")))
    assert read_engine(options.out).manifest == before


def test_a_builder_without_a_progress_monitor_builds_as_well(
    options: BuildOptions, stand_in: Callable[[str], Workshop]
) -> None:
    reports: list[Report] = []
    build_engine(options, replace(stand_in("del IProgressMonitor"), on_report=reports.append))
    assert not any(isinstance(report, PhaseStarted) for report in reports)
    assert read_engine(options.out).manifest.precision == "fp32"


def test_the_builder_stands_back_for_a_service_on_the_same_machine(
    options: BuildOptions, stand_in: Callable[[str], Workshop]
) -> None:
    said = (
        "print(os.nice(0), open('/proc/self/oom_score_adj').read().strip(), file=sys.stderr, flush=True); os._exit(3)"
    )
    with pytest.raises(ModelError, match=rf"\({os.nice(0) + 10} 1000\)"):
        build_engine(options, stand_in("import sys\n" + AT_ONCE.format(what=said)))


HANGS = """
import time
class Builder(real.Builder):
    def build_serialized_network(self, network, config):
        config.progress_monitor.phase_start("Timing tactics", None, 3)
        open({flag!r}, "w").write(str(os.getpid()))
        time.sleep(600)
"""


@pytest.fixture
def hanging(
    options: BuildOptions, stand_in: Callable[[str], Workshop], tmp_path: Path
) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A build as a command, and the builder's number, which hangs in a phase."""
    flag = tmp_path / "hangs"
    os.mkfifo(flag)
    stand_in(HANGS.format(flag=str(flag)))
    # As from a terminal: a shell has what it starts in its background ignore SIGINT, and so all that this starts.
    command = ["env", "--default-signal=INT", sys.executable, "-m", "app", "engine", "build", str(options.onnx)]
    command += ["-o", str(options.out), "--runtime", "tensorrt_rtx"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as build:
        try:
            yield build, int(flag.read_text())  # waits until the builder has written it
        finally:
            build.kill()


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_a_cancelled_build_leaves_nothing_behind(
    options: BuildOptions, hanging: tuple[subprocess.Popen[bytes], int], by: signal.Signals
) -> None:
    build, builder = hanging
    build.send_signal(by)
    build.communicate(timeout=60)
    assert build.returncode == 130
    assert list(options.out.parent.iterdir()) == []
    with pytest.raises(ProcessLookupError):
        os.kill(builder, 0)


def test_the_builder_ends_with_its_parent_however_that_ends_and_the_next_build_cleans_up(
    options: BuildOptions, rtx: Workshop, hanging: tuple[subprocess.Popen[bytes], int]
) -> None:
    build, number = hanging
    builder = os.pidfd_open(number)
    build.kill()
    build.wait()
    assert select.select([builder], [], [], 60)[0] == [builder]  # readable once the process has ended
    os.close(builder)
    assert [path.name[:10] for path in options.out.parent.iterdir()] == [".building-"]  # nobody was left to remove it
    build_engine(options, rtx)
    assert sorted(path.name for path in options.out.parent.iterdir()) == ["tiny.engine", "tiny.engine.json"]


CACHE = """
class Cache:
    def __init__(self, content): self.content = bytes(content)
    def serialize(self): return b"measured;" + self.content

class Config:
    def __init__(self, config): object.__setattr__(self, "config", config)
    def __getattr__(self, name): return getattr(self.config, name)
    def __setattr__(self, name, value): setattr(self.config, name, value)
    def create_timing_cache(self, content): return Cache(content)
    def set_timing_cache(self, cache, ignore_mismatch):
        object.__setattr__(self, "cache", cache)
        return cache.content != b"of another GPU"
    def get_timing_cache(self): return self.cache

class Builder(real.Builder):
    def create_builder_config(self): return Config(super().create_builder_config())
    def build_serialized_network(self, network, config):
        return super().build_serialized_network(network, config.config)

del CudaGraphStrategy
del ComputeCapability
"""


def test_the_timing_cache_is_kept_and_given_to_the_next_build(
    options: BuildOptions, stand_in: Callable[..., Workshop], tmp_path: Path
) -> None:
    from app.inference.machine import Gpu  # noqa: PLC0415

    gpu = Gpu("NVIDIA RTX A2000", "8.6", "13.0", integrated=False, free_bytes=1 << 30)
    shop = replace(stand_in(CACHE + "__version__ = '10.16.1'\n", "tensorrt"), gpu=gpu)
    options = replace(options, timing_cache=tmp_path / "timing.cache")
    assert build_engine(options, shop).options["timing_cache"] == "new"
    assert (tmp_path / "timing.cache").read_bytes() == b"measured;"
    assert build_engine(options, shop).options["timing_cache"] == "reused"
    assert (tmp_path / "timing.cache").read_bytes() == b"measured;measured;"
    (tmp_path / "timing.cache").write_bytes(b"of another GPU")
    assert build_engine(options, shop).options["timing_cache"] == "new"  # it is left out, and the build goes on
    assert (tmp_path / "timing.cache").read_bytes() == b"measured;"
