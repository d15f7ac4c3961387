"""The manifest beside a built engine: made of what, for which machine, and why it can't be used here if so."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from app.errors import ModelError
from app.inference.atomic import write_atomically
from app.inference.plan import find_plan
from app.model import TensorSpec

FORMAT = 1
"""Of the manifest; one that a newer product wrote is refused, not guessed at."""

Precision: TypeAlias = Literal["fp32", "fp16", "int8"]


@dataclass(frozen=True, slots=True)
class Machine:
    """What an engine depends on; None where it isn't known, as without a driver.

    Attributes:
        runtime: the module that runs engines: "tensorrt" or "tensorrt_rtx".
        runtime_version: of that module, e.g. "10.3.0".
        cuda: the version that the driver offers, e.g. "12.6".
        driver: its version, e.g. "580.65.06", or the L4T release of a Jetson.
        gpu: the device's name.
        compute_capability: e.g. "8.7".
    """

    runtime: str
    runtime_version: str
    cuda: str | None = None
    driver: str | None = None
    gpu: str | None = None
    compute_capability: str | None = None


@dataclass(frozen=True, slots=True)
class Range:
    """The shapes that one optimisation profile takes for one input: without open axes, all the same where it is one.

    Attributes:
        best: the shape that it is fastest with.
    """

    least: tuple[int, ...]
    best: tuple[int, ...]
    most: tuple[int, ...]

    def __post_init__(self) -> None:
        """Refuse shapes that are no range.

        Raises:
            ValueError: they have not all as many axes.
        """
        if not len(self.least) == len(self.best) == len(self.most):
            raise ValueError("least, best and most of a range must have as many axes")

    def takes(self, shape: Sequence[int]) -> bool:
        """Whether a shape lies inside."""
        return len(shape) == len(self.least) and all(
            low <= axis <= high for low, axis, high in zip(self.least, shape, self.most, strict=True)
        )

    def __str__(self) -> str:
        return " × ".join(
            str(low) if low == high else f"{low}…{high}" for low, high in zip(self.least, self.most, strict=True)
        )


@dataclass(frozen=True, slots=True)
class EngineInput:
    """One input of an engine.

    Attributes:
        dtype: as NumPy names it.
        ranges: one for each optimisation profile, in the engine's order.
    """

    name: str
    dtype: str
    ranges: tuple[Range, ...]


@dataclass(frozen=True, slots=True)
class Verified:
    """How the engine's results were beside those of its ONNX model.

    Attributes:
        pictures: how many both were run on.
        figures: what was compared, by name.
        report: the file beside the engine that has it all.
    """

    pictures: int
    figures: Mapping[str, float]
    report: str = ""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What stands beside an engine.

    Attributes:
        onnx: the name of the file that it was built from.
        onnx_sha256: of that file, as it was before any conversion.
        plan_sha256: of the engine's own bytes, without Ultralytics' header.
        built_on: the machine; `gpu` is None where the plan fits every device of `compute_capabilities`.
        compute_capabilities: of the devices that the plan runs on.
        precision: what was asked for.
        options: the builder's, by name.
        calibration_sha256: of the pictures and the way they were prepared; None where nothing was calibrated.
        verified: None: never run beside its model, so it may not be used unless the configuration says so.
        built_at: UTC, a label only.
    """

    onnx: str
    onnx_sha256: str
    plan_sha256: str
    built_on: Machine
    compute_capabilities: tuple[str, ...]
    precision: Precision
    inputs: tuple[EngineInput, ...]
    outputs: tuple[TensorSpec, ...]
    options: Mapping[str, str] = field(default_factory=dict)
    calibration_sha256: str | None = None
    verified: Verified | None = None
    built_at: str = ""
    format: int = FORMAT

    def profile_for(self, shapes: Mapping[str, Sequence[int]]) -> int:
        """Return the number of the optimisation profile to use for inputs of these shapes.

        Args:
            shapes: without open axes, by input name; all inputs.

        Raises:
            ModelError: no profile takes them; the text says what the engine takes.
        """
        wanted = {name: tuple(shape) for name, shape in shapes.items()}
        if set(wanted) != {tensor.name for tensor in self.inputs}:
            named = ", ".join(tensor.name for tensor in self.inputs)
            raise ModelError(
                f"the engine's inputs are {named}, not {', '.join(wanted) or 'none'}: it is another model's"
            )
        for number in range(len(self.inputs[0].ranges)):
            if all(tensor.ranges[number].takes(wanted[tensor.name]) for tensor in self.inputs):
                return number
        raise ModelError("; ".join(_range_text(tensor, wanted[tensor.name]) for tensor in self.inputs))


