"""How long to wait before a lost source is opened again."""

from __future__ import annotations

from app.config.sections import Reopen

_DOUBLINGS = 32  # enough to reach any max_s, and keeps the power in range


def pause_s(reopen: Reopen, failures: int, chance: float) -> float:
    """Return the seconds to wait after so many failures in a row (1 for the first).

    Args:
        reopen: the first pause, which doubles, its upper bound, and the share of it that is random.
        failures: how often it has failed since it last worked.
        chance: uniform in 0 … 1.
    """
    whole_s = min(reopen.max_s, reopen.first_s * 2.0 ** min(failures - 1, _DOUBLINGS))
    return whole_s * (1 - reopen.jitter * chance)
