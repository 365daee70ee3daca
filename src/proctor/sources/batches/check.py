"""A file of requests, checked in one pass: each line that cannot be sent is named, and nothing of the file is kept."""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import compress
from pathlib import Path

from proctor.grading.spec import OpenGrader
from proctor.references import BatchRef
from proctor.sources.batches.checked import SENDABLE, BadRequestLine, CheckedFile, LineFault, Rules
from proctor.sources.batches.copied import AskedLines, CopiedRequests
from proctor.sources.batches.lines import LineReader, RequestLine, hash_of, reader_of
from proctor.sources.batches.repeated import SeenIds
from proctor.sources.batches.texts import BOM, LineTexts, TextAt, digest_of, open_texts

FIRST_IDS = 3
MOST_MODELS = 100  # that are counted apart; the lines of a batch name one, as a rule
MOST_ANSWERS = 50_000  # differing right answers that a choice of grader looks at
OTHER_MODELS = "others"
DIGEST_BYTES = 16


@dataclass(frozen=True, slots=True)
class Survey:
    """What one pass over a file finds: what a check tells, and where the requests stand.

    `lines` tells of each request that can be sent, in the file's order, its line's number, and where that begins;
    `digests` has 16 bytes of each, the same for the same request under the same id. `answers` are differing right ones.
    """

    checked: CheckedFile
    texts: LineTexts
    numbers: array[int] = field(repr=False)
    places: array[int] = field(repr=False)
    digests: bytes = field(repr=False)
    answers: tuple[tuple[str, ...], ...] = field(repr=False)
    copies: CopiedRequests | None = field(repr=False, default=None)


def check(path: Path, ref: BatchRef, rules: Rules = SENDABLE) -> CheckedFile:
    """What is in a file, and what is wrong with it, line by line.

    Raises: ConfigError for settings that no file fits, DataError for what is neither lines nor a table, DataMissing.
    """
    return survey(path, replace(ref, limit=None), rules).checked


def survey(
    path: Path,
    ref: BatchRef,
    rules: Rules = SENDABLE,
    *,
    grader: OpenGrader | None = None,
    to_ask: bool = False,
) -> Survey:
    """As `check`, and `to_ask` with what a source needs besides. In the file's order no line past `ref.limit` is read.

    Raises: ConfigError, DataError, DataMissing.
    """
    texts = open_texts(path, ref)
    reader = reader_of(
        ref, flat=texts.flat, grader=grader, complete=rules.complete, checked_alone=True, exact=to_ask
    )
    found = _Pass(ref, rules, reader, to_ask=to_ask)
    found.over(texts.read(), ref.limit if ref.order == "file" else None)
    found.also(texts.broken)
    found.leave_out_repeated()
    return found.told(path, texts)


