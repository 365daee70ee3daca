"""What is off with a run, and the cure: replies that could not be read, one answer to everything, much reasoning."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from proctor.errors import ConfigError
from proctor.figures import fraction
from proctor.findings import RunResult
from proctor.grading.exam import Reads
from proctor.grading.nearest import BROKEN_JSON, EMPTY, LATER, REFUSING, RUN_ON, UNFINISHED, Nearest, nearest
from proctor.grading.nearest import EXTRACTOR as LADDER
from proctor.service.context import Context
from proctor.service.results.answer_kinds import reads
from proctor.store import AnswerGroup, AttemptRow, Store
from proctor.types import Item, Outcome, Reply, Run, Sampling

LOW_ANSWER_RATE = 0.98
MOST_LOOKED_AT = 300  # unread replies that are opened
SHOWN = 3
SHOWN_CHARS = 160
FEWEST_ITEMS = 20
ONE_LABEL = 0.95
MUCH_REASONING = 0.5
REASONING_TOKENS = 8192

UNREAD = {Outcome.NO_ANSWER: "no answer", Outcome.TRUNCATED: "truncated", Outcome.REFUSED: "refused"}


@dataclass(frozen=True, slots=True)
class Unread:
    """A reply in which no answer was read, and how near it came."""

    item_id: str
    outcome: Outcome
    reply: Reply
    near: Nearest

    @property
    def in_reasoning(self) -> bool:
        """True when the reply ended before its reasoning did."""
        thought = bool(self.reply.reasoning or self.reply.reasoning_tokens)
        return self.near.what == UNFINISHED or (thought and self.near.what == EMPTY)


@dataclass(slots=True)
class Counts:
    """What a run's rows add up to."""

    settled: int = 0
    unread: list[AttemptRow] = field(default_factory=list)
    answers: dict[str, Counter[str]] = field(default_factory=dict)
    targets: dict[str, set[str]] = field(default_factory=dict)
    scored: Counter[str] = field(default_factory=Counter)
    reasoning_tokens: int = 0
    output_tokens: int = 0
    reasoned: int = 0


def diagnose(context: Context, result: RunResult) -> tuple[str, ...]:
    """Sentences for a person; none when nothing is off."""
    run = result.run
    if not run.manifest.opened:
        return ()  # a job that ended, or has yet to begin, before anything was asked
    try:
        known = reads(run)
    except ConfigError:
        return ()  # a run of an older version: what its answers are is not known
    counts = counted(context.store.answer_groups(run.id), known)
    counts.unread = [row for outcome in UNREAD for row in context.store.latest(run.id, outcome=outcome)]
    counts.unread.sort(key=lambda row: (row.position, row.repeat))
    said = list(unread_sentences(context.store, run, counts, known))
    if run.cell.model.provider != "baseline":  # a baseline that says one thing does what it is for
        said += one_answer(counts, {key: task.title for key, task in run.manifest.facts.tasks.items()})
    return (*ungraded(context.store, result), *said, *much_reasoning(counts))


def counted(groups: Iterable[AnswerGroup], known: Mapping[str, Reads]) -> Counts:
    """Everything but the unread replies themselves, which are few and read one by one."""
    counts = Counts()
    for each in groups:
        if each.outcome is Outcome.ERROR:
            continue
        counts.settled += each.items
        if each.scored and (group := group_of(each.task, known)):
            counts.scored[group] += each.scored
            counts.targets.setdefault(group, set()).add(each.target or "")
            if each.answer is not None:
                counts.answers.setdefault(group, Counter())[each.answer] += each.scored
        counts.reasoned += each.reasoned
        counts.reasoning_tokens += each.reasoning_tokens
        counts.output_tokens += each.output_tokens
    return counts


def group_of(task: str, known: Mapping[str, Reads]) -> str:
    """Tasks whose answers mean the same are looked at together: all lettered ones; "" for free words."""
    kind = known[task].kind if task in known else "text"
    return {"choices": "choices", "text": "", "entity": ""}.get(kind, task)


def ungraded(store: Store, result: RunResult) -> Iterator[str]:
    """Replies without a score although the right answer is known: how many, and why, in the grader's words."""
    n = result.tally.outcomes.get(Outcome.ANSWERED.value, 0)
    rows = store.latest(result.run.id, outcome=Outcome.ANSWERED, limit=MOST_LOOKED_AT) if n else ()
    notes = Counter(
        note for row in rows if row.score is None and (note := grade_note(store, result.run, row))
    )
    for note, times in notes.most_common(SHOWN):
        some = f"{times:,} of the first {MOST_LOOKED_AT}" if n > MOST_LOOKED_AT else f"{times:,}"
        yield f"No score was given to {some} replies: {note.removeprefix('not graded: ')}."


