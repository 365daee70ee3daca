"""Plans at the edge: words become a plan or a clear error, and JSON gives back what went in."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.datastructures import FormData

from proctor.errors import ConfigError
from proctor.plan import (
    cell_from_json,
    cell_to_json,
    check,
    parse_duration,
    parse_model,
    parse_source,
    plan_to_json,
    share_limits,
)
from proctor.plan.doors import from_keywords, from_params
from proctor.references import ExamRef, LogRef
from proctor.service.runs.requests import PlanRequest, plan_of
from proctor.settings import read_settings
from proctor.types import Cell, Limits, Model, Plan, Sampling
from proctor.web.starting import forms

PROVIDERS = ("ollama", "openai")
SUITES = ("superglue", "mmlu")
CELL = Cell(Model("ollama", "m"), ExamRef("suite", "mmlu"))

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
TEXT = st.text(max_size=20)
CELLS = st.builds(
    Cell,
    model=st.builds(Model, TEXT, TEXT, st.none() | TEXT),
    source=st.builds(
        ExamRef,
        kind=st.sampled_from(["suite", "file"]),
        name=TEXT,
        tasks=st.lists(TEXT, max_size=3).map(tuple),
        preset=st.none() | st.sampled_from(["quick", "standard", "full"]),
        limit=st.none() | st.integers(),
        rows=st.none() | st.sampled_from(["imported", "sample"]),
        answer_type=st.none() | st.sampled_from(["choices", "labels", "text"]),
    ),
    sampling=st.builds(
        Sampling,
        temperature=st.none() | NUMBERS,
        top_p=st.none() | NUMBERS,
        top_k=st.none() | st.integers(),
        seed=st.none() | st.integers(),
        stop=st.lists(TEXT, max_size=3).map(tuple),
        think=st.none() | st.booleans() | st.sampled_from(["low", "medium", "high", "max"]),
    ),
    limits=st.builds(
        Limits, st.none() | st.integers(), st.none() | NUMBERS, st.none() | NUMBERS, NUMBERS, NUMBERS
    ),
    repeats=st.integers(),
)


@settings(deadline=None)
@given(CELLS)
def test_a_cell_comes_back_from_json(cell: Cell) -> None:
    text = cell_to_json(cell)
    assert cell_from_json(text) == cell
    assert cell_to_json(cell_from_json(text)) == text


def stored(source: str) -> str:
    """A cell of `source` as the store holds it."""
    record = json.loads(cell_to_json(CELL)) | {"source": json.loads(source)}
    return json.dumps(record, ensure_ascii=False, sort_keys=True)


# As versions before references of their own wrote them: every kind with the fields of an exam.
EXAM_FIELDS = (
    '"answer_type": null, "extractor": null, "kind": "%s", "lenient": false, "limit": 5, "name": "%s", '
    '"numbers": null, "preset": null, "rows": null, "shots": null, "shuffle": false, '
    '"style": null, "tasks": ["a"], "wording": 1'
)


@pytest.mark.parametrize(("kind", "name"), [("suite", "glue"), ("file", "/home/ann/q.csv")])
def test_cells_of_exams_are_read_and_written_as_older_versions_did(kind: str, name: str) -> None:
    text = stored("{" + EXAM_FIELDS % (kind, name) + "}")
    assert cell_from_json(text).source == ExamRef(kind, name, tasks=("a",), limit=5)
    written = json.loads(cell_to_json(cell_from_json(text)))
    assert json.loads(text)["source"].items() <= written["source"].items()


def test_cells_of_logs_that_older_versions_wrote_are_read() -> None:
    """They hold an exam's choices, which no log ever had."""
    found = cell_from_json(stored("{" + EXAM_FIELDS % ("log", "inspect theory of mind") + "}"))
    assert found.source == LogRef("inspect theory of mind")
    assert cell_from_json(cell_to_json(found)) == found


def test_a_kind_of_source_that_a_newer_version_knows_is_refused_in_words() -> None:
    with pytest.raises(ConfigError, match="of the kind 'opera', which this version does not know: update"):
        cell_from_json(stored('{"kind": "opera", "name": "aida"}'))


@settings(deadline=None, max_examples=30)
@given(st.lists(CELLS, max_size=3), TEXT, st.none() | TEXT)
def test_a_plan_as_json_holds_its_cells(cells: list[Cell], name: str, replies: str | None) -> None:
    record = json.loads(plan_to_json(Plan(tuple(cells), name, replies)))
    assert [cell_from_json(json.dumps(c)) for c in record["cells"]] == cells
    assert (record["name"], record["replies"]) == (name, replies)


@pytest.mark.parametrize("part", ["", "model", "source", "sampling", "limits"])
def test_an_unknown_key_is_refused(part: str) -> None:
    record = json.loads(cell_to_json(CELL))
    (record[part] if part else record)["flavour"] = 1
    with pytest.raises(ConfigError, match="'flavour', which this version does not know"):
        cell_from_json(json.dumps(record))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("10m", 600), ("1.5h", 5400), ("1h30m", 5400), ("2d", 172_800), ("90", 90), ("0.5", 0.5)],
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "10 m", "1x", "h", "-5s", "1h30", "1,5h", "nan", "inf", "10m!", "1e3"])
def test_no_durations(text: str) -> None:
    with pytest.raises(ConfigError, match=r"is no duration; write 90s, 10m, 1\.5h or 1h30m"):
        parse_duration(text)


