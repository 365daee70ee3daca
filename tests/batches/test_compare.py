"""What came back for the same requests, side by side: coverage, what changed, how far outputs agree, and the gate."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from opened import over
from output_files import answers, chat, file_of, line, request
from proctor.app import program
from proctor.errors import ConfigError, NotFound
from proctor.service.batches import compare, lately
from proctor.service.batches.compare import BatchComparison
from proctor.service.batches.compared_documents import comparison_document, table_heads
from proctor.service.batches.compared_pages import differences, row, rows
from proctor.service.batches.elsewhere import import_outputs
from proctor.service.batches.verdict import gate_same, named, percent, verdict
from proctor.store import Store

BEFORE = {"a": "one", "b": "two", "c": "three", "d": "four", "e": None, "f": None, "g": "seven"}
AFTER = {"a": "one", "b": "TWO", "c": "other", "d": None, "e": "five", "f": None, "h": "eight"}


@pytest.fixture
def store(sqlite_url: str) -> Iterator[Store]:
    """Most of this is of files; what is kept in databases is compared once on each."""
    opened = Store.open(sqlite_url)
    yield opened
    opened.close()


def beside(
    tmp_path: Path, store: Store, how: str = "exact", **files: dict[str, str | None]
) -> BatchComparison:
    """The outputs compared as files."""
    named = [str(answers(tmp_path / f"{name}.jsonl", said)) for name, said in files.items()]
    return compare.compared(over(store), named, how)


def test_every_request_has_one_of_eight_fates(store: Store, tmp_path: Path) -> None:
    found = beside(tmp_path, store, "normalized", before=BEFORE, after=AFTER)
    (pair,) = found.pairs
    assert dict(pair.counts) == {
        "newly failing": 1,
        "different": 1,
        "newly answered": 1,
        "only A": 1,
        "only B": 1,
        "equivalent": 1,
        "failed in both": 1,
        "same": 1,
    }
    assert (pair.both, pair.agreement.scored, pair.agreement.value) == (6, 3, pytest.approx(2 / 3))
    assert [each.custom_id for each in rows(over(store), found).rows] == [
        "d",
        "c",
        "e",
        "g",
        "h",
        "b",
        "f",
        "a",
    ]
    assert verdict(found) == (
        "same 2 (1 of them only equivalent), changed 1, newly failing 1, newly answered 1, failed in both 1, "
        "missing 1, new 1"
    )


@pytest.mark.promise("B-16")
def test_runs_and_files_are_compared_alike_whatever_the_order_of_their_lines(
    database_url: str, tmp_path: Path
) -> None:
    store = Store.open(database_url)
    context = over(store)
    said = {f"r-{n}": f"text {n % 7}" for n in range(60)} | {"é": "x", "\U0001d518": "y", "Z": None}
    new = {
        name: (f"{text} new" if text and n % 5 == 0 else text) for n, (name, text) in enumerate(said.items())
    }
    del new["r-3"], said["r-4"]  # each lacks one that the other has
    new["0"] = "only here"
    mixed = dict(random.Random(1).sample(sorted(new.items()), len(new)))
    files = [str(answers(tmp_path / "a.jsonl", said)), str(answers(tmp_path / "b.jsonl", mixed))]
    runs = [import_outputs(context, [Path(path)]).result.run.id for path in files]
    documents = []
    for names in (files, runs, [runs[0][:8], files[1]]):
        found = compare.compared(context, names)
        document = comparison_document(found, rows(context, found, limit=100).rows)
        documents.append({key: document[key] for key in ("counts", "verdict", "requests")})
    assert documents[0] == documents[1] == documents[2]
    assert documents[0]["counts"]["different"] == 12 + 1
    kept = lately.compared_runs(context, runs)
    assert kept is lately.compared_runs(context, runs) and dict(kept.counts) == documents[0]["counts"]
    store.close()


@pytest.mark.promise("B-20")
def test_four_outputs_stand_side_by_side_with_the_agreement_of_every_two(
    store: Store, tmp_path: Path
) -> None:
    said = [{f"r{n:02}": f"{n // step}" for n in range(12)} for step in (1, 1, 2, 12)]
    found = beside(tmp_path, store, **{f"out{n}": each for n, each in enumerate(said)})
    shares = [[None if cell is None else cell.value for cell in line] for line in found.matrix]
    expected = [
        [
            None if a == b else sum(x == y for x, y in zip(one.values(), two.values(), strict=True)) / 12
            for b, two in enumerate(said)
        ]
        for a, one in enumerate(said)
    ]
    assert shares == expected
    kept = [import_outputs(over(store), [tmp_path / f"out{n}.jsonl"]).result.run.id for n in range(4)]
    assert lately.compared_runs(over(store), kept).matrix == found.matrix
    (first, *_) = rows(over(store), found, limit=1).rows
    assert [given.text for given in first.replies if given] == ["1", "1", "0", "0"]
    assert [each.status for each in first.beside] == ["same", "different", "different"]
    with pytest.raises(ConfigError, match="9 to compare: name 2 to 8"):
        compare.compared(over(store), [str(tmp_path / "out0.jsonl")] * 9)


def test_other_bodies_under_one_custom_id_are_warned_of(store: Store, tmp_path: Path) -> None:
    context = over(store)
    output = answers(tmp_path / "out.jsonl", {"a": "x", "b": "y"})
    asked = [
        file_of(tmp_path / name / "in.jsonl", [request("a", "same"), request("b", text, model=name)])
        for name, text in (("one", "what?"), ("two", "what else?"), ("three", "what?"))
    ]
    runs = [import_outputs(context, [output], path).result.run.id for path in asked]
    (pair,) = compare.compared(context, runs[:2]).pairs
    assert (pair.unlike, pair.unlike_ids, pair.unknown) == (1, ("b",), 0)
    # Another model in the body is no other request: a batch is sent to any model.
    (pair,) = compare.compared(context, [runs[0], runs[2]]).pairs
    assert (pair.unlike, pair.unknown) == (0, 0)
    # Of a file nobody knows what was asked.
    (pair,) = compare.compared(context, [runs[0], str(output)]).pairs
    assert (pair.unlike, pair.unknown) == (0, 2)


def test_last_is_the_newest_earlier_run_on_the_same_requests(store: Store, tmp_path: Path) -> None:
    context = over(store)
    asked = file_of(tmp_path / "in.jsonl", [request("a", "?"), request("b", "!")])
    others = file_of(tmp_path / "else" / "in.jsonl", [request("a", "??"), request("b", "!")])
    made = []
    for number, requests in enumerate((asked, others, asked)):
        body = {**chat(f"t{number}"), "created": 1_700_000_000 + number}
        path = file_of(tmp_path / f"o{number}.jsonl", [line(name, body) for name in "ab"])
        made.append(import_outputs(context, [path], requests).result.run)
    found = compare.against(context, made[2], "last")
    assert [each.run_id for each in found.summaries] == [made[0].id, made[2].id]
    assert "the same requests" in found.notes[0] and made[0].id[:8] in found.notes[0]
    assert "a file of the same name" in compare.against(context, made[1], "last").notes[0]
    with pytest.raises(NotFound, match=r"`last`: no ended run of in.jsonl before"):
        compare.against(context, made[0], "last")
    assert named(context, made[0].id[:8]).startswith(made[0].id[:8])
    with pytest.raises(NotFound):
        named(context, "0123abcd")


def test_a_gate_counts_what_newly_fails_and_not_what_was_not_asked(store: Store, tmp_path: Path) -> None:
    said = {f"r{n:02}": "yes" for n in range(20)}
    found = beside(tmp_path, store, a={**said, "x": "1"}, b={**said, "r00": None, "r01": "no", "y": "2"})
    gate = gate_same(found, 0.9)
    assert gate.passed and gate.share == 0.9 and gate.n == 20
    assert not gate_same(found, 0.91).passed
    nothing = gate_same(beside(tmp_path, store, a={"a": "1"}, b={"b": "1"}), 0.0)
    assert not nothing.passed and "no request" in nothing.sentence


def test_requests_about_one_candidate_do_not_make_the_interval_narrow(store: Store, tmp_path: Path) -> None:
    said = {f"c{who}-q{n}": "same" for who in range(10) for n in range(20)}
    other = {name: ("else" if name.startswith(("c1-", "c2-")) else text) for name, text in said.items()}
    files = [str(answers(tmp_path / f"{n}.jsonl", each)) for n, each in enumerate((said, other))]
    context = over(store)
    alone, together = (
        compare.compared(context, files, candidate=candidate).pairs[0].agreement
        for candidate in (None, "(c\\d+)-")
    )
    assert alone.value == together.value == 0.8
    assert (together.high - together.low) > 3 * (alone.high - alone.low)  # type: ignore[operator]  # both are measured
    with pytest.raises(ConfigError, match="give one group"):
        compare.compared(context, files, candidate="c\\d")


def test_json_is_compared_field_by_field_with_the_agreement_of_each(store: Store, tmp_path: Path) -> None:
    one = {f"r{n}": json.dumps({"id": n, "total": 100 + n, "name": "X"}) for n in range(10)}
    two = {
        f"r{n}": json.dumps({"name": "X" if n else "Y", "total": 100.4 + n, "id": n + 50}) for n in range(10)
    }
    found = beside(tmp_path, store, "json:ignore=id,near=total~0.01", a=one, b=two)
    (pair,) = found.pairs
    assert {each.path: each.estimate.value for each in pair.fields} == {"$.name": 0.9, "$.total": 1.0}
    assert (pair.counts["equivalent"], pair.counts["different"]) == (9, 1)
    (told,) = differences(row(over(store), found, "r0"))
    assert told is not None
    assert [(key.path, key.alike) for key in told.keys] == [
        ("$.id", False),
        ("$.total", False),
        ("$.name", False),
    ]
    assert any(span.kind == "gone" for span in told.first) and any(span.kind == "new" for span in told.second)


def test_labels_have_cohens_kappa_and_their_table(store: Store, tmp_path: Path) -> None:
    pairs = [("good", "good")] * 45 + [("good", "bad")] * 15 + [("bad", "good")] * 25 + [("bad", "bad")] * 15
    one, two = ({f"r{n}": f"Verdict: {pair[side]}." for n, pair in enumerate(pairs)} for side in (0, 1))
    (pair,) = beside(tmp_path, store, "label:pattern=Verdict: (\\w+)", a=one, b=two).pairs
    assert pair.labels is not None and pair.labels.kappa.value == pytest.approx(0.1304, abs=1e-4)
    assert pair.labels.table[("bad", "good")] == 25
    assert pair.agreement.value == 0.6


def test_pages_give_every_request_once_disagreements_first(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = {f"r{n:03}": "text" for n in range(200)}
    two = {name: None if n % 50 == 0 else "changed" if n % 3 else "text" for n, name in enumerate(one)}
    context = over(store)
    found = beside(tmp_path, store, a=one, b=two)
    seen: list[Any] = []
    after = None
    while True:
        page = rows(context, found, after=after, limit=7)
        seen += page.rows
        after = page.after
        if after is None:
            break
    assert len(seen) == 200 and len({each.custom_id for each in seen}) == 200
    kinds = [each.status for each in seen]
    assert kinds == sorted(kinds, key=["newly failing", "different", "same"].index)
    only = rows(context, found, status="newly failing").rows
    assert [each.custom_id for each in only] == ["r000", "r050", "r100", "r150"]
    with pytest.raises(ConfigError, match="no status 'wrong'"):
        rows(context, found, status="wrong")


@pytest.mark.slow
def test_beyond_the_ids_that_are_remembered_pages_are_found_by_walking_on(
    store: Store, tmp_path: Path
) -> None:
    n = compare.FIRST_IDS + 1_500
    one = {f"r{k:06}": "a" for k in range(n)}
    two = dict.fromkeys(one, "b")
    found = beside(tmp_path, store, a=one, b=two)
    assert len(found.ids["different"]) == compare.FIRST_IDS
    page = rows(
        over(store), found, status="different", after=f"different\nr{compare.FIRST_IDS - 3:06}", limit=1_000
    )
    assert [page.rows[0].custom_id, page.rows[-1].custom_id] == [
        f"r{compare.FIRST_IDS - 2:06}",
        f"r{n - 503:06}",
    ]


def test_texts_that_are_empty_are_told_apart_by_the_tools_that_they_call(
    store: Store, tmp_path: Path
) -> None:
    def calling(city: str, ident: str) -> dict[str, Any]:
        function = {"name": "weather", "arguments": json.dumps({"city": city})}
        return chat(None, "tool_calls", tool_calls=[{"id": ident, "type": "function", "function": function}])

    one = file_of(tmp_path / "1.jsonl", [line("a", calling("Oslo", "x")), line("b", calling("Oslo", "x"))])
    two = file_of(tmp_path / "2.jsonl", [line("a", calling("Oslo", "y")), line("b", calling("Rome", "y"))])
    context = over(store)
    runs = [import_outputs(context, [path]).result.run.id for path in (one, two)]
    for names in ([str(one), str(two)], runs):
        (pair,) = compare.compared(context, names).pairs
        assert (pair.counts["same"], pair.counts["different"]) == (1, 1)


def test_a_table_of_all_requests_is_safe_to_open(store: Store, tmp_path: Path) -> None:
    home, table = tmp_path / "home", tmp_path / "all.csv"
    files = [
        answers(tmp_path / f"{n}.jsonl", {"=id": text, "b": "x"}) for n, text in enumerate(("=1+1", "2"))
    ]
    env = {"PROCTOR_HOME": str(home)}
    given = ["batch", "compare", *map(str, files), "--csv", str(table), "--gate-same", "0.9"]
    ended = CliRunner().invoke(program(), given, env=env, standalone_mode=False)
    assert ended.return_value == 4, ended.output
    assert "Gate FAILED: 0.500" in ended.output and "same 1, changed 1, newly failing 0" in ended.output
    with table.open(newline="") as file:
        heads, first, second = csv.reader(file)
    assert heads == table_heads(2) and first[:3] == ["'=id", "different", "different"] and "'=1+1" in first
    assert second[1] == "same"


def test_a_torn_line_is_named_and_the_rest_compared(store: Store, tmp_path: Path) -> None:
    whole = answers(tmp_path / "a.jsonl", {"a": "1", "b": "2"})
    torn = tmp_path / "b.jsonl"
    torn.write_bytes(whole.read_bytes()[:-40])
    found = compare.compared(over(store), [str(whole), str(torn)])
    (fault,) = found.summaries[1].faults
    assert fault.startswith("b.jsonl, line 2: not JSON")
    assert (found.pairs[0].counts["same"], found.pairs[0].counts["only A"]) == (1, 1)


def test_changes_are_written_with_their_sign() -> None:
    assert [percent(part) for part in (-0.031, 0.2, 0.0, -0.0012)] == ["-3 %", "+20 %", "0 %", "-0.1 %"]