def grade_note(store: Store, run: Run, row: AttemptRow) -> str | None:
    grade = store.payload(run.id, row.item_id, row.repeat, row.attempt).get("grade") or {}
    note: str | None = grade.get("note")
    return note


# Replies that could not be read -----------------------------------------------------------------


def unread_sentences(store: Store, run: Run, counts: Counts, known: Mapping[str, Reads]) -> Iterator[str]:
    if not counts.settled or 1 - len(counts.unread) / counts.settled >= LOW_ANSWER_RATE:
        return
    looked_at = [opened(store, run, row, known) for row in counts.unread[:MOST_LOOKED_AT]]
    yield answer_rate(counts)
    yield from (in_short(each) for each in examples(looked_at))
    asked_of_server = run.cell.model.provider not in ("replay", "baseline")
    yield from cures(looked_at, run.cell.sampling if asked_of_server else None)
    if len(counts.unread) > len(looked_at):
        yield f"(Only the first {len(looked_at)} of {len(counts.unread):,} unread replies were looked at.)"


def opened(store: Store, run: Run, row: AttemptRow, known: Mapping[str, Reads]) -> Unread:
    """The row with what was said."""
    item, reply = store.item(row.item_hash), store.reply(run.id, row)
    return unread(row.item_id, row.outcome, item, reply, known[row.task])


def unread(item_id: str, outcome: Outcome, item: Item, reply: Reply, how: Reads) -> Unread:
    return Unread(item_id, outcome, reply, nearest(item, reply, kind=how.kind, vocabulary=how.vocabulary))


def answer_rate(counts: Counts) -> str:
    outcomes = Counter(row.outcome for row in counts.unread)
    listed = ", ".join(
        f"{outcomes[outcome]:,} {word}" for outcome, word in UNREAD.items() if outcomes[outcome]
    )
    read = counts.settled - len(counts.unread)
    return (
        f"An answer was read from {read:,} of {counts.settled:,} replies "
        f"({fraction(read / counts.settled)}); the others: {listed}."
    )


def examples(unreads: Sequence[Unread]) -> list[Unread]:
    """Up to three, of different faults where there are some."""
    by_fault: dict[object, Unread] = {}
    for each in unreads:
        by_fault.setdefault((each.outcome, each.near.what), each)
    first = list(by_fault.values())[:SHOWN]
    return [*first, *(each for each in unreads if each not in first)][:SHOWN]


def in_short(each: Unread) -> str:
    """One line: the item, what was found, and how the reply begins."""
    text = " ".join((each.reply.text or each.reply.reasoning or "").split())
    quoted = text[:SHOWN_CHARS] + ("..." if len(text) > SHOWN_CHARS else "")
    rung = f"rung {each.near.rung}, " if each.near.rung is not None else ""
    # Where the answer stands far into the reply, its beginning does not show what was wrong.
    value = f" ({each.near.value})" if each.near.value and each.near.value not in quoted else ""
    near = "" if each.outcome is Outcome.REFUSED else f"; nearest: {rung}{each.near.what}{value}"
    return f'{each.item_id} ({UNREAD[each.outcome]}{near}): "{quoted}"'


def cures(unreads: Sequence[Unread], sampling: Sampling | None) -> Iterator[str]:
    """What to do, by fault, the most frequent first. Without `sampling` the replies were not ours to ask for."""
    found: dict[str, list[Unread]] = {}
    for each in unreads:
        found.setdefault(fault(each), []).append(each)
    for name, members in sorted(found.items(), key=lambda pair: -len(pair[1])):
        yield f"{len(members):,} of {len(unreads):,} {CURES[name](members, sampling)}"


def fault(each: Unread) -> str:
    """Which row of CURES an unread reply belongs to."""
    if each.outcome is Outcome.REFUSED:
        return "refused"
    cut = each.reply.finish in ("length", "cut?")
    if each.near.what in (RUN_ON, LATER):
        return "run on" if each.near.what == RUN_ON else "later"
    if each.in_reasoning:
        return "cut in reasoning" if cut else "reasoning only"
    if cut:
        return "cut"
    return {EMPTY: "empty", BROKEN_JSON: "json", REFUSING: "declined"}.get(each.near.what, "unclear")


def _limit(sampling: Sampling | None) -> str:
    limit = sampling.max_tokens if sampling else None
    return f"at {limit} tokens" if limit else "at the length limit"


def _more(sampling: Sampling | None, *, least: int, times: int) -> str:
    """The advice to raise the limit, and to what."""
    if sampling is None:
        return "ask again with a higher limit where these replies were made"
    return f"raise --max-tokens to {max(least, times * (sampling.max_tokens or 0))}"


