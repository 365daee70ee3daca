"""Reports as Markdown: tables keep their columns and no text becomes mark-up."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_examples import NOW, glue, many_tasks, one, result, run, score, stopped, three
from report_examples import estimate as made

from proctor.findings import Evaluation
from proctor.report import render
from proctor.report.blocks import Listing, Page, Paragraph
from proctor.report.markdown import safe, to_markdown


def markdown(evaluation: Evaluation) -> str:
    return render(evaluation, "md", now=NOW)


def tables(text: str) -> list[list[list[str]]]:
    """The tables as GitHub would read them: cells between pipes that no backslash precedes."""
    found: list[list[list[str]]] = [[]]
    for line in text.split("\n"):
        if line.startswith("| "):
            found[-1].append([cell.strip() for cell in re.split(r"(?<!\\)(?:\\\\)*\|", line)[1:-1]])
        elif found[-1]:
            found.append([])
    return found[:-1] if not found[-1] else found


@pytest.mark.parametrize("evaluation", [one(), three(), glue(), many_tasks(3), one(stopped())])
def test_every_row_of_a_table_has_its_columns(evaluation: Evaluation) -> None:
    read = tables(markdown(evaluation))
    assert len(read) >= 4
    for table in read:
        assert {len(row) for row in table} == {len(table[0])}
        assert all(re.fullmatch("-{3}:?", cell) for cell in table[1])


@pytest.mark.slow
@given(st.text(max_size=40), st.text(max_size=40))
def test_no_name_breaks_a_table_or_a_heading(model: str, title: str) -> None:
    plain, odd = _two_tasks("m", "t"), _two_tasks(model, title)
    assert [len(table) for table in tables(odd)] == [len(table) for table in tables(plain)]
    assert [len(table[0]) for table in tables(odd)] == [len(table[0]) for table in tables(plain)]
    assert re.findall("^#+ ", odd, re.M) == re.findall("^#+ ", plain, re.M)
    for table in tables(odd):
        assert {len(row) for row in table} == {len(table[0])}


def _two_tasks(model: str, title: str) -> str:
    of = run(model, ident="m0000000-run", source_title=title)
    return markdown(
        one(result(of, [score(made(), title=title, task="a"), score(made(), title=model, task="b")]))
    )


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("a|b", "a\\|b"),
        ("<script>", "&lt;script&gt;"),
        ("![x](http://tracker)", "![x\\](http://tracker)"),
        ("[0.508, 0.595]", "[0.508, 0.595]"),
        ("no_answer qwen2.5_7b", "no_answer qwen2.5_7b"),
        ("_em_ *b* `c` ~~d~~", "\\_em\\_ \\*b\\* \\`c\\` \\~\\~d\\~\\~"),
        ("a\\|b", "a\\\\\\|b"),
        ("&lt;", "&amp;lt;"),
        ("two\nlines", "two lines"),
    ],
)
def test_markup_is_escaped_and_the_rest_left_alone(text: str, written: str) -> None:
    assert safe(text) == written


def test_a_hostile_name_is_no_html() -> None:
    text = markdown(one(result(run("<script>alert(1)</script>|</table>"))))
    assert "<" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;\\|&lt;/table&gt;" in text


@pytest.mark.parametrize(
    ("said", "written"),
    [("1. first", "1\\. first"), ("# head", "\\# head"), ("- item", "\\- item"), ("12 rows", "12 rows")],
)
def test_a_paragraph_never_begins_like_a_list_or_a_heading(said: str, written: str) -> None:
    page = Page("t", said, (Paragraph(said), Listing((said,))))
    assert to_markdown(page) == f"# t\n\n{written}\n\n{written}\n\n- {written}\n"


def test_both_formats_hold_the_same_figures() -> None:
    """What stands in the tables of one stands in those of the other."""
    html = render(three(), "html", now=NOW)
    for table in tables(markdown(three())):
        for cell in (cell for row in table[2:] for cell in row):
            assert cell.replace("\\", "") in html
