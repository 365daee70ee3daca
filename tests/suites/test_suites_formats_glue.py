"""GLUE's tables are told apart by their columns and give rows with the right labels."""

from __future__ import annotations

import re

import pytest
from import_files import imported, run, stored, tsv, what, write_all

from proctor.sources.exams.rows.normal_form import read_manifest

PAIR = ("index", "sentence1", "sentence2", "label")
MNLI_HEADER = (
    *("index", "promptID", "pairID", "genre", "sentence1_binary_parse", "sentence2_binary_parse"),
    *("sentence1_parse", "sentence2_parse", "sentence1", "sentence2"),
)
STSB_HEADER = (
    *("index", "genre", "filename", "year", "old_index", "source1", "source2"),
    *("sentence1", "sentence2", "score"),
)
ANNOTATORS = tuple(f"label{n}" for n in range(1, 6))


def mnli_line(index, premise, hypothesis, gold, split=5):
    parses = ("( a )", "( b )", "(ROOT a)", "(ROOT b)")
    return (str(index), "1", "1n", "letters", *parses, premise, hypothesis, *["neutral"] * split, gold)


FILES = {
    "cola": (
        "CoLA/dev.tsv",
        tsv(("gj04", "1", "", 'He said "so.'), ("gj04", "0", "*", "Sang she yesterday.")),
        [
            ("cola/0", "acceptable", {"sentence": 'He said "so.'}),
            ("cola/1", "unacceptable", {"sentence": "Sang she yesterday."}),
        ],
    ),
    "sst2": (
        "SST-2/dev.tsv",
        tsv(("sentence", "label"), ("a fine film ", "1"), ("ca n't sit through it ", "0")),
        [
            ("sst2/0", "positive", {"sentence": "a fine film "}),
            ("sst2/1", "negative", {"sentence": "ca n't sit through it "}),
        ],
    ),
    "mrpc": (
        "MRPC/dev.tsv",
        "\ufeff"
        + tsv(
            ("Quality", "#1 ID", "#2 ID", "#1 String", "#2 String"),
            ("1", "11", "12", 'He said "yes', "He agreed"),
            ("0", "13", "14", "It rose", "It fell"),
        ),
        [
            ("mrpc/0", "equivalent", {"sentence1": 'He said "yes', "sentence2": "He agreed"}),
            ("mrpc/1", "not_equivalent", {"sentence1": "It rose", "sentence2": "It fell"}),
        ],
    ),
    "qqp": (
        "x/dev.tsv",
        tsv(
            ("id", "qid1", "qid2", "question1", "question2", "is_duplicate"),
            ("201", "7", "8", "Why rain?", "Why does it rain?", "1"),
            ("202", "9", "10", "Why rain?", "Why snow?", "0"),
        ),
        [
            ("qqp/0", "duplicate", {"question1": "Why rain?", "question2": "Why does it rain?"}),
            ("qqp/1", "not_duplicate", {"question1": "Why rain?", "question2": "Why snow?"}),
        ],
    ),
    "stsb": (
        "STS-B/dev.tsv",
        tsv(
            STSB_HEADER,
            ("0", "news", "f", "2012", "4", "s", "s", "A man cooks.", "A man is cooking.", "5.000"),
            ("1", "news", "f", "2012", "5", "s", "s", "A man cooks.", "A dog.", "0.250"),
            ("2", "news", "f", "2012", "6", "s", "s", "A man cooks.", "A cook.", "3.8"),
        ),
        [
            ("stsb/0", "5", {"sentence1": "A man cooks.", "sentence2": "A man is cooking."}),
            ("stsb/1", "0.25", {"sentence1": "A man cooks.", "sentence2": "A dog."}),
            ("stsb/2", "3.8", {"sentence1": "A man cooks.", "sentence2": "A cook."}),
        ],
    ),
    "qnli": (
        "anything/dev.tsv",
        tsv(
            ("index", "question", "sentence", "label"),
            ("0", "Who?", 'An "odd quote', "not_entailment"),
            ("1", "Who?", "Ann did.", "entailment"),
        ),
        [
            ("qnli/0", "not_entailment", {"question": "Who?", "sentence": 'An "odd quote'}),
            ("qnli/1", "entailment", {"question": "Who?", "sentence": "Ann did."}),
        ],
    ),
    "rte": (
        "dev.tsv",
        tsv(
            PAIR,
            ("0", "It rains.", "It is wet.", "entailment"),
            ("1", "It rains.", "Snow.", "not_entailment"),
        ),
        [
            ("rte/0", "entailment", {"sentence1": "It rains.", "sentence2": "It is wet."}),
            ("rte/1", "not_entailment", {"sentence1": "It rains.", "sentence2": "Snow."}),
        ],
    ),
    "wnli": (
        "dev.tsv",
        tsv(
            PAIR, ("0", "The cup fell on it.", "The cup broke.", "0"), ("1", "Ann saw her.", "Ann saw.", "1")
        ),
        [
            ("wnli/0", "not_entailment", {"sentence1": "The cup fell on it.", "sentence2": "The cup broke."}),
            ("wnli/1", "entailment", {"sentence1": "Ann saw her.", "sentence2": "Ann saw."}),
        ],
    ),
    "ax": (
        "diagnostic-full.tsv",
        tsv(
            ("Lexical Semantics", "Logic", "Domain", "Premise", "Hypothesis", "Label"),
            ("", "Negation", "News", "No cat ran.", "A cat ran.", "contradiction"),
            ("x", "", "News", "A cat ran.", "An animal ran.", "entailment"),
        ),
        [
            ("ax/0", "contradiction", {"premise": "No cat ran.", "hypothesis": "A cat ran."}),
            ("ax/1", "entailment", {"premise": "A cat ran.", "hypothesis": "An animal ran."}),
        ],
    ),
}


