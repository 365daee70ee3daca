"""Reports as HTML: well-formed, self-contained, legible, and no text can become mark-up."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_examples import (
    MANIFEST,
    NOW,
    glue,
    many_tasks,
    one,
    result,
    run,
    stopped,
    tally,
    three,
    two_suites,
)

from proctor.findings import Evaluation
from proctor.report import render
from proctor.report.blocks import plain
from proctor.report.style import CSS, DARK, LIGHT
from proctor.types import Status

VOID = {"meta", "br", "hr", "img", "input", "link", "wbr"}
HOSTILE = "<script>alert('x')</script>\"><img src=x onerror=alert(1)> & \x00\u202e"


class Parsed(HTMLParser):
    """The tags in order, the attributes, and the text; complains of what is not closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str | None]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == [], f"never closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in {"line", "circle"}, f"<{tag}/> closes itself only inside SVG"
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag, f"</{tag}> closes another tag"

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def html(evaluation: Evaluation) -> str:
    return render(evaluation, "html", now=NOW)


EVALUATIONS = {
    "one run": one(),
    "three runs": three(),
    "several metrics": glue(),
    "two suites": two_suites(),
    "57 tasks": many_tasks(),
    "57 tasks of three": many_tasks(3),
    "failed": one(stopped()),
    "nothing scored": one(result(scores=[])),
    "no runs": Evaluation("", (), (), ""),
}
each = pytest.mark.parametrize("evaluation", EVALUATIONS.values(), ids=EVALUATIONS)


@each
def test_every_tag_is_closed_in_order(evaluation: Evaluation) -> None:
    parsed = Parsed(html(evaluation))
    assert parsed.tags[:2] == ["html", "head"]
    assert ("html", "lang", "en") in parsed.attributes


@each
def test_nothing_is_fetched_and_nothing_runs(evaluation: Evaluation) -> None:
    text = html(evaluation)
    parsed = Parsed(text)
    assert not {"script", "link", "img", "iframe", "object", "base", "form", "a"} & set(parsed.tags)
    names = {name for _, name, _ in parsed.attributes}
    assert not {"src", "href", "srcset", "action", "style", "xmlns", "xlink:href"} & names
    assert not [name for name in names if name.startswith("on")]
    assert "url(" not in text
    assert "@import" not in text


@each
def test_headings_come_in_order(evaluation: Evaluation) -> None:
    levels = [tag for tag in Parsed(html(evaluation)).tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == "h1"
    assert set(levels[1:]) <= {"h2"}


@each
def test_every_row_has_a_cell_for_every_head(evaluation: Evaluation) -> None:
    for table in re.findall(r"<table>.*?</table>", html(evaluation), re.S):
        heads = table.count('<th scope="col"')
        rows = re.findall(r"<tbody>.*</tbody>", table, re.S)[0].split("</tr>")[:-1]
        assert rows
        assert {row.count("<td") + row.count('<th scope="row"') for row in rows} == {heads}


@each
def test_ids_are_unique_and_the_plot_is_named_by_them(evaluation: Evaluation) -> None:
    attributes = Parsed(html(evaluation)).attributes
    ids = [value for _, name, value in attributes if name == "id"]
    assert len(ids) == len(set(ids))
    named = [value or "" for _, name, value in attributes if name == "aria-labelledby"]
    assert {word for value in named for word in value.split()} <= set(ids)


@pytest.mark.parametrize(
    "where", ["model", "source", "error", "stopped", "manifest", "verdict", "task", "slug"]
)
def test_a_hostile_text_stays_text(where: str) -> None:
    clean, foul = html(_said("harmless", where)), html(_said(HOSTILE, where))
    assert Parsed(clean).tags == Parsed(foul).tags
    assert "alert(" in "".join(Parsed(foul).words)
    assert "<script" not in foul
    assert "<img" not in foul
    assert "\x00" not in foul
    assert "\u202e" not in foul


def _said(text: str, where: str) -> Evaluation:
    """A report of two runs in which `text` stands at one place that others control."""
    bad = stopped(
        error=text if where == "error" else "no route", stopped=text if where == "stopped" else None
    )
    bad = replace(bad, tally=tally(errors={text if where == "slug" else "network": 3}))
    manifest = (
        {**MANIFEST, "model": {"note": text}, text: {text: [text]}} if where == "manifest" else MANIFEST
    )
    good = result(
        run(
            text if where == "model" else "good",
            ident="good",
            source_title=text if where == "source" else "BoolQ",
            manifest=manifest,
        )
    )
    if where == "task":
        title = replace(good.scores[0], title=text, metric=text)
        good = replace(good, scores=(title, title))
    return Evaluation("p", (good, bad), (), text if where == "verdict" else "Undecided.")


@given(st.text(min_size=1, max_size=60))
def test_any_text_is_shown_as_it_is(text: str) -> None:
    parsed = Parsed(html(one(result(run("m", status=Status.FAILED, error=f"said {text} end")))))
    assert plain(f"said {text} end") in "".join(parsed.words)


def test_half_a_surrogate_pair_can_be_written_to_a_file() -> None:
    assert html(one(result(run("bad \ud800 name")))).encode("utf-8")


def test_tables_scroll_in_a_box_that_the_keyboard_reaches() -> None:
    text = html(three())
    assert text.count("<table>") == text.count('<div class="box" role="region" aria-label=')
    assert len(re.findall(r'<div class="box"[^>]* tabindex="0">', text)) == text.count("<table>")
    assert "overflow-x: auto" in CSS


def test_all_of_57_tasks_have_their_row() -> None:
    text = html(many_tasks())
    for i in range(57):
        assert f"MMLU: Subject {i}</th>" in text
        assert f'{0.4 + i / 100:.3f}</td><td class="number">[0.300, 0.950]' in text


def test_the_plot_says_its_numbers_in_words() -> None:
    text = html(three())
    description = re.findall(r'<desc id="plot-text">(.*?)</desc>', text)[0]
    assert "ollama/qwen2.5:7b-instruct: 0.800 [0.763, 0.833]" in description
    assert text.count('<circle class="dot"') == 3
    assert "The axis shows a part of the range from 0 to 1." in text


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize(
    ("ink", "paper"),
    [
        ("ink", "paper"),
        ("quiet", "paper"),
        ("ink", "warning-paper"),
        ("warning", "warning-paper"),
        ("ink", "verdict-paper"),
    ],
)
def test_text_has_the_contrast_that_wcag_asks_for(palette: dict[str, str], ink: str, paper: str) -> None:
    assert contrast(palette[ink], palette[paper]) >= 4.5


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_the_plot_has_the_contrast_that_wcag_asks_of_graphics(palette: dict[str, str]) -> None:
    assert contrast(palette["accent"], palette["paper"]) >= 3


def contrast(one_colour: str, other: str) -> float:
    """WCAG 2.2, relative luminance and contrast ratio.

    >>> contrast("#000000", "#ffffff")
    21.0
    """
    dark, light = sorted(map(luminance, (one_colour, other)))
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_every_colour_and_class_of_the_page_is_defined() -> None:
    assert set(re.findall(r"var\(--([\w-]+)\)", CSS)) <= LIGHT.keys()
    assert LIGHT.keys() == DARK.keys()
    text = html(Evaluation("p", (result(), stopped()), (), "Undecided."))
    classes = {c for value in re.findall(r'class="([^"]+)"', text) for c in value.split()}
    assert classes <= set(re.findall(r"\.([a-z]+)", CSS))
