"""Attempts, what was asked and said in them, and the scores read off them: the rest of the store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from sqlalchemy import Select, Subquery, case, func, select, tuple_

from proctor.errors import NotFound
from proctor.findings import Score, Speed, Tally
from proctor.store.core import bodies
from proctor.store.core import scores as kept
from proctor.store.core.latest import is_latest
from proctor.store.core.runs import RunStore
from proctor.store.core.tables import ATTEMPT, ITEM, PAYLOAD
from proctor.types import NOTHING_USED, Attempt, Item, Outcome, Reply, Usage

ANSWER_CHARACTERS = 200  # of an answer in its narrow row; the whole reply is in the payload
AT_LIMIT = "limit"  # how the reply of a trial ends whose agent was ended by a limit
PAGE_ROWS = 2000  # of `latest`, between two looks into the database


@dataclass(frozen=True, slots=True)
class AttemptRow:
    """One attempt without its texts: the row that lists, filters and statistics read."""

    item_id: str
    repeat: int
    attempt: int
    position: int
    task: str
    item_hash: str
    target: str | None  # the first 200 characters
    cluster: str | None
    outcome: Outcome
    score: float | None
    answer: str | None  # the first 200 characters
    rung: int | None
    latency_s: float | None
    input_tokens: int | None
    output_tokens: int | None
    reasoning_tokens: int | None
    cost_usd: float | None
    retries: int
    error_slug: str | None
    at: float
    service_s: float | None = None
    in_flight: float | None = None
    unused_input_tokens: int | None = None
    unused_output_tokens: int | None = None
    unused_cost_usd: float | None = None
    first_token_s: float | None = None
    inter_token_s: float | None = None
    status: int | None = None  # HTTP, of a request that the server refused
    finish: str | None = None  # of a reply; None in rows of older versions


def reply_of(said: Mapping[str, Any], row: AttemptRow) -> Reply:
    """The reply of an attempt that has one, from what was said in it (see `Store.payload`) and its row.

    Raises: TypeError, ValueError for ranked first tokens that are none, which only a damaged record has.
    """
    return Reply(
        said.get("text") or "",
        reasoning=said.get("reasoning"),
        finish=said.get("finish") or "stop",
        input_tokens=row.input_tokens,
        output_tokens=row.output_tokens,
        reasoning_tokens=row.reasoning_tokens,
        latency_s=row.latency_s,
        cost_usd=row.cost_usd,
        service_s=row.service_s,
        request_id=said.get("request_id"),
        first_token_s=row.first_token_s,
        inter_token_s=row.inter_token_s,
        first_token=tuple((str(token), float(logprob)) for token, logprob in said.get("first_token") or ()),
    )


class AnswerGroup(NamedTuple):
    """Latest attempts of one task that are alike in target, answer and outcome, counted by the database."""

    task: str
    target: str | None
    answer: str | None
    outcome: Outcome
    items: int
    scored: int  # those with a score
    reasoned: int = 0  # those that report reasoning tokens; the two sums are over these
    reasoning_tokens: int = 0
    output_tokens: int = 0


def _with_tokens(a: Any, seconds: Any) -> list[Any]:
    """Sums for a rate, over the attempts that tell both their tokens and these seconds."""
    told = (seconds.is_not(None), a.output_tokens)
    known = (a.output_tokens.is_not(None), seconds)
    return [
        func.sum(case(told)).label(f"tokens_{seconds.name}"),
        func.sum(case(known)).label(f"with_tokens_{seconds.name}"),
    ]


_NAMES = [field.name for field in fields(AttemptRow)]
COLUMNS = [ATTEMPT.c[name] for name in _NAMES]
_UNUSED = ("unused_input_tokens", "unused_output_tokens", "unused_cost_usd")
_SPENT = ("sum_input_tokens", "sum_output_tokens", "cost_usd")
_OUTCOME = _NAMES.index("outcome")
_OUTCOMES = {outcome.value: outcome for outcome in Outcome}  # a look is quicker than the enum's call


def narrow(run_num: int, attempt: Attempt, item_hash: str) -> tuple[Any, ...]:
    """The values of one row of `attempt`, in the order of the table's columns."""
    item, reading, reply, failure = attempt.item, attempt.grade, attempt.reply, attempt.failure
    unused = attempt.unused
    measured = (
        (reply.latency_s, reply.input_tokens, reply.output_tokens, reply.reasoning_tokens, reply.cost_usd)
        if reply is not None
        else (None, None, None, None, None)
    )
    return (
        run_num,
        item.id,
        attempt.repeat,
        attempt.attempt,
        attempt.position,
        item.group,
        item_hash,
        bodies.clean(item.target, ANSWER_CHARACTERS),
        bodies.clean(item.cluster),
        reading.outcome.value,
        reading.score,
        bodies.clean(reading.answer, ANSWER_CHARACTERS),
        reading.rung,
        *measured,
        attempt.retries,
        failure.slug if failure is not None else None,
        attempt.at,
        reply.service_s if reply is not None else None,
        attempt.in_flight,
        unused.input_tokens,
        unused.output_tokens,
        unused.cost_usd,
        *(
            (reply.first_token_s, reply.inter_token_s, None, reply.finish)
            if reply is not None
            else (None, None, failure.status if failure is not None else None, None)
        ),
    )


