"""The judge that a suite of one's own names: a table [judge] in its TOML.

    [judge]
    model = "openai/gpt-4.1-mini"       # or several, as a list: a panel
    rubric = "helpful.toml"             # beside the TOML; or a table [judge.rubric]; without one: correct
    votes = 3
    base_url = "http://127.0.0.1:8000/v1"

Whatever else a judging can be told stands there under the name that the options of runs have.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from proctor.errors import ConfigError
from proctor.given_files import is_file, toml_table
from proctor.plan.option import Given
from proctor.plan.rubrics import rubric_file, rubric_of
from proctor.plan.wanted import OF_JUDGINGS
from proctor.references import GradingRubric
from proctor.service.judges.wanted import JudgingWanted
from proctor.types import Plan

_OPTIONS = {option.name: option for option in OF_JUDGINGS}
_KEYS = ("model", "rubric", "votes")


@dataclass(frozen=True, slots=True)
class SuiteJudge:
    """Who judges the replies of an exam when it has ended, and how; the fields of JudgingWanted."""

    judges: tuple[str, ...]
    rubric: GradingRubric | None = None
    votes: int = 1
    given: Given = field(default_factory=lambda: MappingProxyType({}))

    def wanted(self, runs: tuple[str, ...]) -> JudgingWanted:
        return JudgingWanted(runs, self.judges, self.rubric, self.votes, given=self.given)


def suite_judge(plan: Plan) -> SuiteJudge | None:
    """The judge of the suite that a plan asks; None where it names none. Raises: ConfigError."""
    path = Path(plan.cells[0].source.name)
    if path.suffix.lower() != ".toml" or not is_file(path):
        return None
    table = toml_table(path.read_bytes(), path.name).get("judge")
    return None if table is None else _judge(table, path)


def _judge(table: Any, path: Path) -> SuiteJudge:
    where = f"{path.name}, [judge]"
    if not isinstance(table, dict):
        raise ConfigError(f"{where}: it is a table with a model")
    if unknown := sorted(table.keys() - {*_KEYS, *_OPTIONS}):
        raise ConfigError(f"{where}: unknown key {unknown[0]!r}; known: {', '.join((*_KEYS, *_OPTIONS))}")
    named = table.get("model")
    judges = [named] if isinstance(named, str) else named
    if not isinstance(judges, list) or not judges or not all(isinstance(each, str) for each in judges):
        raise ConfigError(f"{where}: model is PROVIDER/NAME, or a list of them, not {named!r}")
    votes = table.get("votes", 1)
    if not isinstance(votes, int) or isinstance(votes, bool):
        raise ConfigError(f"{where}: votes is a whole number, not {votes!r}")
    given = {name: _OPTIONS[name].read(table[name], f"{where}: {name}") for name in table if name in _OPTIONS}
    return SuiteJudge(tuple(judges), _rubric(table.get("rubric"), path, where), votes, given)


def _rubric(told: object, path: Path, where: str) -> GradingRubric | None:
    if told is None:
        return None
    if isinstance(told, Mapping):
        return rubric_of({"name": path.stem, **told}, f"{where}.rubric")
    if not isinstance(told, str):
        raise ConfigError(f"{where}: rubric is the path of a TOML file, or a table, not {told!r}")
    return rubric_file(path.parent / told)
