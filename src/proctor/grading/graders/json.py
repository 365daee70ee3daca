"""`json`: the reply holds JSON that is valid, fits a schema, and says field by field what the right answer says."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from proctor.errors import ConfigError
from proctor.grading.contract import GraderEntry, Mark, marked, setting
from proctor.grading.patterns import later
from proctor.grading.texts import same

FENCE = later(r"```[ \t]*(?:json[c5l]?)?[ \t]*\n(.*?)\n?[ \t]*```", re.DOTALL | re.IGNORECASE)
OPENS = later(r"[{\[]")
MOST_STARTS = 40  # places where JSON may begin that are tried, half from either end
LONGEST = 1_000_000  # characters
SHOWN = 200


@dataclass(frozen=True, slots=True)
class JsonSettings:
    """What the JSON of a reply has to fit, and how its fields are compared with those of the right answer."""

    fields: tuple[str, ...] = setting(
        (),
        "only these fields are compared, as paths like `address.city`; none given: all of the right answer's",
    )
    texts: str = setting(
        "exact",
        "how texts inside are compared: exact, or normalized (case and articles do not count)",
        one_of=("exact", "normalized"),
    )
    extra: str = setting("allow", "fields that the right answer does not have", one_of=("allow", "refuse"))
    rel: float = setting(0.0, "numbers inside are right within this part of the right one")
    schema: str = setting(
        "", "a JSON Schema, or the path of its file, that the JSON has to fit", rest=True, file=True
    )


class Missing:
    """Stands for a field that is not there."""


MISSING = Missing()


def by_json(said: str, answers: Sequence[str], options: JsonSettings) -> Mark:
    """The score is the share of fields that are right; with no right answer known, whether it is valid and fits.

    >>> by_json('Sure: {"city": "Brno", "age": 3}', ['{"city": "Brno", "age": 4}'], JsonSettings())
    Mark(score=0.5, answer='{"city":"Brno","age":3}', note='$.age is 3, not 4')
    """
    value = json_in(said)
    if isinstance(value, Missing):
        return Mark(0.0, None, "the reply holds no valid JSON")
    shown = short(value)
    if options.schema and (broken := violation(value, options.schema)):
        return marked(False, shown, f"does not fit the schema: {broken}")
    goals = [goal for text in answers if not isinstance(goal := parsed(text), Missing)]
    if not goals:
        return marked(True, shown)
    score, note = max((compare(value, goal, options) for goal in goals), key=lambda each: each[0])
    return Mark(score, shown, note)


def short(value: Any) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except RecursionError:
        return "JSON that is nested too deep to show"
    return text if len(text) <= 4 * SHOWN else f"{text[: 4 * SHOWN]}…"


# Finding ----------------------------------------------------------------------------------------------


def refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


DECODER = json.JSONDecoder(parse_constant=refuse_constant)


def parsed(text: str) -> Any:
    """The value that a text is, or MISSING."""
    try:
        return DECODER.decode(text.strip()[:LONGEST])
    except (ValueError, RecursionError):
        return MISSING


def json_in(said: str) -> Any:
    """The JSON of a reply: all of it, the last fenced block, or the last object or list in it; or MISSING.

    >>> json_in('First [1], then:\\n```json\\n{"a": 1}\\n```'), json_in("plain words") is MISSING
    ({'a': 1}, True)
    """
    said = said[:LONGEST]
    if not isinstance(whole := parsed(said), Missing):
        return whole
    for block in reversed(FENCE.findall(said)[-MOST_STARTS:]):
        if not isinstance(value := parsed(block), Missing):
            return value
    return next(iter(scanned(said)), MISSING)


def scanned(said: str) -> Iterator[Any]:
    """Objects and lists that stand in the text, the largest of those that end last first."""
    starts = [found.start() for found in OPENS.finditer(said)]
    if len(starts) > MOST_STARTS:
        starts = starts[: MOST_STARTS // 2] + starts[-MOST_STARTS // 2 :]
    found: list[tuple[int, int, Any]] = []
    for start in starts:
        if found and start < found[-1][1]:
            continue  # inside of one that was read
        try:
            value, end = DECODER.raw_decode(said, start)
        except (ValueError, RecursionError):
            continue
        found.append((start, end, value))
    objects = [one for one in found if isinstance(one[2], dict)]
    yield from (value for _, _, value in reversed(objects or found))


# Comparing --------------------------------------------------------------------------------------------


def compare(value: Any, goal: Any, options: JsonSettings) -> tuple[float, str | None]:
    """The share of the goal's fields that are right, and the first that is not."""
    wanted = dict(leaves(goal))
    if options.fields:
        wanted = {path: one for path, one in wanted.items() if chosen(path, options.fields)}
    given = dict(leaves(value))
    wrong = [path for path, one in wanted.items() if not equal(given.get(path, MISSING), one, options)]
    extra = [] if options.extra == "allow" else [path for path in given if path not in wanted]
    total = len(wanted) + len(extra)
    if wrong:
        ours = given.get(wrong[0], MISSING)
        is_what = "is missing" if isinstance(ours, Missing) else f"is {short(ours)[:SHOWN]}"
        note = f"{wrong[0]} {is_what}, not {short(wanted[wrong[0]])[:SHOWN]}"
    else:
        note = f"{extra[0]} is not in the right answer" if extra else ""
    return (total - len(wrong) - len(extra)) / total if total else 1.0, note or None


