"""Rules between the keys of one section and between sections."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from app.config import Config
from app.config.sections import Camera, CountRule, Judge, Model, Region, SyntheticSource


def judged(rules="[]", regions="{}", gate="null"):
    return f"judge: {{rules: {rules}, regions: {regions}}}\n    gate: {gate}"


RULES = [
    # a rule, what is said of it
    ("{count: a}", "rules[0]: how many? Add equals, min or max"),
    ("{count: a, equals: 1, min: 1}", "rules[0]: equals stands alone; remove it, or remove min and max"),
    ("{count: a, min: 3, max: 2}", "rules[0]: min (3) must not be above max (2)"),
    ("{count: a, equals: -1}", "rules[0].equals: must be 0 or more; got -1"),
    ("{count: a, equals: 1.5}", "rules[0].equals: must be a whole number; got 1.5"),
    ("{forbid: a, count: a, equals: 1}", "rules[0]: a rule is a mapping with exactly one of count, forbid and require"),
    ("{}", "rules[0]: a rule is a mapping with exactly one of count, forbid and require"),
    ("forbid a", "rules[0]: a rule is a mapping with exactly one of count, forbid and require"),
    ("{require: a, otherwise: OK}", "rules[0].otherwise: must be one of 'NG' or 'UNKNOWN'; got the text \"OK\""),
    ("{forbid: a, min_score: 1.5}", "rules[0].min_score: must be 1 or less; got 1.5"),
    ("{forbid: a, min_score: .nan}", "rules[0].min_score: must be a finite number; got .nan"),
    ("{forbid: a, region: tpo}", "rules[0].region: there is no region `tpo`; did you mean `top`?"),
    (
        "{forbid: a, region: part}",
        "rules[0].region: `part` is the part that a gate finds and this camera has none; add gate, or remove region",
    ),
]


@pytest.mark.parametrize(("rule", "said"), RULES)
def test_a_rule_that_can_not_be_meant_is_refused(faults, small, rule, said):
    regions = "{top: {unit: fraction, polygon: '0,0,0.5,0.5'}}"
    assert faults(small(camera=judged(f"[{rule}]", regions))) == [f":6: cameras.front.judge.{said}"]


GOOD_RULES = ["{count: a, equals: 0}", "{count: a, min: 1}", "{count: a, max: 0}", "{count: a, min: 2, max: 2}"]


@pytest.mark.parametrize("rule", GOOD_RULES)
def test_a_count_takes_equals_or_bounds(read, small, rule):
    assert isinstance(read(small(camera=judged(f"[{rule}]"))).config.cameras["front"].judge.rules[0], CountRule)


def test_the_part_is_a_region_where_there_is_a_gate(read, faults, small):
    assert read(small(camera=judged("[{forbid: a, region: part}]", gate="{class: b}"))).config
    own = judged(regions="{part: {unit: fraction, polygon: '0,0,1,1'}}", gate="{class: b}")
    assert "give this region another name" in faults(small(camera=own))[0]


FORMS = [
    # accepted ways to write two corners, or four
    '"10,20,30,40"',
    "[[10, 20], [30, 40]]",
    '["10,20", "30,40"]',
    "[10, 20, 30, 40]",
    "[[10, 20], [30, 20], [30, 40], [10, 40]]",
    "[[10, 20], [30, 20], [30, 40], [10, 40], [10, 20]]",  # closed
    "[[10, 20], [10, 20], [30, 20], [30, 40], [10, 40]]",  # a corner twice
    "[[30, 40], [10, 20]]",  # the other two corners first
]


@pytest.mark.parametrize("form", FORMS)
def test_cfg_10_the_accepted_forms_of_coordinates_mean_the_same(read, small, form):
    config = read(small(camera=judged(regions=f"{{a: {{unit: pixels, polygon: {form}}}}}"))).config
    assert config.cameras["front"].judge.regions["a"].polygon == [(10, 20), (30, 20), (30, 40), (10, 40)]


def test_cfg_10_coordinates_need_no_quotes_on_a_line_of_their_own(read, small):
    camera = "judge:\n      regions:\n        a:\n          unit: pixels\n          polygon: 10,20, 30,40"
    polygon = read(small(camera=camera)).config.cameras["front"].judge.regions["a"].polygon
    assert polygon == [(10, 20), (30, 20), (30, 40), (10, 40)]


NO_POLYGONS = [
    # a list that is none, what is said
    ("[10, 20, 30]", "3 numbers are no list of corners"),
    ('"10,20,30,40,50"', "5 numbers are no list of corners"),
    ("[[10, 20, 30], [30, 40]]", "a corner has an x and a y, this one has 3 numbers"),
    ("[[10, 20]]", "1 corners make no area"),
    ("[]", "0 corners make no area"),
    ("[[10, 20], [10, 20]]", "1 corners make no area"),
    ("[[10, 20], [10, 40]]", "enclose no area"),  # a box without a width
    ("[[0, 0], [10, 10], [20, 20]]", "enclose no area"),
    ("[[0, 0], [10, 10], [10, 0], [0, 20]]", "cross"),
    ('"10%,20%,30%,40%"', "'10%' is not a number"),
    ('"10,20,,40"', "'' is not a number"),
    ("[[10, a], [30, 40]]", "'a' is not a number"),
    ("[[10, no], [30, 40]]", "a coordinate must be a number"),
    ("[[10, .inf], [30, 40]]", "a coordinate must be a finite number"),
    ('"10,nan,30,40"', "a coordinate must be a finite number"),
    ("7", "it must be a list of corners"),
    ("null", "it must be a list of corners"),
    ("[[10, 12:30], [30, 40]]", "a coordinate must be a number"),
]


@pytest.mark.parametrize(("form", "said"), NO_POLYGONS)
def test_cfg_10_what_is_no_polygon_is_refused(faults, small, form, said):
    (fault,) = faults(small(camera=judged(regions=f"{{a: {{unit: pixels, polygon: {form}}}}}")))
    assert fault.startswith(":6: cameras.front.judge.regions.a.polygon: ")
    assert said in fault


UNITS = [
    # unit, corners, what is said
    ("pixels", "0,0,1,1", "for fractions of the picture write unit: fraction"),
    ("pixels", "0.1,0.1,0.5,0.5", "for fractions of the picture write unit: fraction"),
    ("fraction", "0,0,0.5,300", "for pixels write unit: pixels"),
    ("fraction", "-0.1,0,0.5,0.5", "fractions are 0 … 1 of the picture"),
]


@pytest.mark.parametrize(("unit", "corners", "said"), UNITS)
def test_roi_01_numbers_must_fit_their_unit(faults, small, unit, corners, said):
    (fault,) = faults(small(camera=judged(regions=f"{{a: {{unit: {unit}, polygon: '{corners}'}}}}")))
    assert said in fault


def test_roi_01_a_region_must_say_its_unit_and_keeps_its_digits(faults, read, small):
    found = faults(small(camera=judged(regions="{a: {polygon: '0,0,1,1'}}")))
    assert found == [":6: cameras.front.judge.regions.a.unit: required; add `unit:` with its value"]
    config = read(small(camera=judged(regions="{a: {unit: fraction, polygon: '0,0,0.3805,1'}}"))).config
    assert config.cameras["front"].judge.regions["a"].polygon[1] == (0.3805, 0)


SECTIONS = [
    # pieces, what is said
    ({"camera": "reopen: {first_s: 20}"}, "reopen: max_s must be first_s (20.0) or more; got 10.0"),
    ({"mqtt": "{password: x}"}, "mqtt: a password needs a username; add username"),
    (
        {"mqtt": "{username: a, password: x, password_file: y}"},
        "mqtt: password and password_file exclude one another; remove one",
    ),
    ({"mqtt": "{tls: {cert_file: x}}"}, "mqtt.tls: cert_file and key_file go together; add the other one"),
    (
        {"source": "{kind: stream, url: 'rtsp://h', password_file: x}"},
        "source: password_file needs a username; add username",
    ),
    (
        {"source": "{kind: stream, url: 'rtsp://h', buffer_bytes: 65536}"},
        "source: buffer_bytes has no effect on RTSP over tcp; remove it, or set transport: udp",
    ),
    ({"source": "{kind: stream, url: 'rtsp:///1'}"}, "source.url: has no host; write e.g. rtsp://192.168.1.20/stream1"),
    (
        {"source": "{kind: stream, url: /film.mp4}"},
        "source.url: must begin with rtsp://, rtsps://, http://, https://; a file is kind: video",
    ),
    ({"source": "{kind: v4l2, device: -1}"}, "source.device: must be 0 or more or text; got -1"),
    ({"part": ", sha256: abc"}, 'models.parts.sha256: must be of the form ^[0-9a-f]{64}$; got the text "abc"'),
    ({"mqtt": "{port: 0}"}, "mqtt.port: must be 1 or more; got 0"),
    ({"mqtt": "{port: 1883.0}"}, "mqtt.port: must be a whole number; got 1883.0"),
    (
        {"mqtt": "{version: 5}"},
        "mqtt.version: must be one of 'auto', '5' or '3.1.1'; 5 is read as the number 5; quote it: \"5\"",
    ),
    ({"line": "x" * 65}, "line: must be at most 64 characters long; got the text"),
]


@pytest.mark.parametrize(("pieces", "said"), SECTIONS)
def test_keys_that_exclude_or_need_one_another_are_told(faults, small, pieces, said):
    (fault,) = faults(small(**pieces))
    assert said in fault


@pytest.mark.parametrize("host", ["broker", "broker.local", "10.0.0.5", "::1", "[fe80::1]", "fe80::1%eth0", "a_b-c"])
def test_hosts_are_names_or_addresses(read, small, host):
    assert read(small(mqtt=f'{{host: "{host}"}}')).config.mqtt.host == host


@pytest.mark.parametrize("host", ["a b", "mqtt://a", "a:1883", "a/b", "u@a", "", "a:"])
def test_hosts_with_more_in_them_are_refused(faults, small, host):
    assert faults(small(mqtt=f'{{host: "{host}"}}'))


def test_a_configuration_made_in_code_is_held_to_the_same_rules():
    camera = Camera(source=SyntheticSource(kind="synthetic"), model="b", judge=Judge())
    with pytest.raises(ValidationError, match="there is no model `b`"):
        Config(line="l", cameras={"a": camera}, models={"m": Model(path="x")})
    with pytest.raises(ValidationError, match="unit: fraction"):
        Region(unit="pixels", polygon=[(0.0, 0.0), (1.0, 1.0)])
