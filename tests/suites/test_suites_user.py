"""A user's own suite: one TOML and files of rows, and what is said about mistakes in them."""

from __future__ import annotations

from collections import Counter

import pytest

from proctor.errors import ConfigError, DataError
from proctor.manifest_json import facts_document
from proctor.references import ExamRef
from proctor.sources.exams.files.questions import open_file
from proctor.sources.exams.files.user_suites import open_user_suite
from proctor.types import Outcome, Reply

SUITE = """
[suite]
name = "kitchen"
title = "Kitchen knowledge"
aggregate = "macro"

[[tasks]]
key = "storage"
title = "Where it keeps"
file = "storage.jsonl"
labels = ["fridge", { name = "cupboard", synonyms = ["pantry"], shown = "shelf" }]
metrics = ["accuracy", "f1", "macro_f1", "mcc"]
positive = "fridge"
cluster = "kind"
dev_file = "more/storage_dev.csv"
prompt = \"\"\"
Where does one keep {food}? It costs {price} {{crowns}}. Reply as {"place": ...}.

Answer: <{labels}>
\"\"\"

[[tasks]]
key = "tools"
file = "tools.csv"
prompt = "{question} ({hint})\\n\\n{choices}\\n\\nAnswer: <letter>"

[[tasks]]
key = "words"
file = "words.jsonl"
"""

STORAGE = [
    {"food": "milk {food}", "price": 3, "kind": "dairy", "answer": "fridge"},
    {"food": "rice", "price": 2.5, "kind": "grain", "answer": "Pantry"},
    {"food": "flour", "price": True, "kind": "grain", "answer": "shelf"},
    {"food": "cream", "price": 4, "kind": "dairy", "answer": "fridge"},
]
TOOLS = (
    "id,question,hint,A,B,C,answer\n"
    "cut,What cuts?,sharp,A knife,A spoon,A cup,A\nstir,What stirs?,round,A fork,A spoon,A cup,B\n"
)
WORDS = [{"question": f"Which word has {n} letters?", "answer": f"word {n}"} for n in range(12)]


@pytest.fixture
def suite(file, tmp_path):
    """Write the suite and its rows, with changes to the TOML or to a file; gives the TOML's path."""

    def write(old="", new="", **files):
        (tmp_path / "more").mkdir(exist_ok=True)
        file("storage.jsonl", files.get("storage", STORAGE))
        file("tools.csv", files.get("tools", TOOLS))
        file("words.jsonl", files.get("words", WORDS))
        file("more/storage_dev.csv", "food,price,kind,answer\nham,9,meat,fridge\noil,8,fat,cupboard\n")
        assert old in SUITE
        return file("kitchen.toml", SUITE.replace(old, new, 1) if old else SUITE)

    return write


def opened(path, **more):
    return open_file(ExamRef("file", str(path), **more))


def by_id(source):
    return {item.id: item for item in source.items()}


def test_a_suite_is_opened_like_any_file(suite):
    source = opened(suite())
    assert source.title == "Kitchen knowledge"
    assert Counter(item.group for item in source.items()) == {"storage": 4, "tools": 2, "words": 12}
    assert source.understood[:3] == (
        "storage: 4 rows from storage.jsonl (JSON lines), answers are labels (fridge, cupboard)",
        "tools: 2 rows from tools.csv (CSV), answers are choices",
        "words: 12 rows from words.jsonl (JSON lines), answers are text",
    )
    assert [item.id for item in open_user_suite(suite()).items()] == [item.id for item in source.items()]


def test_the_manifest_says_what_the_toml_says(suite):
    manifest = facts_document(opened(suite()).facts)
    assert manifest["suite"] == "kitchen"
    assert manifest["rows"] == "file"
    assert manifest["aggregate"] == "macro"
    assert manifest["tasks"] == {"storage": "Where it keeps", "tools": "tools", "words": "words"}
    assert manifest["metrics"]["storage"] == {
        "official": ["accuracy", "f1", "macro_f1", "mcc"],
        "also": [],
        "positive": "fridge",
        "kind": "labels",
        "labels": ["fridge", "cupboard"],
        "extra": False,
    }
    assert manifest["prompts"].keys() == {"storage", "tools", "text"}
    assert manifest["data_sha256"].keys() == {"storage", "tools", "words"}


