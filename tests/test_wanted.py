"""One table of options, one meaning: whatever door a word comes through, and back, it makes the same cell."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given as given_by
from hypothesis import settings as of_test
from hypothesis import strategies as st
from pydantic import ValidationError
from starlette.datastructures import FormData

import proctor
from proctor.cli.options import wanted_from
from proctor.cli.plan import plan_command
from proctor.cli.remote import run_command as server_run
from proctor.cli.run import run_command
from proctor.errors import ConfigError
from proctor.plan import (
    OPTIONS,
    Wanted,
    build,
    check,
    reference,
    wanted_of,
)
from proctor.plan.doors import as_command, as_config, from_keywords
from proctor.plan.option import RunOption
from proctor.plan.values import Duration, Flag, NumberIn, OneOf, Texts, figure
from proctor.plan.wanted import BY_NAME, OF_EXAMS
from proctor.references import ExamRef
from proctor.service.runs.planning import plan_of_wanted
from proctor.service.runs.requests import (
    OllamaParams,
    PlanRequest,
    RunConfig,
    plan_of,
    wanted_by,
)
from proctor.settings import Settings, read_settings
from proctor.types import Cell, Limits, Model, Shard
from proctor.web.starting import forms, new_run

Given = Mapping[str, Any]
# Values of options that take names, and of those whose texts are to be hard to carry.
EXAMPLES: Mapping[str, tuple[Any, ...]] = {
    "base_url": ("http://127.0.0.1:9/v1",),
    "replies": ("/replies/of mine.jsonl",),
    "tasks": (("rte",), ("rte", "sst2")),
    "style": ("simple-evals",),
    "extractor": ("proctor/1",),
    "grader": ("contains", "number:rel=0.01,abs=0.5", "regex:pattern=(a, b)"),
    "endpoint": ("/v1/responses",),
    "columns": (("custom_id=ID",), ("custom_id=ID", "prompt=a, b")),
    "template": ("Is {name} right?\n\t{text}", "--model {x}"),
    "system": ("You are {name}.",),
    "fields": (("max_tokens=200",), ('response_format={"type": "json_object"}', "stop=, ")),
    "gold": ("label", "$.metadata.label"),
    "candidate": (r"^(\w+)-", "$.metadata.name"),
    "out": ("/results/of mine.jsonl",),
    "shard": (Shard(0, 1), Shard(2, 8)),
    "stop": (("\n\n",), ("a, b", " c", r"\n", "\t", "Question:\r\n"), ("--model",)),
}
SUITE, FILE = "glue", "/questions.csv"


def examples(option: RunOption) -> tuple[Any, ...]:
    """Values of an option, the edges of its range among them."""
    kind = option.kind
    if option.name in EXAMPLES:
        return EXAMPLES[option.name]
    if isinstance(kind, OneOf):
        return tuple(kind.values.values())
    if isinstance(kind, Flag):
        return (True,)
    if isinstance(kind, Duration):
        return (90.0, 600.0, 5400.0, 0.5, *((0.0,) if kind.or_none else ()))
    assert isinstance(kind, NumberIn), f"{option.name}: give this option an entry in EXAMPLES"
    low, high = kind.served or (kind.low, kind.high)
    edges = [edge for edge in (low, high) if edge is not None and edge != kind.above]
    between = [3] if kind.whole else [0.1, 0.7]
    return (*(int(each) if kind.whole else float(each) for each in (*edges, *between)), *[None] * kind.opens)


CASES = [
    pytest.param(option.name, value, id=f"{option.name}={value!r}")
    for option in OF_EXAMS
    for value in examples(option)
]


def source_of(given: Given) -> tuple[Any, str]:
    """A kind of source, and one of it, with which all these options go."""
    is_file = any("suite" not in BY_NAME[name].sources for name in given)
    return ("file", FILE) if is_file else ("suite", SUITE)


class Doors:
    """Each door takes what was given to a model, as its users write it, and gives the cell that comes of it."""

    def __init__(self, model: str, home: Path) -> None:
        self.model = model
        self.settings: Settings = read_settings({"PROCTOR_HOME": str(home)})

    def planned(self, wanted: Wanted) -> Cell:
        """As `plan_of_wanted`, without looking whether the file is there."""
        if wanted.given.get("until_decided"):  # of one model nothing can be decided
            wanted = replace(wanted, models=(*wanted.models, "baseline/random"))
        if wanted.source == SUITE:
            return plan_of_wanted(wanted, self.settings).cells[0]
        provider, _, name = self.model.partition("/")
        model = Model(provider, name, wanted.given.get("base_url"))
        return check(build(wanted, reference("file", wanted.source, wanted.of("source")), [model])).cells[0]

    def words(self, given: Given) -> list[str]:
        words = [source_of(given)[1], "--model", self.model]
        for name, value in given.items():
            option = BY_NAME[name]
            if isinstance(option.kind, Flag):
                words.append(option.flag_word)
            elif isinstance(option.kind, Texts) and not option.kind.commas:
                words += [word for text in value for word in (option.flag_word, text)]
            else:
                words += [option.flag_word, option.kind.word(value)]
        return words

    def command_line(self, given: Given) -> Cell:
        return self.parsed(self.words(given))

    def parsed(self, words: list[str]) -> Cell:
        params = run_command.make_context("run", list(words)).params
        params.pop("as_json")
        return self.planned(wanted_from(params.pop("source"), params.pop("models"), params))

    def requested(self, config: Mapping[str, Any], given: Given) -> Cell:
        """What the server makes of a body, a file being the only thing that it cannot be asked about."""
        provider, _, model = self.model.partition("/")
        body = {"project_id": 1, "suite": SUITE, "config": {**config, "provider": provider, "model": model}}
        request = PlanRequest.model_validate(json.loads(json.dumps(body)))
        if source_of(given)[0] == "suite":
            return plan_of(request, self.settings).cells[0]
        return self.planned(replace(wanted_by(request), source=FILE))

    def server_command(self, given: Given) -> Cell:
        params = server_run.make_context("run", self.words(given)).params
        return self.requested(as_config(wanted_from(SUITE, params["models"], params)), given)

    def rest(self, given: Given) -> Cell:
        return self.requested({BY_NAME[n].key: BY_NAME[n].kind.plain(v) for n, v in given.items()}, given)

    def ollama(self, given: Given) -> Cell:
        config: dict[str, Any] = {"ollama_params": {}}
        for name, value in given.items():
            option = BY_NAME[name]
            where = config["ollama_params"] if option.ollama else config
            where[option.ollama or option.key] = option.kind.plain(value)
        return self.requested(config, given)

    def python(self, given: Given) -> Cell:
        return self.planned(Wanted(source_of(given)[1], (self.model,), from_keywords(given)))

    def form(self, given: Given) -> Cell:
        """Fields as the page has them; a clone's fields come by the same way."""
        return self.filled(forms.form_values(self.python(given)), given)

    def filled(self, values: Mapping[str, str], given: Given) -> Cell:
        pairs = [*values.items(), *(("tasks", task) for task in given.get("tasks", ()))]
        filled = forms.filled(
            FormData([("project", "1"), *(p for p in pairs if p[0] != "suite"), ("suite", SUITE)])
        )
        assert filled.request is not None, filled.errors
        if source_of(given)[0] == "suite":
            return plan_of(filled.request, self.settings).cells[0]
        return self.planned(replace(wanted_by(filled.request), source=FILE))

    def printed(self, given: Given) -> Cell:
        """The command that a page prints for the request, typed in again."""
        config = as_config(Wanted(SUITE, (self.model,), given))
        provider, _, model = self.model.partition("/")
        body = {"project_id": 1, "suite": SUITE, "config": {**config, "provider": provider, "model": model}}
        request = PlanRequest.model_validate(body)
        words = shlex.split(forms.command(request, self.rest(given)))
        assert words[:2] == ["proctor", "run"]
        return self.parsed(words[2:])

    def told_again(self, given: Given) -> Cell:
        """A cell, as the words that would make it."""
        words = shlex.split(as_command(wanted_of(self.python(given))))
        assert words[:2] == ["proctor", "run"]
        return self.parsed(words[2:])


