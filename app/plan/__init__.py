"""How many devices a number of cameras needs, from what was measured on one of them."""
