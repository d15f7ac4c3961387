"""The head for each family, refused where outputs are not the family's."""

from collections.abc import Callable

import pytest

from app.config.sections import Decode
from app.decode.heads import head_for
from app.errors import ModelError
from app.model import Family, ModelInfo


@pytest.mark.parametrize("family", list(Family))
def test_head_for_outputs_of_another_family_is_refused(family: Family, describe: Callable[..., ModelInfo]) -> None:
    info = describe((1, 2), (3, 4))
    with pytest.raises(ModelError, match=r"correct decode.family"):
        head_for(family, info, 80, (640, 640), Decode())


@pytest.mark.parametrize("family", [Family.YOLOX, Family.OBB])
def test_fractions_where_the_family_has_none_are_refused(family: Family, describe: Callable[..., ModelInfo]) -> None:
    with pytest.raises(ModelError, match=r"has no fractions: set decode.normalised to false"):
        head_for(family, describe((1, 85, 8400)), 80, (640, 640), Decode(normalised=True))
