"""Pictures that are kept: evidence of single parts, and a sample of all; with what judges them again."""
