"""Reports as LaTeX: every group is closed, every cell has its column, and no text can become a command."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from latex_reader import read
from report_examples import (
    NOW,
    glue,
    many_tasks,
    one,
    result,
    run,
    score,
    stopped,
    table_named,
    three,
    two_suites,
)
from report_examples import estimate as made

from proctor.findings import Evaluation
from proctor.report import render
from proctor.report.blocks import Heading, Listing, Notice, Page, Paragraph, Table, plain
from proctor.report.latex import PACKAGES, to_latex
from proctor.report.latex_letters import safe
from proctor.types import Status


def latex(evaluation: Evaluation) -> str:
    return render(evaluation, "latex", now=NOW)


EVALUATIONS = {
    "one run": one(),
    "three runs": three(),
    "several metrics": glue(),
    "two suites": two_suites(),
    "57 tasks of three": many_tasks(3),
    "failed": one(stopped()),
    "nothing scored": one(result(scores=[])),
    "no runs": Evaluation("", (), (), ""),
}
each = pytest.mark.parametrize("evaluation", EVALUATIONS.values(), ids=EVALUATIONS)


@each
def test_every_group_and_environment_is_closed(evaluation: Evaluation) -> None:
    read(latex(evaluation))


@each
def test_every_row_has_a_cell_for_every_column(evaluation: Evaluation) -> None:
    found = read(latex(evaluation))
    for columns, rows in zip(found.columns, found.rows, strict=True):
        assert rows
        assert {len(row) for row in rows} == {columns}


@each
def test_the_document_is_ascii_and_needs_only_the_packages_it_names(evaluation: Evaluation) -> None:
    text = latex(evaluation)
    assert text.isascii()
    assert tuple(re.findall(r"\\usepackage(?:\[[^]]*\])?\{(\w+)\}", text)) == PACKAGES
    assert (
        f"% Packages, all of them in TeX Live's basic and recommended collections: {', '.join(PACKAGES)}."
        in text
    )
    assert text.startswith("% ")
    assert text.index(r"\documentclass") < text.index(r"\begin{document}") < text.index(r"\maketitle")
    assert text.endswith("\\end{document}\n")


def test_all_blocks_are_in_it_and_the_plot_stands_as_its_table() -> None:
    shown = read(latex(three())).shown
    for part in (
        "Verdict. ollama/qwen2.5:7b-instruct is better than ollama/llama3.1:8b",
        "Score of each model",
        "0.763, 0.833",
        "Every pair of models by accuracy",
        "-0.014, 0.050",
        "(Wilson 1927)",
        "Tango, T. (1998). Equivalence test",
        "Record of",
    ):
        assert part in shown.replace("  ", " ")
    assert "interval plot of the HTML report is left out" in latex(three())
    assert "picture" not in latex(three())


def test_all_of_57_tasks_have_their_row() -> None:
    shown = read(latex(many_tasks(3))).shown
    assert [f"MMLU: Subject {i} " in shown for i in range(57)] == [True] * 57


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("no_answer & 50 %", r"no\_answer \& 50 \%"),
        ("#1 ~ ^ {x}", r"\#1 \textasciitilde{} \textasciicircum{} \{x\}"),
        ("\\input{/etc/passwd}", r"\textbackslash{}input\{/\allowbreak{}etc/\allowbreak{}passwd\}"),
        ("a < b > c | d", r"a \textless{} b \textgreater{} c \textbar{} d"),
        ('"x" `y` $5', r"\textquotedbl{}x\textquotedbl{} \textasciigrave{}y\textasciigrave{} \$5"),
        ("--format ''a'' ,,b", r"-{}-format '{}'a'{}' ,{},b"),
        ("---", "-{}-{}-"),
        ("[0.1]", "{}[0.1]"),
        ("* a", "{}* a"),
        ("-0.014", r"\textminus{}0.014"),
        ("[-0.014, -1.000]", r"{}[\textminus{}0.014, \textminus{}1.000]"),
        ("2025-11-20 top-5 a-1", "2025-11-20 top-5 a-1"),
        ("na\u00efve \u0141\u00f3d\u017a \u00df", r"na\"{i}ve \L{}\'{o}d\'{z} \ss{}"),
        ("e\u0301", r"\'{e}"),
        ("\u03b1 \u2264 \u00bd", r"\ensuremath{\alpha} \ensuremath{\leq} \textonehalf{}"),
        (
            "\u201ca\u201d \u2013 b\u2026",
            r"\textquotedblleft{}a\textquotedblright{} \textendash{} b\textellipsis{}",
        ),
        ("\u4e2d\U0001f600", "{}[U+4E2D][U+1F600]"),
        ("a\u202eb\u00ad", "a[U+FFFD]b[U+00AD]"),
        ("one\nline", "one line"),
        ("", ""),
    ],
)
def test_text_is_escaped(text: str, written: str) -> None:
    assert safe(text) == written


@given(st.text(max_size=80))
def test_any_text_stays_text(text: str) -> None:
    blocks = (
        Heading(text),
        Paragraph(text),
        Notice("warning", text, text),
        Listing((text, text)),
        Table(text, (text, "n"), ((text, text), (text, "1")), frozenset({1})),
    )
    written = to_latex(Page(text, text, blocks))
    assert written.isascii()
    found = read(written)
    assert (found.columns, [len(rows) for rows in found.rows]) == ([2], [2])


@given(st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126), max_size=80))
def test_ascii_is_shown_as_it_is(text: str) -> None:
    page = Page("t", "s", (Paragraph(f"begin {text} end"),))
    assert plain(f"begin {text} end") in read(to_latex(page)).shown


HOSTILE = "\\input{/etc/passwd} \\end{document} %} & \\\\ $x$ \\write18{rm} ^^5cend{document}"


@pytest.mark.parametrize("where", ["model", "error", "verdict", "task"])
def test_a_hostile_text_starts_no_command(where: str) -> None:
    bad = stopped(error=HOSTILE if where == "error" else "no route")
    good = result(run(HOSTILE if where == "model" else "good", ident="good"))
    if where == "task":
        title = replace(good.scores[0], title=HOSTILE, metric=HOSTILE)
        good = replace(good, scores=(title, title))
    verdict = HOSTILE if where == "verdict" else "Undecided."
    text = latex(Evaluation("p", (good, bad), (), verdict))
    assert HOSTILE in read(text).shown
    assert r"\write" not in text
    assert r"\input" not in text
    assert text.count(r"\end{document}") == 1


def test_a_hash_may_be_broken_and_a_short_word_may_not() -> None:
    assert safe("9f2c" * 4) == r"9f2c9f2c9f2c\allowbreak{}9f2c"
    assert safe("accuracy_mm") == r"accuracy\_mm"
    assert safe("ollama/a_model_name").startswith(r"ollama/\allowbreak{}a\_\allowbreak{}model")


@pytest.mark.parametrize(
    ("value", "low", "high", "written"),
    [
        (0.9996, 0.9985, 0.99996, "0.999 & {}[0.999, 0.999]"),
        (1.0, 0.8389, 1.0, "1.000 & {}[0.839, 1.000]"),
        (-0.0004, -0.0142, 0.0, r"\textminus{}0.001 & {}[\textminus{}0.014, 0.000]"),
    ],
)
def test_roundings_are_those_of_every_report(value: float, low: float, high: float, written: str) -> None:
    assert f"& {written} &" in latex(one(result(scores=[score(made(value, low, high))])))


def test_a_tiny_p_is_below_a_bound() -> None:
    assert r"\textless{} 0.0001" in latex(two_suites())


def test_a_run_that_failed_is_marked_before_its_score() -> None:
    text = latex(one(result(run("x_1", status=Status.FAILED, settled=3, error="50% lost"))))
    assert text.index(r"\textbf{Not complete: ollama/x\_1.} The run failed: 50\% lost.") < text.index("0.800")


def test_wide_tables_are_set_small_and_narrow_ones_do_not_fill_the_page() -> None:
    wide = tuple("a rather long cell" for _ in range(9))
    page = Page("t", "s", (Table("wide", wide, (wide,)), Table("narrow", ("a", "b"), (("x", "y"),))))
    written = to_latex(page)
    assert r"{\scriptsize" in written
    assert r"{\small" in written
    assert r"\begin{longtable}{L{0.0972}L{0.0972}}" in written


def test_numbers_stand_at_the_right() -> None:
    table = table_named(three(), "Score of each model")
    kinds = re.findall(r"\\begin\{longtable\}\{(.+)\}\n\\caption\{Score of each model\}", latex(three()))[0]
    assert [kind == "R" for kind in re.findall(r"[LR](?=\{)", kinds)] == [
        place in table.numbers for place in range(len(table.heads))
    ]


def test_words_give_way_before_figures_do() -> None:
    heads = ("Task", *("Value", "Interval") * 4, "Verdict")
    row = ("a task whose title has many words", *("0.123", "[-0.123, 0.456]") * 4, "no difference shown")
    page = Page("t", "s", (Table("c", heads, (row,), frozenset(range(1, 9))),))
    shares = [float(share) for share in re.findall(r"[LR]\{([\d.]+)\}", to_latex(page))]
    # 129 letters of the smallest size fill a line; two of each column are the gap.
    for share, text in zip(shares, row, strict=True):
        longest = len(text) if text[0] in "0[" else max(map(len, text.split()))
        assert share * 129 > longest + 1.9, text
    assert sum(shares) <= 1.001
