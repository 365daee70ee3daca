"""Lets the tests of the whole program use the worlds of the tests of jobs and the client of those of the API."""

from __future__ import annotations

import sys
from pathlib import Path

for folder in ("jobs", "api"):
    sys.path.append(str(Path(__file__).parents[1] / folder))
