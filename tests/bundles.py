"""Bundles for tests: small replayed runs, packed, and copies of bundles with something altered."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from opened import bundle, start
from proctor.references import ExamRef
from proctor.types import Cell, Model, Plan
from simulators import settings

CHOICES = ["north", "south", "east", "west"]
Members = dict[str, bytes]


def rows(home: Path, n: int = 12, name: str = "ways") -> Path:
    path = home / f"{name}.jsonl"
    lines = [
        json.dumps({"question": f"Which way leads to hill {i}?", "choices": CHOICES, "answer": "ABCD"[i % 4]})
        for i in range(n)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def replayed(
    home: Path, source: Path | ExamRef, replies: Sequence[str | None], name: str = "one", **more: Any
) -> str:
    """The id of a run of a model that gives these replies; None is a line that names an error."""
    file = home / f"{name}.jsonl"
    lines = [{"error": "no answer came"} if r is None else {"outputs": [r]} for r in replies]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    ref = source if isinstance(source, ExamRef) else ExamRef("file", str(source))
    ended = start(Plan((Cell(Model("replay", name), ref, **more),), replies=str(file)), settings(home))
    assert ended.evaluation is not None
    return ended.evaluation.results[0].run.id


def answers(n: int = 12, wrong: Collection[int] = ()) -> list[str]:
    return [f"Answer: {'ABCD'[(i + (i in wrong)) % 4]}" for i in range(n)]


def one_bundle(home: Path) -> Path:
    """A bundle of a run with three wrong answers, alone in a folder of its own."""
    run_id = replayed(home, rows(home), answers(wrong=(2, 5, 7)))
    path = home / "elsewhere" / "one.zip"
    path.parent.mkdir()
    bundle([run_id], settings(home), path)
    return path


def members(path: Path) -> Members:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def altered(path: Path, change: Callable[[Members], object], *, sums: bool = True) -> Path:
    """A copy of a bundle with its members changed and, if `sums`, a list of sums that fits them."""
    inside = members(path)
    change(inside)
    if sums:
        inside["SHA256SUMS"] = b"".join(
            f"{hashlib.sha256(body).hexdigest()}  {name}\n".encode()
            for name, body in inside.items()
            if name != "SHA256SUMS"
        )
    other = path.with_name("altered.zip")
    with zipfile.ZipFile(other, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in inside.items():
            archive.writestr(name, body)
    return other


def in_lines(inside: Members, member: str, change: Callable[[list[dict[str, Any]]], object]) -> None:
    name = next(name for name in inside if name.endswith(member))
    records = [json.loads(line) for line in inside[name].splitlines()]
    change(records)
    inside[name] = b"".join(json.dumps(record).encode() + b"\n" for record in records)


def in_json(inside: Members, member: str, change: Callable[[dict[str, Any]], object]) -> None:
    name = next(name for name in inside if name.endswith(member))
    record = json.loads(inside[name])
    change(record)
    inside[name] = json.dumps(record).encode()


def by_item(records: Sequence[dict[str, Any]], item: str) -> dict[str, Any]:
    return next(record for record in records if record["item"] == item)