def chosen(path: str, fields: Sequence[str]) -> bool:
    bare = path.removeprefix("$").removeprefix(".")
    return any(bare == name or bare.startswith((f"{name}.", f"{name}[")) for name in fields)


def leaves(value: Any) -> Iterator[tuple[str, Any]]:
    """Every path that ends in a value that holds no other, with that value; empty objects and lists are values.

    >>> list(leaves({"a": [1, {}]}))
    [('$.a[0]', 1), ('$.a[1]', {})]
    """
    open_ones: list[tuple[str, Any]] = [("$", value)]
    while open_ones:
        path, one = open_ones.pop()
        if isinstance(one, dict) and one:
            open_ones.extend((f"{path}.{name}", part) for name, part in reversed(one.items()))
        elif isinstance(one, list) and one:
            open_ones.extend((f"{path}[{place}]", part) for place, part in reversed(list(enumerate(one))))
        else:
            yield path, one


def equal(ours: Any, theirs: Any, options: JsonSettings) -> bool:
    if isinstance(ours, str) and isinstance(theirs, str) and options.texts == "normalized":
        return same(ours, [theirs])
    if options.rel and is_number(ours) and is_number(theirs):
        return close(ours, theirs, rel=options.rel)
    return alike(ours, theirs)


def close(one: float, two: float, *, rel: float, absolute: float = 0.0) -> bool:
    """Whether `one` is within `rel` of `two`, or within `absolute`; beyond what floats hold, whether they are equal."""
    try:
        return bool(abs(one - two) <= max(absolute, rel * abs(two)))
    except OverflowError:
        return one == two


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def alike(one: Any, two: Any) -> bool:
    """Equality as JSON has it: 1 is 1.0, and true is not 1."""
    if isinstance(one, bool) or isinstance(two, bool):
        return one is two
    return bool(one == two)


# Schemas ----------------------------------------------------------------------------------------------

MOST_STEPS = 100_000  # of one pattern in a schema, before it counts as not matched


def fetch_nothing(address: str) -> Any:
    raise ValueError(f"{address} would have to be fetched; only references inside the schema are followed")


@lru_cache(maxsize=16)
def validator(text: str) -> Any:
    """What checks JSON by a schema; of JSON Schema, drafts 4 to 2020-12. Raises: ConfigError."""
    import jsonschema_rs  # takes a while to load, and few runs need it

    value = parsed(text)
    if isinstance(value, Missing):
        raise ConfigError("the schema is no valid JSON")
    bounded_patterns = jsonschema_rs.FancyRegexOptions(backtrack_limit=MOST_STEPS)
    try:
        return jsonschema_rs.validator_for(value, retriever=fetch_nothing, pattern_options=bounded_patterns)
    except jsonschema_rs.ValidationError as error:
        raise ConfigError(f"the schema is no JSON Schema: {error.message}") from None
    except ValueError as error:  # half a surrogate pair in it
        raise ConfigError(f"the schema is no JSON Schema: {error}") from None


def violation(value: Any, schema: str) -> str:
    """What the JSON first breaks of a schema, and where; "" for nothing."""
    try:
        first = next(validator(schema).iter_errors(value), None)
    except UnicodeEncodeError:
        return "a text holds half a surrogate pair, which is no text"
    if first is None:
        return ""
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first.instance_path)
    return f"${place}: {str(first.message)[:SHOWN]}"


def fault(answers: Sequence[str], options: JsonSettings) -> str | None:
    """Why the schema, or these answers, cannot be compared with."""
    if options.schema:
        try:
            validator(options.schema)
        except ConfigError as error:
            return str(error)
    wrong = next((text for text in answers if isinstance(parsed(text), Missing)), None)
    return None if wrong is None else f"the answer {wrong[:60]!r} is no valid JSON"


ENTRY = GraderEntry(
    "json",
    1,
    "the reply holds valid JSON, fits a schema where one is given, and has the fields of the right answer; the score "
    "is the share of fields that are right",
    "JSON, or nothing: then only whether it is valid and fits",
    JsonSettings,
    by_json,
    fault,
    read="whole",
    without_gold=True,
)
