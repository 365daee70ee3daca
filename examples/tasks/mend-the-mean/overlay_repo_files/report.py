"""A line about some numbers."""

from figures import mean


def line(numbers):
    return f"{len(numbers)} numbers, mean {mean(numbers):.2f}"
