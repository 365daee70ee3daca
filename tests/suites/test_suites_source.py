"""A suite as a source: what is asked, in which order, and what the manifest says it rests on."""

from __future__ import annotations

import hashlib
import json

import pytest

from proctor.errors import ConfigError, DataMissing
from proctor.manifest_json import facts_document
from proctor.references import ExamRef
from proctor.sources.exams.official.imports import import_path
from proctor.sources.exams.rows.normal_form import write_rows
from proctor.sources.exams.source import open_suite, task_keys
from proctor.sources.exams.tables.tasks import SUITES

pytestmark = pytest.mark.slow


def sample(name, home, **more):
    return open_suite(ExamRef("suite", name, rows="sample", **more), home)


@pytest.fixture(scope="module")
def imported(shared, tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    for part in ("superglue", "medical", "mmlu"):
        import_path(shared / "data" / part, home, now=1.0)
    return home


def test_items_are_what_the_rows_say(tmp_path):
    source = sample("medical", tmp_path)
    items = list(source.items())
    assert len(items) == len(source)
    assert {item.group for item in items} == {task.key for task in SUITES["medical"].tasks}
    for item in items:
        assert item.id.startswith(f"{item.group}/")
        assert len(item.choices) == (0 if item.group == "pubmedqa" else 4)
        assert item.options == (("yes", "no", "maybe") if item.group == "pubmedqa" else tuple("ABCD"))
        assert len(item.hash) == 32
        assert item.cluster is None
    assert len({item.hash for item in items}) == len(items)
    assert list(source.items()) == items


def test_the_hash_is_of_what_is_shown_and_of_what_is_right(tmp_path):
    item = next(iter(sample("mmlu", tmp_path).items()))
    shown = [
        [[message.role, message.content] for message in item.ask.messages],
        item.choices,
        item.target,
        [],
    ]
    encoded = json.dumps(shown, ensure_ascii=False, separators=(",", ":")).encode()
    assert item.hash == hashlib.sha256(encoded).hexdigest()[:32]


def test_questions_on_one_passage_share_a_cluster(imported):
    items = list(open_suite(ExamRef("suite", "superglue", tasks=("boolq",)), imported).items())
    clusters = {item.cluster for item in items}
    assert None not in clusters
    assert 2000 < len(clusters) < len(items) == 3270


def test_the_manifest_names_what_a_number_rests_on(tmp_path):
    source = sample("medical", tmp_path, tasks=("anatomy", "pubmedqa"), preset="quick", limit=3)
    manifest = facts_document(source.facts)
    assert manifest.pop("data_sha256").keys() == {"pubmedqa", "anatomy"}
    assert len(manifest.pop("item_set_sha256")) == 64
    sizes = manifest.pop("full_sizes")
    assert sizes["pubmedqa"] == 20
    assert manifest.pop("asked") == {"pubmedqa": 3, "anatomy": min(3, sizes["anatomy"])}
    assert manifest == {
        "suite": "medical",
        "rows": "sample",
        "aggregate": "micro",
        "scored_tasks": 9,
        "tasks": {"pubmedqa": "PubMedQA, official 500", "anatomy": "MMLU: Anatomy"},
        "n": min(3, sizes["anatomy"]) + 3,
        "prompts": {"pubmedqa": "pubmedqa/1", "mmlu": "mmlu/1"},
        "style": "proctor",
        "wording": 1,
        "shots": 0,
        "shuffle": False,
        "extractor": "proctor/2",
        "metrics": {
            "pubmedqa": {
                "official": ["accuracy", "macro_f1"],
                "also": [],
                "positive": None,
                "kind": "labels",
                "labels": ["yes", "no", "maybe"],
                "extra": False,
            },
            "anatomy": {
                "official": ["accuracy"],
                "also": [],
                "positive": None,
                "kind": "choices",
                "labels": [],
                "extra": False,
            },
        },
        "metric_versions": {"accuracy": "accuracy/1", "macro_f1": "macro_f1/1"},
        "seed": 0,
        "preset": "quick",
        "limit": 3,
    }
    json.dumps(facts_document(source.facts))
    assert source.title == "Medical (MedQA, MedMCQA, PubMedQA and six MMLU subjects): pubmedqa, anatomy"


def test_mmlu_comes_with_its_categories(tmp_path):
    manifest = sample("mmlu", tmp_path, tasks=("anatomy", "virology", "astronomy")).facts
    assert manifest.categories == {"STEM": ("astronomy",), "other": ("anatomy", "virology")}
    assert not sample("glue", tmp_path).facts.categories


def test_diagnostics_are_asked_by_name_or_in_a_full_run(tmp_path):
    for name, extras in (("glue", {"ax"}), ("superglue", {"axb", "axg"})):
        usual = set(sample(name, tmp_path).tasks)
        assert not usual & extras
        assert set(sample(name, tmp_path, preset="quick").tasks) == usual
        full = sample(name, tmp_path, preset="full")
        assert set(full.tasks) == usual | extras
        assert full.title == SUITES[name].title
        assert all(full.facts.tasks[key].extra for key in extras)
    assert set(sample("glue", tmp_path, tasks=("ax",)).tasks) == {"ax"}


def test_a_full_run_does_without_diagnostics_whose_rows_are_not_here(imported):
    ref = ExamRef("suite", "superglue", tasks=("boolq", "axb"))
    with pytest.raises(DataMissing, match="axb"):
        open_suite(ref, imported)
    assert task_keys(ExamRef("suite", "glue", preset="full")) == tuple(
        task.key for task in SUITES["glue"].tasks if task.key != "ax"
    )


def test_a_full_run_says_which_diagnostics_it_leaves_out(tmp_path):
    for task in ("cola", "sst2", "mrpc", "qqp", "stsb", "mnli", "qnli", "rte", "wnli"):
        rows = sample("glue", tmp_path, tasks=(task,)).rows
        write_rows(tmp_path, task, "eval", rows, source=("x",), now=1.0)
    source = open_suite(ExamRef("suite", "glue", preset="full"), tmp_path)
    assert "ax" not in source.tasks
    assert source.understood == ("left out, for want of rows: ax",)
    assert source.title == "GLUE"
    assert source.facts.rows == "imported"


def test_imported_suites_have_their_official_sizes_and_nest(imported):
    sizes = {}
    for name, tasks in (("superglue", ("boolq", "copa", "wsc", "axg")), ("medical", ()), ("mmlu", ())):
        full = open_suite(ExamRef("suite", name, tasks=tasks), imported)
        quick = open_suite(ExamRef("suite", name, tasks=tasks, preset="quick"), imported)
        ids = [item.id for item in full.items()]
        assert [item.id for item in quick.items()] == ids[:200]
        assert quick.facts.full_sizes == full.facts.full_sizes
        assert quick.facts.item_set_sha256 != full.facts.item_set_sha256
        sizes[name] = len(full)
    assert sizes == {"superglue": 3270 + 100 + 104 + 356, "medical": 7045, "mmlu": 14_042}


def test_pairs_of_the_gender_diagnostics_share_a_cluster(imported):
    items = list(open_suite(ExamRef("suite", "superglue", tasks=("axg",)), imported).items())
    numbers: dict[str, set[int]] = {}
    for item in items:
        numbers.setdefault(item.cluster, set()).add(int(item.id.partition("/")[2]))
    assert len(numbers) == 178
    assert all(min(pair) % 2 == 0 and max(pair) == min(pair) + 1 for pair in numbers.values())


def test_the_half_of_mnli_stands_in_the_id(tmp_path):
    items = list(sample("glue", tmp_path, tasks=("mnli",)).items())
    halves = [item.id.split("/")[1].split("-")[0] for item in items]
    assert sorted(halves) == ["m"] * 10 + ["mm"] * 10
    assert set(sample("glue", tmp_path, tasks=("mnli",)).row_ids) == {item.id for item in items}


def test_a_quick_mmlu_meets_nearly_every_subject_in_proportion(imported):
    items = list(open_suite(ExamRef("suite", "mmlu", preset="quick"), imported).items())
    law = sum(item.group == "professional_law" for item in items)
    assert 18 <= law <= 26  # 1,534 of 14,042 rows are 21.8 of 200
    assert len({item.group for item in items}) > 40


def test_the_item_set_is_the_same_whatever_the_seeming_of_the_request(tmp_path):
    named = sample("medical", tmp_path, tasks=[task.key for task in SUITES["medical"].tasks], preset="full")
    assert named.facts.item_set_sha256 == sample("medical", tmp_path).facts.item_set_sha256


def test_labels_are_counted_in_the_dev_rows_where_there_are_any(imported, tmp_path):
    medical = ("pubmedqa", "anatomy")
    counts, where = open_suite(ExamRef("suite", "medical", tasks=medical), imported).labels()
    assert where == "the dev rows"
    assert sum(counts["pubmedqa"].values()) == 500
    assert counts["anatomy"].keys() <= set("ABCD")
    counts, where = open_suite(ExamRef("suite", "superglue", tasks=("boolq",)), imported).labels()
    assert (where, counts) == ("the evaluated rows", {"boolq": {"yes": 2033, "no": 1237}})
    assert sample("superglue", tmp_path).labels()[1] == "the dev rows"


def test_all_row_ids_are_known_even_when_few_are_asked(tmp_path):
    few, full = sample("superglue", tmp_path, limit=2), sample("superglue", tmp_path)
    assert len(few) == 16
    assert few.row_ids == full.row_ids
    assert sorted(few.row_ids) == sorted(item.id for item in full.items())


def test_an_unknown_suite_or_task(tmp_path):
    with pytest.raises(
        ConfigError, match=r"^Invalid benchmark suite\. Supported: glue, superglue, mmlu, medical$"
    ):
        open_suite(ExamRef("suite", "gleu"), tmp_path)
    with pytest.raises(ConfigError, match=r"No task 'bolq' in superglue\. Its tasks: boolq, cb, "):
        sample("superglue", tmp_path, tasks=("bolq",))
    with pytest.raises(ConfigError, match="The limit is 0"):
        sample("superglue", tmp_path, limit=0)


def test_rows_that_are_not_there(tmp_path):
    with pytest.raises(DataMissing, match="No imported rows for boolq, "):
        open_suite(ExamRef("suite", "superglue"), tmp_path)
