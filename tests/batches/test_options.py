"""The options of a batch: whatever door a word comes through, and back, it makes the same cell."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from proctor.cli.batch_run import run_command as batch_command
from proctor.cli.run import run_command
from proctor.errors import ConfigError
from proctor.plan import (
    OPTIONS,
    Wanted,
    batch_reference,
    build,
    cell_from_json,
    cell_to_json,
    check,
    parse_batch,
    reference,
    wanted_of,
)
from proctor.plan.build import AS_WRITTEN
from proctor.plan.doors import as_command, as_words, from_params
from proctor.plan.wanted import BY_NAME, OF_BATCHES, OF_EXAMS
from proctor.references import BatchRef
from proctor.service.runs.requests import BatchConfig, RunConfig, batch_plan
from proctor.settings import Settings, read_settings
from proctor.types import Cell, Model, Plan
from test_wanted import FILE, examples

Given = Mapping[str, Any]
REQUESTS = "/requests.jsonl"
BATCH_CASES = [
    pytest.param(option.name, value, id=f"{option.name}={value!r}")
    for option in OF_BATCHES
    for value in examples(option)
]


Asked = tuple[Cell, int]


def asked(plan: Plan) -> Asked:
    (cell,) = plan.cells
    return cell, plan.workers


class BatchDoors:
    """Each door of batches takes what was given, as its users write it, and gives the cell and processes of it."""

    def __init__(self, home: Path) -> None:
        self.settings: Settings = read_settings({"PROCTOR_HOME": str(home)})

    def planned(self, wanted: Wanted) -> Asked:
        """As `plan_of_batch`, without looking whether the file is there."""
        source = batch_reference(wanted.source, wanted.of("source"))
        return asked(check(build(wanted, source, [Model("openai", "m", wanted.given.get("base_url"))])))

    def command_line(self, given: Given) -> Asked:
        words = as_words(Wanted(REQUESTS, ("openai/m",), given))
        return self.parsed(words)

    def parsed(self, words: list[str]) -> Asked:
        params = batch_command.make_context("run", list(words)).params
        return self.planned(Wanted(params["file"], (params["model"],), from_params(params)))

    def told_again(self, given: Given) -> Asked:
        words = shlex.split(as_command(wanted_of(self.command_line(given)[0])))
        assert words[:3] == ["proctor", "batch", "run"]
        return self.parsed(words[3:])

    def rest(self, given: Given) -> Asked:
        told = {BY_NAME[n].key: BY_NAME[n].kind.plain(v) for n, v in given.items()}
        config = BatchConfig.model_validate(json.loads(json.dumps(told)))
        return asked(batch_plan(BatchRef(REQUESTS), "openai/m", config, self.settings))


@pytest.mark.parametrize(("name", "value"), BATCH_CASES)
def test_an_option_of_batches_makes_the_same_cell_through_every_door_and_back(
    name: str, value: Any, tmp_path: Path
) -> None:
    option, doors = BY_NAME[name], BatchDoors(tmp_path)
    cell = Cell(Model("openai", "m"), BatchRef(REQUESTS), AS_WRITTEN)
    workers = value if name == "workers" else 1
    if option.part != "plan":
        cell = replace(cell, **{option.part: replace(getattr(cell, option.part), **{name: value})})
    # How many processes are at work is no part of a cell, from which a command is told again.
    again = [BatchDoors.told_again] * (option.part != "plan")
    through = (BatchDoors.command_line, *again, *[BatchDoors.rest] * option.at_server)
    found = {door.__name__: door(doors, {name: value}) for door in through}
    assert found == dict.fromkeys(found, (cell, workers))
    assert cell_from_json(cell_to_json(cell)) == cell


def test_options_of_exams_alone_are_no_options_of_batches_and_none_of_batches_alone_are_of_exams() -> None:
    batches = {parameter.name for parameter in batch_command.params} | set(BatchConfig.model_fields)
    exams = {parameter.name for parameter in run_command.params} | set(RunConfig.model_fields)
    for option in OPTIONS:
        assert (option.name in batches) == ("batch" in option.sources), option.name
        assert (option.name in exams) == (option in OF_EXAMS), option.name
    with pytest.raises(ConfigError, match=r"^--temperature is for suites, files of questions and data sets$"):
        build(Wanted(REQUESTS, (), {"temperature": 0.5}), BatchRef(REQUESTS), [Model("openai", "m")])
    with pytest.raises(ConfigError, match=r"^--column is for files of requests$"):
        reference("file", FILE, {"columns": ("a=b",)})


def test_paths_among_the_options_of_a_batch_become_absolute_and_a_server_opens_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("requests.jsonl", "gold.csv"):
        (tmp_path / name).write_text("{}")
    found = parse_batch("requests.jsonl", out="out.jsonl", gold="gold.csv")
    assert found == BatchRef(
        *[str(tmp_path / name) for name in ("requests.jsonl",)],
        out=str(tmp_path / "out.jsonl"),
        gold=str(tmp_path / "gold.csv"),
    )
    assert parse_batch("requests.jsonl", gold="label").gold == "label"
    with pytest.raises(ConfigError, match=r"No file nothing\.jsonl"):
        parse_batch("nothing.jsonl")
    config = BatchConfig.model_validate({"gold": str(tmp_path / "gold.csv")})
    with pytest.raises(ConfigError, match="opens no files by their paths"):
        batch_plan(BatchRef("mine", content="0" * 64), "openai/m", config, BatchDoors(tmp_path).settings)
