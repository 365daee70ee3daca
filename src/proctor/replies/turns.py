"""The calls of an agent as turns: what it was told anew, what its model said and had run, and what came back of it.

A request repeats its whole conversation, and tells what came of the calls before it: so a turn is whole once the next
request of its conversation is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from proctor.replies.calls import KeptCall
from proctor.replies.spoken import (
    ModelSaid,
    SpokenEntry,
    ToolUse,
    block_of,
    came_back,
    conversation,
    entries_of,
    said_of,
)
from proctor.trial_record import AgentCall, TrialStep


@dataclass(frozen=True, slots=True)
class Turn:
    """One call, read. `call` is without its bodies; `told` is what its request says for the first time, but for
    results, which are in `said.tools` of the turn that they answer. `conversation` numbers the agent's, from 0."""

    call: AgentCall
    told: tuple[SpokenEntry, ...]
    said: ModelSaid
    conversation: int = 0


def turns_of(calls: Iterable[KeptCall]) -> list[Turn]:
    """The turns of a trial in the order in which their requests came."""
    reading = _Reading()
    for call in sorted(calls, key=lambda each: each.numbers.number):
        reading.take(call)
    return reading.turns


@dataclass(slots=True)
class _Reading:
    """Turns on their way.

    `waiting` is where what a call of a tool gives back belongs, `blocks` where that of a command does which stood in
    a block, by conversation; `places` and `lengths` are the conversation of each call and how many entries its request
    had; `seen` are entries that were told before.
    """

    turns: list[Turn] = field(default_factory=list)
    waiting: dict[str, tuple[int, int]] = field(default_factory=dict)
    blocks: dict[int, int] = field(default_factory=dict)
    places: dict[int, int] = field(default_factory=dict)
    lengths: dict[int, int] = field(default_factory=dict)
    seen: set[SpokenEntry] = field(default_factory=set)

    def take(self, call: KeptCall) -> None:
        request = call.request if isinstance(call.request, dict) else {}
        name = conversation(request)
        begins, before = call.begins.get(name, 0), self.lengths.get(-1 if call.of is None else call.of, 0)
        place = self._place(call, goes_on=2 * begins >= before > 0)
        whole = begins >= before > 0 or "previous_response_id" in request
        told = tuple(each for each in self._entries(request, begins, whole) if self._is_told(each, place))
        held = request.get(name)
        self.lengths[call.numbers.number] = len(held) if isinstance(held, list) else 0
        said = said_of(call.response) if isinstance(call.response, dict) else ModelSaid()
        if not said.tools and (command := block_of(said.text)):
            said = replace(said, tools=(ToolUse(command),))
            self.blocks[place] = len(self.turns)
        for number, tool in enumerate(said.tools):
            if tool.call_id:
                self.waiting[tool.call_id] = (len(self.turns), number)
        self.turns.append(Turn(call.numbers, told, said, place))

    def _place(self, call: KeptCall, *, goes_on: bool) -> int:
        known = self.places.get(call.of) if call.of is not None and goes_on else None
        place = len(set(self.places.values())) if known is None else known
        self.places[call.numbers.number] = place
        return place

    def _entries(self, request: dict[str, object], begins: int, whole: bool) -> Iterator[SpokenEntry]:
        """What a request says anew. `whole`: all of the conversation that it goes on from is in it as it was."""
        rules = request.get("instructions")
        if isinstance(rules, str) and (entry := SpokenEntry("system", rules)) not in self.seen:
            self.seen.add(entry)
            yield entry
        for entry in entries_of(request, begins):
            # An agent that begins its conversation anew, to make it shorter for instance, tells old things again.
            if whole or entry not in self.seen:
                yield entry
            self.seen.add(entry)

    def _is_told(self, entry: SpokenEntry, place: int) -> bool:
        """Whether it is told to the model, and no result of what the model had run."""
        if entry.source == "result":
            where = self.waiting.pop(entry.call_id, None)
        elif entry.source == "user" and place in self.blocks:
            where = (self.blocks.pop(place), 0)
        else:
            return entry.source != "assistant"
        if where is not None:
            self._came_back(*where, entry.text)
        return False

    def _came_back(self, place: int, number: int, text: str) -> None:
        turn = self.turns[place]
        tools = list(turn.said.tools)
        output, code = came_back(text)
        tools[number] = replace(tools[number], output=output, exit_code=code)
        self.turns[place] = replace(turn, said=replace(turn.said, tools=tuple(tools)))


def steps_of(calls: Iterable[KeptCall]) -> Iterator[TrialStep]:
    """The steps that a trial's record has of its calls: one for each thing that was run, else one for each call."""
    for turn in turns_of(calls):
        said, at = turn.said, turn.call.at + (turn.call.seconds or 0.0)
        words = "\n\n".join(filter(None, (said.reasoning, said.text)))
        if turn.call.ended != "answered":
            why = turn.call.note or said.error
            words = "\n\n".join(filter(None, (words, f"[call {turn.call.ended}: {why or turn.call.status}]")))
        if not said.tools:
            yield TrialStep(at, words)
        for tool in said.tools:
            yield TrialStep(at, words, tool.ran, tool.output or "", tool.exit_code)
            words = ""
