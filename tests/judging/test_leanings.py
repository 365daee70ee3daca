"""Judges that lean, asked over HTTP: what they prefer is told, beside what people said where there are labels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from pairs_made import Paired

from opened import over
from proctor.findings import Estimate
from proctor.references import GradingRubric
from proctor.service.checked.families import families_of, kin_words
from proctor.service.checked.leaning import JudgeLeaning, leanings
from proctor.store.write import graded_labels
from proctor.store.write.graded_labels import GradedLabel
from proctor.types import Run
from simulators import nearby

N = 60
LONG = " So it is said." * 40


def texts(long: int) -> list[str]:
    """Replies that are all right; of every two one is long."""
    return [f"It is City{n}, by model {long}.{LONG * ((n + long) % 2)}" for n in range(N)]


@dataclass(frozen=True)
class Leaning:
    """Two runs of replies that are all right, and what their simulated judges lean to, by the judge."""

    made: Paired
    first: Run
    second: Run
    pairs: dict[str, JudgeLeaning]
    single: JudgeLeaning


@pytest.fixture(scope="module")
def leaning(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Leaning]:
    made = Paired(tmp_path_factory.mktemp("leanings"))
    made.questions([f"City{n}" for n in range(N)])
    first, second = made.run("one", texts(0)), made.run("two", texts(1))
    with nearby({}) as url:
        for judge in ("judge-95", "judge-first", "judge-longer"):
            made.judged(f"{url}/v1", first, second, judge=judge)
        made.judged(f"{url}/v1", first, judge="judge-longer")
    label(made, first, second)
    with made.store() as store:
        found = leanings(over(store, made.settings), first.id)
        assert leanings(over(store, made.settings), first.id, found[0].grader) == found[:1]
    by_judge = {each.judge.partition("/")[2]: each for each in found if each.pairs is not None}
    (single,) = (each for each in found if each.pairs is None)
    yield Leaning(made, first, second, by_judge, single)


def label(made: Paired, first: Run, second: Run) -> None:
    """A person who finds every reply right; of the pairs 50 are ties, and of 10 the longer wins half."""
    rubric = GradingRubric().words
    said = ["tie"] * 50 + ["1", "1", "2", "2", "1", "1", "2", "2", "1", "1"]
    labels = [
        GradedLabel(
            0, f"open/q{n}", 0, None, "correct", rubric, second.id, word, None, (), "random", "ann", 1.0
        )
        for n, word in enumerate(said)
    ]
    labels += [
        GradedLabel(0, f"open/q{n}", 0, None, "correct", rubric, None, "pass", None, (), "random", "ann", 1.0)
        for n in range(40)
    ]
    with made.store() as store:
        graded_labels.add(store, first.id, labels)


def above(of: Estimate | None, than: float) -> bool:
    assert of is not None and of.low is not None
    return of.low > than


def holds(of: Estimate | None, value: float) -> bool:
    assert of is not None and of.low is not None and of.high is not None
    return of.low <= value <= of.high


def test_a_judge_that_leans_to_the_place_is_told_by_it_and_by_nothing_else(leaning: Leaning) -> None:
    pairs, fair = leaning.pairs["judge-first"].pairs, leaning.pairs["judge-95"].pairs
    assert pairs is not None and fair is not None
    assert above(pairs.first_shown, 0.6) and holds(fair.first_shown, 0.5)
    assert "it leans to the reply shown first" in " ".join(leaning.pairs["judge-first"].told)
    assert "no leaning to a place is shown" in " ".join(leaning.pairs["judge-95"].told)
    assert pairs.consistent.value is not None and fair.consistent.value is not None
    assert pairs.consistent.value < 0.6 < 0.8 < fair.consistent.value


def test_a_judge_that_leans_to_length_is_told_beside_people_who_do_not(leaning: Leaning) -> None:
    length = leaning.pairs["judge-longer"].length
    assert above(length.judge, 0.6) and length.people is not None and holds(length.people, 0.5)
    assert length.people.scored == 10
    assert above(length.beyond, 0.0)


def test_a_judge_of_single_replies_is_told_by_the_grades_of_the_longer_half_at_equal_labels(
    leaning: Leaning,
) -> None:
    length = leaning.single.length
    assert above(length.judge, 0.1) and above(length.beyond, 0.0)
    assert length.people is not None and length.people.value == 0.0


@pytest.mark.parametrize(
    ("judge", "candidate", "kin"),
    [
        ("openai/gpt-4o", "openai/o3-mini", "OpenAI"),
        ("anthropic/claude-opus-4", "openai/anthropic/claude-3-haiku", "Anthropic"),
        ("ollama/qwen3:8b", "openai/deepseek-r1-distill-qwen-7b", "Qwen"),
        ("gemini/gemini-2.5-pro", "ollama/gemma3:4b", "Google"),
        ("ollama/llama3.1:8b", "openai/meta-llama/Llama-3-8B", "Meta"),
        ("openai/falcon-40b", "ollama/Falcon3-7B", "falcon"),
        ("ollama/llama3.1:8b", "ollama/mistral:7b", None),
        ("openai/gpt-4o", "openai/qwen3:8b", None),
        ("simulator/judge", "simulator/sim-strong", None),
        ("baseline/majority", "baseline/majority-of-few", None),
    ],
)
def test_a_family_is_told_by_the_makers_words_in_names_or_by_their_first_word(
    judge: str, candidate: str, kin: str | None
) -> None:
    told = kin_words(judge, [candidate])
    assert ([f"({kin})" in each for each in told] == [True]) if kin else not told


def test_a_judge_of_its_own_replies_is_named_and_an_alias_is_not_seen() -> None:
    (told,) = kin_words("ollama/qwen3:8b", ["ollama/qwen3:8b"])
    assert "judges its own replies" in told
    assert families_of("openai/prod-assistant").isdisjoint(families_of("openai/gpt-4o"))
