"""Comparisons of kept runs that were asked side by side: the plan decides, whichever of its runs are compared."""

from __future__ import annotations

