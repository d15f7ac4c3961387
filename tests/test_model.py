"""Names and class channels are brought together."""

from __future__ import annotations

from app.model import check_names


def test_mdl_08_fewer_names_than_channels_are_filled_up_and_told() -> None:
    names, (warning,) = check_names(("ok", "dent", "hole"), 4)
    assert names == ("ok", "dent", "hole", "class_3")
    assert "3" in warning
    assert "4 class channels" in warning


def test_mdl_08_more_names_than_channels_are_cut_and_told() -> None:
    names, (warning,) = check_names(("a", "b", "c", "d", "e"), 4)
    assert names == ("a", "b", "c", "d")
    assert "5" in warning
    assert "4 class channels" in warning


def test_names_that_fit_are_left_alone() -> None:
    assert check_names(["ok", "ng"], 2) == (("ok", "ng"), ())


def test_mdl_06_without_names_every_class_is_called_by_its_number() -> None:
    names, warnings = check_names(None, 18)
    assert names[17] == "class_17"
    assert warnings == ()  # reading the file has warned already