def _cut_in_reasoning(members: Sequence[Unread], sampling: Sampling | None) -> str:
    more = _more(sampling, least=REASONING_TOKENS, times=2)
    off = ", or --think off" if sampling and sampling.think is not False else ""
    return f"were cut inside the reasoning {_limit(sampling)}: {more}{off}"


def _reasoning_only(members: Sequence[Unread], sampling: Sampling | None) -> str:
    if sampling is None:
        return "reasoned and then said nothing"
    return (
        "reasoned and then said nothing, though not cut by --max-tokens: "
        "try --think off, or look at the server's own limit"
    )


def _cut(members: Sequence[Unread], sampling: Sampling | None) -> str:
    return f"were cut {_limit(sampling)} before an answer: {_more(sampling, least=2048, times=4)}"


def _empty(members: Sequence[Unread], sampling: Sampling | None) -> str:
    if sampling is None:
        return "were empty"
    return (
        "were empty: try one prompt by hand; the usual causes are a wrong chat template on the server "
        "and a --stop text that the reply begins with"
    )


def _refused(members: Sequence[Unread], sampling: Sampling | None) -> str:
    return f"were refused ({_ids(members)}): the provider's filter or the model declined; they count as wrong"


def _run_on(members: Sequence[Unread], sampling: Sampling | None) -> str:
    mark = Counter(each.near.value for each in members).most_common(1)[0][0]
    where = "" if sampling else " where these replies are made"
    return f'ran on into a question of their own ({_ids(members)}): --stop "{mark}"{where} ends a reply there'


def _later(members: Sequence[Unread], sampling: Sampling | None) -> str:
    return f"hold an answer that this run's extractor does not read: `proctor rescore RUN --extractor {LADDER}` does"


def _declined(members: Sequence[Unread], sampling: Sampling | None) -> str:
    may_help = ": another --wording may help; they count as wrong" if sampling else ""
    return f"declined in words ({_ids(members)}){may_help}"


def _json(members: Sequence[Unread], sampling: Sampling | None) -> str:
    written = sampling is not None and sampling.mode == "generate"
    cure = ": --mode structured makes the server write it whole" if written else ""
    return f"hold broken JSON without a complete answer{cure}"


def _unclear(members: Sequence[Unread], sampling: Sampling | None) -> str:
    what = Counter(each.near.what for each in members)
    listed = "; ".join(f"{name} ({n:,})" for name, n in what.most_common(3))
    ways = "--mode structured or another" if sampling and sampling.mode == "generate" else "Another"
    cure = f". {ways} --wording may help" if sampling else ""
    return f"state no one answer: {listed}{cure}"


def _ids(members: Sequence[Unread]) -> str:
    some = ", ".join(each.item_id for each in members[:5])
    return f"{some} and {len(members) - 5:,} more" if len(members) > 5 else some


CURES: Mapping[str, Callable[[Sequence[Unread], Sampling | None], str]] = {
    "cut in reasoning": _cut_in_reasoning,
    "reasoning only": _reasoning_only,
    "cut": _cut,
    "empty": _empty,
    "refused": _refused,
    "run on": _run_on,
    "later": _later,
    "declined": _declined,
    "json": _json,
    "unclear": _unclear,
}


# One answer to everything, and reasoning --------------------------------------------------------


def one_answer(counts: Counts, titles: Mapping[str, str]) -> Iterator[str]:
    """A model that gives nearly the same answer everywhere although the right ones differ."""
    for group, answers in counts.answers.items():
        answer, times = answers.most_common(1)[0]
        n = counts.scored[group]
        if n < FEWEST_ITEMS or times <= ONE_LABEL * n or len(counts.targets[group]) < 2:
            continue
        where = f" of {titles[group]}" if len(counts.scored) > 1 and group in titles else ""
        yield (
            f"The model answered {answer!r} to {times:,} of {n:,} items{where}, although the right answers "
            "differ: its score says little about what it knows. Look at some replies with `proctor export`."
        )


def much_reasoning(counts: Counts) -> Iterator[str]:
    if not counts.output_tokens or counts.reasoning_tokens < MUCH_REASONING * counts.output_tokens:
        return
    thought, all_of_it = counts.reasoning_tokens / counts.reasoned, counts.output_tokens / counts.reasoned
    yield (
        f"Reasoning took {counts.reasoning_tokens / counts.output_tokens:.0%} of the output tokens "
        f"({thought:,.0f} of {all_of_it:,.0f} a reply); --think off leaves it out where the model can."
    )
