"""The order in which requests are drawn, what a source tells of them, and tables that become requests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from lines_made import CHAT, checked, line, opened, write

from proctor.errors import DataError
from proctor.references import BatchRef
from proctor.service.context import open_context
from proctor.service.kinds.batches import sized
from proctor.types import Gold, Request
from simulators import settings


def numbered(path: Path, n: int = 500) -> Path:
    return write(path, [line(f"r{i}", f"question {i}") for i in range(n)])


def ids(path: Path, **given: Any) -> list[str]:
    return [item.id for item in opened(path, **given).items()]


def test_a_random_order_has_every_request_once_and_is_the_same_every_time(tmp_path: Path) -> None:
    path = numbered(tmp_path / "in.jsonl")
    plain, shuffled = ids(path), ids(path, order="random")
    assert shuffled != plain
    assert sorted(shuffled) == sorted(plain)
    assert shuffled == ids(path, order="random")
    early = sum(int(ident[1:]) < 250 for ident in shuffled[:250])
    assert 95 < early < 155, "the first half of the file is spread over the whole order"


def test_a_source_is_read_again_in_the_same_order(tmp_path: Path) -> None:
    source = opened(numbered(tmp_path / "in.jsonl"), order="random")
    assert list(source.items()) == list(source.items())
    assert len(source) == 500


def test_a_limit_draws_the_first_of_the_order(tmp_path: Path) -> None:
    path = numbered(tmp_path / "in.jsonl")
    assert ids(path, limit=7) == [f"r{i}" for i in range(7)]
    assert ids(path, limit=7, order="random") == ids(path, order="random")[:7]
    assert len(opened(path, limit=10_000)) == 500
    path.write_bytes(path.read_bytes() + b"{broken")
    assert len(opened(path, limit=500)) == 500, "what lies behind the limit is not asked, and not looked at"


def test_the_set_of_requests_has_one_hash_in_every_order_and_another_for_another_set(tmp_path: Path) -> None:
    path = numbered(tmp_path / "in.jsonl")
    turned = write(tmp_path / "turned.jsonl", reversed(path.read_bytes().splitlines()))
    changed = write(
        tmp_path / "changed.jsonl", path.read_bytes().replace(b"question 7", b"question 8").splitlines()
    )
    named = write(tmp_path / "named.jsonl", path.read_bytes().replace(b'"m"', b'"n"').splitlines())
    sets = {
        name: opened(each, **given).facts.item_set_sha256
        for name, each, given in [
            ("file", path, {}),
            ("random", path, {"order": "random"}),
            ("turned", turned, {}),
            ("named", named, {}),
            ("changed", changed, {}),
            ("some", path, {"limit": 499}),
        ]
    }
    assert sets["file"] == sets["random"] == sets["turned"] == sets["named"]
    assert len(set(sets.values())) == 3


def test_a_source_tells_what_it_rests_on(tmp_path: Path) -> None:
    path = write(tmp_path / "in.jsonl", [line("a", max_tokens=9), line("b", max_tokens=7, model="n")])
    source = opened(path)
    facts = source.facts
    assert (facts.file, facts.endpoint, dict(facts.models), facts.n) == (
        "in.jsonl",
        CHAT,
        {"m": 1, "n": 1},
        2,
    )
    assert facts.file_sha256 == checked(path).sha256
    assert (
        "2 requests for /v1/chat/completions; they name m, n, which the run's model replaces"
        in source.understood
    )
    assert "at most 9 tokens are written in each reply" in source.understood


def test_a_file_that_changes_while_it_is_asked_is_noticed(tmp_path: Path) -> None:
    path = numbered(tmp_path / "in.jsonl", 10)
    source = opened(path)
    path.write_bytes(b"x" * path.stat().st_size)
    with pytest.raises(DataError, match="The file has changed since it was opened"):
        list(source.items())


def test_a_file_is_sized_without_being_opened(tmp_path: Path) -> None:
    path = numbered(tmp_path / "in.jsonl", 10)
    with open_context(settings(tmp_path)) as context:
        assert sized(BatchRef(str(path)), context) == 10
        assert sized(BatchRef(str(path), limit=3), context) == 3
        path.write_bytes(path.read_bytes().rstrip())
        assert sized(BatchRef(str(path)), context) == 10
        assert sized(BatchRef(str(tmp_path / "nowhere")), context) == 0


# Tables ----------------------------------------------------------------------------------------------------

ROWS = [
    {"ID": "a1", "Text": 'He said "no", {ok}', "Antwort": "x"},
    {"ID": "a2", "Text": "zwei\nZeilen", "Antwort": "y"},
]


def table(path: Path) -> Path:
    """The rows in the form that the path's ending names; uploads have none, and are known by what is in them."""
    kind = path.name.rpartition(".")[2]
    cells = [list(ROWS[0]), *([str(value) for value in row.values()] for row in ROWS)]
    if kind == "json":
        path.write_text(json.dumps(ROWS, indent=1))
    elif kind == "jsonl":
        write(path, ROWS)
    elif kind == "xlsx":
        from openpyxl import Workbook

        book = Workbook()
        for each in cells:
            book.active.append(each)
        book.save(path)
    elif kind == "parquet":
        from arro3.core import Array, DataType, Table
        from arro3.io import write_parquet

        write_parquet(
            Table.from_pydict(
                {name: Array([row[name] for row in ROWS], DataType.string()) for name in ROWS[0]}
            ),
            str(path),
        )
    else:
        comma = "\t" if kind == "tsv" else ","
        lines = [comma.join('"' + cell.replace('"', '""') + '"' for cell in each) for each in cells]
        path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("kind", ["csv", "tsv", "json", "jsonl", "xlsx", "parquet"])
