"""A question that stands in a file more than once is told, and its copies are one cluster."""

from __future__ import annotations

import pytest
from question_files import answered, by_id, source

from proctor.manifest import CopiedRows
from proctor.sources.exams.copied import copies_told, with_copies
from proctor.sources.exams.files.copies import clustered
from proctor.sources.exams.items import cluster_of
from proctor.sources.exams.rows.normal_form import Row
from proctor.sources.exams.source import SuiteSource
from proctor.sources.exams.tables.tasks import suite_named


def clusters(found: SuiteSource) -> dict[str, list[str]]:
    """Cluster -> the ids of its items."""
    groups: dict[str, list[str]] = {}
    for name, item in sorted(by_id(found).items()):
        if item.cluster is not None:
            groups.setdefault(item.cluster, []).append(name)
    return groups


def test_copies_are_one_cluster_and_told_whatever_their_ids(file):
    rows = [{"id": f"i{n}", "question": f" Is it {n % 4}? ", "answer": f"x{n % 4}"} for n in range(10)]
    found = source(file("q.jsonl", rows))
    assert sorted(clusters(found).values()) == [
        ["q/i0", "q/i4", "q/i8"],
        ["q/i1", "q/i5", "q/i9"],
        ["q/i2", "q/i6"],
        ["q/i3", "q/i7"],
    ]
    assert (
        "4 questions stand more than once (10 rows; line 1 and line 5): copies are one cluster, so that they narrow "
        "no interval"
    ) in found.understood
    assert found.facts.copies == CopiedRows(questions=4, rows=10)


def test_options_in_another_order_make_no_other_question(file):
    rows = [
        {"question": "Which?", "choices": ["w", "x", "y"], "answer": "A"},
        {"question": "Which?", "choices": ["y", "x", "w"], "answer": "C"},
        {"question": "Which?", "choices": ["w", "x", "z"], "answer": "A"},
    ]
    found = source(file("q.jsonl", rows))
    assert list(clusters(found).values()) == [["q/0", "q/1"]]
    assert "another answer" not in "".join(found.understood)


def test_copies_with_different_answers_are_told_with_their_places(file):
    rows = [*answered("a", "b", "c"), {"question": "Is it 1?", "answer": "z"}]
    (line,) = [line for line in source(file("q.jsonl", rows)).understood if "more than once" in line]
    assert line.startswith("1 question stands more than once (2 rows; line 2 and line 4)")
    assert line.endswith("; 1 copy has another answer than the first (line 2 and line 4)")


def test_a_file_without_copies_says_nothing_and_has_no_clusters(file):
    found = source(file("q.jsonl", answered("a", "b", "c")))
    assert clusters(found) == {} and found.facts.copies is None
    assert "more than once" not in "".join(found.understood)


def test_a_files_own_clusters_and_copies_are_joined(file):
    """Two passages that share a question are no two independent things."""
    rows = [
        {"question": "a", "answer": "1", "cluster": "p1"},
        {"question": "b", "answer": "2", "cluster": "p1"},
        {"question": "c", "answer": "3", "cluster": "p2"},
        {"question": "b", "answer": "2", "cluster": "p2"},
        {"question": "d", "answer": "4", "cluster": "p3"},
        {"question": "e", "answer": "5"},
        {"question": "d", "answer": "4"},
    ]
    found = source(file("q.jsonl", rows))
    assert list(clusters(found).values()) == [["q/0", "q/1", "q/2", "q/3"], ["q/4", "q/6"]]
    assert "rows hang together by column 'cluster'" in found.understood


def test_a_suites_clusters_keep_their_names_beside_copies(file):
    rows = [
        {"question": f"{n}?", "answer": "ab"[n % 2], "passage": f"p{n // 4}"}
        for n in (0, 1, 2, 3, 4, 5, 6, 7)
    ]
    toml = file(
        "mine.toml",
        '[suite]\nname = "mine"\n[[tasks]]\nkey = "t"\nfile = "t.jsonl"\ncluster = "passage"\nkind = "text"\n',
    )
    file("t.jsonl", rows)
    plain = clusters(source(toml))
    file("t.jsonl", [*rows, {"question": "0?", "answer": "a", "passage": "p9"}])
    joined = clusters(source(toml))
    assert plain.keys() == joined.keys()
    assert sorted(map(len, joined.values())) == [4, 5]


