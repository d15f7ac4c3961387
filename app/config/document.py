"""A YAML file as a plain tree with the line of every key, read strictly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from app.config.fault import Fault, KeyPath
from app.config.scalars import Unclear, reading, resolve
from app.config.substitute import substitute
from app.config.syntax import explain

MOST_BYTES = 262_144
MOST_VALUES = 50_000
DEEPEST = 32

_PLAIN = "plain"
_STR = "tag:yaml.org,2002:str"
_MAP = "tag:yaml.org,2002:map"
_SEQ = "tag:yaml.org,2002:seq"
_MERGE = "<<"


@dataclass(frozen=True, slots=True)
class Spot:
    """Where one value stands in the file, and how.

    Attributes:
        line: of its key, or of itself in a list; counts from 1.
        text: the scalar as it is written; empty for a mapping or a list.
        quoted: whether it is a scalar in quotes or a block of text.
        variables: the environment variables that went into it.
    """

    line: int
    text: str = ""
    quoted: bool = False
    variables: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """The tree of a file; what is at a path in `faults` has been reported and has no meaning."""

    tree: Any
    spots: dict[KeyPath, Spot] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)

    def line(self, path: KeyPath) -> int:
        """Return the line of a path, or of the nearest one above it that is in the file."""
        while path and path not in self.spots:
            path = path[:-1]
        return self.spots[path].line if path in self.spots else 1


def read_document(content: bytes, environment: Mapping[str, str]) -> Document:
    """Return what a file holds; everything that is wrong with it as YAML is in `faults`."""
    if len(content) > MOST_BYTES:
        text = f"the file has more than the {MOST_BYTES} bytes that a configuration may have"
        return Document({}, faults=[Fault(1, (), text)])
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        return Document({}, faults=[Fault(line, (), "a byte that is not UTF-8; save the file as UTF-8")])
    try:
        root = _Composer(text).get_single_node()
        return _Builder(environment).document(root)
    except _Refused as refused:
        return Document({}, faults=[Fault(refused.line, (), refused.text)])
    except yaml.YAMLError as error:
        return Document({}, faults=[explain(error, text)])


class _Refused(Exception):  # noqa: N818 - stops the reading of a file that is built to do harm
    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line = line
        self.text = text


class _Composer(yaml.SafeLoader):
    """Gives nodes, not values; marks unquoted scalars, so that `no` and `"no"` can be told apart."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0

    def resolve(self, kind: type[yaml.Node], value: Any, implicit: Any) -> Any:  # noqa: ANN401 - PyYAML's own signature
        if kind is yaml.ScalarNode and implicit[0]:
            return _PLAIN
        return super().resolve(kind, value, implicit)  # type: ignore[no-untyped-call] # PyYAML's stubs lack it

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:  # noqa: ANN401 - PyYAML's own
        if self._depth == DEEPEST:
            line = self.peek_event().start_mark.line + 1  # type: ignore[no-untyped-call] # as above
            raise _Refused(line, f"more than {DEEPEST} levels inside one another; a configuration has fewer")
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node


