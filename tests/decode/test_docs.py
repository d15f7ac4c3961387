"""What docs/heads.md says is so."""

from collections.abc import Callable
from pathlib import Path

import pytest

from app.config.sections import Decode
from app.decode.family import detect_family
from app.errors import ModelError
from app.model import Family, ModelInfo


def test_every_family_has_a_row_and_the_quoted_error_is_the_real_one(
    root: Path, describe: Callable[..., ModelInfo]
) -> None:
    text = (root / "docs" / "heads.md").read_text(encoding="utf-8")
    assert [family.value for family in Family if f"\n| `{family.value}` |" not in text] == []
    with pytest.raises(ModelError) as error:
        detect_family(describe((1, 8400, 85), names=None), Decode())
    assert f"    {error.value}\n" in text
