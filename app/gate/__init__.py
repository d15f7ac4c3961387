"""One verdict per part of a moving line; `gate.py` chooses the frame, `belt.py` follows the parts."""

from app.gate.gate import Chosen, Gate, GateStep

__all__ = ["Chosen", "Gate", "GateStep"]