@dataclass(frozen=True, slots=True)
class EngineFile:
    """An engine's bytes and its manifest.

    Attributes:
        plan: what TensorRT deserialises, without Ultralytics' header.
    """

    path: Path
    plan: memoryview
    manifest: Manifest


def _range_text(tensor: EngineInput, asked: tuple[int, ...]) -> str:
    takes = " or ".join(dict.fromkeys(str(span) for span in tensor.ranges))
    return (
        f"input {tensor.name!r}: the engine takes {takes}, asked for is {' × '.join(map(str, asked))}: build it for "
        "that with --batch and --input"
    )


def manifest_path(engine: Path) -> Path:
    """Return where the manifest of an engine file stands."""
    return engine.with_name(f"{engine.name}.json")


def check(
    manifest: Manifest, machine: Machine, *, onnx_sha256: str | None = None, allow_unverified: bool = False
) -> tuple[str, ...]:
    """Say in one line for each mismatch why an engine can't be used; nothing where it can.

    Args:
        manifest: the engine's.
        machine: where it would run.
        onnx_sha256: of the model that is meant, where it is at hand.
        allow_unverified: as the configuration says.
    """
    built = manifest.built_on
    compared: list[tuple[str, str | None, str | None]] = [
        ("engine's library", built.runtime, machine.runtime),
        (f"{machine.runtime} version", built.runtime_version, machine.runtime_version),
    ]
    if built.gpu is not None:
        compared += [
            ("GPU", built.gpu, machine.gpu),
            ("CUDA version", built.cuda, machine.cuda),
            ("driver", _branch(built.driver), _branch(machine.driver)),
        ]
    if onnx_sha256 is not None:
        compared.append(("model", manifest.onnx_sha256[:12], onnx_sha256[:12]))
    faults = [f"{what}: built with {was}, here is {now or 'none'}" for what, was, now in compared if was != now]
    if machine.compute_capability not in manifest.compute_capabilities:
        fits = ", ".join(manifest.compute_capabilities) or "none"
        faults.append(f"compute capability: built for {fits}, here is {machine.compute_capability or 'none'}")
    if manifest.verified is None and not allow_unverified:
        faults.append("never run beside its ONNX model: run `taktsight engine verify`, or set engine.allow_unverified")
    return tuple(faults)


def _branch(driver: str | None) -> str | None:
    """Return a driver's branch: "580" of 580.65.06; within one, engines keep working."""
    return None if driver is None else driver.split(".", 1)[0]


def read_manifest(engine: Path) -> Manifest:
    """Read the manifest of an engine file.

    Raises:
        ModelError: there is none, or it can't be read.
    """
    path = manifest_path(engine)
    try:
        manifest = msgspec.json.decode(path.read_bytes(), type=Manifest)
    except FileNotFoundError as error:
        raise ModelError(
            f"{engine}: there is no {path.name} beside it, so nobody knows what it fits: build it with "
            "`taktsight engine build` on this machine"
        ) from error
    except OSError as error:
        raise ModelError(f"{path}: can't be read: {error.strerror or error}") from error
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ModelError(f"{path}: it is no manifest ({error}): build the engine again") from error
    if manifest.format > FORMAT:
        raise ModelError(f"{path}: format {manifest.format}, this version reads up to {FORMAT}: build the engine again")
    profiles = {len(tensor.ranges) for tensor in manifest.inputs}
    if len(profiles) != 1 or 0 in profiles:
        raise ModelError(f"{path}: its inputs have not all the same profiles, one at least: build the engine again")
    return manifest


def write_manifest(engine: Path, manifest: Manifest) -> None:
    """Write the manifest of an engine file, whole or not at all.

    Raises:
        OSError: it can't be written.
    """
    write_atomically(manifest_path(engine), msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n")


def read_engine(engine: Path) -> EngineFile:
    """Read an engine and its manifest, and see that they belong together; `check` says whether they fit a machine.

    Raises:
        ModelError: a file is missing, is no engine, or the manifest is another engine's.
    """
    try:
        data = engine.read_bytes()
    except FileNotFoundError as error:
        raise ModelError(f"{engine}: there is no such file: build it with `taktsight engine build`") from error
    except OSError as error:
        raise ModelError(f"{engine}: can't be read: {error.strerror or error}") from error
    try:
        plan = find_plan(data)
    except ModelError as error:
        raise ModelError(f"{engine} ({len(data):,} bytes): {error}") from error
    manifest = read_manifest(engine)
    if (digest := hashlib.sha256(plan).hexdigest()) != manifest.plan_sha256:
        raise ModelError(
            f"{engine}: its manifest is of another engine, or it is cut off (SHA-256 {digest[:12]}, the manifest says "
            f"{manifest.plan_sha256[:12]}): build it again"
        )
    return EngineFile(engine, plan, manifest)