def test_prompts_of_ones_own_are_alike_in_what_they_show(file):
    file("t.jsonl", [{"food": "milk", "answer": "a", "note": f"{n}"} for n in range(3)])
    toml = file(
        "mine.toml",
        '[suite]\nname = "mine"\n[[tasks]]\nkey = "t"\nfile = "t.jsonl"\nprompt = "Where is {food}?"\n'
        'kind = "text"\n',
    )
    found = source(toml)
    assert [len(ids) for ids in clusters(found).values()] == [3]
    assert any(line.startswith("t: 1 question stands more than once (3 rows") for line in found.understood)


@pytest.mark.parametrize("size", [20_000])
def test_chains_of_clusters_take_time_in_proportion(size):
    """Each row shares its question with the next cluster: the longest chain that there can be."""
    keys = [f"q{n // 2}" for n in range(size)]
    names: list[str | None] = [f"c{(n + 1) // 2}" for n in range(size)]
    found, copies = clustered(keys, names, [frozenset()] * size)
    assert len(set(found)) == 1 and copies is not None and copies.questions == size // 2


def test_real_answers_of_several_models_to_one_question_are_copies(shared, file):
    lines = (shared / "data/open/evouna_nq_fid_gpt35_chatgpt.jsonl").read_text().splitlines()[:600]
    found = source(file("nq.jsonl", "\n".join(lines)))
    told = [line for line in found.understood if "questions stand more than once" in line]
    assert len(told) == 1
    assert len(clusters(found)) == found.facts.copies.questions


def test_case_spaces_and_a_last_mark_make_no_other_question(file):
    asked = (
        "What is  2 + 2?",
        "what is 2 + 2",
        "WHAT IS 2 + 2 ?\n",
        "What is 2 - 2?",
        "What is 2+2?",
        "\uff37hat is 2 + 2?",
    )
    found = source(file("q.jsonl", [{"question": text, "answer": "4"} for text in asked]))
    assert list(clusters(found).values()) == [["q/0", "q/1", "q/2", "q/5"]]
    rows = [
        {"question": "Which?", "choices": ["One", "two"], "answer": "A"},
        {"question": "which", "choices": ["Two ", "one"], "answer": "B"},
    ]
    assert list(clusters(source(file("r.jsonl", rows))).values()) == [["r/0", "r/1"]]


def test_copies_in_official_rows_are_one_cluster_with_their_passages() -> None:
    tasks = {task.key: task for name in ("glue", "superglue") for task in suite_named(name).tasks}
    plain = [Row(f"cola/{i}", "cola", "acceptable", {"sentence": f"It is {i % 4} ."}) for i in range(5)]
    asked = [("p", "q1"), ("p", "q2"), ("r", "q3"), ("s", "q4"), ("R", "Q3")]
    passages = [
        Row(f"boolq/{i}", "boolq", "yes", {"passage": text, "question": question})
        for i, (text, question) in enumerate(asked)
    ]
    pairs = [Row(f"axg/{i}", "axg", "entailment", {"premise": "a", "hypothesis": "b"}) for i in range(2)]
    found, copies = with_copies([*plain, *passages, *pairs], tasks)
    assert copies == CopiedRows(questions=2, rows=4)
    assert copies_told(copies)[0].startswith("2 questions stand more than once (4 rows)")
    cola, boolq = found[:5], found[5:10]
    assert cola[0].cluster == cola[4].cluster is not None and [row.cluster for row in cola[1:4]] == [None] * 3
    names = [cluster_of(row, tasks["boolq"]) for row in boolq]
    assert names[0] == names[1] == cluster_of(passages[0], tasks["boolq"]), "as without copies"
    assert names[2] == names[4] != names[3]
    assert found[10:] == pairs
