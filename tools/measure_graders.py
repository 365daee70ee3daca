"""Measure the graders of open answers against people's grades: precision, recall and accuracy on each set of files.

    .venv/bin/python tools/measure_graders.py ../shared/data/open [--made] [SET ...]

A grader is right about a reply where it gives 1.0 and people say correct, or less and they do not. Precision
is the share of replies that people call correct among those graded 1.0; recall the share graded 1.0 among those that
people call correct. `default` is what is chosen where nobody names a grader. The sets on which the graders
were built are marked "built"; the others were looked at when they were done.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from proctor.grading.choosing import choose, is_quantity
from proctor.grading.graders.dates import whole_date
from proctor.grading.spec import OpenGrader, parse_grader
from proctor.types import Chat, Gold, Item, Message, Reply

GRADERS = ("exact", "normalized", "contains", "contains:strict=false", "number", "date")


@dataclass(frozen=True, slots=True)
class Graded:
    """A reply with its right answers, and what people say of it."""

    question: str
    answers: tuple[str, ...]
    reply: str
    right: bool


@dataclass(frozen=True, slots=True)
class Labelled:
    """Replies of one kind; `built` where the graders were built on them, `by` who says what is right."""

    name: str
    rows: tuple[Graded, ...]
    built: bool
    by: str = "people"


@dataclass(frozen=True, slots=True)
class Agreement:
    """How often a grader and people agree. None where there is nothing to divide by."""

    n: int
    both: int
    graded: int
    right: int
    unscored: int

    @property
    def precision(self) -> float | None:
        return self.both / self.graded if self.graded else None

    @property
    def recall(self) -> float | None:
        return self.both / self.right if self.right else None

    @property
    def accuracy(self) -> float | None:
        wrong = (self.graded - self.both) + (self.right - self.both)
        return (self.n - wrong) / self.n if self.n else None


def lines(path: Path) -> Iterator[dict[str, object]]:
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def graded_rows(
    raw: Iterable[dict[str, object]], keep: Callable[[dict[str, object]], bool]
) -> tuple[Graded, ...]:
    rows = []
    for row in raw:
        judge = row["judge"]
        human = row["human"]
        if human is None and isinstance(judge, dict) and "gpt-4o" in judge:
            human = judge["gpt-4o"] == "correct"
        if human is None or not keep(row):
            continue
        references = row["references"]
        assert isinstance(references, list)
        rows.append(Graded(str(row["question"]), tuple(references), str(row["reply"]), bool(human)))
    return tuple(rows)


def labelled(folder: Path) -> Iterator[Labelled]:
    """The sets; of EVOUNA the questions that its authors call improper are left out."""
    nq = list(lines(folder / "nq301_openqa_eval.jsonl"))
    yield Labelled("nq301 davinci", graded_rows(nq, lambda row: "davinci" in str(row["model"])), True)
    yield Labelled("nq301 readers", graded_rows(nq, lambda row: "davinci" not in str(row["model"])), True)
    evouna = list(lines(folder / "evouna_nq_fid_gpt35_chatgpt.jsonl"))
    for model, built in (("fid", True), ("gpt35", True), ("chatgpt", False)):
        keep = lambda row, model=model: row["model"] == model and not row["improper"]  # noqa: E731
        yield Labelled(f"evouna {model}", graded_rows(evouna, keep), built)
    truthful = list(lines(folder / "truthfulqa_multi_en_es_ca.jsonl"))
    for lang in ("en", "es", "ca"):
        keep = lambda row, lang=lang: row["lang"] == lang  # noqa: E731
        yield Labelled(f"truthfulqa {lang}", graded_rows(truthful, keep), lang == "en")
    gsm8k = lines(folder / "gsm8k_6b_verification.jsonl")
    yield Labelled("gsm8k 6b", graded_rows(gsm8k, lambda row: True), False, "a machine")
    czech = lines(folder / "czech_simpleqa_gpt-4o-2024-11-20.jsonl")
    yield Labelled("czech gpt-4o", graded_rows(czech, lambda row: True), False, "a judge model")


def agreement(grader: OpenGrader, rows: Sequence[Graded]) -> Agreement:
    both = graded = unscored = 0
    for row in rows:
        item = Item(
            "0", "open", Chat((Message("user", row.question),)), Gold.of(row.answers[0], row.answers[1:])
        )
        score = grader.grade(item, Reply(row.reply)).score
        unscored += score is None
        graded += score == 1.0
        both += score == 1.0 and row.right
    return Agreement(len(rows), both, graded, sum(row.right for row in rows), unscored)


def shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def line(*cells: object) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"


def table(every: Sequence[Labelled]) -> Iterator[str]:
    """A row for each set and grader that fits all or some of it."""
    yield line("set", "labels by", "grader", "n", "accuracy", "precision", "recall")
    yield line(*["---"] * 3, *["---:"] * 4)
    for one in every:
        name = f"{one.name} (built)" if one.built else one.name
        for words, what, rows in measured(one):
            found = agreement(parse_grader(words), rows)
            cells = [shown(found.accuracy), shown(found.precision), shown(found.recall)]
            if found.unscored == found.n:
                cells = ["no score"] * 3
            yield line(name, one.by, what, f"{found.n:,}", *cells)


def measured(one: Labelled) -> Iterator[tuple[str, str, Sequence[Graded]]]:
    """The graders to measure on a set, and on which of its rows: those whose right answers they can compare with."""
    chosen = choose([row.answers for row in one.rows], asks_for_line=False).grader.words
    yield chosen, f"default: {chosen.partition('/')[0]}", one.rows
    for words in GRADERS:
        if words in ("number", "date"):
            fits = is_quantity if words == "number" else whole_date
            rows = [row for row in one.rows if all(fits(text) for text in row.answers)]
            if len(rows) < 20:
                continue
            yield words, f"{words}, where answers are", rows
            if len(rows) < len(one.rows):
                yield "contains", f"contains, on these {words}s", rows
        else:
            yield words, words, one.rows


# Made replies ---------------------------------------------------------------------------------------

RIGHT_FORMS = (
    "{right}",
    "The answer is {right}.",
    "It is not {wrong} but {right}.",
    "It is {right}, not {wrong}.",
    "Not {wrong}: {right}.",
    "Many people think of {wrong}. In fact it is {right}.",
    "**Answer:** {right}",
)
WRONG_FORMS = (
    "It is not {right}.",
    "It is {wrong}, not {right}.",
    "It isn't {right}; it is {wrong}.",
    "{right} is wrong. It is {wrong}.",
    "It could be {wrong}, {right} or {other}.",
    "I'm not sure: {right} or {wrong}.",
    "Either {wrong} or {right}.",
    "It is neither {wrong} nor {right}.",
    "It is {wrong} rather than {right}.",
    "Answer: {wrong}\n(Not {right}.)",
    "{many}",
)


def made_replies(rows: Sequence[Graded], count: int = 300) -> Iterator[tuple[str, Labelled]]:
    """Replies in forms that trap a search for words, with answers of the sets; wrong ones are of other questions."""
    draw = random.Random(0)
    texts = sorted({row.answers for row in rows if all(2 < len(text) < 40 for text in row.answers)})
    draw.shuffle(texts)
    for right, forms in ((True, RIGHT_FORMS), (False, WRONG_FORMS)):
        for form in forms:
            yield (
                form,
                Labelled(form, tuple(made(form, texts, place, right) for place in range(count)), False),
            )


def made(form: str, texts: Sequence[tuple[str, ...]], place: int, right: bool) -> Graded:
    ours = texts[place % len(texts)]
    others = [texts[(place + step) % len(texts)][0] for step in range(1, 25)]
    words = {"right": ours[0], "wrong": others[0], "other": others[1]}
    many = "\n".join(f"- {text}" for text in [*others[:12], ours[0], *others[12:]])
    return Graded("", ours, form.format(**words, many=many), right)


def made_table(rows: Sequence[Graded]) -> Iterator[str]:
    yield line("reply", "is", "contains", "contains:strict=false")
    yield line("---", "---", "---:", "---:")
    for form, one in made_replies(rows):
        is_right = one.rows[0].right
        shares = []
        for words in ("contains", "contains:strict=false"):
            graded = agreement(parse_grader(words), one.rows).graded
            shares.append(shown((graded if is_right else len(one.rows) - graded) / len(one.rows)))
        text = "a list of 25 with the right one" if form == "{many}" else form.replace("\n", " / ")
        yield line(f"`{text}`", "right" if is_right else "wrong", *shares)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("sets", nargs="*", help="only sets whose name begins so")
    parser.add_argument(
        "--made", action="store_true", help="measure on made replies that trap a search for words"
    )
    asked = parser.parse_args()
    every = [one for one in labelled(asked.folder) if one.name.startswith(tuple(asked.sets) or "")]
    print("\n".join(made_table([row for one in every for row in one.rows]) if asked.made else table(every)))


if __name__ == "__main__":
    main()
