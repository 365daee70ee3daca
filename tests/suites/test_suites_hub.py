"""Rows come from a hub over HTTP, at a commit that is kept, checked on arrival, or not at all."""

from __future__ import annotations

import json

import pytest
from hub_server import COMMIT, OTHER_COMMIT, parquet, running_hub
from import_files import write_all

from proctor.errors import DataError
from proctor.settings import read_settings
from proctor.sources.exams.files.parquet import read_parquet
from proctor.sources.exams.hub.download import ensure
from proctor.sources.exams.official.imports import import_path
from proctor.sources.exams.rows.normal_form import read_manifest, read_rows, read_tasks, rows_path
from proctor.sources.exams.tables.shapes import HubSet, Task

GLUE = "nyu-mll/glue"
TOKEN = "hf_a_secret_of_this_test"


def task(key, dataset=GLUE, config=None, splits=None, form=None, revision=None):
    splits = splits or {"eval": "validation", "dev": "train"}
    hub = HubSet(dataset, config or key, splits, revision, form or f"glue/{key}")
    return Task(key=key, title=key, kind="labels", prompt=key, hub=hub)


COLA = task("cola")
ROWS = [{"sentence": "He ran.", "label": 1, "idx": 0}, {"sentence": "Ran he fast did.", "label": 0, "idx": 1}]


@pytest.fixture
def hub():
    with running_hub() as server:
        server.files[GLUE] = {
            "cola/validation-00000-of-00001.parquet": parquet(*ROWS),
            "cola/train-00000-of-00002.parquet": parquet(ROWS[0]),
            "cola/train-00001-of-00002.parquet": parquet(ROWS[1]),
        }
        yield server


@pytest.fixture
def fetch(hub, tmp_path):
    """Ensure tasks from the local hub; the pauses it would have made are in `fetch.pauses`."""

    async def pause(seconds):
        run.pauses.append(seconds)

    def run(*tasks, endpoint=hub.url, **options):
        environ = {
            "PROCTOR_HOME": str(tmp_path),
            "HF_ENDPOINT": endpoint,
            "PROCTOR_GITHUB_RAW_URL": f"{hub.store_url}/raw",
            "HF_TOKEN": TOKEN,
        }
        ensure(tasks, tmp_path, read_settings(environ), pause=pause, **options)

    run.pauses = []
    return run


def rows(home, key, split="eval"):
    return [(r.id, r.target, dict(r.fields)) for r in read_rows(key, "hub", home, split=split).rows]


def test_rows_are_downloaded_once_and_kept_apart_from_imported_ones(hub, fetch, tmp_path):
    fetch(COLA)
    assert rows(tmp_path, "cola") == [
        ("cola/0", "acceptable", {"sentence": "He ran."}),
        ("cola/1", "unacceptable", {"sentence": "Ran he fast did."}),
    ]
    manifest = read_manifest(tmp_path, "cola", "eval", "hub")
    assert (manifest.revision, manifest.source) == (
        COMMIT,
        (f"hub:{GLUE}", "cola/validation-00000-of-00001.parquet"),
    )
    assert not rows_path(tmp_path, "cola", "eval").exists()
    before = len(hub.seen)
    fetch(COLA)
    assert len(hub.seen) == before


def test_a_split_of_several_files_is_read_in_order(fetch, tmp_path):
    fetch(COLA, splits=("eval", "dev"))
    assert [row[1] for row in rows(tmp_path, "cola", "dev")] == ["acceptable", "unacceptable"]


def test_imported_rows_come_first_and_the_hubs_next(fetch, tmp_path):
    fetch(COLA)
    assert read_rows("cola", None, tmp_path).origin == "hub"
    import_path(write_all(tmp_path / "in", {"CoLA/dev.tsv": "a\t1\t\tShe ran."}), tmp_path, now=1.0)
    found = read_rows("cola", None, tmp_path)
    assert (found.origin, found.rows[0].fields) == ("imported", {"sentence": "She ran."})


def test_the_token_goes_to_the_hub_and_not_to_the_host_of_the_files(hub, fetch):
    fetch(COLA)
    assert {host: token for host, _, token in hub.seen} == {"hub": f"Bearer {TOKEN}", "store": None}


def test_progress_is_told_in_bytes(hub, fetch):
    told = []
    fetch(COLA, on_progress=lambda done, total: told.append((done, total)))
    size = len(hub.files[GLUE]["cola/validation-00000-of-00001.parquet"])
    assert told[0] == (0, size)
    assert told[-1] == (size, size)