AT_SERVER = (Doors.server_command, Doors.rest, Doors.form, Doors.printed)
EVERYWHERE = (Doors.command_line, Doors.python, Doors.told_again)


def expected(name: str, value: Any, model: str) -> Cell:
    """The cell, written down here once more: a default cell with this value, and what hangs on it."""
    kind, source = source_of({name: value})
    provider, _, model_name = model.partition("/")
    preset: Any = "quick" if kind == "suite" and name != "limit" else None
    cell = Cell(Model(provider, model_name), ExamRef(kind, source, preset=preset))
    if name == "think" and value:
        cell = replace(cell, sampling=replace(cell.sampling, max_tokens=8192))
    part = BY_NAME[name].part
    if part == "plan":
        return cell
    return replace(
        cell, **({name: value} if part == "cell" else {part: replace(getattr(cell, part), **{name: value})})
    )


@pytest.mark.parametrize(("name", "value"), CASES)
def test_an_option_makes_the_same_cell_through_every_door_and_back(
    name: str, value: Any, tmp_path: Path
) -> None:
    option = BY_NAME[name]
    through = EVERYWHERE + (AT_SERVER if option.at_server else ())
    for model in ("ollama/m", "openai/m"):
        doors, cell = Doors(model, tmp_path), expected(name, value, model)
        found = {door.__name__: door(doors, {name: value}) for door in through}
        if option.ollama and model == "ollama/m":
            found["ollama"] = doors.ollama({name: value})
        assert found == dict.fromkeys(found, cell)


