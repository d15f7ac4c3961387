"""Configuration to concrete parts: the only package that names them. Leaves are imported where they are chosen."""

from app.wiring.product import Product, build
from app.wiring.sinks import Watchers

__all__ = ["Product", "Watchers", "build"]
