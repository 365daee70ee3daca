"""One line of a file of requests: read in whichever dialect it is written, checked, and made an item."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from proctor.errors import ConfigError
from proctor.grading.graders.regex import SEARCH_S, compiled
from proctor.grading.spec import OpenGrader
from proctor.references import BatchRef
from proctor.sources.batches import dialects, raw
from proctor.sources.batches.checked import BadRequestLine
from proctor.sources.batches.gold import GoldField, GoldFile, gold_named
from proctor.sources.batches.paths import steps_of, value_at
from proctor.sources.batches.rows import RowReading, given_fields, row_reading
from proctor.sources.batches.texts import BOM, MOST_LINE_BYTES
from proctor.types import Gold, Item, Request

GROUP = "requests"  # the one task of every file
CAPS = ("max_completion_tokens", "max_tokens", "max_output_tokens")

Cluster = Callable[[str, Mapping[str, Any]], str | None]  # what a request is about, by its id and its body


@dataclass(frozen=True, slots=True)
class RequestLine:
    """A line that can be sent: the name its user gave it, where it goes, and what is sent there.

    `body` is its bytes as they were written, `fields` what they say; `cap` the most tokens that it lets be written.
    """

    custom_id: str
    url: str
    body: bytes
    fields: Mapping[str, Any]
    model: str | None = None
    gold: Gold | None = None
    cluster: str | None = None

    @property
    def cap(self) -> int | None:
        for name in CAPS:
            if type(cap := self.fields.get(name)) is int:
                return cap
        return None


@dataclass(frozen=True, slots=True)
class LineReader:
    """How the lines of a file are read. `rows` reads tables; `grader` refuses right answers it cannot compare with,
    `others` lets lines go to endpoints whose replies nothing is known of.

    Lines that are only checked need no `bodies` of their own, and no `exact` numbers past 64 bits: it takes half the
    time without them.
    """

    endpoint: str | None = None
    rows: RowReading | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    gold: GoldField | GoldFile | None = None
    grader: OpenGrader | None = None
    cluster: Cluster | None = None
    complete: bool = False
    others: bool = False
    bodies: bool = True
    exact: bool = True

    def read(self, number: int, text: bytes) -> RequestLine:
        """Raises: BadRequestLine."""
        if number == 1:
            text = text.removeprefix(BOM)
        record = record_of(text, exact=self.exact)
        if self.rows is not None:
            return self._of_row(number, record)
        if self.complete:
            dialects.check_complete(record)
        envelope = dialects.envelope_of(record)
        custom_id = dialects.id_of(record, envelope, number)
        dialects.check_method(record)
        url = dialects.url_of(record, envelope, self.endpoint, others=self.others)
        as_written = envelope == "body" and not self.fields and self.gold is None
        if as_written:
            body, fields = raw.object_at(text, record, "body") if self.bodies else b"", record["body"]
        else:
            body = dialects.body_of(text, record, envelope)
            fields = raw.loads(body)
        dialects.check_body(url, fields)
        gold = None if self.gold is None else self._gold(custom_id, record, envelope)
        if not as_written:
            body, fields = self._filled(body, record, envelope)
        model, about = fields.get("model"), self.cluster
        return RequestLine(
            custom_id,
            url,
            body,
            fields,
            raw.whole(model) if type(model) is str else None,
            gold,
            None if about is None else about(custom_id, fields),
        )

    def _of_row(self, number: int, row: dict[str, Any]) -> RequestLine:
        """Raises: BadRequestLine."""
        assert self.rows is not None
        named = {"custom_id": self.rows.id_of(row, number)}
        custom_id = dialects.id_of(named, None, number)
        gold = None if self.gold is None else self._gold(custom_id, row, None)
        body = raw.with_members(self.rows.body_of(row).decode(), self.fields).encode()
        fields = raw.loads(body)
        dialects.check_body(self.rows.endpoint, fields)
        about = self.cluster
        cluster = None if about is None else about(custom_id, fields)
        return RequestLine(custom_id, self.rows.endpoint, body, fields, None, gold, cluster)

    def _gold(self, custom_id: str, record: Mapping[str, Any], envelope: str | None) -> Gold | None:
        """Raises: BadRequestLine for a right answer that the grader cannot compare with."""
        assert self.gold is not None
        gold = self.gold.of(custom_id, record, envelope)
        fault = (
            None if gold is None or self.grader is None else self.grader.fault((gold.target, *gold.aliases))
        )
        if fault:
            raise BadRequestLine("invalid_gold", f"the right answer: {fault}", "gold")
        return gold

    def _filled(
        self, body: bytes, record: Mapping[str, Any], envelope: str | None
    ) -> tuple[bytes, dict[str, Any]]:
        """The body without right answers, and with the fields that it lacks."""
        if self.gold is not None:
            body = self.gold.unsent(body, record, envelope)
        fields: dict[str, Any] = raw.loads(body)
        lacking = {name: value for name, value in self.fields.items() if name not in fields}
        if lacking:
            body = raw.with_members(body.decode(), lacking).encode()
            fields = raw.loads(body)
        return body, fields


def record_of(text: bytes, *, exact: bool = True) -> dict[str, Any]:
    """The object of a line; numbers past 64 bits as they are if `exact`. Raises: BadRequestLine."""
    if len(text) >= MOST_LINE_BYTES and not text.endswith(b"\n"):
        most = MOST_LINE_BYTES // 2**20
        raise BadRequestLine("line_too_large", f"longer than {most} MiB; one line is one request")
    try:
        record = raw.loads(text, exact=exact)
    except UnicodeDecodeError as error:
        byte = text[error.start]
        raise BadRequestLine(
            "invalid_encoding",
            f"not UTF-8 (byte 0x{byte:02x} at character {error.start + 1}); save the file as UTF-8",
        ) from None
    except ValueError as error:
        raise BadRequestLine("invalid_json_line", f"not JSON: {error}") from None
    if not isinstance(record, dict):
        raise BadRequestLine("invalid_json_line", "not a JSON object")
    return record


def hash_of(line: RequestLine) -> str:
    """Of the endpoint, the body without the model, and right answers: any model is asked the same."""
    return _hash(line.url, line.fields, line.gold)


def item_of(line: RequestLine) -> Item:
    return Item(
        id=line.custom_id,
        group=GROUP,
        ask=Request(line.url, line.body, line.model),
        gold=line.gold,
        cluster=line.cluster,
        hash=hash_of(line),
    )


def request_hash(ask: Request, gold: Gold | None) -> str:
    """The hash of a request that is kept, from what was asked."""
    return _hash(ask.url, raw.loads(ask.body), gold)


def _hash(url: str, fields: Mapping[str, Any], gold: Gold | None) -> str:
    asked = {name: value for name, value in fields.items() if name != "model"}
    said: list[Any] = [url, asked]
    if gold is not None:
        said.append([gold.target, gold.aliases])
    return hashlib.sha256(raw.canonical(said)).hexdigest()[:32]


def reader_of(
    ref: BatchRef,
    *,
    flat: bool = False,
    grader: OpenGrader | None = None,
    complete: bool = False,
    checked_alone: bool = False,
    exact: bool = True,
) -> LineReader:
    """How a reference has lines read; `flat` for rows that are no requests yet. Raises: ConfigError, DataError."""
    endpoint = ref.endpoint
    if endpoint is not None and (endpoint := dialects.endpoint_named(endpoint, others=ref.lenient)) is None:
        raise ConfigError(f"No endpoint {ref.endpoint!r}; requests go to {', '.join(dialects.ENDPOINTS)}")
    rows = row_reading(ref) if flat or ref.template or ref.columns else None
    return LineReader(
        endpoint,
        rows,
        given_fields(ref.fields),
        gold_named(ref),
        grader,
        None if ref.candidate is None else cluster_by(ref.candidate),
        complete,
        others=ref.lenient,
        bodies=not checked_alone,
        exact=exact,
    )


def cluster_by(candidate: str) -> Cluster:
    """By a path into the body ("$.metadata.name"), or a regular expression over the custom_id. Raises: ConfigError."""
    if candidate.startswith("$"):
        steps = steps_of(candidate, "candidate")

        def by_path(_custom_id: str, body: Mapping[str, Any]) -> str | None:
            value = value_at(body, steps)
            return None if value is None or isinstance(value, dict | list) else raw.whole(str(value))

        return by_path
    pattern = compiled(candidate)
    if pattern.groups != 1:
        raise ConfigError(
            f"candidate: {candidate!r} has {pattern.groups} groups; the one group is what a request is about"
        )

    def by_id(custom_id: str, _body: Mapping[str, Any]) -> str | None:
        try:
            found = pattern.search(custom_id, timeout=SEARCH_S)
        except TimeoutError:
            return None
        return None if found is None or found[1] is None else str(found[1])

    return by_id