GIVEN = st.fixed_dictionaries(
    {},
    optional={
        option.name: st.sampled_from(examples(option))
        for option in OF_EXAMS
        if option.at_server and "suite" in option.sources
    },
)


@of_test(max_examples=25, deadline=None)
@given_by(GIVEN, st.sampled_from(["ollama/m", "openai/m"]))
def test_options_together_make_the_same_cell_through_every_door_and_back(given: Given, model: str) -> None:
    doors = Doors(model, Path("/nowhere"))
    cell = doors.python(given)
    assert {door.__name__: door(doors, given) for door in EVERYWHERE + AT_SERVER} == {
        door.__name__: cell for door in EVERYWHERE + AT_SERVER
    }


def test_replies_are_for_this_machine_and_no_door_of_the_server_takes_them(tmp_path: Path) -> None:
    doors, given = Doors("replay/m", tmp_path), {"replies": "/replies/of mine.jsonl"}
    for wanted in (Wanted(SUITE, ("replay/m",), from_keywords(given)), Wanted(SUITE, ("replay/m",), given)):
        assert plan_of_wanted(wanted, doors.settings).replies == "/replies/of mine.jsonl"
    with pytest.raises(ConfigError, match="--replies is for runs on this machine"):
        as_config(Wanted(SUITE, ("replay/m",), given))
    assert "replies" not in RunConfig.model_fields and "replies" not in forms.PLAIN


def beyond(option: RunOption) -> list[float]:
    """Values just outside of a number's range."""
    kind = option.kind
    assert isinstance(kind, NumberIn)
    below = (
        [] if kind.low is None else [kind.low - (2 if kind.opens and kind.low == 0 else 1)]
    )  # -1 is a word
    return [
        *below,
        *([] if kind.high is None else [kind.high + 1]),
        *([] if kind.above is None else [kind.above]),
    ]


@pytest.mark.parametrize(
    ("option", "bad"),
    [
        pytest.param(option, bad, id=f"{option.name}={bad:g}")
        for option in OF_EXAMS
        if isinstance(option.kind, NumberIn)
        for bad in beyond(option)
    ],
)
def test_a_number_out_of_range_is_refused_at_every_door(
    option: RunOption, bad: float, tmp_path: Path
) -> None:
    doors = Doors("openai/m", tmp_path)
    given = {option.name: int(bad) if float(bad).is_integer() else bad}
    for door in (doors.command_line, doors.python):
        with pytest.raises(ConfigError, match=f"^{option.flag_word} {figure(bad)}: must"):
            door(given)
    if not option.at_server:
        return
    for door in (doors.rest, doors.server_command):
        with pytest.raises(ValidationError):
            door(given)
    form = FormData([("provider", "openai"), ("model", "m"), (option.key, figure(bad))])
    assert forms.filled(form).errors.keys() == {option.key if option.key in forms.SHOWN else "custom"}