def test_a_prompt_of_ones_own_is_sent_as_it_is_written(suite):
    items = by_id(opened(suite()))
    assert items["storage/0"].ask.messages[0].content == (
        'Where does one keep milk {food}? It costs 3 {crowns}. Reply as {"place": ...}.\n\nAnswer: <fridge|shelf>'
    )
    assert "It costs true" in items["storage/2"].ask.messages[0].content
    assert items["tools/cut"].ask.messages[0].content == (
        "What cuts? (sharp)\n\nA. A knife\nB. A spoon\nC. A cup\n\nAnswer: <letter>"
    )
    assert (
        items["words/3"]
        .ask.messages[0]
        .content.startswith("Which word has 3 letters?\n\nGive the answer itself")
    )


def test_answers_are_read_by_name_synonym_and_shown_word(suite):
    source = opened(suite())
    items = by_id(source)
    assert [items[f"storage/{n}"].target for n in range(4)] == ["fridge", "cupboard", "cupboard", "fridge"]
    assert items["storage/1"].options == ("fridge", "shelf")
    for word in ("cupboard", "pantry", "shelf"):
        assert source.grader.grade(items["storage/1"], Reply(f"Answer: {word}")).answer == "cupboard"
    assert source.spoken(items["storage/1"]) == "shelf"
    assert source.wrong(items["storage/1"]) == ("fridge",)
    assert source.grader.grade(items["tools/stir"], Reply("Answer: B")).outcome is Outcome.CORRECT
    assert source.grader.grade(items["words/7"], Reply("Answer: Word 7.")).outcome is Outcome.CORRECT


def test_rows_of_one_cluster_hang_together(suite):
    items = by_id(opened(suite()))
    clusters = [items[f"storage/{n}"].cluster for n in range(4)]
    assert clusters[0] == clusters[3] != clusters[1] == clusters[2]
    assert items["tools/cut"].cluster is None


def test_the_words_of_a_prompt_make_its_version(suite):
    one, two = (opened(suite(*change)).facts.prompts for change in ((), ("keep {food}", "put {food}")))
    assert one["storage"].startswith("kitchen.storage/")
    assert one["storage"] != two["storage"]
    assert one["tools"] == two["tools"]


def test_tasks_limit_and_worked_examples(suite):
    source = opened(suite(), tasks=("storage",), limit=1, shots=2)
    (item,) = source.items()
    assert source.title == "Kitchen knowledge: storage"
    assert item.ask.messages[0].content.startswith("Worked example 1\n\nWhere does one keep ")
    assert {"Answer: fridge", "Answer: shelf"} <= {*item.ask.messages[0].content.splitlines()}
    assert source.labels() == ({"storage": {"fridge": 1, "cupboard": 1}}, "the dev rows")
    with pytest.raises(DataError, match="tools: 1 worked example wanted, and there are no dev rows here"):
        opened(suite(), tasks=("tools",), shots=1)
    with pytest.raises(ConfigError, match=r"kitchen.toml: no task 'tool'\. Its tasks: storage, tools, words"):
        opened(suite(), tasks=("tool",))


def test_wordings_go_with_our_prompts_only(suite):
    assert len(opened(suite(), tasks=("words",), wording="all")) == 36
    with pytest.raises(ConfigError, match="storage, with a prompt of its own, has one wording only"):
        opened(suite(), wording="all")


def test_shuffled_choices_are_those_that_are_shown(suite):
    source = opened(suite(tools=TOOLS + "".join(f"{n},Q {n},h,w,x,y,B\n" for n in range(20))), shuffle=True)
    moved = 0
    for item in source.items():
        if item.group == "tools" and len(item.id) < 9:
            assert item.choices["ABC".index(item.target)] == "x"
            assert f"{item.target}. x" in item.ask.messages[0].content
            moved += item.target != "B"
    assert moved > 5
    with pytest.raises(ConfigError, match=r"Task tools does not show \{choices\} in its prompt"):
        opened(suite("{choices}", "A. {A} B. {B} C. {C}"), shuffle=True)