def test_the_commit_of_the_first_download_is_asked_for_from_then_on(hub, fetch, tmp_path):
    fetch(COLA)
    fetch(COLA, splits=("dev",))
    assert hub.asked("/revision/") == [
        f"/api/datasets/{GLUE}/revision/main",
        f"/api/datasets/{GLUE}/revision/{COMMIT}",
    ]
    rows_path(tmp_path, "cola", "dev", "hub").unlink()
    hub.commit = OTHER_COMMIT
    with pytest.raises(DataError, match=rf"/revision/{COMMIT}: not found \(404\)"):
        fetch(COLA, splits=("dev",))


def test_a_pinned_commit_has_to_be_the_one_that_answers(hub, fetch):
    pinned = task("cola", revision=COMMIT)
    fetch(pinned)
    assert hub.asked("/revision/") == [f"/api/datasets/{GLUE}/revision/{COMMIT}"]
    hub.claimed = OTHER_COMMIT
    with pytest.raises(DataError, match="answers with commit bbbbbbbbbbbb, not aaaaaaaaaaaa"):
        fetch(pinned, splits=("dev",))


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (401, "HF_TOKEN is wrong"),
        (403, "accept the data set's terms"),
        (404, r"not found \(404\)"),
        (418, "the hub answered 418"),
        ("size", r"bytes came, the hub says [\d,]+"),
        ("hash", "another SHA-256 than the hub says"),
        ("commit", "the hub served commit bbbbbbbbbbbb, not aaaaaaaaaaaa"),
    ],
)
def test_a_refusal_or_a_wrong_file_is_one_error_with_the_cure(hub, fetch, tmp_path, fault, message):
    hub.faults["/resolve/"] = [fault]
    with pytest.raises(DataError, match=message) as caught:
        fetch(COLA)
    text = str(caught.value)
    assert text.startswith("Failed to load GLUE dataset: ")
    assert all(cure in text for cure in ("proctor data import PATH", "HTTPS_PROXY", "HF_ENDPOINT"))
    assert TOKEN not in text
    assert list(tmp_path.iterdir()) == []
    assert fetch.pauses == []


@pytest.mark.parametrize("fault", [429, 500, 503, "cut"])
def test_trouble_that_may_pass_is_tried_again(hub, fetch, tmp_path, fault):
    hub.faults["/store/" if fault == "cut" else "/resolve/"] = [fault, fault]
    told = []
    fetch(COLA, on_progress=lambda done, total: told.append((done, total)))
    assert len(rows(tmp_path, "cola")) == 2
    assert fetch.pauses == ([2.0, 4.0] if fault == "cut" else [7.0, 7.0])
    size = len(hub.files[GLUE]["cola/validation-00000-of-00001.parquet"])
    assert told[-1] == (size, size)


@pytest.mark.parametrize(
    ("fault", "message"),
    [(429, r"asks to wait \(429\)"), (502, "answered 502"), ("cut", "the connection broke")],
)
def test_trouble_that_lasts_is_given_up(hub, fetch, tmp_path, fault, message):
    hub.faults["/store/" if fault == "cut" else "/resolve/"] = [fault] * 3
    with pytest.raises(DataError, match=rf"Failed to load GLUE dataset: .*{message}.*tried 3 times"):
        fetch(COLA)
    assert list(tmp_path.iterdir()) == []


def test_no_server_at_the_address_is_told_at_once(tmp_path, fetch):
    with pytest.raises(DataError, match=r"Failed to load GLUE dataset: .*127\.0\.0\.1:9/.*cannot connect"):
        fetch(COLA, endpoint="http://127.0.0.1:9")
    assert fetch.pauses == []


def test_a_failure_keeps_what_came_before_it(hub, fetch, tmp_path):
    hub.files[GLUE]["sst2/validation-00000-of-00001.parquet"] = parquet({**ROWS[0], "label": 7})
    with pytest.raises(DataError, match=r"sst2/validation.*row 1: the label is 7"):
        fetch(COLA, task("sst2"))
    assert len(rows(tmp_path, "cola")) == 2
    assert not rows_path(tmp_path, "sst2", "eval", "hub").exists()


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "no Parquet files of cola/validation"),
        ({"cola/validation-00001-of-00002.parquet": b""}, "1 of the 2 files of cola/validation"),
        ({"cola/validation-00000-of-00001.parquet": b"PAR1 no"}, "not a whole Parquet file"),
        ({"cola/validation-00000-of-00001.parquet": parquet(*ROWS)[:-20]}, "not a whole Parquet file"),
    ],
)
def test_files_that_are_missing_or_cut(hub, fetch, files, message):
    hub.files[GLUE] = files
    with pytest.raises(DataError, match=message):
        fetch(COLA)


