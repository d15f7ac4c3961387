"""1. Where frames come from."""
