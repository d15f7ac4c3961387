"""Names become topic levels by one documented rule."""

import pytest

from app.publish.topics import Topics, collisions, slug


@pytest.mark.parametrize(
    ("name", "level"),
    [
        ("cam1", "cam1"),  # nothing to do
        ("Linie 1", "linie-1"),  # lower case, space
        ("Ofen-Tür", "ofen-tuer"),  # the German letters are spelled out
        ("Tür", "tuer"),  # the same letter written as u and a combining mark
        ("STRASSE ß", "strasse-ss"),
        ("Caméra n°2", "camera-n-2"),  # other accents go, signs become hyphens
        ("a.b/c_d  e", "a-b-c-d-e"),  # dots, slashes, underscores; runs are one hyphen
        ("/cam/", "cam"),  # none at the ends
        ("$SYS", "sys"),  # a dollar would belong to the broker
        ("カメラ２", "カメラ2"),  # letters of other scripts stay, wide digits become plain
        ("ガ", "ガ"),  # a mark that belongs to its letter stays
    ],
)
def test_mq_03_names_become_topic_levels_by_the_documented_rule(name, level):
    assert slug(name) == level
    assert slug(level) == level


def test_mq_03_names_that_share_a_topic_are_listed_together():
    names = ["Linie 1", "Linie_1", "Ofen-Tür", "linie/1", "Linie 1"]
    assert collisions(names) == [("Linie 1", "Linie_1", "linie/1")]


@pytest.mark.parametrize(
    "name",
    [
        "a+b",  # single-level wildcard
        "cam#",  # multi-level wildcard
        "cam\0one",  # paho takes a NUL byte, brokers close the connection
        "cam\n1",  # control character
        "",  # a topic level can't be empty
        "   ",
        "---",  # nothing is left
        "x" * 65,  # too long
        "\ud800",  # half a character can't be encoded
    ],
)
def test_mq_02_names_that_cannot_be_a_topic_are_refused_by_name(name):
    with pytest.raises(ValueError, match="name "):
        slug(name)


def test_mq_02_the_error_names_the_camera():
    with pytest.raises(ValueError, match=r"'oven\+door'.*wildcard"):
        slug("oven+door")


@pytest.mark.parametrize("root", ["", "/", "a/+/b", "a/#", "a\0b", "$SYS"])
def test_mq_02_a_root_that_cannot_be_published_to_is_refused(root):
    with pytest.raises(ValueError, match=r"mqtt\.root"):
        Topics(root, "line")


def test_topics_of_a_line():
    topics = Topics("plant/taktsight", "Linie 1")
    assert topics.result("Ofen-Tür") == "plant/taktsight/linie-1/ofen-tuer/result"
    assert topics.event("Ofen-Tür") == "plant/taktsight/linie-1/ofen-tuer/event"
    assert topics.event() == "plant/taktsight/linie-1/event"
    assert topics.status() == "plant/taktsight/linie-1/status"
    assert topics.ack("cam") == "plant/taktsight/linie-1/cam/ack"
    assert topics.all_acks == "plant/taktsight/linie-1/+/ack"
