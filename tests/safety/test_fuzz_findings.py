"""What `make fuzz` has found, each by its smallest input: refused in words, or read, and never a crash or a hang."""

# ruff: noqa: E501 - an input stands on one line, as it was found
from __future__ import annotations

import json
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from fuzz.contract import Room
from fuzz.logs import packed
from fuzz.servers import PARSERS as SERVERS
from fuzz.trying import Trial
from proctor.engine.agents.shell_reply import read_reply
from proctor.engine.trials.metrics import CustomMetrics
from proctor.errors import ConfigError, DataError, ProctorError
from proctor.grading.comparators.spec import parse_comparator
from proctor.grading.extractors import EXTRACTORS
from proctor.grading.graders.json import validator
from proctor.interop.lm_eval import read_lm_eval
from proctor.interop.logs import number
from proctor.plan.names import parse_source
from proctor.plan.rollouts import Surroundings, plan_of_table, plan_of_toml
from proctor.plan.values import parse_duration
from proctor.providers.passthrough.bodies import with_fields
from proctor.providers.prices import read_prices
from proctor.providers.served import read_commands
from proctor.providers.wire.delays import parse_delay
from proctor.references import BatchRef, ExamRef
from proctor.replies.files import open_outputs
from proctor.replies.lines import read_replies
from proctor.service.data.records import differing
from proctor.service.data.verify import verify
from proctor.service.rollouts.allowed import allowed_by
from proctor.service.rollouts.patches import view_of
from proctor.service.rollouts.prepared import file_inside
from proctor.settings import read_settings
from proctor.sources.batches.paths import steps_of
from proctor.sources.batches.source import open_batch
from proctor.sources.exams.files.questions import open_file
from proctor.sources.exams.official.imports import import_path
from proctor.sources.exams.rows.normal_form import parse
from proctor.sources.rollouts.faults import JsonTold, TaskFaults
from proctor.sources.rollouts.meta import runner_of
from proctor.sources.rollouts.paths import matches
from proctor.trial_record import record_bytes, record_from
from proctor.types import Chat, Gold, Item, Message, Model, Reply

HUGE = 10**400  # beyond all floats
LONG = "9" * 5000  # more digits than Python makes a number of
NAME = "x" * 300  # longer than a file's name may be