def test_a_listing_that_is_none(hub, fetch):
    hub.claimed = "main"
    with pytest.raises(DataError, match="names no commit"):
        fetch(COLA)


def test_parquet_gives_plain_values():
    record = {"n": 3, "x": 0.5, "flag": True, "texts": ["a", "b"], "idx": {"passage": 1, "query": 2}}
    assert read_parquet(parquet(record, record), "x.parquet") == [record, record]


HUB_FORMS = {
    "stsb": (
        [{"sentence1": "a", "sentence2": "b", "label": 3.8, "idx": 0}],
        [("stsb/0", "3.8", {"sentence1": "a", "sentence2": "b"})],
    ),
    "mrpc": (  # idx counts all splits together: the place counts
        [{"sentence1": "a", "sentence2": "b", "label": 0, "idx": 9}],
        [("mrpc/0", "not_equivalent", {"sentence1": "a", "sentence2": "b"})],
    ),
    "ax": (
        [{"premise": "p", "hypothesis": "h", "label": -1, "idx": 0}],
        [("ax/0", None, {"premise": "p", "hypothesis": "h"})],
    ),
    "rte": (
        [{"premise": "p", "hypothesis": "h", "label": 1, "idx": 0}],
        [("rte/0", "not_entailment", {"sentence1": "p", "sentence2": "h"})],
    ),
    "cb": (
        [{"premise": "p", "hypothesis": "h", "label": 1, "idx": 0}],
        [("cb/0", "contradiction", {"premise": "p", "hypothesis": "h"})],
    ),
    "wsc": (
        [
            {
                "text": "Ann saw her .",
                "span1_index": 0,
                "span1_text": "Ann",
                "span2_index": 2,
                "span2_text": "her",
                "idx": 0,
                "label": 0,
            }
        ],
        [
            (
                "wsc/0",
                "no",
                {
                    "text": "Ann saw her .",
                    "span1_text": "Ann",
                    "span1_index": 0,
                    "span2_text": "her",
                    "span2_index": 2,
                },
            )
        ],
    ),
    "multirc": (
        [
            {
                "paragraph": "p",
                "question": "q",
                "answer": answer,
                "label": right,
                "idx": {"paragraph": 2, "question": 5, "answer": n},
            }
            for n, (answer, right) in enumerate([("a", 0), ("b", 1), ("c", 1)])
        ],
        [("multirc/2-5", "B,C", {"paragraph": "p", "question": "q", "choices": ["a", "b", "c"]})],
    ),
    "record": (
        [
            {
                "passage": "Ann met Bo .",
                "query": "@placeholder met her",
                "entities": ["Bo", "Ann"],
                "entity_spans": {"text": ["Bo", "Ann"], "start": [8, 0], "end": [9, 2]},
                "answers": ["Bo"],
                "idx": {"passage": 3, "query": 4},
            }
        ],
        [
            (
                "record/3-4",
                "Bo",
                {"passage": "Ann met Bo .", "query": "@placeholder met her", "entities": ["Ann", "Bo"]},
            )
        ],
    ),
    "mmlu": (
        [{"question": "q", "subject": "anatomy", "choices": ["a", "b", "c", "d"], "answer": 3}],
        [("mmlu/0", "D", {"subject": "mmlu", "question": "q", "choices": ["a", "b", "c", "d"]})],
    ),
    "medmcqa": (  # the hub's cop counts from 0: no row has to show it
        [{"id": "x1", "question": "q", "opa": "a", "opb": "b", "opc": "c", "opd": "d", "cop": 1}],
        [("medmcqa/x1", "B", {"question": "q", "choices": ["a", "b", "c", "d"]})],
    ),
}


@pytest.mark.parametrize("form", HUB_FORMS)
def test_each_form_gives_rows_in_the_normal_form(hub, fetch, tmp_path, form):
    records, expected = HUB_FORMS[form]
    hub.files[GLUE] = {f"{form}/validation-00000-of-00001.parquet": parquet(*records)}
    fetch(task(form, form=f"x/{form}"))
    assert rows(tmp_path, form) == expected