class _Builder:
    """Turns nodes into values, once."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._spots: dict[KeyPath, Spot] = {}
        self._faults: dict[tuple[int, str], Fault] = {}  # an anchor's fault is told once, however often it is used
        self._open: set[int] = set()
        self._count = 0

    def document(self, root: yaml.Node | None) -> Document:
        if root is None:
            return Document({}, faults=[Fault(1, (), "the file is empty; see configs/example.yaml")])
        tree = self._value(root, (), root.start_mark.line + 1)
        return Document(tree, self._spots, list(self._faults.values()))

    def _value(self, node: yaml.Node, path: KeyPath, line: int) -> Any:  # noqa: ANN401 - a YAML value is anything
        self._enter(node)
        self._spots[path] = Spot(line)
        if isinstance(node, yaml.MappingNode) and node.tag == _MAP:
            value: Any = self._mapping(node, path)
        elif isinstance(node, yaml.SequenceNode) and node.tag == _SEQ:
            items = enumerate(node.value)
            value = [self._value(item, (*path, index), item.start_mark.line + 1) for index, item in items]
        elif isinstance(node, yaml.ScalarNode) and node.tag in {_PLAIN, _STR}:
            value = self._scalar(node, path, line)
        else:
            self._fault(node, path, _tag_fault(node.tag))
            value = Unclear("", "a tag")
        self._open.discard(id(node))
        return value

    def _enter(self, node: yaml.Node) -> None:
        self._count += 1
        if self._count > MOST_VALUES:
            raise _Refused(node.start_mark.line + 1, f"aliases make more than {MOST_VALUES} values of this file")
        if id(node) in self._open:
            raise _Refused(node.start_mark.line + 1, "an anchor holds an alias of itself; write the value out")
        self._open.add(id(node))

    def _mapping(self, node: yaml.MappingNode, path: KeyPath) -> dict[str, Any]:
        entries = self._entries(node, path)
        return {
            key: self._value(value_node, (*path, key), key_node.start_mark.line + 1)
            for key, (key_node, value_node) in entries.items()
        }

    def _entries(self, node: yaml.MappingNode, path: KeyPath) -> dict[str, tuple[yaml.Node, yaml.Node]]:
        """Return the entries of a mapping with those that `<<` brings in, which never replace its own."""
        own: dict[str, tuple[yaml.Node, yaml.Node]] = {}
        merged: dict[str, tuple[yaml.Node, yaml.Node]] = {}
        for key_node, value_node in node.value:
            key = self._key(key_node, path)
            if key in own:
                first = own[key][0].start_mark.line + 1
                self._fault(key_node, (*path, key), f"the key is in line {first} already; remove one of the two")
                continue
            own[key] = (key_node, value_node)
            if _is_merge(key_node):
                merged = self._merged(value_node, path)
        return {**merged, **{key: entry for key, entry in own.items() if not _is_merge(entry[0])}}

    def _merged(self, node: yaml.Node, path: KeyPath) -> dict[str, tuple[yaml.Node, yaml.Node]]:
        sources = node.value if isinstance(node, yaml.SequenceNode) else [node]
        merged: dict[str, tuple[yaml.Node, yaml.Node]] = {}
        for source in reversed(sources):  # the first of a list wins
            if not isinstance(source, yaml.MappingNode):
                self._fault(source, path, "<< takes the alias of a mapping, or a list of such; write <<: *name")
                continue
            self._enter(source)
            merged |= self._entries(source, path)
            self._open.discard(id(source))
        return merged

    def _key(self, node: yaml.Node, path: KeyPath) -> str:
        if not isinstance(node, yaml.ScalarNode) or node.tag not in {_PLAIN, _STR}:
            self._fault(node, path, "a key must be text; a text that begins with { or [ must be quoted")
            return "?"
        text: str = node.value
        value = resolve(text) if node.tag == _PLAIN else text
        if not isinstance(value, str):
            self._fault(
                node, (*path, text), f'as a key, {text or "nothing"} is read as {reading(value)}; quote it: "{text}"'
            )
        elif "${" in text:
            self._fault(node, (*path, text), "${…} is replaced in values only; write the key out")
        return text

    def _scalar(self, node: yaml.ScalarNode, path: KeyPath, line: int) -> Any:  # noqa: ANN401 - a YAML value is anything
        plain = node.tag == _PLAIN
        done = substitute(node.value, self._environment)
        self._spots[path] = Spot(line, node.value, not plain, done.variables)
        if done.fault:
            self._fault(node, path, done.fault)
            return Unclear("", "a variable")
        return resolve(node.value) if plain and not done.variables else done.text

    def _fault(self, node: yaml.Node, path: KeyPath, text: str) -> None:
        line = node.start_mark.line + 1
        self._faults.setdefault((line, text), Fault(line, path, text))


def _is_merge(node: yaml.Node) -> bool:
    return node.tag == _PLAIN and node.value == _MERGE


def _tag_fault(tag: str) -> str:
    if tag.startswith("tag:yaml.org,2002:"):  # any other may be somebody's password that begins with !
        return f"the tag !!{tag.removeprefix('tag:yaml.org,2002:')} is not allowed; write the plain value"
    return "tags are not allowed; a text that begins with ! must be quoted"