def written(path: Path, body: bytes | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(body if isinstance(body, bytes) else body.encode("utf-8", "surrogatepass"))
    path.chmod(0o600)
    return path


def surroundings(home: Path) -> Surroundings:
    return Surroundings("here", home, ("openai",))


@pytest.mark.parametrize("toml", [f"a = {LONG}".encode(), b"a = " + b"[" * 5000, b"a = '\x80'"])
def test_toml_that_no_parser_takes_is_refused_wherever_it_is_read(toml: bytes, tmp_path: Path) -> None:
    for name in ("prices.toml", "proctor.toml", "b.toml"):
        written(tmp_path / name, toml)
    reads: list[Callable[[], object]] = [
        lambda: read_prices(tmp_path),
        lambda: read_commands(tmp_path),
        lambda: allowed_by(tmp_path),
        lambda: plan_of_toml(tmp_path / "b.toml", surroundings(tmp_path)),
        lambda: open_file(ExamRef("file", str(tmp_path / "b.toml"))),
    ]
    for read in reads:
        with pytest.raises(ConfigError, match="not TOML in UTF-8"):
            read()


def test_names_that_no_file_can_have_are_not_there(tmp_path: Path) -> None:
    agents = {
        "a": {"kind": "scripted", "script": NAME},
        "b": {"kind": "command", "argv": ["x"], "binary": f"/{NAME}"},
    }
    tasks = [{"prepared_dir": NAME, "agent": each, "overrides": NAME} for each in agents]
    with pytest.raises(ConfigError, match=r"there is no folder x+"):
        plan_of_table({"name": "b", "agents": agents, "tasks": tasks}, surroundings(tmp_path))
    with pytest.raises(ConfigError, match="Invalid benchmark suite"):
        parse_source(NAME, ("glue",))
    with pytest.raises(ConfigError, match="the task has no file"):
        file_inside(tmp_path, NAME, "overrides")


def test_a_number_beyond_all_floats_is_out_of_range(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="out of range"):
        told = {"name": "b", "pass_score": HUGE, "tasks": [{"prepared_dir": "x", "agent": "null"}]}
        plan_of_table(told, surroundings(tmp_path))
    faults = TaskFaults(tmp_path)
    assert JsonTold({"weight": HUGE}, "f", faults).number("weight") is None and faults.found
    assert number(HUGE) is None
    assert list(differing(HUGE, 1.0, "here")) and not list(differing(HUGE, HUGE, "here"))
    for words in ("json:rel=0.1", "json"):
        alike = parse_comparator(words)
        assert alike(f'{{"a": {HUGE}}}', f'{{"a": {HUGE}}}').alike
        assert not alike(f'{{"a": {HUGE}}}', '{"a": 1.5}').alike


def test_keys_env_that_is_no_text_is_told(tmp_path: Path) -> None:
    written(tmp_path / "keys.env", b"\xff")
    with pytest.raises(ConfigError, match=r"keys\.env: not text in UTF-8"):
        read_settings({"PROCTOR_HOME": str(tmp_path)})


@pytest.mark.parametrize(
    "read",
    [
        parse_duration,
        parse_delay,
        lambda text: parse_delay(f"{text}x"),
        lambda text: read_reply("\n" * len(text)),
    ],
)
def test_time_grows_with_the_length_of_a_text_and_no_faster(read: Callable[[str], object]) -> None:
    """Digits without a unit were looked at from each of them on: 60,000 took four seconds."""
    start = time.process_time()
    try:
        read("9" * 200_000)
    except ProctorError:
        pass
    assert time.process_time() - start < 1.0


@pytest.mark.parametrize("piece", ["~~~\n", "```\n<<E\n```\n", "DONE x\n", " ", "> "])
def test_a_reply_of_thousands_of_fences_is_read_at_once(piece: str) -> None:
    start = time.process_time()
    read_reply(piece * (200_000 // len(piece)))
    assert time.process_time() - start < 1.0


@pytest.mark.parametrize("name", ["proctor/1", "proctor/2"])
def test_a_line_of_thousands_of_spaces_is_read_at_once(name: str) -> None:
    """Each of them was taken for the beginning of a bullet: 36,000 took three seconds, and the loop stood still."""
    item = Item("t/0", "t", Chat((Message("user", "?"),)), Gold.of("A,C"), choices=("w", "x", "y", "z"))
    start = time.process_time()
    EXTRACTORS[name].grade_reply(item, Reply("{th" + " " * 100_000 + "x"), kind="letters")
    assert time.process_time() - start < 1.0


def test_a_patch_with_a_line_number_of_thousands_of_digits_is_shown() -> None:
    view = view_of(f"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -{LONG} +1 @@\n-a\n+b\n")
    assert [file.path for file in view.files] == ["x"]


def test_done_is_told_as_before() -> None:
    for text in ("All is well.\n\nDONE", "**DONE**.", "```\nDONE\n```", "> DONE\r\n", "\n\n  DONE\n\n"):
        assert read_reply(text).done, text
    assert not read_reply("DONE with it").done


@pytest.mark.parametrize(
    "date", ["1 Oct 2147483648 8:0", "1 Oct 2 7:9999999999", "Wed, 21 Oct 99999999999 07:28:00 GMT"]
)
def test_a_date_beyond_all_calendars_is_no_delay(date: str) -> None:
    assert parse_delay(date) is None


def test_a_list_of_models_that_never_ends_is_read_to_a_bound(tmp_path: Path) -> None:
    (parser,) = (each for each in SERVERS if each.name == "list gemini")
    read = parser.open(Room(tmp_path))
    rows: object = read(b'{"models": [{"name": "models/m"}], "nextPageToken": "again"}')
    assert (
        isinstance(rows, list)
        and {each.model for each in rows} == {Model("gemini", "m")}
        and len(rows) <= 100
    )


def test_a_model_whose_name_is_written_in_escapes_is_replaced_as_any_other() -> None:
    """The server reads both names as one, so that a request could have asked another model than its run's."""
    for body in (
        b'{"mo\\u0064el":"other"}',
        b'{"model":"a","\\u006dodel":"other"}',
        b'{"m\\u006Fdel": "other", "n": 1}',
    ):
        changed = with_fields(body, {"model": b'"mine"'})
        assert set(dict(json.loads(changed, object_pairs_hook=lambda pairs: pairs)).items()) >= {
            ("model", "mine")
        }
        assert b"other" not in changed


def test_lines_with_parts_of_odd_types_are_bad_lines(tmp_path: Path) -> None:
    odd = [
        {
            "custom_id": "a",
            "response": {"status_code": 200, "body": {"output": [{"type": "message", "content": 1}]}},
        },
        {
            "custom_id": "b",
            "response": {"status_code": 200, "body": {"output": [{"type": "reasoning", "summary": 1}]}},
        },
        {"id": "c", "output": "x", "usage": [1]},
    ]
    path = written(tmp_path / "out.jsonl", "\n".join(map(json.dumps, odd)))
    assert open_outputs([path]).bad <= 3
    with pytest.raises(DataError):
        read_replies(written(tmp_path / "one.jsonl", json.dumps(odd[2])))


def test_damaged_parquet_is_refused_in_words_of_our_own(tmp_path: Path) -> None:
    """Its reader panics, past all excepts."""
    for footer in (b"\x15", b"\x15\x04\x15\x02\x19\x5c", b"\x00" * 9):
        body = b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1"
        with pytest.raises(DataError, match="a damaged Parquet file"):
            open_file(ExamRef("file", str(written(tmp_path / "q.parquet", body))))


def test_rows_that_are_nested_deeper_than_json_is_written_are_refused(tmp_path: Path) -> None:
    deep = '{"a":' * 400 + "1" + "}" * 400
    path = written(tmp_path / "r.json", f'[{{"custom_id": "x", "prompt": {deep}}}]')
    with pytest.raises(DataError):
        list(open_batch(BatchRef(str(path), template="{prompt}"), path).items())


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("ReCoRD/val.jsonl", {"source": "s", "idx": 0, "passage": {"text": "Ada.", "entities": [5]}, "qas": []}),
        ("ReCoRD/val.jsonl", {"source": "s", "idx": 0, "passage": {"text": "Ada.", "entities": []}, "qas": 2}),
        ("ReCoRD/val.jsonl", {"source": "s", "idx": 0, "passage": {"text": "Ada.", "entities": []}, "qas": [{"query": "@placeholder", "answers": 5, "idx": 0}]}),
        ("ReCoRD/val.jsonl", {"source": "s", "idx": 0, "passage": {"text": "Ada.", "entities": []}, "qas": [{"query": "@placeholder", "answers": [True], "idx": 0}]}),
        ("medmcqa/dev.json", {"question": "q", "exp": "", "cop": [], "opa": "a", "opb": "b", "opc": "c", "opd": "d", "subject_name": "s", "id": "x", "choice_type": "single"}),
    ],
)  # fmt: skip
def test_official_files_with_odd_values_fail_alone(name: str, line: object, tmp_path: Path) -> None:
    written(tmp_path / "in" / name, json.dumps(line))
    report = import_path(tmp_path / "in", tmp_path / "home", now=0.0)
    assert not report.imported and (report.failed or report.skipped)


@pytest.mark.parametrize(
    "row",
    [{"id": {}, "target": "", "fields": {}}, {"id": "x/1", "target": "", "fields": {}, "aliases": None}],
)
def test_rows_of_odd_types_are_told_by_their_line(row: object) -> None:
    with pytest.raises(DataError, match="line 1: not a row"):
        parse(json.dumps(row).encode(), "rows.jsonl")


def test_groups_of_a_log_may_hold_one_another_a_million_times(tmp_path: Path) -> None:
    """Each group twice in the one above it: walked path by path, 40 of them were never done with."""
    groups: dict[str, object] = {f"g{n}": [f"g{n + 1}", f"g{n + 1}", ["odd"]] for n in range(40)} | {
        "g40": ["quiz"]
    }
    results = {
        "results": {"quiz": {"acc,none": 1.0}, "g0": {"acc,none": HUGE}},
        "group_subtasks": groups,
        "config": {},
        "configs": {},
        "model_name": "m",
    }
    line = {
        "doc_id": 0,
        "doc": {},
        "target": "y",
        "resps": [["y"]],
        "filtered_resps": ["y"],
        "metrics": ["acc"],
        "acc": 1.0,
    }
    written(tmp_path / "samples_quiz_2024-12-23T13-17-27.691350.jsonl", json.dumps(line))
    path = written(tmp_path / "results_2024-12-23T13-17-27.691350.json", json.dumps(results))
    start = time.process_time()
    assert [task.key for task in read_lm_eval(path).tasks] == ["quiz"]
    assert time.process_time() - start < 1.0


def test_a_bundle_whose_members_lie_outside_of_it_is_damaged(tmp_path: Path) -> None:
    made = packed(json.dumps({"bundle.json": {"format": 2}, "SHA256SUMS": ""}).encode())
    assert made is not None
    path = written(tmp_path / "b.zip", made[made.index(b"PK\x01\x02") :])
    with pytest.raises(DataError, match="damaged"):
        verify(path)
    with zipfile.ZipFile(path) as archive:
        assert archive.namelist()


def test_a_glob_with_a_range_that_runs_backwards_means_itself() -> None:
    assert not matches("a", ["[a-["]) and not matches("b", ["[z-a]"]) and matches("[z-a]", ["[z-a]"])


def test_a_metric_beyond_64_bits_is_kept_as_it_can_be_written(tmp_path: Path) -> None:
    """A task's own script writes it; the trial's record was lost with it."""
    from fuzz.tasks import RECORD

    written(tmp_path / "custom_metrics.json", '{"x": -9223372036854775809, "y": 7}')
    found = CustomMetrics()
    found.take(tmp_path, "t.py")
    if not found.found:
        written(tmp_path / "artifacts/custom_metrics.json", '{"x": -9223372036854775809, "y": 7}')
        found.take(tmp_path / "artifacts", "t.py")
    assert found.found == {"x": -9.223372036854775809e18, "y": 7} and not found.notes
    from dataclasses import replace

    assert record_from(record_bytes(replace(RECORD, custom_metrics=found.found))).custom_metrics["y"] == 7


@pytest.mark.parametrize("part", ["phases", "steps", "agent_used", "verifier_used", "rubrics", "tests"])
def test_a_record_with_parts_that_are_none_is_refused(part: str) -> None:
    from fuzz.tasks import RECORD

    document = json.loads(record_bytes(RECORD))
    document[part] = (
        {"x": {"odd": 1}} if part in ("rubrics", "tests") else {"odd": 1} if "used" in part else [{"odd": 1}]
    )
    with pytest.raises(DataError, match="trial is no record of a trial"):
        record_from(json.dumps(document).encode())


def test_a_script_that_is_nested_too_deeply_is_a_script_all_the_same() -> None:
    for body in (
        b"(" * 5000,
        b"-" * 100_000 + b"1",
        b"if " + b"not " * 50_000 + b"x:\n pass\n",
        b"a" + b".b" * 50_000,
    ):
        assert runner_of("t.py", body) == "python"


def test_an_index_of_thousands_of_digits_is_no_path() -> None:
    with pytest.raises(ConfigError, match="no path"):
        steps_of(f"a[{LONG}]", "gold")


def test_a_schema_with_half_a_surrogate_pair_is_no_schema() -> None:
    for schema in ('{"\\ud80e": {}}', '{"title": "\\ud80e"}'):
        with pytest.raises(ConfigError, match="no JSON Schema"):
            validator(schema)


def test_inputs_are_the_same_for_whoever_asks_for_one_again(tmp_path: Path) -> None:
    """So that `--only NAME --number N` shows what was found."""
    one, other = (Trial(SERVERS[3], Room(tmp_path / name), 5) for name in "ab")
    [other.input(number) for number in range(40)]
    assert one.input(41) == other.input(41)
