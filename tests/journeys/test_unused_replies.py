"""Replies that were billed and could not be used: counted apart everywhere, reckoned in budgets, kept in bundles."""

from __future__ import annotations

import copy
import json
from itertools import chain, repeat

import orjson
import pytest

from bundles import altered, in_lines, members
from opened import bundle, look, report, resume, start
from proctor.cli.tables import evaluation_lines
from proctor.engine.retry import Retry
from proctor.figures import besides
from proctor.references import ExamRef
from proctor.service.data.verify import verify
from proctor.service.results import documents
from proctor.types import Cell, Limits, Model, Plan, Usage
from programs import csv_of_sums
from simulators import settings
from wire_bodies import OPENAI, saying

pytestmark = pytest.mark.slow

WHOLE = orjson.dumps(OPENAI)  # 12 tokens in, 7 out, $0.002
EMPTY = orjson.dumps({**copy.deepcopy(OPENAI), "choices": []})
N = 30


def plan(url, tmp_path, **limits):
    ref = ExamRef("file", str(csv_of_sums(tmp_path / "sums.csv", N)))
    return Plan((Cell(Model("openai", "m", f"{url}/v1"), ref, limits=Limits(parallel=1, **limits)),))


@pytest.fixture
def ended(tmp_path):
    """A run of which one item was empty twice and then failed, one was empty once, and the first came with a resume."""
    bodies = chain([EMPTY, EMPTY, EMPTY], repeat(WHOLE))
    with saying(bodies) as url:
        given = settings(tmp_path)
        first = start(plan(url, tmp_path), given, retry=Retry(most=1, first_s=0.0))
        run_id = first.evaluation.results[0].run.id
        assert first.evaluation.results[0].tally.unused == Usage(36, 21, pytest.approx(0.006))
        again = resume([run_id], given)
    return again.evaluation.results[0]


def test_they_are_in_no_figure_of_an_item_and_told_beside_them(ended, tmp_path):
    tally = ended.tally
    assert dict(tally.outcomes) == {"correct": N}
    assert (tally.input_tokens_per_item, tally.output_tokens_per_item) == (12, 7)
    assert tally.cost_usd == pytest.approx(0.002 * N)
    assert tally.unused == Usage(36, 21, pytest.approx(0.006))
    words = "besides, for replies that do not count: 36 tokens in, 21 out, $0.0060"
    assert besides(tally.unused) == words
    told = look([ended.run.id], settings(tmp_path))
    assert f"  {words}" in list(evaluation_lines(told, {}))
    assert documents.result(told.results[0])["unused"]["input_tokens"] == 36
    assert "36 tokens in, 21 out, $0.0060" in report([ended.run.id], settings(tmp_path), "md")


def test_a_bundle_holds_what_they_cost_and_verifies_it(ended, tmp_path):
    path = bundle([ended.run.id], settings(tmp_path), tmp_path / "one.zip").path
    told = json.loads(members(path)["results.json"])["runs"][0]["unused"]
    assert told == {"input_tokens": 36, "output_tokens": 21, "cost_usd": pytest.approx(0.006)}
    assert verify(path).faults == ()

    def cheaper(records):
        next(record for record in records if "unused_cost_usd" in record)["unused_cost_usd"] = 0.0

    changed = altered(path, lambda inside: in_lines(inside, f"runs/{ended.run.id}/replies.jsonl", cheaper))
    assert any("unused" in fault for fault in verify(changed).faults)


@pytest.mark.parametrize("limit", [{"max_cost_usd": 0.02}, {"max_total_tokens": 190}])
def test_budgets_count_all_that_was_spent(limit, tmp_path):
    """Ten replies use the budget up, though half of them are of no use; a few are under way by then."""
    bodies = chain.from_iterable(repeat([EMPTY, WHOLE]))
    with saying(bodies) as url:
        outcome = start(plan(url, tmp_path, **limit), settings(tmp_path), retry=Retry(most=1, first_s=0.0))
    result = outcome.evaluation.results[0]
    assert result.run.stopped
    tally = result.tally
    assert tally.unused.cost_usd
    assert 0.02 <= tally.cost_usd + tally.unused.cost_usd <= 0.03
