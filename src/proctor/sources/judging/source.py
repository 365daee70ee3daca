"""A judge's items: each criterion of each reply, or of a pair each order in which its two replies are shown."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import orjson

from proctor.findings import METRIC_VERSIONS
from proctor.grading.exam import ExamGrader, Reads
from proctor.grading.extractors import EXTRACTORS
from proctor.grading.formats import Label
from proctor.grading.reading.ladder import EXTRACTOR as LADDER
from proctor.grading.vocabulary import vocabulary
from proctor.manifest import JudgingFacts, TaskSpec
from proctor.references import PREFERENCE, Criterion, JudgingRef
from proctor.sources.judging.prompts import VERSION, ShownReply, pairwise, pointwise
from proctor.types import Chat, Grade, Item, Message, Outcome, Reply

METRIC = "mean"
BOTH_ORDERS = ("12", "21")  # which of a pair's replies is shown first
# What is taken for a grade besides its own name.
SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "pass": ("passes", "passed"),
    "fail": ("fails", "failed"),
    "tie": ("equal", "equally good", "both", "neither"),
}


@dataclass(frozen=True, slots=True)
class JudgedPlace:
    """Which reply of the judged run: item, repeat and attempt."""

    item_id: str
    repeat: int
    attempt: int


@dataclass(frozen=True, slots=True)
class JudgedReply:
    """A kept reply as a judge is shown it; of a pair, both. `truth` is what a simulated judge is told: its worth.

    `cluster` is that of the judged item. `leans` are the grades that biases would give, by the bias.
    """

    place: JudgedPlace
    shown: ShownReply
    cluster: str | None = None
    truth: float | None = None
    models: tuple[str, ...] = ()
    other: JudgedPlace | None = None  # of a pair, where the second run's reply is


@dataclass(frozen=True, slots=True)
class JudgeAsking:
    """One item of a judge's run: what of which reply it asks, in which order of a pair."""

    item: Item
    reply: JudgedReply
    criterion: Criterion
    order: str = BOTH_ORDERS[0]


@dataclass(frozen=True, slots=True)
class JudgingSource:
    """The askings of a judge's run, in the order of the judged run."""

    title: str
    facts: JudgingFacts
    ref: JudgingRef
    replies: Sequence[JudgedReply] = field(repr=False)
    understood: Sequence[str] = ()

    def __len__(self) -> int:
        asked = sum(len(self.ref.rubric.of(each.place.item_id)) for each in self.replies)
        return asked * len(self._orders)

    @property
    def _orders(self) -> Sequence[str]:
        return BOTH_ORDERS if self.ref.against else BOTH_ORDERS[:1]

    def items(self) -> Iterator[Item]:
        return (asking.item for asking in self.askings())

    def askings(self) -> Iterator[JudgeAsking]:
        for reply in self.replies:
            for criterion in self.ref.rubric.of(reply.place.item_id):
                for order in self._orders:
                    yield JudgeAsking(self._item(reply, criterion, order), reply, criterion, order)

    def _item(self, reply: JudgedReply, criterion: Criterion, order: str) -> Item:
        grades = PREFERENCE if self.ref.against else criterion.worth
        if self.ref.against:
            shown = reply.shown if order == "12" else _turned(reply.shown)
            prompt = pairwise(shown, self.ref.rubric, criterion)
        else:
            prompt = pointwise(reply.shown, self.ref.rubric, criterion)
        return Item(
            asking_id(criterion, reply.place, order if self.ref.against else None),
            criterion.name,
            Chat(prompt),
            options=tuple(grades),
            cluster=reply.cluster,
            hash=prompt_hash(prompt),
        )

    def worth(self, asking: JudgeAsking, answer: str | None) -> float | None:
        """What a verdict says of the first run's reply, from 0 to 1; None where none was read."""
        if answer is None:
            return None
        if self.ref.against is None:
            return asking.criterion.worth.get(answer)
        worth = PREFERENCE.get(answer)
        return worth if worth is None or asking.order == "12" else 1.0 - worth

    @property
    def grader(self) -> JudgeReader:
        return JudgeReader(self)


@dataclass(frozen=True, slots=True)
class JudgeReader:
    """Reads a judge's verdicts by the ladder that reads all labels; what it cannot read is no answer, never a grade."""

    source: JudgingSource
    name: str = LADDER

    def grade(self, item: Item, reply: Reply) -> Grade:
        criterion = next(each for each in self.source.ref.rubric.criteria if each.name == item.group)
        grades = PREFERENCE if self.source.ref.against else criterion.worth
        labels = [Label(name, SYNONYMS.get(name, ())) for name in grades]
        reads = {item.group: Reads("labels", vocabulary(labels))}
        grade = ExamGrader(EXTRACTORS[LADDER], reads).grade(item, reply)
        assert isinstance(grade, Grade)
        if grade.outcome is not Outcome.ANSWERED or grade.answer is None:
            return grade
        worth = grades.get(grade.answer)
        if self.source.ref.against and worth is not None and item.id.endswith("/21"):
            worth = 1.0 - worth
        return replace(grade, score=worth)


def asking_id(criterion: Criterion, place: JudgedPlace, order: str | None = None) -> str:
    """The id of the item that asks a criterion of a reply; of a pair, in one order."""
    ident = f"{criterion.name}/{place.item_id}/{place.repeat}"
    return ident if order is None else f"{ident}/{order}"


def _turned(shown: ShownReply) -> ShownReply:
    return replace(shown, replies=tuple(reversed(shown.replies)))


def prompt_hash(prompt: Sequence[Message]) -> str:
    """Of all that a judge is shown."""
    shown = [[message.role, message.content] for message in prompt]
    return hashlib.sha256(orjson.dumps(shown)).hexdigest()[:32]


def judging_source(
    ref: JudgingRef, replies: Sequence[JudgedReply], judged: Mapping[str, str]
) -> JudgingSource:
    """`judged` are the models of the judged runs by the runs' ids."""
    rubric = ref.rubric
    orders = 2 if ref.against else 1
    asked = Counter(each.name for reply in replies for each in rubric.of(reply.place.item_id))
    facts = JudgingFacts(
        rows="judging",
        tasks={
            each.name: TaskSpec(each.name, "text", (METRIC,), asked=asked[each.name] * orders)
            for each in rubric.criteria
            if asked[each.name]
        },
        n=asked.total() * orders,
        metric_versions={METRIC: METRIC_VERSIONS[METRIC]},
        aggregate="macro",
        extractor=LADDER,
        rubric=rubric.words,
        rubric_sha256=rubric.sha256,
        judge_prompt=VERSION,
        judged=judged,
        pairwise=ref.against is not None,
    )
    source = JudgingSource(ref.listed, facts, ref, replies)
    digest = hashlib.sha256("\n".join(f"{item.id} {item.hash}" for item in source.items()).encode())
    return replace(source, facts=replace(facts, item_set_sha256=digest.hexdigest()))
