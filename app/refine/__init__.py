"""The second look: parts of a picture are looked at again, larger, as many as the budget affords."""

from app.refine.base import Refined, SecondLook
from app.refine.refiner import Refiner

__all__ = ["Refined", "Refiner", "SecondLook"]
