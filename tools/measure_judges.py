"""Measure what judges are worth on real answers: the judge alone, labels alone, and the judge corrected by them.

    .venv/bin/python tools/measure_judges.py ../shared/data/open [SET ...] [--write docs/judges.md] [--each PAGE]

People's grades of a whole set are taken for the truth. Again and again 100 of its items are drawn, only theirs are
shown to the statistics, and the intervals are held against the truth. "Of the set": drawn without replacement, as
somebody labels who has just these items; a third of them labelled is no small part, so intervals that are made for
many more items are too wide there. "Anew": the set itself is drawn anew, with replacement, as if these items were a
sample of all that could be asked; that is what a 95 % interval promises to hold. A judge's verdict that could not be
read is no grade: it takes no part in the judge's own score, and the mean of its verdicts stands in for it in the
corrected one. Items that no person graded are left out, and so are questions that their authors call improper.
"""

from __future__ import annotations

import argparse
import csv
import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

import numpy as np

from proctor.grading.spec import parse_grader
from proctor.stats.judged.prediction import (
    Corrected,
    corrected_difference,
    corrected_mean,
    corrected_preference,
)
from proctor.types import Chat, Gold, Item, Message, Reply

LABELS = 100
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
WORDS = "contains"  # proctor's grader that stands in for a judge where no model judged
PREFERRED: Mapping[str | None, float | None] = {
    "1": 1.0, "model_a": 1.0, "2": 0.0, "model_b": 0.0, "tie": 0.5, "tie (bothbad)": 0.5, None: None, "": None,
}  # fmt: skip
Kind = Literal["grades", "differences", "preferences"]
ESTIMATED: Mapping[Kind, Callable[..., Corrected]] = {
    "grades": corrected_mean,
    "differences": corrected_difference,
    "preferences": corrected_preference,
}


