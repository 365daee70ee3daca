"""The dashboard: models."""

from __future__ import annotations

from fastapi import APIRouter

ROUTER = APIRouter()
