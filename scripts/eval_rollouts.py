"""The documented door to rollouts: `run CONFIG`, `summarize NAME`, `eval NAME`, as `proctor rollouts` has them."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

VENV = Path(__file__).resolve().parents[1] / ".venv"


def main(words: Sequence[str]) -> None:
    """Hand the words on to `proctor rollouts`, by the Python that has proctor: this one, or that of `make setup`."""
    if find_spec("proctor") is None:
        python = VENV / "bin" / "python"
        if Path(sys.prefix) == VENV or not python.exists():
            sys.exit("proctor is not installed for this Python: `make setup` installs it into .venv")
        os.execv(python, [str(python), __file__, *words])
    from proctor.app import main as proctor

    proctor(["rollouts", *words])


if __name__ == "__main__":
    main(sys.argv[1:])
