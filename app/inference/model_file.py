"""What a model file says before it runs, and why it can't be used if so."""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Sequence
from pathlib import Path

import onnxruntime as ort

from app.errors import ModelError
from app.inference.checksums import check_listed, list_of
from app.inference.elsewhere import confined
from app.inference.names import choose_names
from app.inference.onnx_graph import OnnxGraph, read_graph
from app.inference.ort_session import open_session
from app.inference.shapes import PICTURE_AXES, fixed
from app.inference.wire import Cut
from app.model import ModelInfo, TensorSpec

_DTYPES = {
    "tensor(float)": "float32",
    "tensor(float16)": "float16",
    "tensor(double)": "float64",
    "tensor(bool)": "bool",
} | {f"tensor({kind}{bits})": f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)}

MOST_BYTES = (1 << 31) - 1
"""Protocol Buffers have no larger messages."""

# What people save as .onnx by mistake: how it begins, and what to do.
_MISTAKEN = (
    (b"<", "it is a web page, not a model: the download gave a page instead; download the file itself"),
    (b"version https://git-lfs", "it is a Git LFS pointer, not the model: run `git lfs pull`"),
    (b"PK\x03\x04", "it is a ZIP or PyTorch file, not ONNX: export the model to ONNX"),
    (b"{", "it is a JSON text, not a model: download the file itself"),
)


def read_model(path: Path, *, sha256: str | None = None, names: Sequence[str] | None = None) -> ModelInfo:
    """Read what a model file says of itself.

    Args:
        path: of an .onnx file.
        sha256: what the file must hash to; compared before anything is parsed.
        names: class names of the configuration, which win over the file's own.

    Raises:
        ModelError: the file is missing, empty, cut off, another one than `sha256` or its list of sums says, no model,
            wants weights from outside its folder, or is made for a newer ONNX Runtime; one line with its size and
            SHA-256.
    """
    data = read_bytes(path)
    digest = hashlib.sha256(data).hexdigest()
    here = f"{path} ({len(data):,} bytes, SHA-256 {digest})"
    if sha256 is not None and digest != sha256.lower():
        raise ModelError(f"{here}: expected SHA-256 {sha256}: put that file there, or correct `sha256` of this model")
    try:
        graph = check_files(path, data, digest)
        session = open_session(path, optimise=False)
        inputs = tuple(_tensor(node) for node in session.get_inputs())
        outputs = tuple(_tensor(node) for node in session.get_outputs())
        metadata = dict(session.get_modelmeta().custom_metadata_map)
    except ModelError as error:
        raise ModelError(f"{here}: {error}") from error
    except UnicodeDecodeError as error:
        raise ModelError(f"{here}: a name or text in it is not UTF-8: copy it again, or export it again") from error
    chosen, warnings = choose_names(metadata.get("names"), names)
    return ModelInfo(path, digest, inputs, outputs, chosen, metadata, (*warnings, *_doubts(path, graph, inputs)))


def read_bytes(path: Path) -> bytes:
    """Return a model file's bytes.

    Raises:
        ModelError: it can't be read, or is no file that could be a model.
    """
    try:
        found = path.stat()
        if stat.S_ISREG(found.st_mode) and found.st_size <= MOST_BYTES:
            return path.read_bytes()
    except FileNotFoundError as error:
        raise ModelError(f"{path}: there is no such file: correct `path` of this model") from error
    except OSError as error:
        raise ModelError(f"{path}: can't be read: {error.strerror or error}") from error
    if stat.S_ISREG(found.st_mode):
        raise ModelError(f"{path}: {found.st_size:,} bytes: an ONNX file has less than 2 GiB; its weights go beside it")
    raise ModelError(f"{path}: can't be read: it is a {'folder' if stat.S_ISDIR(found.st_mode) else 'device or pipe'}")


def check_files(path: Path, data: bytes, digest: str) -> OnnxGraph:
    """Check a model's bytes and those of its weights beside it, and return what they tell.

    Args:
        path: of the model.
        data: its bytes.
        digest: their SHA-256.

    Raises:
        ModelError: as `check_bytes`; or the weights lie elsewhere than in the model's folder, or `MODEL.onnx.sha256`
            says other sums.
    """
    if data:  # what is not the file on the list is not parsed either
        check_listed(path, digest, ())
    graph = check_bytes(data)
    check_listed(path, digest, confined(path, graph.elsewhere))
    return graph


def check_bytes(data: bytes) -> OnnxGraph:
    """Tell an ONNX file from what is often found in its place, and return what its bytes tell.

    Raises:
        ModelError: empty, cut off, or no ONNX; the text doesn't name the file.
    """
    if not data:
        raise ModelError("the file is empty: copy it again")
    start = data[:64].lstrip()
    for beginning, said in _MISTAKEN:
        if start.startswith(beginning):
            raise ModelError(said)
    try:
        graph = read_graph(data)
    except Cut as error:
        raise ModelError(f"the file is cut off ({error}): copy it again, or it is no ONNX file") from error
    except ValueError as error:
        raise ModelError(f"it is no ONNX file ({error}): export the model to ONNX") from error
    if graph is None:
        raise ModelError("it has no graph in it: it is cut off, or no ONNX file; copy or export it again")
    return graph


def _tensor(node: ort.NodeArg) -> TensorSpec:
    """Make ours of ONNX Runtime's description."""
    if node.type not in _DTYPES:
        raise ModelError(f"tensor {node.name!r} is a {node.type}: only plain numbers can be used; export it without")
    return TensorSpec(node.name, tuple(fixed(axis) for axis in node.shape), _DTYPES[node.type])


def _doubts(path: Path, graph: OnnxGraph, inputs: Sequence[TensorSpec]) -> list[str]:
    """Return warnings about what will run but not as people expect."""
    doubts = [
        f"NonMaxSuppression node {name}: without a max_output_boxes_per_class this graph can never output a box: "
        "export it again with a limit"
        for name in graph.boxless_nms
    ]
    if graph.elsewhere and not list_of(path).exists():
        files = " ".join((path.name, *graph.elsewhere))
        doubts.append(
            "some weights are in another file, which the SHA-256 doesn't cover: export it as one file, or run "
            f"`sha256sum {files} > {list_of(path).name}` in its folder"
        )
    for spec in inputs:
        batch = spec.shape[0] if len(spec.shape) == PICTURE_AXES else None
        if batch is not None and batch > 1:
            doubts.append(
                f"input {spec.name!r} has a fixed batch of {batch} and one row is used: export it with batch 1"
            )
    return doubts
