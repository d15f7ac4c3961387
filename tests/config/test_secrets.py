"""Secrets: read from files, shown nowhere."""

from __future__ import annotations

import time
from pathlib import Path
from urllib.parse import quote

import pytest

from app.config.secrets import is_credential, mask, mask_url, read_secret, secrets_in
from app.errors import ConfigError

SECRET = "Geh3im!x"
ENCODED = quote(SECRET, safe="")
STREAM = (
    f'{{kind: stream, url: "rtsp://admin:{SECRET}@10.0.0.5/1?token={SECRET}", username: a, password_file: /{SECRET}}}'
)


def is_clean(text: object) -> bool:
    return SECRET not in str(text) and ENCODED not in str(text) and ENCODED.lower() not in str(text)


@pytest.fixture
def config(read, small):
    return read(small(source=STREAM, mqtt=f'{{username: a, password: "{SECRET}"}}')).config


def test_cfg_09_a_configuration_can_be_shown_in_any_way_without_its_secrets(config):
    camera = config.cameras["front"]
    shown = [
        config,
        camera,
        camera.source,
        config.mqtt,
        config.mqtt.model_dump(),
        config.model_dump(),
        config.model_dump_json(),
    ]
    for value in shown:
        assert is_clean(repr(value))
        assert is_clean(str(value))
    assert "10.0.0.5" in repr(config)


def test_cfg_09_whoever_connects_still_gets_the_secret(config):
    assert config.mqtt.password == SECRET
    assert SECRET in config.cameras["front"].source.url


BAD = [
    # a fault with a secret close by
    {"mqtt": f'{{host: "admin:{SECRET}@broker"}}'},  # bad host
    {"mqtt": f'{{host: "mqtt://admin:{SECRET}@broker:1883"}}'},
    {"mqtt": f'{{port: "{SECRET}"}}'},  # bad port, the password in the wrong line
    {"mqtt": f'{{port: "{SECRET}", password: "{SECRET}"}}'},
    {"mqtt": f'{{username: a, password: ["{SECRET}"]}}'},
    {"mqtt": f'{{username: a, password: "{SECRET}", password_file: "{SECRET}"}}'},
    {"mqtt": f'{{password: "{SECRET}"}}'},  # no user
    {"source": f'{{kind: stream, url: "rtsp://admin:{SECRET}@host:99x/"}}'},
    {"source": f'{{kind: stream, url: "rtsp://admin:pa/{SECRET}#@host/"}}'},
    {"source": f'{{kind: stream, url: "rtps://admin:{SECRET}@host/"}}'},
    {"source": f'{{kind: stream, url: "rtsp://admin:{ENCODED}@ho st/"}}'},
    {"source": f'{{kind: "rtsp://admin:{SECRET}@host/"}}'},
    {"source": f'"rtsp://admin:{SECRET}@host/"'},
    {"model": f'"rtsp://admin:{SECRET}@host/"'},
    {"camera": f'budget_ms: "rtsp://admin:{ENCODED}@host/"'},
    {"camera": f'judge: {{regions: {{a: {{unit: pixels, polygon: "http://u:{SECRET}@h"}}}}}}'},
]


@pytest.mark.parametrize("pieces", BAD)
def test_cfg_09_no_fault_repeats_a_secret(faults, small, pieces):
    # The file knows the password from its right place, too; as a model's name alone nobody could tell it from a name.
    pieces = {"mqtt": f'{{username: a, password: "{SECRET}"}}', **pieces}
    found = faults(small(**pieces))
    assert found
    assert is_clean(found)


def test_cfg_09_a_secret_of_the_environment_is_not_repeated(faults, small):
    text = small(mqtt='{port: "${PW}", password: "${PW}", version: "${PW}"}', model='"${PW}"')
    assert is_clean(faults(text, {"PW": SECRET}))


UNQUOTED = [
    "!Geh3im!x",
    "*Geh3im!x",
    "&Geh3im!x",
    "@Geh3im!x",
    "%Geh3im!x",
    "{Geh3im!x}",
    "[Geh3im!x",
    "'Geh3im!x",
    "12345",
    "no",
    "12:30",
]


@pytest.mark.parametrize("password", UNQUOTED)
def test_cfg_09_a_password_that_lacks_its_quotes_is_not_repeated(faults, small, password):
    found = faults(small(mqtt=f"\n  username: a\n  password: {password}"))
    assert all(password.strip("!*&@%{}['") not in fault.partition(": mqtt")[2] for fault in found)
    assert all("Geh3im" not in fault for fault in found)


NO_COLON = [
    # a line that lacks its colon, so that all of it is a key
    {"mqtt": f'{{username: a, password "{SECRET}"}}'},
    {"mqtt": f'{{username: a, password:"{SECRET}"}}'},
    {"source": f"{{kind: stream, url rtsp://u:{SECRET}@host/1}}"},
    {"source": f"{{kind: stream, url:rtsp://u:{SECRET}@host/1}}"},
]


@pytest.mark.parametrize("pieces", NO_COLON)
def test_cfg_09_a_secret_that_became_a_key_is_not_repeated(faults, small, pieces):
    found = faults(small(**pieces))
    assert any("is its `:` missing, or the space after it?" in fault for fault in found)
    assert is_clean(found)


def test_cfg_09_a_camera_named_after_its_url_does_not_show_the_password(faults, small):
    found = faults(small().replace("front:", f"rtsp://u:{SECRET}@host/1:").replace("model: parts", "modle: parts"))
    assert len(found) == 2
    assert is_clean(found)