class _Pass:
    """One pass over the lines, and what it has found so far."""

    def __init__(self, ref: BatchRef, rules: Rules, reader: LineReader, *, to_ask: bool) -> None:
        self._ref, self._rules, self._reader, self._to_ask = ref, rules, reader, to_ask
        self._numbers, self._places, self._digests = array("Q"), array("Q"), bytearray()
        self._answers: dict[tuple[str, ...], None] = {}
        self._ids = SeenIds()
        self._asked = AskedLines()
        self._twice: set[int] = set()  # numbers of lines whose id stood before
        self._first_ids: list[str] = []
        self._faults: list[LineFault] = []
        self._repeated: list[LineFault] = []
        self._notes: dict[str, LineFault] = {}
        self._counts: Counter[str] = Counter()
        self._models: Counter[str] = Counter()
        self._first_lines: dict[str, int] = {}
        self._urls: Counter[str] = Counter()
        self._first_model: str | None = None
        self._first_url: str | None = None
        self._most_tokens, self._uncapped = -1, 0

    # Line by line --------------------------------------------------------------------------------------

    def over(self, texts: Iterable[TextAt], limit: int | None) -> None:
        read, lines = self._reader.read, 0
        for number, at, text in texts:
            if limit is not None and len(self._numbers) >= limit:
                break
            if text.isspace() or text == BOM:
                self._note("blank_line", number, "blank; blank lines are passed over")
                continue
            lines += 1
            if number == 1 and text.startswith(BOM):
                self._note("byte_order_mark", 1, "begins with a byte order mark, which is passed over")
            if text.endswith(b"\r\n"):
                self._note("crlf", number, "ends as on Windows (CRLF), which is taken as it is")
            try:
                line = read(number, text)
                self._fits(line, number)
            except BadRequestLine as error:
                self._bad(LineFault(number, error.code, str(error), error.param), self._faults)
            else:
                self._take(line, number, at)
        self._counts["lines"] += lines

    def _fits(self, line: RequestLine, number: int) -> None:
        """Raises: BadRequestLine for a line that can be sent, but not together with the others."""
        rules = self._rules
        wanted = rules.endpoint or self._first_url
        if line.url != wanted and wanted is not None and (rules.endpoint or not self._ref.lenient):
            whose = "the batch's endpoint" if rules.endpoint else "the url of the lines before it"
            raise BadRequestLine(
                "invalid_url",
                f"the url {line.url} is not {whose}, {wanted}; one file goes to one endpoint",
                "url",
            )
        first = self._first_model
        if line.model != first and line.model is not None and first is not None:
            said = f"the model {line.model!r} is not {first!r}, which line {self._first_lines[first]} names"
            if rules.one_model:
                raise BadRequestLine("mismatched_model", f"{said}; one batch is for one model", "body.model")
            self._note("other_model", number, f"{said}; the run's own replaces both")
        if rules.most is not None and len(self._numbers) >= rules.most:
            raise BadRequestLine("too_many_tasks", f"a batch may have {rules.most:,} requests")

    def _take(self, line: RequestLine, number: int, at: int) -> None:
        self._ids.add(line.custom_id)
        self._numbers.append(number)
        if len(self._first_ids) < FIRST_IDS:
            self._first_ids.append(line.custom_id)
            self._first_url = self._first_url or line.url
        self._urls[line.url] += 1
        if line.model is not None:
            self._count_model(line.model, number)
        if (cap := line.cap) is None:
            self._uncapped += 1
        elif cap > self._most_tokens:
            self._most_tokens = cap
        if line.gold is not None:
            self._counts["gold"] += 1
            self._asked.add(number, line)
            if len(self._answers) < MOST_ANSWERS:
                self._answers.setdefault((line.gold.target, *line.gold.aliases))
        if self._to_ask:
            self._places.append(at)
            named = f"{line.custom_id}\n{hash_of(line)}".encode()
            self._digests += hashlib.blake2b(named, digest_size=DIGEST_BYTES).digest()

    def _count_model(self, model: str, number: int) -> None:
        if self._first_model is None:
            self._first_model = model
        if model not in self._models:
            model = model if len(self._models) < MOST_MODELS else OTHER_MODELS
            self._first_lines.setdefault(model, number)
        self._models[model] += 1

    def _bad(self, fault: LineFault, listed: list[LineFault]) -> None:
        self._counts["bad"] += 1
        if len(listed) < self._rules.listed:
            listed.append(fault)

    def _note(self, code: str, number: int, message: str) -> None:
        """The first line of each kind is named, the others are counted."""
        self._counts[code] += 1
        self._notes.setdefault(code, LineFault(number, code, message))

    # Of the whole file ---------------------------------------------------------------------------------

    def also(self, broken: Iterable[LineFault]) -> None:
        for fault in broken:
            self._counts["lines"] += 1
            self._bad(fault, self._faults)

    def leave_out_repeated(self) -> None:
        """Requests whose id stood before are bad lines, and no requests."""
        kept = bytearray(b"\1") * len(self._numbers)
        for place, first in self._ids.repeated():
            kept[place] = 0
            self._twice.add(self._numbers[place])
            self._bad(_repeated(self._numbers[place], self._numbers[first]), self._repeated)
        if not self._repeated:
            return
        self._numbers = array("Q", compress(self._numbers, kept))
        self._places = array("Q", compress(self._places, kept))
        pieces = (self._digests[at : at + DIGEST_BYTES] for at in range(0, len(self._digests), DIGEST_BYTES))
        self._digests = bytearray().join(compress(pieces, kept))

    def told(self, path: Path, texts: LineTexts) -> Survey:
        sha256, size = digest_of(path)
        copies = self._asked.copies(self._twice)
        told = [LineFault(None, "copies", str(copies))] if copies else []
        faults = sorted([*self._faults, *self._repeated], key=lambda fault: fault.line or 0)
        if not self._counts["lines"]:
            faults = [LineFault(None, "empty_file", "no requests: the file is empty")]
        checked = CheckedFile(
            name=self._ref.listed,
            form=texts.form,
            bytes=size,
            sha256=sha256,
            lines=self._counts["lines"],
            count=len(self._numbers),
            bad=self._counts["bad"],
            faults=tuple(faults[: self._rules.listed]),
            notes=(*self._said_notes(), *told),
            models=dict(self._models),
            urls=dict(self._urls),
            first_ids=tuple(self._first_ids),
            most_tokens=self._most_tokens if self._most_tokens >= 0 else None,
            uncapped=self._uncapped,
            gold=self._counts["gold"],
            first_lines=self._first_lines,
        )
        digests = bytes(self._digests)
        return Survey(checked, texts, self._numbers, self._places, digests, tuple(self._answers), copies)

    def _said_notes(self) -> Iterable[LineFault]:
        for code, note in self._notes.items():
            more = self._counts[code] - 1
            also = f" (and {more:,} more {'line' if more == 1 else 'lines'})" if more else ""
            yield replace(note, message=note.message + also)


def _repeated(line: int, first: int) -> LineFault:
    said = (
        f"the custom_id is a duplicate of that of line {first}; it must be unique for each request of a file"
    )
    return LineFault(line, "duplicate_custom_id", said, "custom_id")
