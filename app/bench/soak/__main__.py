"""python -m app.bench.soak."""

from __future__ import annotations

import sys

from app.bench.soak.command import main

if __name__ == "__main__":
    sys.exit(main())