class Store(RunStore):
    """Everything that is kept: plans and runs (runs.py), attempts, bodies and scores. For all threads."""

    def settled(self, run_id: str) -> set[tuple[str, int]]:
        """The (item id, repeat) that need not be asked again: their latest attempt is no error."""
        query = select(ATTEMPT.c.item_id, ATTEMPT.c.repeat).where(
            ATTEMPT.c.run_num == self.number(run_id), ATTEMPT.c.outcome != Outcome.ERROR.value, is_latest()
        )
        with self.reading() as connection:
            return {(row[0], row[1]) for row in connection.execute(query)}

    def next_attempts(self, run_id: str) -> dict[tuple[str, int], int]:
        """The number of the next attempt, for each (item id, repeat) that has one."""
        query = (
            select(ATTEMPT.c.item_id, ATTEMPT.c.repeat, func.max(ATTEMPT.c.attempt) + 1)
            .where(ATTEMPT.c.run_num == self.number(run_id))
            .group_by(ATTEMPT.c.item_id, ATTEMPT.c.repeat)
        )
        with self.reading() as connection:
            return {(row[0], row[1]): row[2] for row in connection.execute(query)}

    def latest(
        self,
        run_id: str,
        *,
        task: str | None = None,
        outcome: Outcome | None = None,
        after: tuple[int, int] | None = None,
        limit: int | None = None,
    ) -> Iterator[AttemptRow]:
        """The latest attempt of each item and repeat, by position and repeat.

        `after` is the (position, repeat) of the last row already seen. Rows come in pages, each
        read in a moment of its own: nothing stays open while the caller thinks, and rows kept
        meanwhile may appear. Raises NotFound, at the call.
        """
        query = select(*COLUMNS).where(ATTEMPT.c.run_num == self.number(run_id), is_latest())
        if task is not None:
            query = query.where(ATTEMPT.c.task == task)
        if outcome is not None:
            query = query.where(ATTEMPT.c.outcome == outcome.value)
        return self._pages(query.order_by(ATTEMPT.c.position, ATTEMPT.c.repeat), after, limit)

    def _pages(
        self, query: Select[Any], after: tuple[int, int] | None, limit: int | None
    ) -> Iterator[AttemptRow]:
        left = limit
        while left is None or left > 0:
            asked = PAGE_ROWS if left is None else min(left, PAGE_ROWS)
            page = self._page(query, after, asked)
            yield from page
            if len(page) < asked:
                return
            after = (page[-1].position, page[-1].repeat)
            left = None if left is None else left - asked

    def _page(self, query: Select[Any], after: tuple[int, int] | None, limit: int) -> list[AttemptRow]:
        if after is not None:
            query = query.where(tuple_(ATTEMPT.c.position, ATTEMPT.c.repeat) > tuple_(*after))
        with self.reading() as connection:
            return [attempt_row(row) for row in connection.execute(query.limit(limit)).fetchall()]

    def answer_groups(self, run_id: str) -> list[AnswerGroup]:
        """How often each answer was given to each target, task by task. Raises NotFound."""
        a = ATTEMPT.c
        reasoning = func.coalesce(a.reasoning_tokens, 0)
        thought = case((reasoning > 0, 1), else_=0)
        alike = (a.task, a.target, a.answer, a.outcome)
        query = (
            select(
                *alike,
                func.count(),
                func.count(a.score),
                func.sum(thought),
                func.sum(reasoning),
                func.sum(thought * func.coalesce(a.output_tokens, 0)),
            )
            .where(a.run_num == self.number(run_id), is_latest())
            .group_by(*alike)
        )
        with self.reading() as connection:
            return [
                AnswerGroup(task, target, answer, Outcome(outcome), *map(int, sums))
                for task, target, answer, outcome, *sums in connection.execute(query)
            ]

    def payload(
        self, run_id: str, item_id: str, repeat: int = 0, attempt: int | None = None
    ) -> dict[str, Any]:
        """What was said in one attempt (None: the latest): text, reasoning, finish, error and, if kept, raw.

        Raises NotFound.
        """
        query = select(PAYLOAD.c.body).where(
            PAYLOAD.c.run_num == self.number(run_id),
            PAYLOAD.c.item_id == item_id,
            PAYLOAD.c.repeat == repeat,
        )
        if attempt is not None:
            query = query.where(PAYLOAD.c.attempt == attempt)
        with self.reading() as connection:
            body = connection.execute(query.order_by(PAYLOAD.c.attempt.desc()).limit(1)).scalar_one_or_none()
        if body is None:
            which = "" if attempt is None else f", attempt {attempt}"
            raise NotFound(f"Run {run_id} has no reply to item {item_id}, repeat {repeat}{which}")
        return bodies.unpack(body)

    def reply(self, run_id: str, row: AttemptRow) -> Reply:
        """What the model said in an attempt that has a reply. Raises NotFound."""
        return reply_of(self.payload(run_id, row.item_id, row.repeat, row.attempt), row)

    def item(self, digest: str) -> Item:
        """What was asked, by the `item_hash` of an attempt. Raises NotFound.

        Items that show the same and accept the same share one row: `id` and `group` are then those
        of the first that was kept, and the attempt's own `item_id` and `task` are to be believed.
        """
        with self.reading() as connection:
            body = connection.execute(select(ITEM.c.body).where(ITEM.c.hash == digest)).scalar_one_or_none()
        if body is None:
            raise NotFound(f"No item with hash {digest}")
        return bodies.item_from(bodies.unpack(body), digest)

    def put_scores(self, run_id: str, scores: Sequence[Score]) -> None:
        """Replace the scores of a run; their order is kept."""
        num = self.number(run_id)
        with self.writing() as connection:
            kept.put_scores(connection, num, scores)

    def scores(self, run_id: str) -> tuple[Score, ...]:
        num = self.number(run_id)
        with self.reading() as connection:
            return kept.read(connection, num)

    def tally(self, run_id: str) -> Tally:
        """Counts and means over the latest attempts, added up by the database.

        `outcomes` counts errors too; the means are over items with another outcome, each over those
        where the figure was reported. Cost and retries are sums, and what does not count is over all attempts.
        """
        a = _marked(self.number(run_id)).c
        means = (a.latency_s, a.service_s, a.in_flight, a.input_tokens, a.output_tokens, a.reasoning_tokens)
        unused = (a.unused_input_tokens, a.unused_output_tokens, a.unused_cost_usd)
        query = select(
            a.latest,
            a.outcome,
            a.error_slug,
            *_with_tokens(a, a.latency_s),
            *_with_tokens(a, a.service_s),
            func.count().label("items"),
            func.count(a.answer).label("answered"),
            func.sum(case((a.finish == AT_LIMIT, 1), else_=0)).label("at_limit"),
            func.sum(a.retries).label("retries"),
            func.sum(a.cost_usd).label("cost_usd"),
            *(func.sum(column).label(f"sum_{column.name}") for column in means),
            *(func.count(column).label(f"count_{column.name}") for column in means),
            *(func.sum(column).label(column.name) for column in unused),
        ).group_by(a.latest, a.outcome, a.error_slug)
        with self.reading() as connection:
            return _tally([dict(row) for row in connection.execute(query).mappings()])

    def replaced(self, run_id: str) -> dict[tuple[str, int], Usage]:
        """What attempts cost that a later one at the same item and repeat has replaced. Raises NotFound."""
        a = _marked(self.number(run_id)).c
        spent = (func.sum(a.input_tokens), func.sum(a.output_tokens), func.sum(a.cost_usd))
        unused = (
            func.sum(a.unused_input_tokens),
            func.sum(a.unused_output_tokens),
            func.sum(a.unused_cost_usd),
        )
        query = select(a.item_id, a.repeat, *spent, *unused).where(~a.latest).group_by(a.item_id, a.repeat)
        with self.reading() as connection:
            return {(row[0], row[1]): _usage(row[2:5]) + _usage(row[5:]) for row in connection.execute(query)}


