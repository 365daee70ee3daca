"""Bundles: the same bytes for the same run, and every figure again where nothing else is."""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import replace

import pytest

from bundles import altered, answers, in_json, in_lines, members, one_bundle, replayed, rows
from opened import bundle, look, start
from proctor.errors import ConfigError, Conflict, DataError, DataMissing, NotFound
from proctor.references import ExamRef
from proctor.service.context import open_store
from proctor.service.data.counted import tally
from proctor.service.data.records import from_bytes, to_line
from proctor.service.data.verify import verify
from proctor.service.opening.sources import open_source
from proctor.store import AttemptWriter
from proctor.types import Attempt, Cell, Model, Plan, Reply, Status
from simulators import settings

pytestmark = pytest.mark.slow


@pytest.fixture
def packed(tmp_path):
    """A bundle of a run with three wrong answers, alone in a folder of its own."""
    return one_bundle(tmp_path)


def test_a_bundle_verifies_where_nothing_else_is(packed):
    found = verify(packed)
    assert found.faults == () and found.notes == ()
    assert (found.runs, found.replies, found.unread) == (1, 12, 0)
    assert found.figures > 10


def test_the_same_run_gives_the_same_bytes(tmp_path):
    run_id = replayed(tmp_path, rows(tmp_path), answers())
    made = [bundle([run_id], settings(tmp_path), tmp_path / f"{name}.zip") for name in "ab"]
    bodies = [each.path.read_bytes() for each in made]
    assert bodies[0] == bodies[1]
    assert made[0].sha256 == hashlib.sha256(bodies[0]).hexdigest() and made[0].size_bytes == len(bodies[0])
    assert not list(tmp_path.glob("*.part"))


def test_anyone_can_check_the_sums_and_count_the_score(packed, tmp_path):
    run_id = json.loads(members(packed)["bundle.json"])["runs"][0]
    inside = members(packed)
    told = [line.split("  ") for line in inside["SHA256SUMS"].decode().splitlines()]
    assert {name: digest for digest, name in told} == {
        name: hashlib.sha256(body).hexdigest() for name, body in inside.items() if name != "SHA256SUMS"
    }
    replies = [json.loads(line) for line in inside[f"runs/{run_id}/replies.jsonl"].splitlines()]
    scores = json.loads(inside["results.json"])["runs"][0]["scores"]
    assert scores[0]["value"] == sum(reply["score"] for reply in replies) / len(replies) == 0.75
    shown = look([run_id], settings(tmp_path)).results[0].scores[0].estimate
    assert (scores[0]["low"], scores[0]["high"]) == (shown.low, shown.high)


def test_questions_are_packed_only_on_purpose(packed, tmp_path):
    assert not any(b"leads to hill" in body for body in members(packed).values())
    run_id = json.loads(members(packed)["bundle.json"])["runs"][0]
    full = bundle([run_id], settings(tmp_path), tmp_path / "full.zip", prompts=True).path
    assert any(b"leads to hill 3" in body for body in members(full).values())
    assert (verify(full).items, verify(full).faults) == (12, ())

    def reworded(items):
        items[4]["prompt"][-1][1] += " Truly?"

    (fault,) = verify(altered(full, lambda m: in_lines(m, "items.jsonl", reworded))).faults
    assert "an item differs" in fault and "its hash is not that of its prompt" in fault


# Several runs, partial runs, other ways of reading ------------------------------------------------


def test_two_runs_are_packed_with_their_comparison(tmp_path):
    path = rows(tmp_path, 40)
    ids = [
        replayed(tmp_path, path, answers(40, wrong=range(2)), "good"),
        replayed(tmp_path, path, answers(40, wrong=range(1, 30)), "poor"),
    ]
    made = bundle(ids, settings(tmp_path), tmp_path / "two.zip")
    results = json.loads(members(made.path)["results.json"])
    (comparison,) = results["comparisons"]
    assert (comparison["first"], comparison["second"]) == tuple(ids)
    assert comparison["verdict"] == "first better" and comparison["p_value"] < 0.001
    found = verify(made.path)
    assert (found.runs, found.replies, found.faults) == (2, 80, ())

    def flatter(results):
        results["comparisons"][0]["adjusted_p"] = 0.2

    (fault,) = verify(altered(made.path, lambda m: in_json(m, "results.json", flatter))).faults
    assert "comparisons 1 (replay/good replay/poor" in fault and "adjusted_p: the bundle says 0.2" in fault

    def turn(results):
        results["comparisons"][0]["verdict"] = "second better"

    (fault,) = verify(altered(made.path, lambda m: in_json(m, "results.json", turn))).faults
    assert "verdict: the bundle says 'second better', its replies give 'first better'" in fault


