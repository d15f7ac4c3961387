"""Any bytes as a model, an engine, a manifest, a list of sums: it is used, or refused in one line; nothing of it is run."""

import hashlib
import json
import os
from pathlib import Path

import numpy as np
import onnx
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from app.config.sections import Decode, Input
from app.decode.family import detect_family
from app.decode.heads import head_for
from app.errors import ConfigError, ModelError
from app.inference.checksums import list_of, listed
from app.inference.elsewhere import confined, locations
from app.inference.engine_file import manifest_path, read_engine, read_manifest
from app.inference.model_file import check_bytes, read_model
from app.inference.names import MAX_NAMES, choose_names, parse_names
from app.inference.plan import find_plan, ultralytics_header
from app.model import ModelInfo, TensorSpec
from app.preprocess.input_spec import input_spec
from tests.fuzz.hunt import any_json, damaged, hunt, mutated


def small_model(external=False, **metadata):
    """The bytes of a model with a bit of everything that is read of one."""
    weights = numpy_helper.from_array(np.zeros((1, 5, 3), np.float32), "answer")
    if external:
        weights.ClearField("raw_data")
        weights.data_location = TensorProto.EXTERNAL
        weights.external_data.add(key="location", value="weights.bin")
    limit = numpy_helper.from_array(np.zeros(1, np.int64), "limit")
    nodes = [
        helper.make_node("ReduceMax", ["images"], ["most"], keepdims=0),
        helper.make_node("Add", ["most", "answer"], ["output0"]),
        helper.make_node("NonMaxSuppression", ["output0", "output0", "limit"], ["picked"]),
    ]
    images = helper.make_tensor_value_info("images", TensorProto.FLOAT, ("batch", 3, "height", "width"))
    output = helper.make_tensor_value_info("output0", TensorProto.FLOAT, (1, 5, 3))
    graph = helper.make_graph(nodes if external else nodes[:2], "g", [images], [output], [weights, limit])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    helper.set_model_props(model, {"names": "{0: 'a'}", "imgsz": "[8, 8]", "stride": "8", "task": "detect", **metadata})
    return model.SerializeToString()


MODELS = [small_model(), small_model(external=True), small_model(names="x" * 300)]


def in_one_line(error):
    """The words of an error of ours, which is one line and no novel."""
    said = str(error)
    assert "\n" not in said, said
    return "refused" if len(said) < 3000 else f"refused in {len(said)} characters"


def test_bytes_of_a_model_are_walked_or_refused():
    def check(data):
        try:
            graph = check_bytes(data)
        except ModelError as error:
            return in_one_line(error)
        assert graph.elsewhere == locations(data)
        return "walked"

    words = hunt("ONNX: bytes", mutated(MODELS) | st.binary(max_size=200), check)
    assert set(words) == {"refused", "walked"}


def test_a_model_file_is_opened_or_refused(tmp_path):
    """ONNX Runtime is behind this one: what it does to the process would be seen as well."""
    path, secret = tmp_path / "folder" / "model.onnx", tmp_path / "secret.bin"
    path.parent.mkdir()
    secret.write_bytes(bytes(60))
    (path.parent / "weights.bin").write_bytes(bytes(60))

    def check(data):
        path.write_bytes(data)
        try:
            read_model(path)
        except ModelError as error:
            return in_one_line(error)
        return "opened"

    words = hunt("ONNX: files through ONNX Runtime", mutated(MODELS), check)
    assert set(words) == {"refused", "opened"}


PLACES = [
    "..",
    "/",
    "\\",
    "weights.bin",
    "secret.bin",
    ".",
    "C:",
    "\0",
    "%2e%2e",
    "\u2024\u2024",
    "~",
    "link",
    "a",
    "//",
    " ",
]


def test_weights_are_read_from_the_models_folder_or_not_at_all(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "secret.bin").write_bytes(b"secret")
    (folder / "weights.bin").write_bytes(b"weights")
    (folder / "link").symlink_to(tmp_path)

    def check(pieces):
        name = "/".join(pieces)
        try:
            (found,) = confined(folder / "model.onnx", [name])
        except ModelError as error:
            return in_one_line(error)
        assert Path(os.path.realpath(found)) == folder / "weights.bin"
        return "inside"

    words = hunt(
        "ONNX: places of weights",
        st.lists(st.sampled_from(PLACES) | st.text(max_size=5), min_size=1, max_size=5),
        check,
        usual=200,
    )
    assert words["inside"] > 0


LITERALS = [
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    "0",
    "1:",
    ":",
    ",",
    "'a'",
    '"b"',
    "'",
    '"',
    "\\",
    "__import__('os').system('x')",
    "1e9",
    "-",
    "None",
    "0x",
    "**",
    "f''",
    "\n",
    "#",
]


def test_names_and_sizes_in_metadata_are_read_as_literals_or_left():
    def check(case):
        pieces, size, stride = case
        text = "".join(pieces)
        names = parse_names(text)
        assert names is None or (0 < len(names) <= MAX_NAMES and all(name.isprintable() for name in names))
        choose_names(text, None)
        images = TensorSpec("images", (1, 3, None, None), "float32")
        output = TensorSpec("output0", (1, 5, 300), "float32")
        info = ModelInfo(
            Path("m.onnx"), "0" * 64, (images,), (output,), names, {"imgsz": size, "stride": stride, "names": text}
        )
        try:
            family, _ = detect_family(info, Decode())
            input_spec(info, Input(), family)
        except (ModelError, ConfigError) as error:
            return in_one_line(error)
        return "used" if names else "without names"

    texts = st.lists(st.sampled_from(LITERALS) | st.text(max_size=3), max_size=30)
    sizes = st.lists(st.sampled_from([*LITERALS, "640", "[8, 8]", "32"]), max_size=6).map("".join)
    hunt("ONNX: metadata", st.tuples(texts, sizes, sizes), check)