MISTAKES = [
    (
        'name = "kitchen"',
        'nme = "kitchen"',
        r"kitchen.toml, \[suite\]: unknown key 'nme'; known: name, title, agg",
    ),
    (
        'key = "tools"',
        'key = "tools"\nkeys = 1',
        r"\[\[tasks\]\] 2: unknown key 'keys'; known: key, title, file",
    ),
    ("synonyms", "synonym", "labels: unknown key 'synonym'; known: name, synonyms, shown"),
    ("[suite]", "[suites]", "kitchen.toml: unknown key 'suites'; known: suite, tasks"),
    ('name = "kitchen"', "", r"\[suite\]: the key 'name' is missing"),
    ('file = "words.jsonl"', "", r"\[\[tasks\]\] 3 \(words\): the key 'file' is missing"),
    ('name = "kitchen"', 'name = "glue"', "'glue' is one of proctor's suites"),
    ('name = "kitchen"', 'name = "my kitchen"', "name is 'my kitchen'; letters, digits"),
    ('"macro"', '"mean"', "aggregate is one of micro, macro, not 'mean'"),
    ('key = "tools"', 'key = "storage"', "two tasks have the key 'storage'"),
    (
        'key = "tools"',
        'key = "tools"\nkind = "numbers"',
        "kind is one of choices, labels, text, not 'numbers'",
    ),
    (
        'key = "tools"',
        'key = "tools"\nkind = "text"\nanswer_type = "text"',
        "kind and answer_type say the same",
    ),
    ('"fridge", {', "{", "labels are two or more different names, not cupboard"),
    ('key = "storage"', 'key = "storage"\nkind = "text"', "labels go with kind = 'labels', not with 'text'"),
    ('positive = "fridge"', "", r"task storage: f1 needs positive = one of fridge, cupboard"),
    ('positive = "fridge"', 'positive = "shelf"', "positive = 'shelf' is none of fridge, cupboard"),
    (
        'key = "words"',
        'key = "words"\nmetrics = ["f1"]',
        "task words has no metric 'f1'; for text there are accuracy",
    ),
    ('file = "tools.csv"', 'file = "/tools.csv"', "file is a path relative to the folder"),
    ('title = "Where it keeps"', "title = 3", r"title is text, not 3"),
    ("[suite]", "[suite", "kitchen.toml: not TOML in UTF-8"),
]


@pytest.mark.parametrize(("old", "new", "message"), MISTAKES)
def test_a_mistake_in_the_toml_is_named(old, new, message, suite):
    with pytest.raises(ConfigError, match=message):
        opened(suite(old, new))


def test_a_prompt_that_shows_what_the_rows_do_not_have(suite):
    with pytest.raises(
        DataError, match=r"storage.jsonl: the prompt shows \{fod\} in task storage.*Fields: answer, fo"
    ):
        opened(suite("{food}", "{fod}"))
    with pytest.raises(DataError, match="cluster is 'sort' in task storage"):
        opened(suite('cluster = "kind"', 'cluster = "sort"'))
    rows = [*STORAGE, {"food": "egg", "kind": "dairy", "answer": "fridge"}]
    with pytest.raises(DataError, match=r"storage.jsonl, line 5, column 'price': missing; the prompt"):
        opened(suite(storage=rows))


def test_an_answer_that_is_no_label(suite):
    rows = [*STORAGE, {"food": "egg", "price": 1, "kind": "dairy", "answer": "floor"}]
    with pytest.raises(
        DataError, match=r"storage.jsonl, line 5.*'floor' is none of the labels: fridge, cupboard"
    ):
        opened(suite(storage=rows))


@pytest.mark.parametrize("named", ["true false", "yes no", "no yes"])
def test_true_and_false_are_labels_by_either_name(suite, named):
    labels = named.split()
    rows = [{"question": f"{n}?", "answer": n % 2 == 0} for n in range(4)]
    toml = suite('key = "words"\n', f'key = "words"\nlabels = {labels!r}\n', words=rows)
    right = ("yes", "no") if "yes" in labels else ("true", "false")
    items = [item for item in opened(toml).items() if item.group == "words"]
    assert {item.id: item.target for item in items} == {f"words/{n}": right[n % 2] for n in range(4)}


def test_files_that_are_not_there(suite, tmp_path):
    with pytest.raises(DataError, match=r"nowhere\.jsonl: No such file"):
        opened(suite("words.jsonl", "nowhere.jsonl"))
    with pytest.raises(DataError, match=r"no\.toml: No such file"):
        opened(tmp_path / "no.toml")
    with pytest.raises(ConfigError, match="leave out --answer-type"):
        opened(suite(), answer_type="text")


def test_a_task_without_choices(suite):
    with pytest.raises(DataError, match=r"words\.jsonl: no column with choices\. Recognised: choices"):
        opened(suite('key = "words"', 'key = "words"\nkind = "choices"'))