def _marked(run_num: int) -> Subquery:
    """All attempts of a run, each with whether it is the latest."""
    return select(ATTEMPT, is_latest().label("latest")).where(ATTEMPT.c.run_num == run_num).subquery()


def _usage(sums: Sequence[Any]) -> Usage:
    """Sums as databases give them: PostgreSQL's are decimals."""
    sent, received, cost = sums
    return Usage(
        None if sent is None else int(sent),
        None if received is None else int(received),
        None if cost is None else float(cost),
    )


def attempt_row(row: Iterable[Any]) -> AttemptRow:
    values = list(row)
    values[_OUTCOME] = _OUTCOMES[values[_OUTCOME]]
    return AttemptRow(*values)


def _tally(groups: Sequence[dict[str, Any]]) -> Tally:
    unused = NOTHING_USED
    for group in groups:
        unused += _usage([group[name] for name in _UNUSED])
        unused += NOTHING_USED if group["latest"] else _usage([group[name] for name in _SPENT])
    groups = [group for group in groups if group["latest"]]
    settled = [group for group in groups if group["outcome"] != Outcome.ERROR]
    outcomes: dict[str, int] = {}
    for group in groups:
        outcomes[group["outcome"]] = outcomes.get(group["outcome"], 0) + group["items"]
    costs = [group["cost_usd"] for group in groups if group["cost_usd"] is not None]
    return Tally(
        # In the order of Outcome, whatever order the database groups in.
        outcomes={outcome.value: outcomes[outcome] for outcome in Outcome if outcome in outcomes},
        answer_rate=_ratio(settled, "answered", "items"),
        speed=_speed(settled),
        input_tokens_per_item=_ratio(settled, "sum_input_tokens", "count_input_tokens"),
        output_tokens_per_item=_ratio(settled, "sum_output_tokens", "count_output_tokens"),
        reasoning_tokens_per_item=_ratio(settled, "sum_reasoning_tokens", "count_reasoning_tokens"),
        cost_usd=float(sum(costs)) if costs else None,
        errors={
            group["error_slug"] or "unknown": group["items"]
            for group in groups
            if group["outcome"] == Outcome.ERROR
        },
        retries=sum(group["retries"] for group in groups),
        unused=unused,
        at_limit=sum(int(group["at_limit"]) for group in settled),
    )


def _speed(settled: Sequence[dict[str, Any]]) -> Speed | None:
    wire_s = _ratio(settled, "sum_latency_s", "count_latency_s")
    if wire_s is None:
        return None
    return Speed(
        wire_s=wire_s,
        timed=sum(group["count_latency_s"] for group in settled),
        in_flight=_ratio(settled, "sum_in_flight", "count_in_flight"),
        wire_tokens_per_s=_ratio(settled, "tokens_latency_s", "with_tokens_latency_s"),
        service_s=_ratio(settled, "sum_service_s", "count_service_s"),
        served=sum(group["count_service_s"] for group in settled),
        service_tokens_per_s=_ratio(settled, "tokens_service_s", "with_tokens_service_s"),
    )


def _ratio(groups: Sequence[dict[str, Any]], above: str, below: str) -> float | None:
    count = sum(float(group[below] or 0) for group in groups)
    return sum(float(group[above] or 0) for group in groups) / count if count else None
