"""Judges kept pictures again: with what judged them then, or with another model or configuration."""
