"""The second look: parts of a picture are looked at again, larger, as many as the budget affords."""

from app.refine.refiner import Refined, Refiner

__all__ = ["Refined", "Refiner"]
