"""Optimised models are kept by hash; a damaged one, or a folder that can't be written, never stops a start."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest

from app.errors import ModelError
from app.inference import onnxruntime, optimised
from app.inference.onnxruntime import OnnxBackend
from app.inference.optimised import MAX_FILES, OptimisedModels
from app.inference.ort_session import open_session

Opener = Callable[..., OnnxBackend]
Saver = Callable[..., Path]


def keep(folder: Path, key: str, content: bytes = b"model") -> None:
    models = OptimisedModels(folder, key)
    draft = models.draft()
    assert draft is not None
    draft.write_bytes(content)
    models.keep(draft)


def test_what_was_kept_is_found_under_its_key_alone(tmp_path: Path) -> None:
    keep(tmp_path / "cache", "one")
    found = OptimisedModels(tmp_path / "cache", "one").find()
    assert found is not None
    assert found.read_bytes() == b"model"
    assert OptimisedModels(tmp_path / "cache", "two").find() is None
    assert [file.suffix for file in (tmp_path / "cache").iterdir()] == [".onnx"]  # no draft lies about


def test_a_file_that_was_changed_is_removed_instead_of_used(tmp_path: Path) -> None:
    keep(tmp_path, "one")
    (file,) = tmp_path.iterdir()
    file.write_bytes(b"mode")
    assert OptimisedModels(tmp_path, "one").find() is None
    assert not file.exists()


def test_a_folder_that_can_not_be_made_means_no_cache(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file stands in the way")
    models = OptimisedModels(tmp_path / "cache", "one")
    assert models.find() is None
    assert models.draft() is None


def test_the_oldest_files_go(tmp_path: Path) -> None:
    for number in range(MAX_FILES + 2):
        keep(tmp_path, f"key{number}")
    assert len(list(tmp_path.iterdir())) == MAX_FILES
    assert OptimisedModels(tmp_path, f"key{MAX_FILES + 1}").find() is not None


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, bool]]:
    """Which files the backend opens, and whether it has them optimised."""
    calls: list[tuple[str, bool]] = []

    def spy(path: Path, **options: Any) -> ort.InferenceSession:
        calls.append((path.name, options.get("optimise", True)))
        return open_session(path, **options)

    monkeypatch.setattr(onnxruntime, "open_session", spy)
    return calls


def run_once(backend: OnnxBackend) -> np.ndarray:
    picture = np.random.default_rng(0).random(backend.inputs[0].shape, np.float32)
    with backend:
        return backend.infer({"images": picture})["output0"].copy()


def test_the_second_start_loads_the_optimised_model_and_finds_the_same(
    open_backend: Opener, shipped_model: Path, opened: list[tuple[str, bool]], tmp_path: Path
) -> None:
    first = run_once(open_backend(shipped_model))
    second = run_once(open_backend(shipped_model))
    (file,) = (tmp_path / "cache").iterdir()
    assert ort.__version__ in file.name
    assert opened == [("covers_640.onnx", True), (file.name, False)]
    np.testing.assert_array_equal(first, second)


def test_a_cut_off_optimised_model_is_made_again(open_backend: Opener, save_mean: Saver, tmp_path: Path) -> None:
    path = save_mean("float")
    first = run_once(open_backend(path))
    (file,) = (tmp_path / "cache").iterdir()
    file.write_bytes(file.read_bytes()[:100])
    np.testing.assert_array_equal(run_once(open_backend(path)), first)
    (made,) = (tmp_path / "cache").iterdir()  # ONNX Runtime doesn't write the same bytes each time
    assert made.stat().st_size > 100


def test_an_optimised_model_that_does_not_load_is_made_again(
    open_backend: Opener, save_mean: Saver, opened: list[tuple[str, bool]], tmp_path: Path
) -> None:
    path = save_mean("float")
    run_once(open_backend(path))
    (file,) = (tmp_path / "cache").iterdir()
    key = file.name.rsplit(".", 2)[0]
    file.unlink()
    keep(tmp_path / "cache", key, b"whole, but no model")
    run_once(open_backend(path))
    assert opened[-1] == ("mean.onnx", True)
    assert not file.with_name(f"{key}.{hashlib.sha256(b'whole, but no model').hexdigest()[:16]}.onnx").exists()
    assert file.exists()


CHANGES: list[tuple[Any, str, Any]] = [
    (ort, "__version__", "1.99.0"),  # another runtime
    (onnxruntime, "machine_key", lambda: "another"),  # another processor
]


@pytest.mark.parametrize("change", CHANGES, ids=["runtime", "processor"])
def test_another_runtime_or_processor_does_not_use_it(
    open_backend: Opener,
    save_mean: Saver,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: tuple[Any, str, Any],
) -> None:
    path = save_mean("float")
    run_once(open_backend(path))
    monkeypatch.setattr(*change)
    run_once(open_backend(path))
    assert len(list((tmp_path / "cache").iterdir())) == 2


def test_another_size_of_an_open_model_does_not_use_it(open_backend: Opener, save_mean: Saver, tmp_path: Path) -> None:
    path = save_mean("float", "b,3,h,w", "b")
    run_once(open_backend(path, (8, 8)))
    run_once(open_backend(path, (16, 8)))
    assert len(list((tmp_path / "cache").iterdir())) == 2


def test_without_a_folder_to_write_to_it_starts_all_the_same(
    open_backend: Opener, save_mean: Saver, tmp_path: Path
) -> None:
    (tmp_path / "cache").write_text("a file stands in the way")
    assert run_once(open_backend(save_mean("float"))).shape == (1, 3)


def test_a_full_disk_is_no_reason_not_to_start(
    open_backend: Opener, save_mean: Saver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(path: Path, **options: Any) -> ort.InferenceSession:
        if options.get("save_to"):
            raise ModelError("no space left on device")
        return open_session(path, **options)

    monkeypatch.setattr(onnxruntime, "open_session", failing)
    assert run_once(open_backend(save_mean("float"))).shape == (1, 3)
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_model_with_weights_elsewhere_is_not_kept(open_backend: Opener, save_constant: Saver, tmp_path: Path) -> None:
    path = save_constant(output=np.ones((1, 5, 300), np.float32))
    onnx.save_model(onnx.load(path), path, save_as_external_data=True, location="weights.bin", size_threshold=100)
    assert run_once(open_backend(path)).sum() == 1500
    assert not (tmp_path / "cache").exists()


def test_a_machine_without_cpuinfo_has_a_key_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "read_text", lambda *_args, **_kw: (_ for _ in ()).throw(FileNotFoundError()))
    assert len(optimised.machine_key()) == 12
