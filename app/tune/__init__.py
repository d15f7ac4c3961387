"""Measures what a setting does on this machine, and says what to write into the configuration."""
