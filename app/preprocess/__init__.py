"""4. Picture to network input."""
