"""Answers of the routes of data sets, for the OpenAPI document."""

from __future__ import annotations

from typing import Any

from proctor.api.examples import AT, Document

DATASET_ID = "3f1f1c5e-0f0a-4d8e-9b0e-0d8a5b7c2f11"
_FIRST = {"where": "line 2", "cells": ["What is 0 plus 1?", "1"]}
_FOUND: Document = {
    "format": "CSV",
    "rows": 50,
    "columns": ["question", "answer"],
    "sheets": [],
    "first": [_FIRST],
    "parts": {"question": ["question"], "answer": ["answer"], "choices": [], "id": [], "cluster": []},
    "error": None,
    "items": 50,
    "answer_type": "text",
    "understood": ["50 rows from sums.csv (CSV): question from column 'question', answer from 'answer'"],
    "left_out": 0,
    "copies": 0,
    "tasks": [],
    "half_width": 0.1109,
    "detectable": 0.1566,
    "prompt": "What is 21 plus 1?",
    "target": "22",
}
DATASET: Document = {
    "id": DATASET_ID,
    "name": "sums",
    "project_id": 1,
    "content": "783ef80fd26b893b3ab2192b776ae8cea2e180f0e30911fc8f15201573dec81f",
    "bytes": 1238,
    "files": [
        {
            "filename": "sums.csv",
            "sha256": "21022ade7986ccba480217bc1aed29e8394b7ad2c23a5939ed1280efed5759d9",
            "bytes": 1238,
        }
    ],
    "layout": {"columns": [], "sheet": None, "answer_type": None, "numbers": None, "lenient": False},
    "found": _FOUND,
    "created_at": AT[0],
    "created_by": "ann",
    "made": True,
}
DATASETS = {
    "datasets": [
        {
            "id": DATASET_ID,
            "name": "sums",
            "project_id": 1,
            "format": "CSV",
            "bytes": 1238,
            "rows": 50,
            "items": 50,
            "answer_type": "text",
            "error": None,
            "created_at": AT[0],
            "created_by": "ann",
        }
    ]
}
ROWS = {"total": 50, "offset": 0, "columns": ["question", "answer"], "rows": [_FIRST]}
DELETED = {"message": "Data set sums deleted"}
TOO_LARGE: dict[str, Any] = {
    "description": "The upload is larger than the server takes (PROCTOR_UPLOAD_MB)",
}
