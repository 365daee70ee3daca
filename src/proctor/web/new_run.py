"""The dashboard: new_run."""

from __future__ import annotations

from fastapi import APIRouter

ROUTER = APIRouter()
