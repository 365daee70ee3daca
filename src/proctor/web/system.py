"""The dashboard: system."""

from __future__ import annotations

from fastapi import APIRouter

ROUTER = APIRouter()
