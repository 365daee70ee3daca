"""Writes the questions of `make bench`: a CSV and a batch for proctor, ready request bodies for the bare loop.

    python questions.py COUNT CSV BODIES BATCH

The same on every machine: questions of a few hundred bytes with four choices.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Sequence
from pathlib import Path

COLUMNS = ("id", "question", "A", "B", "C", "D", "answer")


def write(count: int, questions: Path, bodies: Path, batch: Path) -> None:
    with (
        questions.open("w", encoding="utf-8", newline="") as table,
        bodies.open("wb") as ready,
        batch.open("wb") as lines,
    ):
        rows = csv.writer(table)
        rows.writerow(COLUMNS)
        for number in range(count):
            question, choices = ask(number)
            rows.writerow([f"q{number}", question, *choices, "ABCD"[number % 4]])
            body = request(question, choices)
            ready.write(body + b"\n")
            lines.write(b'{"custom_id":"q%d","method":"POST","url":"/v1/chat/completions",' % number)
            lines.write(b'"body":%b}\n' % body)


def ask(number: int) -> tuple[str, list[str]]:
    """A question and its four choices; the right one stands under letter `number % 4`."""
    shelves, boxes, lost = 3 + number % 17, 11 + number % 23, number % 7
    question = (
        f"Store room {number} has {shelves} shelves, and on each of them stand {boxes} boxes of the same "
        f"kind. A clerk carries {lost} boxes away. How many boxes are left in the room after that?"
    )
    left = shelves * boxes - lost
    return question, [f"{left + 3 * (place - number % 4)} boxes" for place in range(4)]


def request(question: str, choices: Sequence[str]) -> bytes:
    """A request of the shape and size of the one that proctor makes of the same row."""
    lettered = "\n".join(f"{letter}. {choice}" for letter, choice in zip("ABCD", choices, strict=True))
    prompt = (
        f"{question}\n\n{lettered}\n\nChoose the one option that answers best. You may reason first, briefly. "
        "Finish with one last line in exactly this form:\nAnswer: <letter>"
    )
    body = {
        "model": "sim",
        "messages": [{"role": "user", "content": prompt}],
        "temperature": 0.0,
        "max_tokens": 512,
        "seed": 0,
    }
    return json.dumps(body, separators=(",", ":")).encode()


def main() -> int:
    count, *files = sys.argv[1:]
    write(int(count), *map(Path, files))
    return 0


if __name__ == "__main__":
    sys.exit(main())
