"""Pictures in which a perfect detector finds painted objects."""

import numpy as np
import pytest

from tests.refine.looks import seen_in


class Eye:
    """A picture whose pixels say where they lie, so that a look knows from the view alone which crop it got."""

    def __init__(self, size_wh, objects):
        width, height = size_wh
        self.image = np.zeros((height, width, 3), np.uint16)
        self.image[..., 0] = np.arange(width)
        self.image[..., 1] = np.arange(height)[:, None]
        self.objects = objects
        self.views = []

    def look(self, views):
        return [self._look(view) for view in views]

    def _look(self, view):
        assert np.may_share_memory(view, self.image), "the crop was copied"
        self.views.append(view)
        left, top = (int(number) for number in view[0, 0, :2])
        return seen_in((left, top, left + view.shape[1], top + view.shape[0]), *self.objects)


@pytest.fixture
def eye():
    return Eye
