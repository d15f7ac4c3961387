"""`${NAME}` in values."""

from __future__ import annotations

import pytest

from app.config import load


def mqtt(read, small, pieces, **environment):
    return read(small(mqtt=pieces), environment).config.mqtt


def test_cfg_08_a_value_comes_from_the_environment(read, small):
    assert mqtt(read, small, '{host: "${HOST}"}', HOST="broker").host == "broker"
    assert mqtt(read, small, '{host: "a.${HOST}.b"}', HOST="broker").host == "a.broker.b"


def test_cfg_08_an_undefined_variable_names_itself_and_the_field(faults, small):
    assert faults(small(mqtt='{host: "${HOST}", port: "${PORT}"}')) == [
        ":9: mqtt.host: the environment variable HOST is not set; set it (it may be empty) or write the value",
        ":9: mqtt.port: the environment variable PORT is not set; set it (it may be empty) or write the value",
    ]


def test_cfg_08_empty_is_not_undefined(read, faults, small):
    assert mqtt(read, small, '{client_id: "${ID}"}', ID="").client_id == ""
    assert faults(small(mqtt='{host: "${HOST}"}'), {"HOST": ""}) == [
        ":9: mqtt.host: must not be empty; ${HOST} is set but empty"
    ]
    assert faults(small(mqtt='{port: "${PORT}"}'), {"PORT": ""}) == [
        ":9: mqtt.port: must be a whole number; what ${PORT} holds is not (it is empty)"
    ]


FIELDS = [
    # a field of some type, what the variable holds, the value
    ({"mqtt": '{port: "${X}"}'}, "1884", lambda config: config.mqtt.port, 1884),
    ({"mqtt": "\n  port: ${X}"}, "1884", lambda config: config.mqtt.port, 1884),
    ({"camera": 'reopen: {max_s: "${X}"}'}, "1e2", lambda config: config.cameras["front"].reopen.max_s, 100.0),
    ({"camera": "budget_ms: ${X}"}, "80", lambda config: config.cameras["front"].budget_ms, 80.0),
    ({"camera": "budget_ms: ${X}"}, "surveillance", lambda config: config.cameras["front"].budget_ms, "surveillance"),
    ({"camera": 'guard: {black: "${X}"}'}, "false", lambda config: config.cameras["front"].guard.black, False),
    ({"camera": 'guard: {width: "${X}"}'}, "null", lambda config: config.cameras["front"].guard.width, None),
    ({"mqtt": '{version: "${X}"}'}, "5", lambda config: config.mqtt.version, "5"),
    ({"source": '{kind: v4l2, device: "${X}"}'}, "0", lambda config: config.cameras["front"].source.device, "0"),
    ({"line": "${X}"}, "12:30", lambda config: config.line, "12:30"),  # text stays text, whatever it looks like
    ({"line": "${X}"}, "no", lambda config: config.line, "no"),
]


@pytest.mark.parametrize("row", FIELDS)
def test_cfg_08_the_field_decides_what_the_value_is_read_as(read, small, row):
    pieces, value, pick, expected = row
    found = pick(read(small(**pieces), {"X": value}).config)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize("value", ["http", "12:30", "010", "1.5"])
def test_cfg_08_a_value_that_does_not_fit_is_not_repeated(faults, small, value):
    assert faults(small(mqtt='{port: "${PORT}"}'), {"PORT": value}) == [
        ":9: mqtt.port: must be a whole number; what ${PORT} holds is not"
    ]


@pytest.mark.parametrize(
    "password", ["a$b:c #d", "${OTHER}", "$${X}", "12345", "yes", "{FOO}", "!x", "*y", "a: b", " # "]
)
def test_cfg_08_a_password_survives_whatever_it_holds(read, small, password):
    pieces = "\n  username: me\n  password: ${SECRET}"
    assert mqtt(read, small, pieces, SECRET=password).password == password


def test_cfg_08_a_password_in_the_file_survives_in_quotes(read, small):
    assert mqtt(read, small, '{username: me, password: "a$b:c #d$"}').password == "a$b:c #d$"
    assert mqtt(read, small, '{username: me, password: "$${X}"}').password == "${X}"


def test_cfg_08_a_variable_without_its_dollar_is_explained(faults, small):
    found = faults(small(mqtt="{username: me, password: {FOO}}"))
    assert found == [
        ":9: mqtt.password: must be text; got a mapping; quote a text that begins with {, "
        "and write ${NAME} for an environment variable"
    ]


@pytest.mark.parametrize("written", ["${", "${}", "${A-B}", "${A:-b}", "${1A}", "${A"])
def test_cfg_08_a_form_that_is_none_is_refused_without_repeating_it(faults, small, written):
    assert faults(small(line=f'"x{written}"')) == [
        ":1: line: `${` must be followed by a variable's name and `}`; for a literal `${` write `$${`"
    ]


def test_cfg_08_keys_are_not_replaced(faults, small):
    found = faults(small(camera='judge: {scores: {"${CLASS}": 0.5}}'), {"CLASS": "screw"})
    assert found == [':6: cameras.front.judge.scores."${CLASS}": ${…} is replaced in values only; write the key out']


def test_cfg_08_the_process_environment_is_used_by_default(tmp_path, small, monkeypatch):
    path = tmp_path / "line.yaml"
    path.write_text(small(line="${TAKTSIGHT_TEST_LINE}"))
    monkeypatch.setenv("TAKTSIGHT_TEST_LINE", "seven")
    assert load(path).config.line == "seven"
