"""One person's session at the queue: an entry is shown, a key says what is done, until nothing is left."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import click

from proctor.cli.label_keys import END, Keys
from proctor.errors import ConfigError
from proctor.printable import printable
from proctor.references import Criterion
from proctor.service.context import Context
from proctor.service.labelling.progress import progress
from proctor.service.labelling.queue import LabelEntry, LabelQueue, renewed, shown
from proctor.service.labelling.said import LabelSaid
from proctor.service.labelling.saying import Revealed, put, reveal, undo

WIDEST = 110
LETTERS: Mapping[str, str] = {"pass": "p", "fail": "f", "yes": "y"}
HELP = "j next  k back  s skip  n note  t tags  u undo  r reveal  q quit"


@dataclass(slots=True)
class LabelSession:
    """`index` is the entry shown, None when nothing is open; `note` and `tags` wait for the grade that they go with."""

    context: Context
    made: LabelQueue
    keys: Keys
    index: int | None = None
    asked: int = 0  # which criterion of the entry
    note: str | None = None
    tags: tuple[str, ...] = ()
    revealed: Revealed | None = None
    told: list[str] = field(default_factory=list)  # before the next entry is shown

    def run(self) -> None:
        self._go(self.made.open_at())
        while True:
            self._show()
            key = self.keys.key()
            if key == END:
                break
            try:
                self._press(key)
            except ConfigError as error:
                self.told.append(str(error))
        for line in progress(self.context, self.made).told:
            click.echo(line)

    # What keys do ---------------------------------------------------------------------------

    def _press(self, key: str) -> None:
        grade = self._choices().get(key.lower()) if self.index is not None else None
        does = self._commands().get(key)
        if grade is not None:
            self._grade(grade)
        elif does is not None:
            does()
        else:
            self.told.append(f"{printable(key)!r} means nothing here. {HELP}")

    def _commands(self) -> Mapping[str, Callable[[], None]]:
        return {
            "j": lambda: self._step(1),
            "k": lambda: self._step(-1),
            "s": self._skip,
            "n": self._take_note,
            "t": self._take_tags,
            "u": self._undo,
            "r": self._reveal,
            "?": lambda: self.told.append(HELP),
        }

    def _choices(self) -> dict[str, str]:
        """Keys with the grades they give: numbers of a scale are themselves, others count from 1."""
        grades = self.made.grades(self._criterion)
        if all(grade.isdigit() for grade in grades):
            return {grade: grade for grade in grades}
        if self.made.pairwise:
            return {"1": "1", "2": "2", "3": "tie", "=": "tie"}
        numbers = {str(number): grade for number, grade in enumerate(grades, 1)}
        return numbers | {LETTERS[grade]: grade for grade in grades if grade in LETTERS}

    def _grade(self, grade: str) -> None:
        entry = self._entry
        put(self.context, self.made, entry.key, self._criterion.name, grade, note=self.note, tags=self.tags)
        self.made = renewed(self.context, self.made)
        self.note, self.tags = None, ()
        if self.asked + 1 < len(entry.criteria):
            self.asked += 1
        else:
            self._go(self.made.open_at(self.made.at(entry.key)))
        if not self.keys.live:
            return
        self.told.append(progress(self.context, self.made).worth)

    def _step(self, by: int) -> None:
        last = len(self.made.entries) - 1
        here = last + 1 if self.index is None else self.index
        self._go(min(max(here + by, 0), last))

    def _skip(self) -> None:
        here = -1 if self.index is None else self.index
        self._go(self.made.open_at(here))

    def _take_note(self) -> None:
        self.note = self.keys.line("note") or None
        self._said_again()

    def _take_tags(self) -> None:
        words = self.keys.line("tags, with commas between").replace(";", ",").split(",")
        self.tags = tuple(word.strip() for word in words if word.strip())
        self._said_again()

    def _said_again(self) -> None:
        """A note or tags for what is graded already are kept with that grade; others wait for theirs."""
        if self.index is None:
            return
        said = self._said
        if said is None:
            self.told.append("kept with the grade that you give next")
            return
        note, tags = self.note or said.note, self.tags or said.tags
        put(self.context, self.made, self._entry.key, self._criterion.name, said.grade, note=note, tags=tags)
        self.made = renewed(self.context, self.made)
        self.note, self.tags = None, ()

    def _undo(self) -> None:
        key = undo(self.context, self.made)
        if key is None:
            self.told.append("there is nothing of yours to take back")
            return
        self.made = renewed(self.context, self.made)
        self._go(self.made.at(key))
        self.told.append("taken back")

    def _reveal(self) -> None:
        if self.index is not None:
            self.revealed = reveal(self.context, self.made, self._entry.key)
            self.told.append("seen: what you say of this item from now on enters no estimate")

    def _go(self, index: int | None) -> None:
        if index != self.index:
            self.note, self.tags = None, ()
        self.index, self.revealed, self.asked = index, None, 0
        if index is not None:
            entry = self._entry
            unsaid = (n for n, each in enumerate(entry.criteria) if not entry.settled(each))
            self.asked = next(unsaid, 0)

    @property
    def _entry(self) -> LabelEntry:
        assert self.index is not None
        return self.made.entries[self.index]

    @property
    def _criterion(self) -> Criterion:
        return self._entry.criteria[self.asked]

    @property
    def _said(self) -> LabelSaid | None:
        return self._entry.said.get(self._criterion.name)

    # What is shown ---------------------------------------------------------------------------

    def _show(self) -> None:
        if self.keys.live:
            click.clear()
        for line in self.told:
            click.echo(printable(line))
        self.told = []
        lines = self._nothing_left() if self.index is None else self._lines(self.index)
        for line in lines:
            click.echo(line)

    def _nothing_left(self) -> Iterator[str]:
        yield f"Nothing is left to label: all {len(self.made.entries):,} are done."
        yield "More can be drawn: --random N. k goes back, u takes the last one back, q quits."

    def _lines(self, index: int) -> Iterator[str]:
        seen = shown(self.context, self._entry)
        yield self._head(index)
        yield from titled("Question", seen.question)
        if seen.good:
            yield from titled("A good answer says", "\nor: ".join(seen.good))
        if self.made.rubric.guidance:
            yield from titled("Guidance", self.made.rubric.guidance)
        if len(set(seen.replies)) < len(seen.replies):
            yield from titled("Both say the same", seen.replies[0])
        else:
            for number, reply in enumerate(seen.replies, 1):
                title = seen.work.capitalize()
                yield from titled(f"{title} {number}" if len(seen.replies) > 1 else title, reply or "(empty)")
        yield from self._behind()
        yield from titled(self._criterion.name, self._criterion.asks)
        yield self._foot()

    def _head(self, index: int) -> str:
        entry, random = self._entry, self.made.random
        if entry.drawn == "random":
            where = f"{index + 1:,} of {random:,} of the random part"
        else:
            where = f"{index + 1 - random:,} of {len(self.made.entries) - random:,} where graders disagree"
        return f"--- {where} ---"

    def _behind(self) -> Iterator[str]:
        if self.revealed is None:
            return
        yield from titled("Models", ", ".join(self.revealed.models))
        for grader, words in self.revealed.grades:
            yield from titled(grader, words)

    def _foot(self) -> str:
        choices: dict[str, list[str]] = {}
        for key, grade in self._choices().items():
            choices.setdefault(grade, []).append(key)
        given = self._said
        parts = [f"{'/'.join(keys)} {self._name(grade)}" for grade, keys in choices.items()]
        said = f"  you said: {self._name(given.grade)}" if given is not None else ""
        noted = f" ({printable(given.note)})" if given is not None and given.note else ""
        return f"{'  '.join(parts)}  |  {HELP}{said}{noted}"

    def _name(self, grade: str) -> str:
        if not self.made.pairwise:
            return "" if grade.isdigit() else grade
        return {"1": "reply 1 is better", "2": "reply 2 is better", "tie": "equally good"}[grade]


def titled(title: str, text: str) -> Iterator[str]:
    """A text of others below its title: wrapped, indented, and no control character of it left."""
    width = min(shutil.get_terminal_size().columns, WIDEST)
    yield f"{printable(title)}:"
    for line in printable(text.strip()).splitlines() or [""]:
        wrapped = textwrap.wrap(line, max(width - 2, 20), replace_whitespace=False, drop_whitespace=False)
        yield from (f"  {part}" for part in wrapped or [""])
    yield ""
