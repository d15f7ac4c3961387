"""What reads files of others never runs them: no pickle, no eval, no shell, no archive unpacked, no certificate unchecked."""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT

SOURCES = sorted((ROOT / "app").rglob("*.py"))
MODULES = {
    # a module that can run or unpack what it reads, and why nothing needs it
    "pickle": "runs what it loads",
    "cPickle": "runs what it loads",
    "dill": "runs what it loads",
    "cloudpickle": "runs what it loads",
    "joblib": "runs what it loads",
    "shelve": "runs what it loads",
    "torch": "its files are pickles",
    "marshal": "crashes on what it loads",
    "code": "runs text",
    "codeop": "runs text",
    "tarfile": "an archive writes where it likes",
    "zipfile": "an archive writes where it likes",
    "zipimport": "runs an archive",
    "xmlrpc": "expands what it reads without end",
    "xml": "expands what it reads without end",
    "telnetlib": "talks in the open",
    "ftplib": "talks in the open",
}
CALLS = {
    # a call by its written name, and why
    "eval": "runs text",
    "exec": "runs text",
    "compile": "makes code of text",
    "__import__": "runs what a text names",
    "yaml.load": "makes any object",
    "yaml.unsafe_load": "makes any object",
    "yaml.full_load": "makes many objects",
    "os.system": "a shell",
    "os.popen": "a shell",
    "subprocess.getoutput": "a shell",
    "subprocess.getstatusoutput": "a shell",
    "shutil.unpack_archive": "an archive writes where it likes",
    "tempfile.mktemp": "another may take the name",
    "ssl._create_unverified_context": "believes anybody",
    "ssl.wrap_socket": "believes anybody",
    "np.load": "may hold pickles: say allow_pickle=False",
    "numpy.load": "may hold pickles: say allow_pickle=False",
    "ast.literal_eval": "can use any amount of memory: only in the two files that bound the text first",
}
KEYWORDS = {
    # a keyword argument that must not have this value
    "shell": True,
    "allow_pickle": True,
    "check_hostname": False,
}
BOUNDED = {"app/inference/names.py", "app/preprocess/input_spec.py"}


def imports(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """Yield the modules that must not be imported."""
    names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
    yield from (f"import {one}" for one in names if one.split(".")[0] in MODULES)


def calls(node: ast.Call, name: str) -> Iterator[str]:
    """Yield what must not be called, or not with that argument."""
    called = ast.unparse(node.func)
    if called in CALLS and not (called == "ast.literal_eval" and name in BOUNDED):
        yield called
    given = {one.arg: one.value.value for one in node.keywords if one.arg and isinstance(one.value, ast.Constant)}
    yield from (f"{key}={value}" for key, value in given.items() if key in KEYWORDS and value is KEYWORDS[key])


def findings(text: str, name: str = "app/x.py") -> Iterator[str]:
    """Yield what a source does that it must not."""
    for node in ast.walk(ast.parse(text)):
        found: Iterable[str] = ()
        if isinstance(node, ast.Import | ast.ImportFrom):
            found = imports(node)
        elif isinstance(node, ast.Call):
            found = calls(node, name)
        elif isinstance(node, ast.Attribute) and node.attr in ("CERT_NONE", "CERT_OPTIONAL", "extractall"):
            found = [node.attr]
        yield from (f"{name}:{getattr(node, 'lineno', 0)}: {one}" for one in found)


def test_no_source_runs_or_unpacks_what_it_reads() -> None:
    assert len(SOURCES) > 200
    found = [one for path in SOURCES for one in findings(path.read_text("utf-8"), path.relative_to(ROOT).as_posix())]
    assert found == []


BAD = [
    # each kind is seen
    "import pickle",
    "from pickle import loads",
    "import xml.etree.ElementTree as tree",
    "eval('1')",
    "import yaml; yaml.load('', Loader=x)",
    "import subprocess; subprocess.run('ls', shell=True)",
    "import numpy as np; np.load('x', allow_pickle=True)",
    "import os; os.system('ls')",
    "context.verify_mode = ssl.CERT_NONE",
    "archive.extractall()",
    "import ast; ast.literal_eval(text)",
]


@pytest.mark.parametrize("text", BAD)
def test_each_of_them_would_be_seen(text: str) -> None:
    assert list(findings(text)) != []


def test_what_only_looks_like_one_is_none() -> None:
    assert list(findings("re.compile('x'); subprocess.run(['ls'], shell=False); yaml.compose('x'); model.eval()")) == []


def test_the_scripts_pipe_nothing_from_the_network_into_a_shell() -> None:
    scripts = [path for path in (ROOT / "scripts").iterdir() if path.is_file()]
    texts: dict[Path, str] = {path: path.read_text("utf-8", "replace") for path in scripts}
    piped = [path.name for path, text in texts.items() if "| sh" in text or "| bash" in text or "|sh" in text]
    assert piped == []
