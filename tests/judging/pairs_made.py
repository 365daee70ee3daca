"""Runs with replies that a test wrote, and judges that say what a test wants."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from odd_servers import models, odd_server, said
from opened import start
from proctor.references import ExamRef, GradingRubric, JudgingRef
from proctor.settings import Settings, read_settings
from proctor.store import Store
from proctor.store.write import grades
from proctor.types import Cell, Grade, Limits, Model, Plan, Run

CORRECT = GradingRubric()
JUDGE = "qwen2.5:7b"
Texts = Sequence[str | Sequence[str] | None]  # of each question: a reply, one for each repeat, or none
Judge = Callable[..., str]  # criterion, then one reply or two as shown -> what the judge says
_SHOWN = re.compile(r"(?:Reply [12]|Change [12]|The reply|The change):\n(===.*?===)\n(.*?)\n\1", re.DOTALL)
_ASKED = re.compile(r"Criterion: (.*?)\n")


@dataclass(frozen=True)
class Paired:
    """A PROCTOR_HOME with runs of one file of questions."""

    home: Path

    def questions(self, answers: Sequence[str], name: str = "open.csv") -> None:
        with (self.home / name).open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["id", "question", "answer"])
            rows.writerows(
                [f"q{n}", f"What is asked in number {n}?", answer] for n, answer in enumerate(answers)
            )

    def run(self, model: str, texts: Texts, *, name: str = "open.csv", repeats: int = 1) -> Run:
        """A run whose replies are these."""
        path = self.home / f"{model}.jsonl"
        with path.open("w") as out:
            for n, text in enumerate(texts):
                told = [text] * repeats if isinstance(text, str) else text
                line: Mapping[str, Any] = {"error": "none came"} if told is None else {"outputs": list(told)}
                out.write(json.dumps({"id": f"q{n}", **line}) + "\n")
        ref = ExamRef("file", str(self.home / name), answer_type="text", lenient=True)
        cell = Cell(Model("replay", model), ref, repeats=repeats)
        return self.started(cell, replies=str(path))

    def judged(
        self,
        url: str,
        first: Run,
        second: Run | None = None,
        *,
        rubric: GradingRubric = CORRECT,
        votes: int = 1,
        judge: str = JUDGE,
    ) -> Run:
        ref = JudgingRef("open.csv", first.id, against=second and second.id, rubric=rubric)
        return self.started(Cell(Model("openai", judge, url), ref, limits=Limits(parallel=4), repeats=votes))

    def started(self, cell: Cell, replies: str | None = None) -> Run:
        ended = start(Plan((cell,), replies=replies), self.settings).evaluation
        assert ended is not None
        run: Run = ended.results[0].run
        return run

    @property
    def settings(self) -> Settings:
        return read_settings({"PROCTOR_HOME": str(self.home), "OPENAI_API_KEY": "none"})

    @contextmanager
    def store(self) -> Iterator[Store]:
        store = Store.open(self.settings.database_url)
        try:
            yield store
        finally:
            store.close()

    def grades(self, run: Run, against: Run | None = None, *, votes: int = 1) -> dict[str, Grade]:
        """By item (and repeat, where there are several): the grades of the one judge, or of it against a run."""
        voting = f",votes={votes}"
        with self.store() as store:
            (name,) = [
                each.grader
                for each in grades.graders(store, run.id)
                if (f"against={against.id}" in each.grader if against else "against" not in each.grader)
                and (voting in each.grader if votes > 1 else ",votes=" not in each.grader)
            ]
            found = grades.by(store, run.id, name)
        several = any(repeat for _, repeat, _ in found)
        return {
            item.rpartition("/")[2] + (f"/{repeat}" if several else ""): grade
            for (item, repeat, _), grade in found.items()
        }


@contextmanager
def judge_saying(says: Judge) -> Iterator[tuple[str, list[tuple[str, ...]]]]:
    """The address of a judge's server, and what it was asked: criterion, then one reply or two as shown."""
    asked: list[tuple[str, ...]] = []

    def answer(request: Mapping[str, Any]) -> Any:
        text = request["messages"][-1]["content"]
        asked.append((_ASKED.findall(text)[-1], *(found[1] for found in _SHOWN.findall(text))))
        return said(says(*asked[-1]), request["model"])

    with odd_server({"/v1/models": models(JUDGE)}, answer) as server:
        yield server.url, asked