URLS = [
    # a URL, as it is shown
    ("rtsp://admin:Geh3im!x@host/1", "rtsp://***@host/1"),
    ("rtsp://admin@host/1", "rtsp://***@host/1"),
    ("rtsp://host/1", "rtsp://host/1"),
    ("rtsp://a:p@ss@host/1", "rtsp://***@host/1"),
    ("rtsp://a:p/a#s?s@host/1", "rtsp://***@host/1"),
    ("http://host/?user=a&password=b&n=1", "http://host/?user=a&password=***&n=1"),
    ("two: rtsp://a:b@c and 'rtsp://d:e@f'", "two: rtsp://***@c and 'rtsp://***@f'"),
    ("rtsp://host/1?api_key=Geh3im!x&fps=5", "rtsp://host/1?api_key=***&fps=5"),
    ("http://host/?access-token=a&X-Signature=b", "http://host/?access-token=***&X-Signature=***"),
    ("rtspsrc user-id=a user-pw=b ! fakesink", "rtspsrc user-id=a user-pw=*** ! fakesink"),
    ("rtspsrc user-pw=\"a b\" proxy-pw='c d' ! x", "rtspsrc user-pw=*** proxy-pw=*** ! x"),
    ("keyframe=1 ! monkey ! turkey", "keyframe=1 ! monkey ! turkey"),
    ("no url", "no url"),
]


@pytest.mark.parametrize(("url", "shown"), URLS)
def test_cfg_09_urls_are_shown_without_user_password_and_tokens(url, shown):
    assert mask_url(url) == shown


TEXTS = [
    # a text with the secret in some form
    f"refused: {SECRET}.",
    f"refused: {ENCODED}.",
    "refused: %47eh3im%21x.",  # only some of it encoded
    f"refused: rtsp://u:{ENCODED}@h",
]


@pytest.mark.parametrize("text", TEXTS)
def test_cfg_09_raw_and_encoded_forms_are_masked(text):
    masked = mask(text, [SECRET])
    assert "eh3im" not in masked
    assert "***" in masked


def test_cfg_09_letters_of_an_encoding_may_be_of_either_case():
    assert mask("p%c3%bcw p%C3%BCw püw", ["püw"]) == "*** *** ***"


def test_cfg_09_a_short_secret_does_not_eat_other_words():
    assert mask("configuration on port 1", ["on", "1", ""]) == "configuration *** port ***"


def test_cfg_09_the_secrets_of_a_configuration_are_known_to_whoever_logs(config):
    assert SECRET in secrets_in(config)
    assert {"p w", "p%20w"} <= secrets_in({"url": "rtsp://u:p%20w@h"})


def test_a_secret_is_read_from_a_file_without_its_line_end(tmp_path):
    path = tmp_path / "secret"
    for content in ("a b#:$ ", "a b#:$ \n", "a b#:$ \r\n"):
        path.write_bytes(content.encode())
        assert read_secret(str(path)) == "a b#:$ "


def test_a_bare_name_is_a_credential_of_systemd(tmp_path, monkeypatch):
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    (tmp_path / "camera-password").write_text(f"{SECRET}\n")
    assert read_secret("camera-password") == SECRET
    assert is_credential("camera-password")
    assert not is_credential("other")
    assert not is_credential("../camera-password")


def test_a_bare_name_is_a_file_beside_the_configuration_where_there_is_no_credential(
    read, small, tmp_path, monkeypatch
):
    text = small(mqtt="{username: a, password_file: secret}")
    assert read(text).config.mqtt.password_file == "secret"
    (tmp_path / "secret").write_text("x")
    assert read(text).config.mqtt.password_file == str(tmp_path / "secret")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    assert read(text).config.mqtt.password_file == "secret"


def deny(*_args: object, **_kwargs: object) -> None:
    raise PermissionError(13, "Permission denied")


def test_a_secret_that_can_not_be_read_says_why_and_not_what_stood_there(tmp_path, monkeypatch):
    (tmp_path / "empty").write_text("\n")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    (tmp_path / "huge").write_bytes(b"x" * 70000)
    cases = [
        # what stood there, why
        (SECRET, "there is no such file or credential"),
        (f"/{SECRET}/x", "there is no such file or credential"),
        (str(tmp_path), "it can't be read"),
        (str(tmp_path / "empty"), "it is empty"),
        (str(tmp_path / "binary"), "it is not UTF-8 text"),
        (str(tmp_path / "huge"), "it is larger than 65536 bytes"),
        ("a\0b", "it can't be read"),
    ]
    for name, why in cases:
        with pytest.raises(ConfigError, match=why) as caught:
            read_secret(name)
        assert is_clean(caught.value)
        assert "\n" not in str(caught.value)
    monkeypatch.setattr(Path, "open", deny)
    with pytest.raises(ConfigError, match="this user may not read it"):
        read_secret(SECRET)


def test_cfg_09_what_stands_in_a_query_or_a_pipeline_is_a_secret_too():
    tree = {"source": {"url": "rtsp://h/1?token=a%2Fb", "pipeline": "rtspsrc user-pw='c d' ! x"}}
    assert secrets_in(tree) == {"a%2Fb", "a/b", "c d"}


@pytest.mark.parametrize("piece", ["://", "a-", "a", "?a=", "://a:", "user-pw='", "pass.", "@:"])
def test_masking_takes_a_time_that_grows_with_the_text_and_no_faster(piece):
    """A line of the log may hold what a camera sent; found by fuzzing: 40 kB of `a-` took minutes."""

    def cpu_s(count):
        text = piece * count
        began_s = time.process_time()
        mask_url(text)
        secrets_in({"a": text})
        return time.process_time() - began_s

    assert cpu_s(40_000) < 40 * cpu_s(4_000) + 0.1