@dataclass(frozen=True, slots=True)
class JudgedSet:
    """Items with people's and one judge's grades, in one order; sets of one `group` share a line of the table."""

    name: str
    judge: str
    kind: Kind
    people: Sequence[float] = field(repr=False)
    said: Sequence[float | None] = field(repr=False)
    group: str

    @property
    def labels(self) -> int:
        return min(LABELS, len(self.people) // 2)


# The sets -----------------------------------------------------------------------------------------


def lines(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def contained(row: Mapping[str, Any]) -> float | None:
    """What proctor's grader of words says of a reply."""
    first, *others = row["references"]
    item = Item("0", "open", Chat((Message("user", row["question"]),)), Gold.of(first, others))
    return parse_grader(WORDS).grade(item, Reply(row["reply"])).score


def number(verdict: bool | float | None) -> float | None:
    return None if verdict is None else float(verdict)


def graded(
    rows: Sequence[Mapping[str, Any]], name: str, group: str, judges: Sequence[str] = ()
) -> Iterator[JudgedSet]:
    """Single replies; a row without a person's grade is left out."""
    known = [row for row in rows if row["human"] is not None]
    people = [float(row["human"]) for row in known]
    for judge in judges:
        said = [number(row["judge"].get(judge)) for row in known]
        yield JudgedSet(name, judge, "grades", people, said, group)
    yield JudgedSet(name, f"`{WORDS}`", "grades", people, [contained(row) for row in known], group)


def nq301(folder: Path) -> Iterator[JudgedSet]:
    """Each of twelve models; then each beside the next better one, question by question."""
    rows = lines(folder / "nq301_openqa_eval.jsonl")
    by_model: dict[str, dict[str, dict[str, Any]]] = {}
    for row in rows:
        by_model.setdefault(row["model"], {})[row["question"]] = row
    judges = ("gpt-4", "text-davinci-003", "bem")
    for model, asked in by_model.items():
        own = "davinci" in model
        group = f"nq301 {model.removeprefix('text-')}" if own else "nq301, each of 10 readers"
        yield from graded(list(asked.values()), f"nq301 {model}", group, judges)
    yield from differences(by_model, judges)


def differences(
    by_model: Mapping[str, Mapping[str, dict[str, Any]]], judges: Sequence[str]
) -> Iterator[JudgedSet]:
    """Each model less the next better one by people's grades."""

    def mean(model: str) -> float:
        return fmean(row["human"] for row in by_model[model].values() if row["human"] is not None)

    ranked = sorted(by_model, key=mean)
    group = "nq301, 11 differences of neighbours"
    for worse, better in pairwise(ranked):
        both = [(row, by_model[better].get(question)) for question, row in by_model[worse].items()]
        pairs = [(a, b) for a, b in both if b and None not in (a["human"], b["human"])]
        people = [float(b["human"]) - float(a["human"]) for a, b in pairs]
        for judge in (*judges, f"`{WORDS}`"):
            said = [less(grade(b, judge), grade(a, judge)) for a, b in pairs]
            yield JudgedSet(f"nq301 {better} - {worse}", judge, "differences", people, said, group)


def grade(row: Mapping[str, Any], judge: str) -> float | None:
    return number(row["judge"].get(judge)) if judge in row["judge"] else contained(row)


def less(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else first - second


def evouna(folder: Path) -> Iterator[JudgedSet]:
    rows = [row for row in lines(folder / "evouna_nq_fid_gpt35_chatgpt.jsonl") if not row["improper"]]
    for model in ("fid", "gpt35", "chatgpt"):
        name = f"evouna {model}"
        yield from graded([row for row in rows if row["model"] == model], name, name)


def truthfulqa(folder: Path) -> Iterator[JudgedSet]:
    rows = lines(folder / "truthfulqa_multi_en_es_ca.jsonl")
    for lang in ("en", "es", "ca"):
        name = f"truthfulqa {lang}"
        yield from graded([row for row in rows if row["lang"] == lang], name, name)


def gsm8k(folder: Path) -> Iterator[JudgedSet]:
    name = "gsm8k 6b (a machine's labels)"
    yield from graded(lines(folder / "gsm8k_6b_verification.jsonl"), name, name)


def preferred(
    rows: Sequence[Mapping[str, Any]],
    judges: Sequence[str],
    name: str,
    verdict: Callable[[Any], float | None],
) -> Iterator[JudgedSet]:
    """Pairs, by each judge; `verdict` reads what the judge said of one. The part behind a slash is its prompt."""
    people = [PREFERRED[row["human"]] for row in rows]
    kept = [place for place, told in enumerate(people) if told is not None]
    told = [told for told in people if told is not None]
    for judge in judges:
        said = [verdict(rows[place]["judge"].get(judge)) for place in kept]
        model, slash, _ = judge.partition("/")
        group = f"{name}, each prompt" if slash else name
        yield JudgedSet(f"{name} {judge}", model if slash else judge, "preferences", told, said, group)


def pandalm(folder: Path) -> Iterator[JudgedSet]:
    rows = lines(folder / "pandalm_testset.jsonl")
    yield from preferred(rows, sorted(rows[0]["judge"]), "pandalm", PREFERRED.__getitem__)


def arena(folder: Path) -> Iterator[JudgedSet]:
    judges = ("gpt-4-0125-preview", "claude-3-opus-20240229", "gpt-3.5-turbo")
    with (folder / "arena_pairs_half0.csv").open(encoding="utf-8", newline="") as file:
        rows = [{**row, "judge": {name: row[name] for name in judges}} for row in csv.DictReader(file)]
    yield from preferred(rows, judges, "arena", PREFERRED.__getitem__)


def both_orders(folder: Path) -> Iterator[JudgedSet]:
    """Pairs that were asked in both orders: where the two verdicts differ it is a tie, as in proctor."""
    for name, file in (("llmbar", "llmbar_natural_manual_gptout"), ("p-faireval", "p-faireval")):
        rows = lines(folder / f"{file}.jsonl")
        yield from preferred(rows, sorted(rows[0]["judge"]), name, of_orders)


def of_orders(said: Mapping[str, str | None] | None) -> float | None:
    """The verdict of the swapped order is numbered as the given one. Unreadable in one order is unreadable."""
    if said is None or None in (said["given"], said["swapped"]):
        return None
    return PREFERRED[said["given"]] if said["given"] == said["swapped"] else 0.5


SETS = {
    "nq301": nq301, "evouna": evouna, "truthfulqa": truthfulqa, "gsm8k": gsm8k, "pandalm": pandalm,
    "arena": arena, "orders": both_orders,
}  # fmt: skip


# Measured -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Held:
    """Of one way to estimate: the mean width of its intervals, and in what share of the draws they held the truth."""

    width: float
    of_set: float
    anew: float


@dataclass(frozen=True, slots=True)
class Measured:
    """A set with its figures; `quoted` is the share of draws in which the corrected score was to be quoted."""

    of: JudgedSet
    truth: float
    judge_mean: float
    unread: int
    correlation: float
    alone: Held
    labels: Held
    corrected: Held
    named: Held  # of the interval that proctor says to quote
    quoted: float

    @property
    def worth(self) -> float:
        """How many labels alone would have had so narrow an interval."""
        return self.of.labels * (self.labels.width / self.corrected.width) ** 2


def measured(of: JudgedSet, draws: int) -> Measured:
    people = np.array(of.people)
    said = np.array(of.said, dtype=np.float64)
    truth, read = float(people.mean()), ~np.isnan(said)
    rng = np.random.default_rng(zlib.crc32(f"{of.name}/{of.judge}".encode()))
    n = len(people)
    orders = [rng.permutation(n) for _ in range(draws)], [rng.integers(0, n, n) for _ in range(draws)]
    found = [[corrected(of, people[order], said[order]) for order in each] for each in orders]
    pick: dict[str, Callable[[Corrected], Any]] = {
        "alone": lambda one: one.judge,
        "labels": lambda one: one.people,
        "corrected": lambda one: one.corrected,
        "named": lambda one: one.quoted,
    }
    held = {
        name: Held(width(found[0], way), *(share(each, way, truth) for each in found))
        for name, way in pick.items()
    }
    correlation = float(np.corrcoef(people[read], said[read])[0, 1])
    quoted = fmean(one.quote == "corrected" for one in found[0])
    mean = float(said[read].mean())
    return Measured(of, truth, mean, int((~read).sum()), correlation, **held, quoted=quoted)


def corrected(of: JudgedSet, people: Any, said: Any) -> Corrected:
    """By the first items' labels; the judge's word on all the others."""
    told, heard = people[: of.labels].tolist(), said.tolist()
    return ESTIMATED[of.kind](told, heard[: of.labels], heard[of.labels :])


def width(found: Sequence[Corrected], way: Callable[[Corrected], Any]) -> float:
    return fmean(way(one).high - way(one).low for one in found)


def share(found: Sequence[Corrected], way: Callable[[Corrected], Any], truth: float) -> float:
    return fmean(way(one).low <= truth <= way(one).high for one in found)


# Shown --------------------------------------------------------------------------------------------

QUOTED = "whichever of the two proctor says to quote"
HEAD = (
    "set", "judge", "items", "people", "judge's mean", "corr.",
    "judge alone: width", "holds", "labels alone: width", "holds", "corrected: width", "holds", "quoted", "as good as",
)  # fmt: skip


def table(found: Sequence[Measured], *, each: bool) -> Iterator[str]:
    yield row(HEAD)
    yield row(("---", "---", *["---:"] * (len(HEAD) - 2)))
    groups: dict[tuple[str, str], list[Measured]] = {}
    for one in found:
        name = one.of.name if each else one.of.group
        groups.setdefault((name, one.of.judge), []).append(one)
    for (name, judge), ones in groups.items():
        yield row((name, judge, *cells(ones)))


def row(words: Sequence[str]) -> str:
    return f"| {' | '.join(words)} |"


def cells(ones: Sequence[Measured]) -> Iterator[str]:
    """Means over the sets of a line; behind coverage the lowest of them."""
    sizes = sorted(len(one.of.people) for one in ones)
    yield f"{sizes[0]:,}" if sizes[0] == sizes[-1] else f"{sizes[0]:,} to {sizes[-1]:,}"
    yield f"{fmean(one.truth for one in ones):.3f}"
    unread = sum(one.unread for one in ones)
    yield f"{fmean(one.judge_mean for one in ones):.3f}" + (f" ({unread} unread)" if unread else "")
    yield f"{fmean(one.correlation for one in ones):.2f}"
    for way in ("alone", "labels", "corrected"):
        held: list[Held] = [getattr(one, way) for one in ones]
        yield f"{fmean(one.width for one in held):.3f}"
        yield " / ".join(percents([one.of_set for one in held], [one.anew for one in held]))
    yield f"{100 * fmean(one.quoted for one in ones):.0f}"
    yield f"{fmean(one.worth for one in ones):.0f}"


def percents(*shares: Sequence[float]) -> Iterator[str]:
    for each in shares:
        mean, least = f"{100 * fmean(each):.0f}", f"{100 * min(each):.0f}"
        yield mean if mean == least else f"{mean} ({least})"


def summary(found: Sequence[Measured], draws: int) -> Iterator[str]:
    """What the table says as a whole, in counts."""
    yield f"{len(found)} pairs of set and judge, {draws} draws each. The truth was held by the interval of"
    yield ""
    fixed = sum(one.alone.of_set == 1.0 for one in found)
    yield f"- the judge alone in {fixed} of the {len(found)} as they are; anew in {told(found, 'alone').anew},"
    for way, words in (("labels", "labels alone"), ("corrected", "the corrected score"), ("named", QUOTED)):
        held = told(found, way)
        yield f"- {words} in {held.of_set}; anew in {held.anew}{'.' if way == 'named' else ','}"
    yield ""
    for words, ones in (
        ("at 0.5 or more", [one for one in found if one.correlation >= 0.5]),
        ("below 0.5", [one for one in found if one.correlation < 0.5]),
    ):
        if ones:
            ratios = [one.corrected.width / one.labels.width for one in ones]
            yield (
                f"Where judge and people correlate {words} ({len(ones)} of them), the corrected interval is "
                f"{min(ratios):.2f} to {max(ratios):.2f} times as wide as that of labels alone, "
                f"in the mean {fmean(ratios):.2f} times."
            )


@dataclass(frozen=True, slots=True)
class HeldInWords:
    of_set: str
    anew: str


def told(found: Sequence[Measured], way: str) -> HeldInWords:
    held: list[Held] = [getattr(one, way) for one in found]
    return HeldInWords(*(in_words(each) for each in ([h.of_set for h in held], [h.anew for h in held])))


def in_words(shares: Sequence[float]) -> str:
    return f"{100 * fmean(shares):.1f} % (at the lowest {100 * min(shares):.1f} %)"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("sets", nargs="*", help=f"of {', '.join(SETS)}; all where none is named")
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--write", type=Path, help="into this page, between its markers")
    parser.add_argument("--each", type=Path, help="a line for every set and judge into this page as well")
    asked = parser.parse_args()
    names = asked.sets or list(SETS)
    found = [measured(one, asked.draws) for name in names for one in SETS[name](asked.folder)]
    said = "\n".join([*table(found, each=False), "", *summary(found, asked.draws)])
    if asked.each is not None:
        written(asked.each, "\n".join(table(found, each=True)))
    if asked.write is None:
        print(said)
    else:
        written(asked.write, said)


def written(page: Path, said: str) -> None:
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    page.write_text(f"{before}{BEGIN}\n{said}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
