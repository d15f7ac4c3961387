"""Taktsight: an OK / NG / UNKNOWN verdict for every part, inside a latency budget.

The path of a frame, in the order of the files:

    capture/ ─► latest ─► schedule ─► preprocess/ ─► inference/ ─► decode/ ─► gate ─► judge ─► publish/

`pipeline.py` walks it and stamps the trace; `wiring/` is the only package that names concrete parts.
"""

import os

# Before NumPy is imported, which would start a thread for every core: there is no large product of matrices here.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