@settings(deadline=None)
@given(st.text())
def test_any_text_is_a_duration_or_a_clear_error(text: str) -> None:
    try:
        assert parse_duration(text) >= 0
    except ConfigError:
        pass


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("ollama/qwen3:8b", Model("ollama", "qwen3:8b")),
        ("ollama/hf.co/org/model:Q4", Model("ollama", "hf.co/org/model:Q4")),
        ("openai/meta-llama/Llama-3", Model("openai", "meta-llama/Llama-3")),
        ("gpt-4o-mini", Model("openai", "gpt-4o-mini")),
        ("o3", Model("openai", "o3")),
        ("qwen3:8b", None),
        ("nobody/gpt-4o", None),
        ("", None),
    ],
)
def test_models_by_name(name: str, model: Model | None) -> None:
    assert parse_model(name, PROVIDERS) == model


def test_a_provider_alone_is_no_model() -> None:
    with pytest.raises(ConfigError, match="a model name is missing after openai/"):
        parse_model("openai/", PROVIDERS)


@pytest.mark.parametrize(
    ("given_url", "kept"),
    [
        ("http://127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1"),
        ("https://gw.example/v1/", "https://gw.example/v1"),
        ("localhost:8000/v1", "http://localhost:8000/v1"),
        ("http://[::1]:8000", "http://[::1]:8000"),
    ],
)
def test_base_urls(given_url: str, kept: str) -> None:
    model = parse_model("openai/m", PROVIDERS, base_url=given_url)
    assert model is not None and model.base_url == kept


@pytest.mark.parametrize(
    "url", ["ftp://host/v1", "http://", "", "http://[::1", "http://host:port/v1", "http://host:70000", "/v1"]
)
def test_no_base_urls(url: str) -> None:
    with pytest.raises(ConfigError, match="give an address such as"):
        parse_model("openai/m", PROVIDERS, base_url=url)


@pytest.mark.parametrize(
    "url",
    [
        "http://ada:hunter2@host/v1",
        "ada:hunter2@host/v1",
        "https://:hunter2@host",
        "https://hunter2@host/v1",
        "http://ada:hunter2@[::1",
        "http://ada:hunter2@host:port",
    ],
)
def test_a_password_in_an_address_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(ConfigError, match="user name or password") as caught:
        parse_model("openai/m", PROVIDERS, base_url=url)
    assert "hunter2" not in str(caught.value)
    assert "hunter2" not in repr(caught.value.__cause__)


def test_a_source_is_a_suite_or_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.csv").write_text("question,answer\n")
    assert parse_source("mmlu", SUITES, limit=5) == ExamRef("suite", "mmlu", limit=5)
    assert parse_source("q.csv", SUITES) == ExamRef("file", str(tmp_path / "q.csv"))
    with pytest.raises(ConfigError, match=r"No file nowhere\.jsonl.*superglue, mmlu"):
        parse_source("nowhere.jsonl", SUITES)
    with pytest.raises(ConfigError, match=r"^Invalid benchmark suite\. Supported: superglue, mmlu"):
        parse_source("gleu", SUITES)


def test_a_file_may_not_hide_a_suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mmlu").write_text("")
    assert parse_source("mmlu", SUITES).kind == "suite"
    assert parse_source("./mmlu", SUITES).kind == "file"


@pytest.mark.parametrize(("text", "think"), [(None, None), ("on", True), ("off", False), ("high", "high")])
def test_think(text: str | None, think: object) -> None:
    assert from_params({"think": text}).get("think") == think
    assert from_keywords({"think": think}).get("think") == think


def test_no_think() -> None:
    with pytest.raises(ConfigError, match="--think hard: choose from on, off, low, medium, high, max"):
        from_params({"think": "hard"})
    for value in ("hard", 1, 0.5):
        with pytest.raises(
            ConfigError, match=f"think={value!r}: choose from on, off, low, medium, high, max"
        ):
            from_keywords({"think": value})


def test_a_plan_without_a_model_is_refused() -> None:
    with pytest.raises(ConfigError, match="add --model PROVIDER/NAME"):
        check(Plan(()))


@pytest.mark.parametrize("base_url", [None, "http://127.0.0.1:8000/v1"])
def test_a_model_given_twice_is_refused(base_url: str | None) -> None:
    cell = replace(CELL, model=replace(CELL.model, base_url=base_url))
    with pytest.raises(ConfigError, match="--model ollama/m is given twice"):
        check(Plan((cell, cell)))


@pytest.mark.parametrize(
    "other",
    [
        replace(CELL, model=Model("ollama", "n")),
        replace(CELL, model=Model("ollama", "m", "http://other:11434")),
        replace(CELL, source=ExamRef("suite", "superglue")),
        replace(CELL, sampling=Sampling(temperature=1.0)),
    ],
)
def test_a_table_may_hold_a_model_more_than_once(other: Cell) -> None:
    """On two servers, on two sources or with two temperatures it is two cells."""
    plan = Plan((CELL, other))
    assert check(plan) is plan


