"""Batches written out: lines byte for byte, tables safe to open, requests to send again, examples to train on."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest
from rows_made import NOW, attempt_at, batch_of, context_of

from proctor.errors import ConfigError
from proctor.interop.batches import training
from proctor.service.batches import labels
from proctor.service.batches.exports import files
from proctor.service.batches.exports.rows import ExportWish
from proctor.service.batches.labels import LabelMark
from proctor.service.batches.results import RowFilter
from proctor.service.context import Context
from proctor.sources.batches.lines import RequestLine, item_of
from proctor.store import Store
from proctor.types import Attempt, Grade, Outcome, Reply, Run


def bytes_of(context: Context, runs: Sequence[Run], wish: ExportWish) -> bytes:
    return b"".join(files.chunks(context, runs, wish))


def records(context: Context, runs: Sequence[Run], wish: ExportWish) -> list[Any]:
    return [orjson.loads(line) for line in bytes_of(context, runs, wish).splitlines()]


@pytest.fixture
def context(store: Store, tmp_path: Path) -> Context:
    return context_of(store, tmp_path)


@pytest.mark.promise("B-17")
def test_lines_have_the_servers_bodies_byte_for_byte(context: Context) -> None:
    run = batch_of(context.store, [attempt_at(place) for place in range(30)])
    lines = bytes_of(context, [run], ExportWish("jsonl")).splitlines()
    assert len(lines) == 30
    said = attempt_at(0).reply
    assert said is not None and said.raw in lines[0]
    refused = json.loads(lines[3])
    assert refused["response"]["status_code"] == 429 and refused["error"] is None
    cut = json.loads(lines[4])
    assert cut["response"] is None and cut["error"]["code"] == "network"
    vllm = json.loads(bytes_of(context, [run], ExportWish("jsonl", shape="vllm")).splitlines()[4])
    assert vllm["error"]["message"] == "the line was cut"
    failed = records(context, [run], ExportWish("jsonl", RowFilter(text="slow", status="failed")))
    assert failed == []  # what a refusal said is in its body; its message is searched
    many = records(context, [run], ExportWish("jsonl", RowFilter(status="failed")))
    assert [each["custom_id"] for each in many] == [
        "date/0003",
        "apple/0004",
        "banana/0013",
        "date/0019",
        "date/0023",
    ]


@pytest.mark.promise("B-17")
def test_a_table_has_a_line_a_request_and_no_cell_is_a_formula(context: Context) -> None:
    run = batch_of(
        context.store, [attempt_at(0, words='=HYPERLINK("http://x")'), attempt_at(1, words='+1\nb;,"')]
    )
    labels.put(context, run.id, "apple/0000", LabelMark("good", note="@note", tags=("a", "b")), user="ann")
    rows = list(csv.DictReader(io.StringIO(bytes_of(context, [run], ExportWish("csv")).decode())))
    assert [row["reply"] for row in rows] == ['\'=HYPERLINK("http://x")', "'+1\nb;,\""]
    assert (rows[0]["label"], rows[0]["note"], rows[0]["tags"]) == ("good", "'@note", "a, b")
    assert rows[0]["custom_id"] == "apple/0000" and rows[1]["input_tokens"] == "11"


@pytest.mark.promise("B-17")
def test_parquet_has_the_same_rows_with_types(context: Context) -> None:
    from arro3.io import read_parquet

    run = batch_of(context.store, [attempt_at(place) for place in range(30)])
    table = read_parquet(io.BytesIO(bytes_of(context, [run], ExportWish("parquet")))).read_all()
    columns = {name: table.column(name).to_pylist() for name in table.column_names}
    assert len(columns["reply"]) == 30 and columns["status_code"][3] == 429
    assert columns["output_tokens"][5] == 5 and columns["latency_s"][3] is None
    assert columns["candidate"][:2] == ["apple", "banana"]


def test_requests_are_written_as_they_were_to_be_sent_again(context: Context) -> None:
    run = batch_of(context.store, [attempt_at(place) for place in range(30)])
    again = bytes_of(context, [run], ExportWish("batch", which="failures")).splitlines()
    assert len(again) == 5
    assert orjson.loads(again[0])["custom_id"] == "date/0003"
    assert b'"body":{"model": "other", "messages": [{' in again[0], "as it was written, spaces and all"
    labels.put(context, run.id, "apple/0008", LabelMark("good"), user="ann")
    labels.put(context, run.id, "banana/0001", LabelMark("bad"), user="ann")
    golden = records(context, [run], ExportWish("batch", which="golden"))
    assert [each["custom_id"] for each in golden] == ["apple/0008"]
    twice = records(context, [run, run], ExportWish("batch"))
    assert len(twice) == 30, "a request is written once, whichever run answered it"


# Examples to train on ----------------------------------------------------------------------------


def asked(place: int = 0) -> list[dict[str, str]]:
    fruit = ("apple", "banana", "cherry", "date")[place % 4]
    return [{"role": "user", "content": f"Tell of the {fruit} number {place}."}]


def says(text: str) -> list[dict[str, str]]:
    return [{"role": "assistant", "content": text}]


@pytest.fixture
def three(context: Context) -> list[Run]:
    """Three runs of the same requests, with replies of their own."""
    return [
        batch_of(context.store, [attempt_at(n, words=f"{name} {n}") for n in (0, 1, 2, 5, 6)], model=name)
        for name in ("one", "two", "six")
    ]


@pytest.mark.promise("B-21")
def test_golden_replies_are_messages_that_end_with_the_assistant(context: Context, three: list[Run]) -> None:
    first = three[0].id
    labels.put(context, first, "apple/0000", LabelMark("good"), user="ann")
    labels.put(context, first, "banana/0001", LabelMark("edited", text="Yellow."), user="ann")
    labels.put(context, first, "cherry/0002", LabelMark("bad"), user="ann")
    assert records(context, three, ExportWish("sft")) == [
        {"messages": asked(0) + says("one 0")},
        {"messages": asked(1) + says("Yellow.")},
    ]


@pytest.mark.promise("B-21")
def test_what_is_preferred_stands_beside_what_it_is_preferred_to(context: Context, three: list[Run]) -> None:
    one, two, six = (run.id for run in three)
    labels.best_of(context, [one, two, six], "apple/0000", two, user="ann")  # beats both others
    labels.put(context, one, "banana/0001", LabelMark("good"), user="ann")
    labels.put(context, six, "banana/0001", LabelMark("bad"), user="ann")  # nothing is said of two's
    labels.put(context, six, "cherry/0002", LabelMark("edited", text="Red."), user="ann")
    labels.put(context, two, "banana/0005", LabelMark("bad"), user="ann")  # bad, and nothing better
    assert records(context, three, ExportWish("dpo")) == [
        {"prompt": asked(0), "chosen": says("two 0"), "rejected": says("one 0")},
        {"prompt": asked(0), "chosen": says("two 0"), "rejected": says("six 0")},
        {"prompt": asked(1), "chosen": says("one 1"), "rejected": says("six 1")},
        {"prompt": asked(2), "chosen": says("Red."), "rejected": says("six 2")},
    ]
    told = files.manifest(context, three, ExportWish("dpo"))
    assert told["left_out"] == {"no reply is preferred to another": 1}
    assert told["runs"][2]["labels"]["verdicts"] == {"bad": 1, "edited": 1}


@pytest.mark.promise("B-21")
def test_single_labels_are_unpaired_preferences(context: Context, three: list[Run]) -> None:
    labels.put(context, three[0].id, "apple/0000", LabelMark("bad"), user="ann")
    labels.put(context, three[0].id, "banana/0001", LabelMark("edited", text="Yellow."), user="ann")
    assert records(context, three[:1], ExportWish("kto")) == [
        {"prompt": asked(0), "completion": says("one 0"), "label": False},
        {"prompt": asked(1), "completion": says("Yellow."), "label": True},
        {"prompt": asked(1), "completion": says("one 1"), "label": False},
    ]


def test_runs_that_were_asked_something_else_under_an_id_make_no_pair(context: Context) -> None:
    other = attempt_at(0, words="other", temperature=1)
    runs = [
        batch_of(context.store, [attempt_at(0, words="one")]),
        batch_of(context.store, [other], model="two"),
    ]
    labels.put(context, runs[0].id, "apple/0000", LabelMark("good"), user="ann")
    labels.put(context, runs[1].id, "apple/0000", LabelMark("bad"), user="ann")
    assert records(context, runs, ExportWish("dpo")) == []
    (why,) = files.manifest(context, runs, ExportWish("dpo"))["left_out"]
    assert "not asked the same" in why


def test_tools_and_calls_stand_as_training_reads_them_and_reasoning_can_be_left_out(context: Context) -> None:
    tools = [{"type": "function", "function": {"name": "weigh", "parameters": {"type": "object"}}}]
    body = {"messages": asked(0), "tools": tools}
    call = {"id": "c1", "type": "function", "function": {"name": "weigh", "arguments": '{"of": "apple"}'}}
    said = {
        "role": "assistant",
        "content": "<think>hm</think>\nI weigh.",
        "reasoning_content": "hm",
        "tool_calls": [call],
    }
    raw = json.dumps({"choices": [{"message": said}]}).encode()
    item = item_of(RequestLine("a", "/v1/chat/completions", json.dumps(body).encode(), body))
    attempt = Attempt(item, 0, 0, 0, NOW, Grade(Outcome.ANSWERED, None), reply=Reply("I weigh.", raw=raw))
    run = batch_of(context.store, [attempt])
    (whole,) = records(context, [run], ExportWish("sft", which="all"))
    assert whole["tools"] == tools
    assert whole["messages"][1]["tool_calls"][0]["function"]["arguments"] == {"of": "apple"}
    assert whole["messages"][1]["reasoning_content"] == "hm"
    (plain,) = records(context, [run], ExportWish("sft", which="all", drop_reasoning=True))
    assert plain["messages"][1]["content"] == "I weigh." and "reasoning_content" not in plain["messages"][1]


@pytest.mark.parametrize(
    ("body", "prompt"),
    [
        ({"prompt": "Say it"}, [{"role": "user", "content": "Say it"}]),
        (
            {"input": "Say it", "instructions": "Be short"},
            [{"role": "system", "content": "Be short"}, {"role": "user", "content": "Say it"}],
        ),
        ({"input": ["a", "b"], "model": "embed"}, None),
        ({"input": "a", "encoding_format": "float"}, None),
    ],
)
def test_prompts_are_read_from_each_endpoints_body(body: dict[str, Any], prompt: Any) -> None:
    assert training.prompt_of(body) == prompt


def test_prompts_are_held_out_whole_and_the_same_each_time(context: Context, tmp_path: Path) -> None:
    made = [attempt_at(place, words=f"said {place}") for place in range(60)]
    made = [each for each in made if each.failure is None]
    run = batch_of(context.store, made)
    wish = ExportWish("sft", which="all", hold_out=0.3, dedupe=True)
    first = files.write(context, [run], wish, tmp_path / "out.jsonl")
    assert first.held_out == tmp_path / "out.hold-out.jsonl"
    train, held = first.path.read_bytes(), first.held_out.read_bytes()
    assert train.count(b"\n") + held.count(b"\n") == len(made)
    assert 5 < held.count(b"\n") < 35
    assert files.write(context, [run], wish, tmp_path / "out.jsonl").held_out is not None
    assert first.held_out.read_bytes() == held
    told = orjson.loads(first.manifest.read_bytes())
    assert told["written"] == train.count(b"\n") and told["held_out"] == held.count(b"\n")
    assert told["runs"][0]["run"] == run.id and told["filters"] == {}
    twice = files.write(context, [run, run], wish, tmp_path / "twice.jsonl")
    assert twice.path.read_bytes() == train
    assert twice.counts.left_out == {"the same prompt again": len(made)}


@pytest.mark.parametrize(
    "wish",
    [
        ExportWish("csv", dedupe=True),
        ExportWish("dpo", which="golden"),
        ExportWish("sft", hold_out=1.0),
        ExportWish("xml"),  # type: ignore[arg-type]  # as an address could say it
    ],
)
def test_a_wish_that_cannot_be_meant_is_refused(wish: ExportWish) -> None:
    with pytest.raises(ConfigError):
        wish.checked()
