"""Percentiles, budget and export of what the traces measured."""