def test_the_halves_of_mnli_are_read_one_after_the_other(hub, fetch, tmp_path):
    one = {"premise": "p", "hypothesis": "h", "label": 2, "idx": 0}
    hub.files[GLUE] = {
        "mnli/validation_matched-00000-of-00001.parquet": parquet(one),
        "mnli/validation_mismatched-00000-of-00001.parquet": parquet({**one, "label": 1}),
    }
    fetch(task("mnli", splits={"eval": "validation_matched+validation_mismatched"}))
    assert [(row[0], row[1], row[2]["half"]) for row in rows(tmp_path, "mnli")] == [
        ("mnli/m-0", "contradiction", "m"),
        ("mnli/mm-0", "neutral", "mm"),
    ]


def test_json_lines_are_found_by_name(hub, fetch, tmp_path):
    row = {
        "question": "q",
        "answer": "b",
        "options": dict(zip("ABCD", "abcd", strict=True)),
        "answer_idx": "B",
    }
    hub.files["x/medqa"] = {"phrases_no_exclude_test.jsonl": json.dumps(row).encode()}
    fetch(task("medqa", "x/medqa", splits={"eval": "phrases_no_exclude_test.jsonl"}, form="medical/medqa"))
    assert rows(tmp_path, "medqa") == [("medqa/0", "B", {"question": "q", "choices": list("abcd")})]


def article(pmid, decision):
    return {
        "pubid": pmid,
        "question": "Does it?",
        "final_decision": decision,
        "long_answer": "It does.",
        "context": {"contexts": ["One.", "Two."], "labels": ["A", "B"]},
    }


PUBMEDQA = task(
    "pubmedqa", "q/PubMedQA", "pqa_labeled", {"eval": "train", "dev": "train"}, "medical/pubmedqa"
)


def test_pubmedqa_keeps_the_official_test_articles(hub, fetch, tmp_path):
    file = "pqa_labeled/train-00000-of-00001.parquet"
    hub.files["q/PubMedQA"] = {file: parquet(article(11, "no"), article(12, "yes"))}
    hub.raw["pubmedqa/pubmedqa/master/data/test_ground_truth.json"] = b'{"12": "yes"}'
    fetch(PUBMEDQA, splits=("eval", "dev"))
    assert rows(tmp_path, "pubmedqa") == [
        ("pubmedqa/12", "yes", {"question": "Does it?", "contexts": ["One.", "Two."]})
    ]
    assert [row[0] for row in rows(tmp_path, "pubmedqa", "dev")] == ["pubmedqa/11"]
    assert read_manifest(tmp_path, "pubmedqa", "eval", "hub").source == (
        "hub:q/PubMedQA",
        file,
        f"{hub.store_url}/raw/pubmedqa/pubmedqa/master/data/test_ground_truth.json",
    )
    assert {token for _, path, token in hub.seen if path.startswith("/raw/")} == {None}


def test_an_imported_pubmedqa_gives_the_ids(hub, fetch, tmp_path):
    articles = {str(pmid): {"QUESTION": "q", "CONTEXTS": ["c"], "final_decision": "no"} for pmid in (11, 12)}
    files = {"ori_pqal.json": json.dumps(articles), "test_ground_truth.json": '{"11": "no"}'}
    import_path(write_all(tmp_path / "in", files), tmp_path, now=1.0)
    hub.files["q/PubMedQA"] = {
        "pqa_labeled/train-00000-of-00001.parquet": parquet(article(11, "no"), article(12, "yes"))
    }
    fetch(PUBMEDQA)
    assert [row[0] for row in rows(tmp_path, "pubmedqa")] == ["pubmedqa/11"]
    assert hub.asked("/raw/") == []


def test_a_task_without_a_set_on_the_hub_is_passed_over(hub, fetch, tmp_path):
    fetch(Task(key="own", title="own", kind="text", prompt="own"))
    assert hub.seen == []


def test_an_imported_copy_and_the_hubs_are_the_same_rows(hub, fetch, tmp_path):
    import_path(
        write_all(tmp_path / "in", {"CoLA/dev.tsv": "a\t1\t\tHe ran.\na\t0\t*\tRan he fast did."}),
        tmp_path,
        now=1.0,
    )
    fetch(COLA)
    imported, downloaded = (read_tasks(["cola"], origin, tmp_path)["cola"] for origin in ("imported", "hub"))
    assert imported.sha256 == downloaded.sha256
