"""Everything about a configuration that can be proved wrong without starting it."""

from app.check.check import check
from app.check.finding import Finding

__all__ = ["Finding", "check"]