def test_inputs_and_outputs_of_any_shape_have_a_head_or_a_refusal():
    axes = st.none() | st.integers(-2, 100) | st.sampled_from([4, 5, 6, 7, 84, 85, 300, 8400, 2**31, 0])
    shapes = st.lists(axes, max_size=5).map(tuple)
    types = st.sampled_from(["float32", "float16", "int64", "uint8", "bool"])
    metadata = st.dictionaries(
        st.sampled_from(["task", "imgsz", "names", "stride", "end2end"]),
        st.text(max_size=10) | st.sampled_from(["detect", "obb", "segment"]),
    )
    sections = st.sampled_from(
        [Decode(), *(Decode(family=family) for family in ("yolov5", "yolov8", "yolox", "end_to_end"))]
    )

    def check(case):
        inputs, outputs, kind, extra, section = case
        specs = tuple(TensorSpec(f"o{number}", shape, kind) for number, shape in enumerate(outputs))
        images = tuple(TensorSpec(f"i{number}", shape, kind) for number, shape in enumerate(inputs))
        info = ModelInfo(Path("m.onnx"), "0" * 64, images, specs, None, extra)
        try:
            family, classes = detect_family(info, section)
            spec = input_spec(info, Input(), family)
            head_for(family, info, classes, spec.network_wh, section)
        except (ModelError, ConfigError) as error:
            return in_one_line(error)
        return "used"

    cases = st.tuples(
        st.lists(shapes | st.just((1, 3, 640, 640)), max_size=2),
        st.lists(shapes, max_size=3),
        types,
        metadata,
        sections,
    )
    assert hunt("ONNX: shapes", cases, check)


PLAN = b"ftrt" + bytes(range(200))
RTX = b"vtrt" + bytes(12) + (204).to_bytes(8, "little") + bytes(180)
HEADER = json.dumps({"stride": 32, "names": {"0": "a"}}).encode()
ENGINES = [PLAN, RTX, len(HEADER).to_bytes(4, "little") + HEADER + PLAN]
NESTED = st.integers(1, 200_000).map(lambda depth: depth.to_bytes(4, "little") + b"[" * depth + PLAN)


def test_bytes_of_an_engine_are_a_plan_or_refused():
    def check(data):
        ultralytics_header(data)
        try:
            plan = find_plan(data)
        except ModelError as error:
            return in_one_line(error)
        assert bytes(plan) in data
        return "plan"

    words = hunt("engines: bytes", mutated(ENGINES) | NESTED | st.binary(max_size=200), check)
    assert words["plan"] > 0


SHAPE = [1, 3, 8, 8]
MANIFEST = {
    "onnx": "m.onnx", "onnx_sha256": "0" * 64, "plan_sha256": hashlib.sha256(PLAN).hexdigest(), "compute_capabilities": ["8.7"],
    "built_on": {"runtime": "tensorrt", "runtime_version": "10.3.0"}, "precision": "fp16",
    "inputs": [{"name": "images", "dtype": "float32", "ranges": [{"least": SHAPE, "best": SHAPE, "most": SHAPE}]}],
    "outputs": [{"name": "o", "shape": [1, 5, 3], "dtype": "float32"}], "format": 1,
}  # fmt: skip


def test_a_manifest_is_read_or_refused(tmp_path):
    engine = tmp_path / "m.engine"
    engine.write_bytes(PLAN)

    def check(data):
        manifest_path(engine).write_bytes(data)
        try:
            manifest = read_manifest(engine)
            read_engine(engine)
            manifest.profile_for({"images": SHAPE})
        except ModelError as error:
            return in_one_line(error)
        return "read"

    seed = json.dumps(MANIFEST).encode()
    words = [*MANIFEST, "ranges", "least", "best", "most", "name"]
    deep = st.tuples(st.sampled_from([b'{"options":', b'{"new":']), st.integers(1, 100_000)).map(
        lambda one: one[0] + b"[" * one[1]
    )
    trees = damaged([MANIFEST], words).map(lambda tree: json.dumps(tree).encode())
    found = hunt(
        "engines: manifests",
        mutated([seed]) | trees | deep | any_json().map(lambda tree: json.dumps(tree).encode()),
        check,
    )
    assert found["read"] > 0


def test_a_list_of_sums_is_read_or_refused(tmp_path):
    model = tmp_path / "m.onnx"

    def check(data):
        list_of(model).write_bytes(data)
        try:
            sums = listed(model)
        except ModelError as error:
            return in_one_line(error)
        assert all(len(digest) == 64 for digest in sums.values())
        return "read"

    seeds = [b"0" * 64 + b"  m.onnx\n", b"0" * 64 + b" *./m.onnx\r\n" + b"1" * 64 + b"  w.bin\n"]
    words = hunt("lists of sums", mutated(seeds) | st.binary(max_size=200), check)
    assert words["read"] > 0


def test_onnx_itself_says_that_the_seeds_are_models():
    for data in MODELS:
        assert onnx.load_model_from_string(data).graph.node
