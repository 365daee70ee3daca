"""The queue of what one person labels: a random part that stands for all, then where graders disagree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from proctor.errors import DataError, NotFound
from proctor.references import PREFERENCE, Criterion, GradingRubric
from proctor.service.context import Context
from proctor.service.judging.shown import has_words, shown_of
from proctor.service.labelling.disagreeing import disagreements
from proctor.service.labelling.order import blind, draw, opaque
from proctor.service.labelling.said import LabelSaid, said_by
from proctor.service.labelling.wish import LabelWish, criteria_of, rubric_of, wished_runs
from proctor.sources.judging.prompts import ShownReply
from proctor.store import AttemptRow, Store
from proctor.store.write.graded_labels import TURNED, Drawn
from proctor.types import Outcome, Run


@dataclass(frozen=True, slots=True)
class LabelPlace:
    """Which reply an entry is about, or which two; what a labeller must not learn."""

    run: Run
    row: AttemptRow
    other: Run | None = None
    other_row: AttemptRow | None = None
    turned: bool = False  # the other run's reply is shown first

    @property
    def named(self) -> tuple[str, str, int]:
        return self.run.id, self.row.item_id, self.row.repeat


@dataclass(frozen=True, slots=True)
class LabelEntry:
    """One thing to label: a reply, or which of two is better. `key` names it and says neither run nor model.

    `said` is what this labeller says of it by now, by criterion.
    """

    key: str
    drawn: Drawn
    criteria: tuple[Criterion, ...]
    said: Mapping[str, LabelSaid]
    place: LabelPlace = field(repr=False)

    @property
    def done(self) -> bool:
        return all(self.settled(each) for each in self.criteria)

    def settled(self, criterion: Criterion) -> bool:
        """Whether it need not be asked: in the random part only what was said blindly, or after looking, will do."""
        said = self.said.get(criterion.name)
        return said is not None and (said.drawn == "random" or said.revealed or self.drawn == "chosen")


@dataclass(frozen=True, slots=True)
class LabelQueue:
    """What one labeller is shown, in this order. The first `random` entries are the random part.

    `items` is how many items there are to draw from: those that every run was asked alike and answered.
    """

    wish: LabelWish
    runs: tuple[Run, ...]
    rubric: GradingRubric
    criteria: tuple[Criterion, ...]
    entries: tuple[LabelEntry, ...]
    random: int
    items: int

    @property
    def pairwise(self) -> bool:
        return self.wish.pairwise

    @property
    def against(self) -> str | None:
        """Of preferences the run that the first one is set against."""
        return self.runs[1].id if self.pairwise else None

    def at(self, key: str) -> int:
        """Raises NotFound."""
        for index, entry in enumerate(self.entries):
            if entry.key == key:
                return index
        raise NotFound("There is no such entry in this queue: it may be one of a larger random part")

    def open_at(self, after: int = -1) -> int | None:
        """The first entry behind that index, then from the beginning, that is not wholly graded."""
        order = [*range(after + 1, len(self.entries)), *range(min(after + 1, len(self.entries)))]
        return next((index for index in order if not self.entries[index].done), None)

    def grades(self, criterion: Criterion) -> tuple[str, ...]:
        """What may be said, the best first; of preferences the first reply as shown, a tie, the second."""
        return tuple(PREFERENCE if self.pairwise else criterion.worth)


@dataclass(frozen=True, slots=True)
class ShownEntry:
    """An entry with its texts. Of a preference there are two replies, in an order of their own; an empty one is ""."""

    entry: LabelEntry
    question: str
    good: tuple[str, ...]
    replies: tuple[str, ...]
    work: str  # what they are: replies, or changes of an agent


def queue(context: Context, wish: LabelWish) -> LabelQueue:
    """Raises: NotFound, ConfigError, DataError where there is nothing to label."""
    store = context.store
    runs = wished_runs(context, wish)
    wish = replace(wish, runs=tuple(run.id for run in runs))
    rubric = rubric_of(store, runs, wish)
    criteria = criteria_of(rubric, wish)
    items = _items(store, runs)
    made = tuple(
        LabelEntry(key, drawn, asked, {}, place)
        for drawn, item in _ordered(store, runs, items, wish, rubric)
        if (asked := tuple(each for each in rubric.of(item[0]) if each in criteria))
        for key, place in _places(runs, items[item], pairwise=wish.pairwise)
        if wish.pairwise or has_words(store, place.run, place.row)
    )
    random = sum(entry.drawn == "random" for entry in made)
    return renewed(context, LabelQueue(wish, tuple(runs), rubric, criteria, made, random, len(items)))


def renewed(context: Context, made: LabelQueue) -> LabelQueue:
    """The same queue with what its labeller says by now, which is all that labelling changes."""
    said = said_by(context.store, made.runs, made.rubric, made.wish)
    entries = (_saying(each, said.get(each.place.named, {})) for each in made.entries)
    return replace(made, entries=tuple(entries))


def _saying(entry: LabelEntry, said: Mapping[str, LabelSaid]) -> LabelEntry:
    """What was said of a reply that was asked for again since is about another one."""
    attempt = entry.place.row.attempt
    said = {name: each for name, each in said.items() if each.attempt in (None, attempt)}
    if entry.place.turned:
        said = {name: replace(each, grade=TURNED[each.grade]) for name, each in said.items()}
    return replace(entry, said=said)


ItemRepeat = tuple[str, int]
Items = Mapping[ItemRepeat, Sequence[AttemptRow]]  # the runs' rows of each, in the order of the runs


def _items(store: Store, runs: Sequence[Run]) -> Items:
    """The items that every run was asked alike and answered. Raises DataError where there are none."""
    first, *others = (
        {(row.item_id, row.repeat): row for row in store.latest(run.id) if row.outcome is not Outcome.ERROR}
        for run in runs
    )
    found = {}
    for item, row in first.items():
        rows = [row, *(rows[item] for rows in others if item in rows)]
        if len(rows) == len(runs) and len({each.item_hash for each in rows}) == 1:
            found[item] = rows
    if not found:
        names = " and ".join(run.id[:8] for run in runs)
        why = "no item that all of them answered" if len(runs) > 1 else "it has no replies"
        raise DataError(f"There is nothing to label in {names}: {why}")
    return found


def _ordered(
    store: Store, runs: Sequence[Run], items: Items, wish: LabelWish, rubric: GradingRubric
) -> Iterator[tuple[Drawn, ItemRepeat]]:
    """The random part in the order of its draw, then the others by how far graders lie apart."""

    def to_label(item: ItemRepeat) -> bool:
        # A reply without a word needs no person, as it needs no judge; beside another it counts for what it is.
        pairs = zip(runs, items[item], strict=True)
        return wish.pairwise or any(has_words(store, run, row) for run, row in pairs)

    order = sorted(items, key=lambda item: draw(*item))
    drawn = list(islice(filter(to_label, order), wish.random))
    yield from (("random", item) for item in drawn)
    spread = disagreements(store, runs, rubric, pairwise=wish.pairwise)
    taken = set(drawn)
    left = [item for item in order if spread.get(item) and item not in taken]
    yield from (("chosen", item) for item in sorted(left, key=lambda item: -spread[item]))


def _places(
    runs: Sequence[Run], rows: Sequence[AttemptRow], *, pairwise: bool
) -> Iterator[tuple[str, LabelPlace]]:
    """The entries of one item: its replies one after the other, or both as one, in an order that nobody knows."""
    ids = [run.id for run in runs]
    item = rows[0].item_id, rows[0].repeat
    order = [ids.index(each) for each in blind(*item, ids)]
    if pairwise:
        place = LabelPlace(runs[0], rows[0], runs[1], rows[1], turned=order[0] == 1)
        yield opaque(*item, sorted(ids)), place
        return
    for index in order:
        yield opaque(*item, [ids[index]]), LabelPlace(runs[index], rows[index])


def shown(context: Context, entry: LabelEntry) -> ShownEntry:
    """An entry with its texts. Raises NotFound where its reply is gone."""
    place, store = entry.place, context.store
    seen = [shown_of(store, place.run, place.row)]
    if place.other is not None and place.other_row is not None:
        seen.append(shown_of(store, place.other, place.other_row))
    one = next((each for each in seen if each is not None), ShownReply("", (), ()))
    texts = ["\n\n".join(each.replies) if each is not None else "" for each in seen]
    replies = tuple(reversed(texts)) if place.turned else tuple(texts)
    return ShownEntry(entry, one.question, tuple(one.good), replies, one.work)
