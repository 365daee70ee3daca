"""Pairs that were tested by their path: the picture, the table, what the methods say, and none of it elsewhere."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_examples import NOW, compared, methods_of, result, run, text_of, three

from proctor.findings import Evaluation
from proctor.findings.looks import Looks, Path, PathEnd, PathPoint
from proctor.report import render, walked
from proctor.report.blocks import PairWalked
from proctor.report.plot import WALK_FOOT, WALK_HEIGHT, WALK_LEFT, WALK_RIGHT, WALK_TOP, WIDTH, walk_svg

SIGNS = "sign walk, spending 0.05 (t/N)^2"
POINTS = (PathPoint(12, 2.0, None), PathPoint(48, 9.0, 16.0), PathPoint(132, 33.0, 31.0))


def path(ended: PathEnd = "decided", points: tuple[PathPoint, ...] = POINTS, test: str = SIGNS) -> Path:
    return Path(1200, points, ended, 0.05, 0.0123, 3.1, test)


def looked_at(of: Path) -> Evaluation:
    pair = compared(run("a"), run("b"), path=of, test=of.test)
    return Evaluation("p", (result(pair.first), result(pair.second)), (pair,), "v")


@pytest.mark.parametrize("form", ["html", "md", "latex"])
def test_every_form_of_the_report_says_how_far_a_pair_had_come(form: str) -> None:
    text = render(looked_at(path()), form, now=NOW)
    caption = "How far each pair's walk had come when it was last looked at"
    assert all(
        words in text for words in (caption[18:], "Items planned", "Answered by both", "Needed to decide")
    )
    row = [line for line in text.splitlines() if "decided" in line and "1,200" in line and "0.012" in line]
    assert row and all(figure in row[-1] for figure in ("132", "33", "31")), text


def test_the_picture_is_in_the_html_report_alone_and_its_caption_says_the_same() -> None:
    html = render(looked_at(path()), "html", now=NOW)
    assert html.count('class="path"') == 1
    assert (
        "ollama/a and ollama/b: After 132 of 1,200 items ollama/a is ahead by 33 items; 31 were enough to decide it."
        in html
    )
    assert 'class="path"' not in render(three(), "html", now=NOW)


places = st.lists(st.tuples(st.floats(-500, 500), st.none() | st.floats(0.1, 500)), min_size=1, max_size=100)


@given(places, st.integers(100, 20_000))
def test_the_drawing_stays_within_its_frame(found: list[tuple[float, float | None]], of: int) -> None:
    points = tuple((of * (i + 1) // 100, walk, bound) for i, (walk, bound) in enumerate(found))
    drawn = walk_svg(PairWalked("a", "b", "said", of, points))
    for listed in re.findall(r'points="([^"]*)"', drawn):
        for place in listed.split():
            x, y = map(float, place.split(","))
            assert WALK_LEFT - 0.1 <= x <= WIDTH - WALK_RIGHT + 0.1
            assert WALK_TOP - 0.1 <= y <= WALK_HEIGHT - WALK_FOOT + 0.1


def test_the_walk_goes_up_where_the_first_leads_and_touches_the_field_where_it_stopped() -> None:
    drawn = walk_svg(PairWalked("a", "b", "said", 1200, tuple((p.items, p.walk, p.boundary) for p in POINTS)))
    line, *_ = re.findall(r'class="path" points="([^"]*)"', drawn)
    heights = [float(place.split(",")[1]) for place in line.split()]
    assert all(below > above for below, above in pairwise(heights))
    edge, *_ = re.findall(r'class="bound-up" points="([^"]*)"', drawn)
    stopped, needed = line.split()[-1], edge.split()[-1]
    assert stopped.split(",")[0] == needed.split(",")[0]
    assert float(stopped.split(",")[1]) <= float(needed.split(",")[1])


def test_a_hostile_name_stays_text_in_the_picture() -> None:
    drawn = walk_svg(PairWalked('<script>"x"', "b&\u202e", "said", 1200, ((12, 1.0, None),)))
    assert "<script>" not in drawn and "b&amp;" in drawn and "\u202e" not in drawn


def test_the_methods_say_how_walks_are_tested_and_only_where_one_was() -> None:
    said = methods_of(looked_at(path()))
    assert walked.LOOKED in said and walked.WALKS["sign walk"] in said
    assert walked.WALKS["sign-flip walk"] not in said and walked.FUTILE not in said
    assert "Lan, K. K. G., DeMets, D. L. (1983)" in text_of(looked_at(path()))
    ended = methods_of(looked_at(path("futile", test="sign-flip walk, spending 0.05 (t/N)^2")))
    assert walked.WALKS["sign-flip walk"] in ended and walked.FUTILE in ended
    assert not [words for words in walked.WORDS if words in methods_of(three())]


def test_the_methods_say_for_how_many_pairs_p_was_adjusted_though_few_are_shown() -> None:
    of = looked_at(path())
    said = methods_of(replace(of, looks=Looks(10, 45)))
    assert "adjusted together for 45 comparisons" in said
    assert "all pairs of the 10 models with a complete run on these items" in said
    assert "adjusted together" not in methods_of(of)