@pytest.mark.parametrize("task", FILES)
def test_each_table_gives_its_rows(tmp_path, task):
    name, body, rows = FILES[task]
    report, home = imported(tmp_path, {name: body})
    assert (report.failed, report.skipped) == ((), ())
    assert what(report) == {(task, "eval"): len(rows)}
    assert stored(home, task) == rows


@pytest.mark.parametrize("ending", ["\r\n", "\n"])
def test_line_ends_and_a_last_line_without_one(tmp_path, ending):
    body = tsv(PAIR, ("0", "a", "b", "entailment"), ("1", "c\u2028d\x85", "e", "entailment")).rstrip("\n")
    _, home = imported(tmp_path, {"RTE/train.tsv": body.replace("\n", ending)})
    assert [row[2] for row in stored(home, "rte", "dev")] == [
        {"sentence1": "a", "sentence2": "b"},
        {"sentence1": "c\u2028d\x85", "sentence2": "e"},
    ]


def test_the_halves_of_mnli_are_one_split(tmp_path):
    files = {
        "MNLI/dev_matched.tsv": tsv(
            (*MNLI_HEADER, *ANNOTATORS, "gold_label"), mnli_line(0, "p", "h", "contradiction")
        ),
        "MNLI/dev_mismatched.tsv": tsv(
            (*MNLI_HEADER, *ANNOTATORS, "gold_label"), mnli_line(0, "p", "h", "entailment")
        ),
        "MNLI/train.tsv": tsv(
            (*MNLI_HEADER, "label1", "gold_label"), mnli_line(0, "p", "h", "entailment", split=1)
        ),
        "MNLI/test_matched.tsv": tsv(MNLI_HEADER, mnli_line(0, "p", "h", "", split=0)[:-1]),
    }
    report, home = imported(tmp_path, files)
    assert what(report) == {("mnli", "eval"): 2, ("mnli", "dev"): 1}
    assert stored(home, "mnli") == [
        ("mnli/m-0", "contradiction", {"premise": "p", "hypothesis": "h", "half": "m"}),
        ("mnli/mm-0", "entailment", {"premise": "p", "hypothesis": "h", "half": "mm"}),
    ]
    assert stored(home, "mnli", "dev") == [
        ("mnli/0", "entailment", {"premise": "p", "hypothesis": "h", "half": "m"})
    ]
    assert [name for name, _ in report.skipped] == ["MNLI/test_matched.tsv"]


def test_halves_imported_one_after_the_other_are_joined(tmp_path):
    header = (*MNLI_HEADER, *ANNOTATORS, "gold_label")
    write_all(tmp_path, {"a/dev_mismatched.tsv": tsv(header, mnli_line(0, "p", "h", "entailment"))})
    write_all(tmp_path, {"b/dev_matched.tsv": tsv(header, mnli_line(0, "q", "h", "neutral"))})
    home = tmp_path / "home"
    run(tmp_path / "a", home)
    report = run(tmp_path / "b", home)
    assert what(report) == {("mnli", "eval"): 2}
    assert [row[0] for row in stored(home, "mnli")] == ["mnli/m-0", "mnli/mm-0"]
    assert read_manifest(home, "mnli", "eval").source == ("dev_mismatched.tsv", "dev_matched.tsv")
    assert not run(tmp_path / "a", home).imported[0].changed


def test_the_two_parts_of_wnli_make_the_split_and_one_alone_is_a_part(tmp_path):
    part = tsv(("0", "Ann saw Bo.", "Bo saw.", "0"), ("2", "Bo ran.", "Ann ran.", "1"))
    rest = tsv(PAIR, ("1", "Ann fell.", "Bo fell.", "1"))
    home = tmp_path / "home"
    report = run(write_all(tmp_path / "wnli", {"train_15pct.tsv": part}) / "train_15pct.tsv", home)
    assert what(report) == {("wnli", "dev"): 2}
    assert "has 2 rows, the official set 635" in report.warnings[0]
    report = run(write_all(tmp_path / "wnli", {"train_85pct.tsv": rest}), home)
    assert what(report) == {("wnli", "dev"): 3}
    assert [row[:2] for row in stored(home, "wnli", "dev")] == [
        ("wnli/0", "not_entailment"),
        ("wnli/1", "entailment"),
        ("wnli/2", "entailment"),
    ]


