"""What is installed beside the program: the pages of the documents, and examples to try it on."""

from __future__ import annotations

from pathlib import Path

EXAMPLES = ("examples", "configs")


def shipped(name: str) -> Path:
    """The folder `docs`, `examples` or `configs`: a wheel has it within the package, a checkout beside `src`."""
    package = Path(__file__).parents[1]
    within = package / "shipped" / name
    return within if within.is_dir() else package.parents[1] / name
