"""The command behind scripts/gpu_check."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.console import Console

from app.bench.device.check import main
from app.bench.device.sizes import FULL, QUICK

WIDE = 180
"""Columns of a table that goes to a file."""

if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        prog="gpu_check",
        description="Runs the tests marked gpu on the NVIDIA GPU of this machine and measures the kernels there. "
        "Exit code 0 when everything is as asked, 1 when something is not, 3 when there is no GPU.",
    )
    parser.add_argument("--quick", action="store_true", help="small pictures, two rounds: to see that it works")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write machine and figures to this file")
    parser.add_argument(
        "--kernels",
        type=Path,
        default=Path("build/kernels"),
        metavar="FOLDER",
        help="compiled kernels; made if need be",
    )
    chosen = parser.parse_args()
    sizes = QUICK if chosen.quick else FULL
    console = Console(width=None if sys.stdout.isatty() else WIDE)
    sys.exit(main(console, sizes=sizes, folder=chosen.kernels, json_file=chosen.json))
