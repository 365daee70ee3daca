"""Open questions with replies that a test wrote, and a judge that says of each reply what stands in it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from odd_servers import models, odd_server, said
from opened import start
from proctor.references import ExamRef
from proctor.service.context import Context, open_context
from proctor.service.judges.todo import Judged, judge, judging_todo
from proctor.service.judges.wanted import JudgingWanted
from proctor.settings import Settings, read_settings
from proctor.store.write import grades
from proctor.types import Cell, Grade, Model, Plan, Run

JUDGE = "openai/strict"
_SAYS = re.compile(r"\[(\w+)=([^\]]*)\]")  # in a reply: judge's name and its votes, one after the other


@dataclass
class World:
    """A PROCTOR_HOME with a judge's server. While `broken`, the judge fails where a reply says so."""

    home: Path
    url: str
    asked: list[Mapping[str, Any]]
    broken: list[bool] = field(default_factory=lambda: [True])

    @property
    def settings(self) -> Settings:
        return read_settings({"PROCTOR_HOME": str(self.home), "OPENAI_API_KEY": "none"})

    @contextmanager
    def context(self) -> Iterator[Context]:
        with open_context(self.settings) as context:
            yield context

    def run(self, replies: Sequence[str | None], model: str = "cand") -> Run:
        """A run with these replies; None is an error."""
        questions, told = self.home / "open.jsonl", self.home / f"{model}.jsonl"
        rows = [
            {"id": f"q{n}", "question": f"Question {n}?", "answer": f"Good answer {n}."}
            for n in range(len(replies))
        ]
        questions.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        lines = [
            {"id": f"q{n}", **({"error": "none came"} if text is None else {"output": text})}
            for n, text in enumerate(replies)
        ]
        told.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        ref = ExamRef("file", str(questions), answer_type="text", grader="none")
        ended = start(Plan((Cell(Model("replay", model), ref),), replies=str(told)), self.settings).evaluation
        assert ended is not None
        found: Run = ended.results[0].run
        return found

    def judged(self, *runs: Run, judges: Sequence[str] = (JUDGE,), **wanted: Any) -> Judged:
        """What `proctor grade RUN --grader judge` does."""
        given = {"base_url": self.url, "parallel": 4, "wait_for_server_s": 0.0, **wanted.pop("given", {})}
        asked = JudgingWanted(tuple(run.id for run in runs), tuple(judges), given=given, **wanted)
        with self.context() as context:
            return judge(context, judging_todo(context, asked))

    def grades(self, run: Run, word: str = "") -> dict[str, Grade]:
        """By item, of the one grader in whose name the word stands."""
        with self.context() as context:
            (name,) = [each.grader for each in grades.graders(context.store, run.id) if word in each.grader]
            found = grades.by(context.store, run.id, name)
        return {item.rpartition("/")[2]: grade for (item, _, _), grade in found.items()}


def _answer(request: Mapping[str, Any], broken: bool) -> Any:
    text = request["messages"][-1]["content"]
    reply = text.rpartition("The reply:")[2].partition("Criterion:")[0]
    votes = dict(_SAYS.findall(reply)).get(request["model"].partition("-")[0], "pass").split(",")
    vote = votes[request.get("seed", 0) % len(votes)]
    if vote == "broken":
        return (
            (400, {"error": {"message": "the judge is broken"}}) if broken else said("Answer: pass", "strict")
        )
    if vote == "cut":
        return said("It speaks for this reply that", "strict", finish="length")
    if vote == "refused":
        return said("", "strict", finish="content_filter")
    return said("Who knows." if vote == "garbled" else f"Well.\nAnswer: {vote}", "strict")


@contextmanager
def world(home: Path) -> Iterator[World]:
    broken = [True]
    listed = {"/v1/models": models("strict", "mild", "third")}
    with odd_server(listed, lambda request: _answer(request, broken[0])) as server:
        yield World(home, server.url, server.asked, broken)
