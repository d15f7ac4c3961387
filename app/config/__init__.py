"""YAML in, frozen and validated sections out."""