def test_a_server_takes_no_more_than_it_can_bear() -> None:
    capped = {o.key: o.kind.served[1] for o in OPTIONS if isinstance(o.kind, NumberIn) and o.kind.served}
    assert {"repeats", "parallel", "limit"} <= capped.keys()
    for key, most in capped.items():
        with pytest.raises(ValidationError, match="less than or equal to"):
            RunConfig.model_validate({"provider": "openai", "model": "m", key: most + 1})


def test_an_option_of_another_kind_of_source_is_refused_by_its_name(tmp_path: Path) -> None:
    doors = Doors("ollama/m", tmp_path)
    for name in ("answer_type", "numbers", "lenient"):
        given = {name: examples(BY_NAME[name])[0]}
        said = f"^{BY_NAME[name].flag_word} is for {BY_NAME[name].whose}$"
        with pytest.raises(ConfigError, match=said):
            plan_of_wanted(Wanted(SUITE, (doors.model,), given), doors.settings)
        with pytest.raises(ConfigError, match=said):
            plan_of(_request(**{name: given[name]}), doors.settings)
    for name, said in (("rows", "--data is for suites"), ("preset", "--preset is for suites and data sets")):
        with pytest.raises(ConfigError, match=f"^{said}$"):
            reference("file", FILE, {name: examples(BY_NAME[name])[0]})


def _request(**config: Any) -> PlanRequest:
    body = {"project_id": 1, "suite": SUITE, "config": {"provider": "ollama", "model": "m", **config}}
    return PlanRequest.model_validate(body)


def test_what_is_said_twice_to_ollama_counts_as_its_own_word_says(tmp_path: Path) -> None:
    config = {"temperature": 0.3, "max_tokens": 9, "ollama_params": {"temperature": 0.0, "num_predict": -1}}
    sampling = plan_of(_request(**config), Doors("", tmp_path).settings).cells[0].sampling
    assert (sampling.temperature, sampling.max_tokens) == (0.0, None)


def test_limits_and_a_limit_by_its_name_do_not_go_together() -> None:
    with pytest.raises(ConfigError, match="timeout_s is given twice, in limits= and by its name"):
        proctor.evaluate(SUITE, "baseline/majority", limits=Limits(), timeout_s=5)


def test_a_server_with_another_time_limit_prints_it(tmp_path: Path) -> None:
    """The command line's own default would give the run up at another time."""
    patient = read_settings({"PROCTOR_HOME": str(tmp_path), "PROCTOR_JOB_TIMEOUT": "10h"})
    request = _request(limit=3)
    said = forms.command(request, plan_of(request, patient).cells[0])
    assert said == "proctor run glue --model ollama/m --limit 3 --timeout 10h"


def test_the_printed_command_names_a_data_set_as_it_is_called(tmp_path: Path) -> None:
    kept = ExamRef("dataset", "My Questions", content="0" * 64, columns=("answer=Antwort",))
    request = _request(limit=3, numbers="texts").model_copy(update={"suite": "My Questions"})
    made = plan_of(request, Doors("", tmp_path).settings, uploaded=kept).cells[0]
    assert made.source == replace(kept, limit=3, numbers="texts")
    assert (
        forms.command(request, made)
        == "proctor run 'My Questions' --model ollama/m --limit 3 --numbers texts"
    )


def test_every_option_has_its_place_on_each_surface() -> None:
    named = {option.name for option in OF_EXAMS}
    for command in (run_command, plan_command):
        assert named <= {parameter.name for parameter in command.params}
    served = {option.name: option for option in OF_EXAMS if option.at_server}
    assert served.keys() <= {parameter.name for parameter in server_run.params}
    assert {option.key for option in served.values()} <= RunConfig.model_fields.keys()
    assert {option.ollama for option in served.values() if option.ollama} == OllamaParams.model_fields.keys()
    shown = (*new_run.OLLAMA_FIELDS, *new_run.ASKED_FIELDS, *new_run.LIMIT_FIELDS)
    assert forms.SHOWN.keys() | forms.OLLAMA.keys() == {field.name for field in shown} | new_run.BY_HAND


def test_names_and_spellings_are_each_but_one_option() -> None:
    for spelled in (lambda o: o.name, lambda o: o.flag_word, lambda o: o.key, lambda o: o.ollama or o.name):
        words = [spelled(option) for option in OPTIONS]
        assert len(set(words)) == len(words)
