"""Measure the graders of open answers against people's grades: precision, recall and accuracy on each set of files.

    .venv/bin/python tools/measure_graders.py ../shared/data/open [--made] [SET ...]

A grader is right about a reply where it gives 1.0 and people say correct, or less and they do not. Precision
is the share of replies that people call correct among those graded 1.0; recall the share graded 1.0 among those that
people call correct. A cell is accuracy, precision and recall. The sets on which the graders were built have a
star; the others were looked at when the graders were done.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from proctor.grading.choosing import choose, is_quantity
from proctor.grading.graders.dates import whole_date
from proctor.grading.spec import OpenGrader, parse_grader
from proctor.types import Chat, Gold, Item, Message, Reply


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


def graded_rows(raw: Iterable[dict[str, object]]) -> tuple[Graded, ...]:
    """Rows with a grade; a judge model's where no person gave one."""
    rows = []
    for row in raw:
        judge = row["judge"]
        human = row["human"]
        if human is None and isinstance(judge, dict) and "gpt-4o" in judge:
            human = judge["gpt-4o"] == "correct"
        if human is None:
            continue
        references = row["references"]
        assert isinstance(references, list)
        rows.append(Graded(str(row["question"]), tuple(references), str(row["reply"]), bool(human)))
    return tuple(rows)


def labelled(folder: Path) -> Iterator[Labelled]:
    """The sets; of EVOUNA the questions that its authors call improper are left out."""
    nq = list(lines(folder / "nq301_openqa_eval.jsonl"))
    for name, large in (("davinci", True), ("readers", False)):
        rows = [row for row in nq if ("davinci" in str(row["model"])) == large]
        yield Labelled(f"nq301 {name}", graded_rows(rows), True)
    evouna = list(lines(folder / "evouna_nq_fid_gpt35_chatgpt.jsonl"))
    for model, built in (("fid", True), ("gpt35", True), ("chatgpt", False)):
        rows = [row for row in evouna if row["model"] == model and not row["improper"]]
        yield Labelled(f"evouna {model}", graded_rows(rows), built)
    truthful = list(lines(folder / "truthfulqa_multi_en_es_ca.jsonl"))
    for lang in ("en", "es", "ca"):
        yield Labelled(
            f"truthfulqa {lang}", graded_rows(row for row in truthful if row["lang"] == lang), lang == "en"
        )
    gsm8k = lines(folder / "gsm8k_6b_verification.jsonl")
    yield Labelled("gsm8k 6b", graded_rows(gsm8k), False, "a machine")
    czech = lines(folder / "czech_simpleqa_gpt-4o-2024-11-20.jsonl")
    yield Labelled("czech gpt-4o", graded_rows(czech), False, "a judge model")


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


def cell(words: str, rows: Sequence[Graded], among: int) -> str:
    """Accuracy, precision and recall; with how many rows where those are not all of the set."""
    if len(rows) < LEAST:
        return ""
    found = agreement(parse_grader(words), rows)
    if found.unscored == found.n:
        return "no score"
    figures = " ".join(map(shown, (found.accuracy, found.precision, found.recall)))
    return figures if found.n == among else f"{figures} (n {found.n:,})"


def line(*cells: object) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"


LEAST = 20  # rows, for a figure


def table(every: Sequence[Labelled]) -> Iterator[str]:
    """A row for each set: what is chosen for it, and each grader on the rows whose answers it can compare with."""
    yield line("set", "n", "labels by", "chosen", "exact", "normalized", "contains", "number", "date")
    yield line("---", "---:", *["---"] * 7)
    for one in every:
        chosen = choose([row.answers for row in one.rows], asks_for_line=False).grader.words
        cells = [cell(words, one.rows, len(one.rows)) for words in ("exact", "normalized", "contains")]
        for words, fits in (("number", is_quantity), ("date", whole_date)):
            rows = [row for row in one.rows if all(fits(text) for text in row.answers)]
            cells.append(cell(words, rows, len(one.rows)))
        name = f"{one.name} *" if one.built else one.name
        yield line(name, f"{len(one.rows):,}", one.by, chosen.partition("/")[0], *cells)


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