def test_a_run_is_packed_once_however_often_it_is_named(tmp_path):
    run_id = replayed(tmp_path, rows(tmp_path), answers())
    made = bundle([run_id, run_id[:8]], settings(tmp_path), tmp_path / "once.zip")
    assert (made.runs, made.replies) == (1, 12)


def test_runs_that_cannot_be_compared_are_not_packed_together(tmp_path):
    first = replayed(tmp_path, rows(tmp_path), answers(), "a")
    second = replayed(tmp_path, rows(tmp_path, 8, name="other"), answers(8), "b")
    with pytest.raises(ConfigError, match="differ in their suite"):
        bundle([first, second], settings(tmp_path), tmp_path / "no.zip")
    assert not list(tmp_path.glob("no.zip*"))


def test_a_run_with_errors_verifies_and_says_partial(tmp_path):
    replies: list[str | None] = [*answers(wrong=(1,))]
    replies[3] = replies[8] = None
    run_id = replayed(tmp_path, rows(tmp_path), replies)
    found = verify(bundle([run_id], settings(tmp_path), tmp_path / "part.zip").path)
    assert found.faults == () and found.replies == 10
    assert any("partial, 10 of 12 have an outcome (2 ended in an error)" in note for note in found.notes)


def test_a_run_that_stopped_early_verifies_on_what_it_was_scored_on(tmp_path):
    """Positions 0 to 4 count; what came beyond the gap came because it was quick."""
    ref = ExamRef("file", str(rows(tmp_path)))
    whole = replayed(tmp_path, ref, answers())
    source = open_source(ref, settings(tmp_path))
    with open_store(settings(tmp_path)) as store:
        like = store.run(whole)
        facts = {"source_title": like.source_title, "manifest": like.manifest, "sample": False}
        run = store.add_run(like.plan_id, like.cell, planned=12, comparability=None, now=0.0, **facts)
        store.claim(run.id, owner="me", now=time.time(), lease_s=600)
        with AttemptWriter(store, run.id, owner="me") as writer:
            for place, item in enumerate(source.items()):
                if place in (0, 1, 2, 3, 4, 8):
                    reply = Reply(f"Answer: {item.target}" if place else "Answer: none")
                    reading = source.grader.grade(item, reply)
                    writer.keep(Attempt(item, place, 0, 0, time.time(), reading, reply))
        store.finish(run.id, Status.COMPLETED, owner="me", now=2.0, elapsed_s=1.0, stopped="time was up")
    path = bundle([run.id], settings(tmp_path), tmp_path / "early.zip").path
    score = json.loads(members(path)["results.json"])["runs"][0]["scores"][0]
    assert (score["value"], score["scored"]) == (0.8, 5)
    found = verify(path)
    assert (found.faults, found.replies) == ((), 6)
    assert any("partial, 6 of 12" in note for note in found.notes)
    assert any("stopped early: time was up" in note for note in found.notes)


def test_a_run_on_its_way_is_refused(tmp_path):
    run_id = replayed(tmp_path, rows(tmp_path), [*answers(11), None])
    with open_store(settings(tmp_path)) as store:
        store.claim(run_id, owner="here:1", now=0.0, lease_s=60.0)
    with pytest.raises(Conflict, match="is running"):
        bundle([run_id], settings(tmp_path), tmp_path / "no.zip")
    with pytest.raises(NotFound):
        bundle(["abcdef0123"], settings(tmp_path), tmp_path / "no.zip")


def test_labels_of_a_file_travel_with_their_synonyms(tmp_path):
    path = tmp_path / "facts.csv"
    lines = [f"Is it so {i}?,{'yes' if i % 2 else 'no'}" for i in range(8)]
    path.write_text("question,answer\n" + "\n".join(lines) + "\n")
    run_id = replayed(tmp_path, path, ["Answer: true"] * 8)
    there = bundle([run_id], settings(tmp_path), tmp_path / "there.zip").path
    path.unlink()
    assert (verify(there).faults, verify(there).replies) == ((), 8)
    gone = verify(bundle([run_id], settings(tmp_path), tmp_path / "gone.zip").path)
    assert (gone.faults, gone.replies, gone.unread) == ((), 0, 8)
    assert any("8 replies were not read again" in note for note in gone.notes)


def test_an_extractor_of_another_version_is_not_read_but_said(packed):
    def other(record):
        record["run"]["manifest"]["extractor"] = "proctor/9"

    found = verify(altered(packed, lambda m: in_json(m, "manifest.json", other)))
    assert (found.faults, found.replies, found.unread) == ((), 0, 12)
    assert any("does not know the extractor proctor/9" in note for note in found.notes)


