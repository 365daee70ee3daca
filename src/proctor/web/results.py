"""The dashboard: results."""

from __future__ import annotations

from fastapi import APIRouter

ROUTER = APIRouter()
