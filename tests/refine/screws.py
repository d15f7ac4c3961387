"""Photos of real screws as small parts of big pictures; the photos are a public set and stay where they are."""

from __future__ import annotations

import json
from pathlib import Path

import cv2

from app.config.sections import Refine
from tests.refine.big_picture import Kind
from tests.refine.scenes import Piece


def screws(truth: Path, scale: tuple[float, float] = (0.6, 0.7)) -> Kind:
    """Boards with four places for screws, of 360 × 470 to 420 × 550 pixels.

    Whatever the first look is not very sure of is looked at again: on things this small it is wrong with scores of 0.7.

    Args:
        truth: a JSON file that names photos, which lie in the folder of the same name beside it.
        scale: of the photos.
    """
    photos = json.loads(truth.read_text())["photos"]
    pieces = [
        Piece(
            cv2.imread(str(truth.with_suffix("") / photo["file"])),
            [(there["name"], there["bbox_xyxy"]) for there in photo["objects"]],
        )
        for photo in photos
    ]
    return Kind(
        title=f"Screws, photos × {scale[0]:g} to {scale[1]:g}",
        names=("screw", "hole"),
        pieces=pieces,
        scale=scale,
        count=(5, 8),
        cell_wh=(800, 750),
        tiles=Refine(mode="grid", tile_width=640, tile_height=640, max_regions=64),
        larger=Refine(mode="grid", tile_width=960, tile_height=960, max_regions=64),
        twice=Refine(mode="uncertain", tile_width=640, tile_height=640, uncertain=[0.02, 0.75], max_regions=10),
    )
