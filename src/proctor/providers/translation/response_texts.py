"""What a model thinks and says, as items of a response."""

from __future__ import annotations

from proctor.providers.translation.output import ResponseOutput, Telling
from proctor.providers.translation.seals import sealed
from proctor.providers.translation.untranslatable import Json

_WORDS: Json = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
_REFUSAL: Json = {"type": "refusal", "refusal": ""}
_SUMMARY: Json = {"type": "summary_text", "text": ""}


class Thinking:
    """A reasoning item that is open. `told_as` is the field of the chat server, under which it goes back."""

    def __init__(self, output: ResponseOutput, told_as: str) -> None:
        self._output, self._told_as = output, told_as
        self._place, self._id = output.open("rs", {"type": "reasoning", "summary": []})
        where: Json = {"item_id": self._id, "output_index": self._place, "summary_index": 0}
        self._where = where
        output.say("response.reasoning_summary_part.added", {**where, "part": _SUMMARY})
        self._telling = Telling(output, "response.reasoning_summary_text", where, "text", _SUMMARY)

    def more(self, text: str) -> None:
        self._telling.more(text)

    def close(self) -> None:
        part = self._telling.done()
        self._output.say("response.reasoning_summary_part.done", {**self._where, "part": part})
        seal = sealed({"as": self._told_as})
        item = {"type": "reasoning", "id": self._id, "summary": [part], "encrypted_content": seal}
        self._output.close(self._place, item)


class Saying:
    """A message that is open: its words, and its refusal behind them."""

    def __init__(self, output: ResponseOutput) -> None:
        self._output = output
        begun: Json = {"type": "message", "role": "assistant", "content": []}
        self._place, self._id = output.open("msg", begun)
        self._tellings: dict[str, Telling] = {}

    def words(self, text: str, ranks: list[Json] | None = None) -> None:
        self._telling("response.output_text", _WORDS).more(text, ranks)

    def refusal(self, text: str) -> None:
        self._telling("response.refusal", _REFUSAL).more(text)

    def close(self, status: str) -> None:
        if not self._tellings:
            self._telling("response.output_text", _WORDS)
        parts = []
        for n, telling in enumerate(self._tellings.values()):
            parts.append(telling.done())
            self._output.say("response.content_part.done", {**self._where(n), "part": parts[n]})
        item = {"type": "message", "id": self._id, "status": status, "role": "assistant", "content": parts}
        self._output.close(self._place, item)

    def _telling(self, event: str, part: Json) -> Telling:
        if event not in self._tellings:
            where = self._where(len(self._tellings))
            self._output.say("response.content_part.added", {**where, "part": part})
            field = "refusal" if part is _REFUSAL else "text"
            self._tellings[event] = Telling(self._output, event, where, field, part)
        return self._tellings[event]

    def _where(self, number: int) -> Json:
        return {"item_id": self._id, "output_index": self._place, "content_index": number}