@pytest.mark.parametrize("ending", [True, False])
def test_a_table_becomes_requests_by_columns_and_a_template(tmp_path: Path, kind: str, ending: bool) -> None:
    path = table(tmp_path / f"rows.{kind}")
    if not ending:
        path = path.rename(tmp_path / ("0" * 64))
    source = opened(
        path,
        columns=("custom_id=ID",),
        template="Classify {{so}}: {Text}",
        system="You read {ID}.",
        fields=("max_tokens=200", "temperature=0"),
        gold="Antwort",
    )
    items = list(source.items())
    assert [(item.id, item.gold) for item in items] == [("a1", Gold("x")), ("a2", Gold("y"))]
    assert isinstance(items[0].ask, Request)
    assert items[0].ask.url == CHAT
    assert json.loads(items[0].ask.body) == {
        "messages": [
            {"role": "system", "content": "You read a1."},
            {"role": "user", "content": 'Classify {so}: He said "no", {ok}'},
        ],
        "max_tokens": 200,
        "temperature": 0,
    }


@pytest.mark.parametrize(
    ("endpoint", "body"),
    [
        ("/v1/completions", {"prompt": "Be kind\n\nhi"}),
        ("/v1/responses", {"instructions": "Be kind", "input": "hi"}),
        ("/v1/embeddings", {"input": "Be kind\n\nhi"}),
    ],
)
def test_a_row_is_written_as_its_endpoint_has_it(tmp_path: Path, endpoint: str, body: dict[str, str]) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("id,prompt,system\nr1,hi,Be kind\n")
    (item,) = opened(path, endpoint=endpoint).items()
    assert isinstance(item.ask, Request)
    assert (item.id, item.ask.url, json.loads(item.ask.body)) == ("r1", endpoint, body)


def test_an_array_of_request_lines_is_read_as_lines_are(tmp_path: Path) -> None:
    path = tmp_path / "in.json"
    path.write_text(json.dumps([line("a"), line("b", stream=True)]))
    assert [(fault.line, fault.code) for fault in checked(path).faults] == [(2, "invalid_stream")]
    assert ids(path, lenient=True) == ["a"]


def test_columns_that_are_not_there_are_told_with_those_that_are(tmp_path: Path) -> None:
    path = table(tmp_path / "rows.csv")
    with pytest.raises(
        DataError, match="the template names 'Frage', and the row has no such column but ID, Text"
    ):
        opened(path, template="{Frage}")
    with pytest.raises(DataError, match="no column 'Nr' but ID, Text, Antwort"):
        opened(path, template="{Text}", columns=("custom_id=Nr",))
    wide = tmp_path / "wide.csv"
    wide.write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match="name the column"):
        opened(wide)


def test_rows_that_cannot_be_read_are_named_beside_those_that_cannot_be_sent(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("id,prompt\nr1,hi\nr2,a,b,c\nr1,again\nr4,\nr5,yes\n")
    found = checked(path)
    assert [(fault.line, fault.code) for fault in found.faults] == [
        (3, "invalid_row"),
        (4, "duplicate_custom_id"),
        (5, "missing_required_parameter"),
    ]
    assert (found.lines, found.count, found.bad) == (5, 2, 3)
    assert ids(path, lenient=True) == ["r1", "r5"]