def test_mrpc_from_its_authors_needs_the_ids_of_glue(tmp_path):
    header = ("Quality", "#1 ID", "#2 ID", "#1 String", "#2 String")
    pairs = "\ufeff" + tsv(header, ("1", "11", "12", "a", "b"), ("0", "13", "14", "c", 'd "'))
    report, _ = imported(tmp_path, {"msr_paraphrase_train.txt": pairs, "msr_paraphrase_test.txt": pairs})
    assert report.imported == ()
    reasons = dict(report.skipped)
    assert "dev_ids.tsv of GLUE is missing" in reasons["msr_paraphrase_train.txt"]
    assert "test pairs" in reasons["msr_paraphrase_test.txt"]
    report, home = imported(tmp_path, {"dev_ids.tsv": tsv(("13", "14"))})
    assert what(report) == {("mrpc", "eval"): 1, ("mrpc", "dev"): 1}
    assert stored(home, "mrpc") == [("mrpc/0", "not_equivalent", {"sentence1": "c", "sentence2": 'd "'})]


def test_the_labelled_diagnostics_win_over_those_without_labels(tmp_path):
    plain = tsv(("index", "sentence1", "sentence2"), ("0", "No cat ran.", "A cat ran."))
    full = tsv(("Premise", "Hypothesis", "Label"), ("No cat ran.", "A cat ran.", "contradiction"))
    report, home = imported(tmp_path, {"diagnostic/a.tsv": plain})
    assert stored(home, "ax")[0][:2] == ("ax/0", None)
    assert "has no answers" in report.warnings[-1]
    report, home = imported(tmp_path, {"diagnostic/b.tsv": full})
    assert what(report) == {("ax", "eval"): 1}
    assert stored(home, "ax")[0][:2] == ("ax/0", "contradiction")
    assert report.skipped == (("diagnostic/a.tsv", "without answers; diagnostic/b.tsv has them"),)


@pytest.mark.parametrize(
    ("name", "body", "reason"),
    [
        ("RTE/test.tsv", tsv(PAIR[:3], ("0", "a", "b")), "hidden test split"),
        ("SST-2/test.tsv", tsv(("index", "sentence"), ("0", "a")), "hidden test split"),
        ("RTE/some.tsv", tsv(PAIR, ("0", "a", "b", "entailment")), "does not say which split"),
        ("RTE/dev.tsv", tsv(PAIR, ("0", "a", "b", "1")), "the names say rte, the labels (1) say wnli"),
        ("SNLI/dev.tsv", tsv(("index", "captionID", "gold_label"), ("0", "c", "x")), "SNLI"),
        ("x.txt", tsv(("promptID", "pairID"), ("1", "2")), "MultiNLI as its authors publish it"),
        ("in_domain_dev.tsv", tsv(("gj", "1", "", "He ran.")), "one half of CoLA"),
        ("notes.txt", "words", "not a CSV"),
        ("table.tsv", tsv(("a", "b"), ("1", "2")), "a table of no known set (columns a, b)"),
        ("dev_ids.tsv", tsv(("1", "2")), "msr_paraphrase_train.txt is not beside it"),
    ],
)
def test_other_tables_are_skipped_with_a_reason(tmp_path, name, body, reason):
    report, _ = imported(tmp_path, {name: body})
    assert (report.imported, report.failed) == ((), ())
    assert reason in report.skipped[0][1]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (tsv(PAIR, ("0", "a", "b", "entailment"), ("1", "a")), r"dev\.tsv, line 3: 2 cells; .* names 4"),
        (tsv(PAIR, ("0", "a", " ", "entailment")), r"line 2: no text in 'sentence2'"),
        (tsv(PAIR, ("0", "a", "b", "entailment"), ("0", "c", "d", "entailment")), "index 0 stands in line 2"),
        (tsv(PAIR, ("x", "a", "b", "entailment")), "index is 'x'"),
        (tsv(PAIR, ("0", "a", "b", "entailment"), ("1", "c", "d", "")), "line 3: the answer is ''"),
        (tsv(PAIR), "no rows below the header"),
    ],
)
def test_a_damaged_table_is_named_with_its_line(tmp_path, body, message):
    report, _ = imported(tmp_path, {"RTE/dev.tsv": body})
    assert re.search(message, report.failed[0][1])


def test_broken_lines_of_qqp_are_left_out_and_told(tmp_path):
    header = ("id", "qid1", "qid2", "question1", "question2", "is_duplicate")
    good = ("1", "2", "3", "Why rain?", "Why snow?", "0")
    report, _ = imported(tmp_path, {"train.tsv": tsv(header, good, ("4", "5", "6", "Why"), good)})
    assert what(report) == {("qqp", "dev"): 2}
    assert report.warnings[0] == "train.tsv: 1 broken lines were left out (3)."
    report, _ = imported(tmp_path, {"train.tsv": tsv(header, good, *[("4", "5")] * 11)})
    assert "line 3: 2 cells" in report.failed[0][1]
