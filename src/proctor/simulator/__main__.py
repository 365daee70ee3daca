"""Starts the simulator: python -m proctor.simulator --port 0 --answers FILE."""

from __future__ import annotations

import sys

from proctor.simulator.options import parse
from proctor.simulator.serve import serve


def main() -> int:
    return serve(parse(sys.argv[1:]))


if __name__ == "__main__":
    sys.exit(main())
