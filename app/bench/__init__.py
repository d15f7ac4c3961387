"""Ratios against a stated reference, measured in one run."""