@pytest.mark.parametrize(
    ("option", "sampling"),
    [
        ("--temperature -0.1: must lie between 0 and 2", Sampling(temperature=-0.1)),
        ("--temperature nan", Sampling(temperature=float("nan"))),
        ("--top-p 1.5", Sampling(top_p=1.5)),
        ("--top-k 101", Sampling(top_k=101)),
        ("--max-tokens 0", Sampling(max_tokens=0)),
        ("--repeat-last-n -2", Sampling(repeat_last_n=-2)),
    ],
)
def test_sampling_out_of_range_names_the_option(option: str, sampling: Sampling) -> None:
    with pytest.raises(ConfigError, match=option):
        check(Plan((replace(CELL, sampling=sampling),)))


@pytest.mark.parametrize(
    ("option", "cell"),
    [
        ("--parallel 0", replace(CELL, limits=Limits(parallel=0))),
        ("--for -1", replace(CELL, limits=Limits(for_s=-1))),
        ("--max-cost nan", replace(CELL, limits=Limits(max_cost_usd=float("nan")))),
        ("--max-cost inf", replace(CELL, limits=Limits(max_cost_usd=float("inf")))),
        ("--timeout 0", replace(CELL, limits=Limits(timeout_s=0))),
        ("--request-timeout 0", replace(CELL, limits=Limits(request_timeout_s=0))),
        ("--limit 0", replace(CELL, source=ExamRef("suite", "mmlu", limit=0))),
        ("--repeats 0", replace(CELL, repeats=0)),
    ],
)
def test_limits_must_be_more_than_nothing(option: str, cell: Cell) -> None:
    with pytest.raises(ConfigError, match=f"^{option}: must be more than 0"):
        check(Plan((cell,)))


def test_a_server_may_be_waited_for_not_at_all_but_no_negative_time() -> None:
    check(Plan((replace(CELL, limits=Limits(wait_for_server_s=0)),)))
    for wait_s in (-1.0, float("nan"), float("inf")):
        with pytest.raises(ConfigError, match=r"^--wait-for-server"):
            check(Plan((replace(CELL, limits=Limits(wait_for_server_s=wait_s)),)))


def test_a_cell_of_an_older_version_waits_for_its_server_as_all_do() -> None:
    record = json.loads(cell_to_json(CELL))
    del record["limits"]["wait_for_server_s"]
    assert cell_from_json(json.dumps(record)).limits.wait_for_server_s == 120.0


def test_how_long_a_server_is_waited_for_is_said_alike_everywhere(tmp_path: Path) -> None:
    given = read_settings({"PROCTOR_HOME": str(tmp_path)})
    config = {"provider": "openai", "model": "m", "wait_for_server": "90s"}
    asked = PlanRequest(project_id=1, suite="glue", config=config)  # type: ignore[arg-type]  # as JSON gives it
    (cell,) = plan_of(asked, given).cells
    form = forms.filled(FormData([("suite", "glue"), ("project", "1"), *config.items()]))
    assert form.request is not None, form.errors
    assert cell.limits == plan_of(form.request, given).cells[0].limits
    assert cell.limits.wait_for_server_s == 90.0
    words = forms.command(asked, cell).split()
    assert words[words.index("--wait-for-server") + 1] == "90s"
    none = PlanRequest(project_id=1, config={"provider": "openai", "model": "m"})  # type: ignore[arg-type]  # as JSON gives it
    assert plan_of(none, given).cells[0].limits.wait_for_server_s == 120.0


def test_the_edges_of_the_ranges_are_allowed() -> None:
    for sampling in (Sampling(temperature=0, top_p=0, top_k=0), Sampling(temperature=2, top_p=1, top_k=100)):
        check(Plan((replace(CELL, sampling=sampling),)))


def test_a_budget_is_shared_by_the_runs_that_are_left() -> None:
    limits = Limits(for_s=600, max_cost_usd=3.0, timeout_s=50)
    part = share_limits(limits, spent_s=100, spent_usd=1.0, spent_tokens=0, runs_left=2)
    assert (part.for_s, part.max_cost_usd, part.timeout_s) == (250, 1.0, 50)
    assert share_limits(limits, spent_s=700, spent_usd=9, spent_tokens=0, runs_left=1) == replace(
        limits, for_s=0.0, max_cost_usd=0.0
    )
    assert share_limits(Limits(), spent_s=5, spent_usd=5, spent_tokens=5, runs_left=1) == Limits()


def test_a_cell_of_an_older_version_knows_nothing_of_numbers_and_bad_rows() -> None:
    record = json.loads(cell_to_json(Cell(Model("baseline", "random"), ExamRef("file", "/q.csv"))))
    for name in ("numbers", "lenient"):
        del record["source"][name]
    assert cell_from_json(json.dumps(record)).source == ExamRef("file", "/q.csv")
