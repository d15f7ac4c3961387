"""Measures the GPU path on a GPU, against what its memory can do."""
