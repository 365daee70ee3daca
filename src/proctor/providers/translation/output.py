"""The output of a response while it is being made: its items, and the events that tell of them."""

from __future__ import annotations

from typing import Any

from proctor.providers.translation.untranslatable import Json


class ResponseOutput:
    """Ids derive from `unique`, so that the same reply gets the same ids however it is read."""

    def __init__(self, unique: str) -> None:
        self.unique = unique
        self.events: list[Json] = []
        self._items: list[Json | None] = []  # None while an item is open
        self._said = 0

    @property
    def items(self) -> list[Json]:
        """Those that are whole."""
        return [item for item in self._items if item is not None]

    def say(self, kind: str, fields: Json) -> None:
        self.events.append({"type": kind, "sequence_number": self._said, **fields})
        self._said += 1

    def open(self, kind: str, item: Json) -> tuple[int, str]:
        """Begin an item. Gives its place and its id, of which `kind` is the beginning."""
        place = len(self._items)
        ident = f"{kind}_{self.unique}_{place}"
        self._items.append(None)
        begun = {**item, "id": ident, "status": "in_progress"}
        self.say("response.output_item.added", {"output_index": place, "item": begun})
        return place, ident

    def close(self, place: int, item: Json) -> None:
        self._items[place] = item
        self.say("response.output_item.done", {"output_index": place, "item": item})


class Telling:
    """One text that grows piece by piece: the words of a message, a refusal, or a summary of reasoning."""

    def __init__(self, output: ResponseOutput, event: str, where: Json, field: str, part: Json) -> None:
        self._output = output
        self._event, self._where, self._field, self._part = event, where, field, part
        self._pieces: list[str] = []
        self._ranks: list[Json] = []

    def more(self, text: str, ranks: list[Json] | None = None) -> None:
        self._pieces.append(text)
        fields = {**self._where, "delta": text}
        if self._field == "text" and "logprobs" in self._part:
            self._ranks += ranks or ()
            fields["logprobs"] = ranks or []
        self._output.say(f"{self._event}.delta", fields)

    def done(self) -> Json:
        """The part, whole."""
        text = "".join(self._pieces)
        part = {**self._part, self._field: text}
        ranked: dict[str, Any] = {}
        if "logprobs" in self._part:
            part["logprobs"] = ranked["logprobs"] = self._ranks
        self._output.say(f"{self._event}.done", {**self._where, self._field: text, **ranked})
        return part
