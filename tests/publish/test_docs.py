"""docs/mqtt.md says what the code does."""

import json
import re
from pathlib import Path

import jsonschema
import pytest

from app.publish.message import Latency, Result, decode, encode, message_schema
from app.publish.topics import slug
from app.verdict import Code

PAGE = (Path(__file__).parents[2] / "docs" / "mqtt.md").read_text(encoding="utf-8")


def section(title):
    return PAGE.split(f"# {title}\n", 1)[1].split("\n#", 1)[0]


def first_column(text):
    return [cell.strip() for cell in re.findall(r"^\|([^|]*)\|", text, re.MULTILINE)][2:]


@pytest.fixture
def example():
    return re.search(r"```json\n(.*?)```", PAGE, re.DOTALL)[1]


def test_the_example_is_a_message_of_the_schema_and_complete(example):
    fields = json.loads(example)
    jsonschema.Draft202012Validator(message_schema()).validate(fields)
    message = decode(example.encode())
    assert isinstance(message, Result)
    assert json.loads(encode(message)) == fields


def test_every_field_of_a_result_is_explained(example):
    explained = [name for cell in first_column(section("A result")) for name in re.findall(r"`(\w+)`", cell)]
    assert explained == list(json.loads(example))


def test_the_example_of_latencies_is_a_message_of_the_schema_and_every_field_is_explained():
    page = section("Latency")
    example = re.search(r"```json\n(.*?)```", page, re.DOTALL)[1]
    fields = json.loads(example)
    jsonschema.Draft202012Validator(message_schema()).validate(fields)
    message = decode(example.encode())
    assert isinstance(message, Latency)
    assert json.loads(encode(message)) == fields
    explained = [name for cell in first_column(page) for name in re.findall(r"`(\w+)`", cell)]
    assert sorted(explained) == sorted(fields)


def test_every_reason_code_is_explained():
    codes = [cell.strip("`") for cell in first_column(section("Reason codes"))]
    assert codes == [code.value for code in Code]


def test_the_examples_of_names_follow_the_rule():
    rows = re.findall(r"^\| `([^`]*)` \| `([^`]*)` \|$", section("Names"), re.MULTILINE)
    assert len(rows) >= 4
    assert [slug(name) for name, _ in rows] == [level for _, level in rows]


@pytest.mark.parametrize("kind", ["event", "status", "ack", "want", "preview"])
def test_the_other_messages_name_every_field(kind):
    shown = re.search(rf'^`(\{{"type":"{kind}".*\}})`$', PAGE, re.MULTILINE)[1]
    properties = message_schema()["$defs"][kind.capitalize()]["properties"]
    assert re.findall(r'"(\w+)":', shown) == list(properties)
