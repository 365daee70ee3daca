"""Examples of answers in the OpenAPI document: recorded from a server by `make examples`, one for each JSON route."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FILE = Path(__file__).parent / "examples.json"  # "method path" -> what it answered


def add_examples(document: dict[str, Any]) -> None:
    """Put each recorded answer beside the success that its route declares; a route without one stays as it is."""
    for name, answer in json.loads(FILE.read_bytes()).items():
        method, path = name.split(" ")
        operation = document["paths"].get(path, {}).get(method, {"responses": {}})
        for status, said in operation["responses"].items():
            if status.startswith("2") and "application/json" in said.get("content", {}):
                said["content"]["application/json"]["example"] = answer
