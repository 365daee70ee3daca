"""Leanings of real judges, told from verdicts that others published, against the figures that are known of them."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import pytest

from proctor.references import PREFERENCE
from proctor.stats.judged.leanings import (
    BothOrders,
    Preferred,
    consistency,
    longer_excess,
    longer_wins,
    position_preference,
)

WORTH: Mapping[str, float] = {"model_a": 1.0, "model_b": 0.0, **PREFERENCE}


@pytest.fixture(scope="module")
def published(shared: Path) -> Path:
    folder = shared / "data" / "open"
    if not folder.is_dir():
        pytest.skip(f"no folder {folder}")
    return folder


def test_the_place_that_judges_of_the_arena_prefer_is_what_their_verdicts_say(published: Path) -> None:
    with (published / "arena_pairs_half0.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    found = {
        judge: position_preference(BothOrders(row["id"], WORTH.get(row[judge], 0.5), None) for row in rows)
        for judge in ("gpt-3.5-turbo", "gpt-4-0125-preview", "claude-3-opus-20240229", "human")
    }
    # gpt-3.5 names model_a in 86 % of all 13,604 pairs; of those that it decides a shade more.
    assert found["gpt-3.5-turbo"].value == pytest.approx(11_702 / 13_576)
    assert found["gpt-3.5-turbo"].low is not None and found["gpt-3.5-turbo"].low > 0.85
    assert found["human"].low is not None and found["human"].high is not None
    assert found["human"].low < 0.5 < found["human"].high
    assert found["gpt-4-0125-preview"].value == pytest.approx(5_411 / 9_818)
    assert found["claude-3-opus-20240229"].value == pytest.approx(3_797 / 9_557)


def test_consistency_and_length_are_those_of_the_judges_that_were_asked_in_both_orders(
    published: Path,
) -> None:
    by_judge: dict[str, list[BothOrders]] = defaultdict(list)
    people, lengths = [], {}
    with (published / "llmbar_natural_manual_gptout.jsonl").open() as file:
        for line in file:
            row = json.loads(line)
            lengths[row["id"]] = len(row["reply_1"]), len(row["reply_2"])
            people.append(Preferred(row["id"], WORTH[row["human"]], *lengths[row["id"]]))
            for judge, said in row["judge"].items():
                given, swapped = (WORTH.get(str(said[order])) for order in ("given", "swapped"))
                by_judge[judge].append(BothOrders(row["id"], given, swapped))
    # Stated of the subsets: the same reply in both orders in 9 to 16 %; over all three 24 of 193.
    assert consistency(by_judge["Falcon/CoT"]).value == pytest.approx(24 / 193)
    assert consistency(by_judge["GPT-4/Vanilla"]).value == pytest.approx(177 / 193)
    leaning = position_preference(by_judge["Falcon/CoT"])
    assert leaning.low is not None and leaning.low > 0.9
    even = position_preference(by_judge["GPT-4/Vanilla"])
    assert even.low is not None and even.high is not None and even.low < 0.5 < even.high
    # People choose the longer reply in 85 of 191 pairs; one judge does in 70 % of those that it decides.
    assert longer_wins(people).value == pytest.approx(85 / 191)
    judge = [
        Preferred(each.pair, each.straight if each.straight == each.swapped else 0.5, *lengths[each.pair])
        for each in by_judge["ChatGPT/CoT"]
        if each.straight is not None and each.swapped is not None
    ]
    told = longer_wins(judge)
    assert told.low is not None and told.low > 0.5
    excess = longer_excess(judge, people)
    assert excess.value == pytest.approx(30 / 189) and excess.low is not None and excess.low > 0