@pytest.mark.parametrize("extractor", ["mirage/1", "simple-evals/1"])
def test_replies_are_read_by_the_extractor_of_the_run(tmp_path, extractor):
    ref = ExamRef("file", str(rows(tmp_path, 4)), extractor=extractor)
    replies = ["Answer: A", "First Answer: C\nthen\nAnswer: B", "None of these", ""]
    run_id = replayed(tmp_path, ref, replies)
    found = verify(bundle([run_id], settings(tmp_path), tmp_path / "x.zip").path)
    assert (found.faults, found.replies) == ((), 4)


def test_a_reply_with_half_a_surrogate_pair_travels():
    record = {"text": "\ud83d well", "score": 0.1}
    assert from_bytes(to_line(record), "here") == record


# Secrets, rows, files -----------------------------------------------------------------------------


def test_a_secret_is_never_packed(tmp_path):
    key = 'sk-"quoted"-0123456789'
    replies = answers()
    replies[6] = f"My key is {key}\nAnswer: C"
    run_id = replayed(tmp_path, rows(tmp_path), replies)
    with pytest.raises(ConfigError, match="item ways/6 holds the value of a key") as caught:
        bundle([run_id], settings(tmp_path, OPENAI_API_KEY=key), tmp_path / "no.zip")
    assert key not in str(caught.value)
    assert not list(tmp_path.glob("no.zip*"))
    bundle([run_id], settings(tmp_path, OPENAI_API_KEY="EMPTY"), tmp_path / "yes.zip")


def test_a_failed_bundle_leaves_the_older_one(tmp_path):
    run_id = replayed(tmp_path, rows(tmp_path), [*answers(11), "sk-0123456789 Answer: D"])
    path = tmp_path / "kept.zip"
    path.write_text("an older one")
    with pytest.raises(ConfigError):
        bundle([run_id], settings(tmp_path, GROK_API_KEY="sk-0123456789"), path)
    assert path.read_text() == "an older one"
    with pytest.raises(ConfigError, match="Name a file that can be written"):
        bundle([run_id], settings(tmp_path), tmp_path / "nowhere" / "x.zip")


def test_items_are_compared_with_the_rows_at_hand(packed, tmp_path):
    found = verify(packed, rows=settings(tmp_path))
    assert (found.items, found.faults) == (12, ())

    def relabel(items):
        items[0]["aliases"] = ["D"]

    other = altered(packed, lambda m: in_lines(m, "items.jsonl", relabel))
    (fault,) = verify(other, rows=settings(tmp_path)).faults
    assert "its aliases is ('D',), in the rows here ()" in fault
    path = tmp_path / "ways.jsonl"
    path.write_text(path.read_text().replace("hill 3", "hill 33"))
    (fault,) = verify(packed, rows=settings(tmp_path)).faults
    assert "item ways/3: its hash is" in fault
    path.unlink()
    with pytest.raises(DataError):
        verify(packed, rows=settings(tmp_path))


def test_items_of_a_suite_are_compared_and_missing_rows_are_not_fetched(tmp_path):
    cell = Cell(Model("baseline", "majority"), ExamRef("suite", "glue", ("cola", "stsb"), rows="sample"))
    ended = start(Plan((cell,)), settings(tmp_path))
    assert ended.evaluation is not None
    path = bundle([ended.evaluation.results[0].run.id], settings(tmp_path), tmp_path / "glue.zip").path
    found = verify(path, rows=settings(tmp_path))
    assert found.faults == () and found.items == found.replies > 20
    assert any("sample rows" in note for note in found.notes)

    def imported(record):
        record["run"]["cell"]["source"]["rows"] = "imported"

    with pytest.raises(DataMissing):
        verify(altered(path, lambda m: in_json(m, "manifest.json", imported)), rows=settings(tmp_path))


def test_scores_of_an_older_version_are_replaced_and_said(tmp_path):
    run_id = replayed(tmp_path, rows(tmp_path), answers(wrong=(1,)))
    assert bundle([run_id], settings(tmp_path), tmp_path / "a.zip").stale == ()
    with open_store(settings(tmp_path)) as store:
        (score,) = store.scores(run_id)
        store.put_scores(run_id, [replace(score, estimate=replace(score.estimate, low=0.1))])
    made = bundle([run_id], settings(tmp_path), tmp_path / "b.zip")
    assert made.stale == (run_id,)
    assert made.path.read_bytes() == (tmp_path / "a.zip").read_bytes()


def test_the_tally_is_the_stores(tmp_path):
    replies: list[str | None] = [*answers(wrong=(1, 2))]
    replies[3], replies[4] = None, "I cannot say."
    run_id = replayed(tmp_path, rows(tmp_path), replies)
    with open_store(settings(tmp_path)) as store:
        assert tally(list(store.latest(run_id))) == store.tally(run_id)
