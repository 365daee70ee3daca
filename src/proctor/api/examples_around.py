"""Answers of the routes around a job, for the OpenAPI document: providers, plans, projects, schedules, keys."""

from __future__ import annotations

from proctor.api.examples import AT, SIM, Document
from proctor.api.schemas import JOB_ID

_LAST = "its last run of other questions (GLUE: sst2, mrpc)"


def _guess(value: float | None, basis: str, low: float | None = None, high: float | None = None) -> Document:
    return {"value": value, "basis": basis, "low": low, "high": high}


PROVIDERS = {
    "providers": [
        {"name": "ollama", "title": "Ollama, native protocol (OLLAMA_HOST)", "key_set": None},
        {
            "name": "openai",
            "title": "OpenAI and compatible servers (OPENAI_BASE_URL, --base-url)",
            "key_set": False,
        },
    ]
}
MODELS: Document = {
    "provider": "simulator",
    "title": "proctor's own model server, started for the run",
    "models": [
        {
            "model": "sim",
            "digest": None,
            "parameters": None,
            "quantization": None,
            "size_bytes": None,
            "context_tokens": None,
            "note": None,
            "server": None,
            "remarks": [],
            "model_id": SIM,
        }
    ],
    "problem": None,
}
SUITES = {
    "suites": [
        {
            "suite": "glue",
            "title": "GLUE",
            "aggregate": "macro",
            "tasks": [
                {
                    "task": "cola",
                    "title": "CoLA",
                    "kind": "labels",
                    "metrics": ["mcc"],
                    "also": ["accuracy"],
                    "size": 1043,
                    "extra": False,
                    "note": None,
                }
            ],
        }
    ]
}

_COST = f"{_LAST}, which did not report costs, and no price in /home/ann/.proctor/prices.toml"
_CELL = {
    "model": SIM,
    "calls": 20,
    "input_tokens": _guess(1388.75, "the length of the prompts, about 4 characters a token: a rough guess"),
    "output_tokens": _guess(410.0, _LAST),
    "seconds": _guess(20.0, _LAST, 16.0, 24.0),
    "cost_usd": _guess(None, _COST),
}
_SUM = "the sum over the models"
PLAN = {
    "source_title": "GLUE: sst2",
    "understood": [],
    "sample": True,
    "cells": [_CELL],
    "total": {
        "model": "",
        "calls": 20,
        "input_tokens": _guess(1388.75, _SUM),
        "output_tokens": _guess(410.0, _SUM),
        "seconds": _guess(20.0, _SUM, 16.0, 24.0),
        "cost_usd": _guess(None, f"not known for {SIM}"),
    },
    "power": {
        "items": 20,
        "effective": 20.0,
        "available": 20,
        "assumed": {"share": 0.8, "correlation": 0.5, "repeats": 1, "within": 0.0},
        "share_basis": "an assumption, for want of earlier runs of this source",
        "half_width": 0.1753,
        "comparisons": 1,
        "detectable": 0.3665,
        "detectable_close": 0.3665,
        "at_best": 0.3665,
        "tasks": [{"task": "sst2", "title": "SST-2", "items": 20, "detectable": 0.3665}],
        "difference": None,
        "needed": None,
    },
    "notes": ["At 1 request a second, 20 calls take 20 s; within 30 minutes at 0.012 a second."],
    "estimated_duration": "under 1 minute",
}

PROJECT = {"id": 2, "name": "Nightly", "created_at": AT[0]}
PROJECTS = {"projects": [{"id": 1, "name": "default", "created_at": AT[0]}, PROJECT]}
SCHEDULE = {
    "id": 1,
    "name": "nightly GLUE",
    "cron": "0 2 * * *",
    "user": "ann",
    "project_id": 1,
    "model": SIM,
    "suite": "glue",
    "enabled": True,
    "next_at": "2026-11-22T02:00:00Z",
    "last_at": "2026-11-21T02:00:00Z",
    "last_job_id": JOB_ID,
    "last_status": "completed",
    "last_partial": False,
    "last_error": None,
}
SCHEDULES = {"schedules": [SCHEDULE]}
SCHEDULE_OFF = {**SCHEDULE, "enabled": False}
SCHEDULE_GONE = {"message": "Schedule 1 deleted"}
KEY = {
    "id": 1,
    "user": "ann",
    "name": "laptop",
    "prefix": "proctor_a1B2c3",
    "scopes": ["read", "run"],
    "project_ids": [1],
    "created_at": AT[0],
    "last_used_at": None,
    "revoked_at": None,
}
KEYS = {"keys": [KEY]}
KEY_CREATED = {**KEY, "key": "proctor_a1B2c3...shown-this-once"}
KEY_CHANGED = {**KEY, "project_ids": [1, 2]}
KEY_REVOKED = {**KEY, "revoked_at": AT[1]}
AUDIT = {
    "audit": [
        {
            "id": 12,
            "at": AT[1],
            "user": "ann",
            "action": "submit",
            "target": JOB_ID,
            "detail": f"{SIM} on glue",
            "project_id": 1,
        }
    ]
}
HEALTHY = {"status": "ok"}
READY = {"status": "ok", "worker": "at work"}
