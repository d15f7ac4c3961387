"""Where a window lies over a strip of equal tiles; whole pixels, pure."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Belt:
    """A camera window, one tile wide, that pans over an endless strip with one part in each tile.

    Part `i` lies in the tile that begins at belt position `i * tile_px`. Picture 0 has its centre line at belt
    position 0, where tile 0 begins; parts come in from the right.

    Attributes:
        tile_px: width of a tile and of the window.
        px_s: speed of the belt in pixels a second.
        fps: pictures a second.
        parts: how many parts pass the centre line, 0 for no end.
    """

    tile_px: int
    px_s: float
    fps: float
    parts: int = 0

    def window_px(self, index: int) -> int:
        """Return where the left edge of the window of picture `index` lies on the belt."""
        return self.centre_px(index) - self.tile_px // 2

    def centre_px(self, index: int) -> int:
        """Return where the centre line of picture `index` lies on the belt."""
        return round(index * self.px_s / self.fps)

    def is_past_end(self, index: int) -> bool:
        """Whether the last part has wholly passed the centre line."""
        return self.parts > 0 and self.centre_px(index) > self.parts * self.tile_px

    def in_view(self, index: int) -> list[tuple[int, int]]:
        """Return each part whose tile is in picture `index`, and the picture's x where that tile begins.

        The offset is negative for a tile that is cut off at the left; part -1 is what ran before the first one.
        """
        window_px = self.window_px(index)
        first = window_px // self.tile_px
        last = math.ceil((window_px + self.tile_px) / self.tile_px)
        return [(part, part * self.tile_px - window_px) for part in range(first, last)]
