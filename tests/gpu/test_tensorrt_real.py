"""A real TensorRT library, that for RTX GPUs, where there is no GPU: what it refuses is said in its own words (MDL-12).

In a process of its own: a TensorRT that finds no driver may end it.
"""

import json
import subprocess
import sys

from tests.conftest import ROOT

ASK = """
import json, sys
import onnx.parser
from tests.gpu.fake_driver import fake_driver
fake_driver()
from app.errors import ModelError
from app.inference.tensorrt import _deserialise, _logger
from app.inference.tensorrt_module import find_tensorrt

trt = find_tensorrt("tensorrt_rtx")
model = onnx.parser.parse_model('''
    <ir_version: 8, opset_import: ["" : 17]>
    agraph (float[1,3,8,8] images) => (float[1,3,8,8] doubled) { doubled = Add(images, images) }
''')
log = _logger(trt)
builder = trt.Builder(log)
network = builder.create_network(0)
assert trt.OnnxParser(network, log).parse(model.SerializeToString())
plan = bytes(builder.build_serialized_network(network, builder.create_builder_config()))
said = {}
for name, data in (("built", plan), ("another version's", plan[:4] + bytes(4) + plan[8:]), ("none", b"junk" * 100)):
    try:
        _deserialise(trt, log, data, "lid.engine")
    except ModelError as error:
        said[name] = str(error)
print(json.dumps(said))
"""


def test_mdl_12_what_a_real_tensorrt_refuses_is_one_line_with_its_reason_and_the_remedy() -> None:
    done = subprocess.run([sys.executable, "-c", ASK], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert set(said) == {"built", "another version's", "none"}
    for text in said.values():
        assert text.startswith("lid.engine: can't be used with this tensorrt_rtx 1.")
        assert text.endswith("build it again on this machine with `taktsight engine build`")
        assert "\n" not in text
    assert "driver" in said["built"]
    assert "magicTag" in said["none"]
