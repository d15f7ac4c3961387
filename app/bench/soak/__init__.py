"""A day of a line in minutes: the whole service at a high rate, with every fault that a line meets, again and again."""
