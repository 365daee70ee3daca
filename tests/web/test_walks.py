"""How a page shows a pair's walk: what is drawn, what is said, and the table that says the same without scripts."""

from __future__ import annotations

import json
import re

import pytest

from proctor.findings.looks import Decision, Path, PathEnd, PathPoint
from proctor.stats.sequential.walks import replayed
from proctor.web.render import templates
from proctor.web.walks import walked, walks_in

N = 200


def path(ahead: int = 1, discordant: int = 1, *, shown: int = N) -> Path:
    """A pair of which the first alone is right in `ahead` of every ten items, the second in `discordant` less these."""
    signs = [1.0] * ahead + [-1.0] * (discordant - ahead)
    looks = (
        (t, [signs[i % 10] for i in range(t - 2, t) if i % 10 < discordant]) for t in range(2, shown + 1, 2)
    )
    return replayed(looks, N, exact=True)


def drawn(*paths: Path, waits: tuple[str, ...] = ()) -> str:
    walks = [walked("large", "small", each) for each in paths]
    return templates().get_template("_walks.html").render(walks=walks, waits=waits)


@pytest.mark.promise("X-07")
def test_the_picture_and_the_table_have_every_look_of_the_path() -> None:
    of = path(8, 10)
    assert of.ended == "decided" and 5 < len(of.points) < 100
    page = drawn(of)
    chart = json.loads(re.findall(r'<script type="application/json" id="walk-1">(.*?)</script>', page)[0])
    assert chart["points"] == [[point.items, point.walk, point.boundary] for point in of.points]
    assert chart["of"] == N and chart["ended"] == "decided"
    rows = re.findall(r'<th scope="row" class="num">([\d,]+)</th>\s*<td class="num">(-?\d+)</td>', page)
    assert rows == [(f"{point.items}", f"{point.walk:.0f}") for point in reversed(of.points)]


def test_what_was_not_asked_is_counted_and_the_words_say_who_leads() -> None:
    of = path(8, 10)
    page = " ".join(drawn(of).split())
    assert f"After {of.items} of 200 items large is ahead by {of.points[-1].walk:.0f} items" in page
    assert f"The other {N - of.items} were not needed." in page
    assert "How the verdict came about" in page
    turned = " ".join(drawn(path(2, 10)).split())
    assert "small is ahead by" in turned


def test_a_pair_at_work_is_open_and_says_what_holds_it_up() -> None:
    page = " ".join(drawn(path(6, 10, shown=60), waits=("item 21 of small is asked again",)).split())
    assert "not decided yet" in page and "would decide it." in page and "were not needed" not in page
    assert "How the verdict comes about" in page
    assert "item 21 of small is asked again.</p>" in page


ENDS: list[tuple[PathEnd, str]] = [
    ("futile", "ended: no difference shown"),
    ("whole", "asked to the end"),
    ("open", "not decided yet"),
]


@pytest.mark.parametrize(("ended", "chip"), ENDS)
def test_each_end_has_its_words(ended: PathEnd, chip: str) -> None:
    points = (PathPoint(100, 0.0, None), PathPoint(N, 3.5, 20.25))
    page = " ".join(drawn(Path(N, points, ended, 0.05, 0.4, 2.2, "sign-flip walk")).split())
    assert f">{chip}</span>" in page
    assert "large is ahead by 3.5 points; 20.2 would" in page


def test_before_the_first_look_the_page_says_what_it_waits_for() -> None:
    page = drawn(Path(N, (), "open", 0.05, 1.0, None, "sign walk"))
    assert "Nothing to look at yet: both have to answer a hundredth of the 200 items first." in page


def test_names_of_models_stay_text() -> None:
    hostile = walked("</script><script>alert(1)</script>", "b", path())
    page = templates().get_template("_walks.html").render(walks=[hostile], waits=())
    assert "<script>alert" not in page


def test_of_many_pairs_six_are_drawn_and_all_have_their_table_with_those_of_the_run_first() -> None:
    names = {ident: f"model-{ident}" for ident in "abcdef"}
    pairs = {(one, other): path() for one in names for other in names if one < other}
    walks = walks_in(Decision(pairs), names, "f")
    assert {"model-f" in (each.first, each.second) for each in walks[:5]} == {True}
    page = templates().get_template("_walks.html").render(walks=walks, waits=())
    assert page.count("data-chart=") == 6 and page.count("<summary>Every look:") == 15
