"""The table of kinds of sources: one row for each kind there is, and what the rows say is what is done."""

from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from proctor.errors import ConfigError, DataMissing, Forbidden
from proctor.references import ExamRef, LogRef, SourceRef
from proctor.service.kinds import KINDS, exam_ref, kind_of
from proctor.service.opening.sources import open_source
from simulators import settings

SUITE, LOG = ExamRef("suite", "superglue", tasks=("boolq",), rows="sample", limit=3), LogRef("lm-eval mmlu")


@pytest.fixture
def file(tmp_path: Path) -> ExamRef:
    path = tmp_path / "q.csv"
    path.write_text(
        "question,A,B,answer\n" + "".join(f"Is {n} odd?,yes,no,{'AB'[n % 2]}\n" for n in range(4))
    )
    return ExamRef("file", str(path))


def test_every_kind_that_a_reference_may_have_is_one_row() -> None:
    named = [kind for each in get_args(SourceRef) for kind in get_args(get_type_hints(each)["kind"])]
    assert sorted(named) == sorted(KINDS)


def test_a_file_is_listed_without_its_folder() -> None:
    assert ExamRef("file", "/home/ann/geography.csv").listed == "geography.csv"
    assert (SUITE.listed, LogRef("a/b c").listed) == ("superglue", "a/b c")


def test_a_log_is_not_opened_and_says_who_can_ask_again() -> None:
    with pytest.raises(ConfigError, match=r"was imported from another tool.*Ask again with that tool"):
        open_source(LOG, settings(Path()))


@pytest.mark.parametrize(
    ("rows", "error"), [("imported", DataMissing), ("hub", Forbidden), (None, Forbidden)]
)
def test_only_rows_that_the_hub_has_are_fetched_and_only_by_whoever_may(rows, error, tmp_path: Path) -> None:
    ref = ExamRef("suite", "superglue", tasks=("boolq",), rows=rows)
    with pytest.raises(error):
        open_source(ref, settings(tmp_path), fetch=False)


def test_exams_grade_and_answer_by_the_method_of_their_kind(file: ExamRef, tmp_path: Path) -> None:
    for ref in (SUITE, file):
        source, kind = open_source(ref, settings(tmp_path)), kind_of(ref)
        method, answers = kind.method(source), kind.answers(source)
        assert len(answers) == len(source) and set(method.labels().counts) == set(source.facts.tasks)
        assert {item.id for item in source.items()} <= set(method.row_ids)


def test_what_opening_decided_stands_in_the_reference_of_a_suite_alone(file: ExamRef, tmp_path: Path) -> None:
    unsaid = ExamRef("suite", "superglue", tasks=("boolq",), limit=3)
    assert kind_of(unsaid).found(unsaid, open_source(SUITE, settings(tmp_path))).rows == "sample"
    assert kind_of(file).found(file, open_source(file, settings(tmp_path))) == file


def test_who_has_words_for_exams_alone_refuses_the_rest() -> None:
    assert exam_ref(SUITE) is SUITE
    with pytest.raises(ConfigError, match="lm-eval mmlu is no exam"):
        exam_ref(LOG)
