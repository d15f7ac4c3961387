"""Lets atheris look for inputs of the readers in Python by what they reach; for a Linux x86-64 with Python 3.11.

Not a part of the tests: `pip install atheris`, then from the repository's folder
`python tests/fuzz/guided.py PART FOLDER_OF_SEEDS -max_total_time=600`, where PART is onnx, names, plan or sums.
"""

import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

with atheris.instrument_imports(include=["app.inference"]):
    from app.inference.checksums import list_of, listed
    from app.inference.elsewhere import locations
    from app.inference.names import parse_names
    from app.inference.onnx_graph import read_graph
    from app.inference.plan import find_plan

from app.errors import ModelError

FOLDER = tempfile.TemporaryDirectory(prefix="taktsight-fuzz-")
MODEL = Path(FOLDER.name) / "m.onnx"


def onnx(data: bytes) -> None:
    """Walk a model; both walks see the same weights."""
    with suppress(ValueError):
        graph = read_graph(data)
        assert graph is None or graph.elsewhere == locations(data)


def names(data: bytes) -> None:
    """Read class names."""
    found = parse_names(data.decode("utf-8", "replace"))
    assert found is None or all(name.isprintable() for name in found)


def plan(data: bytes) -> None:
    """Find the plan of an engine."""
    with suppress(ModelError):
        assert bytes(find_plan(data)) in data


def sums(data: bytes) -> None:
    """Read a list of sums."""
    list_of(MODEL).write_bytes(data)
    with suppress(ModelError):
        listed(MODEL)


PARTS = {"onnx": onnx, "names": names, "plan": plan, "sums": sums}

if __name__ == "__main__":
    part = PARTS[sys.argv.pop(1)]
    atheris.Setup(sys.argv, part)
    atheris.Fuzz()
