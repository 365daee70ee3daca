"""The form of a judging, and what it means: whose replies, which judges, by which rubric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import ValidationError
from starlette.datastructures import FormData

from proctor.errors import ConfigError
from proctor.plan.rubrics import rubric_of, rubric_table
from proctor.plan.wanted import OF_JUDGINGS
from proctor.references import WORTH, GradingRubric
from proctor.service.judges.requests import JudgingRequest
from proctor.web.starting.forms import form_field, reason, told

ROWS = 3  # criteria that an empty form has room for; one that is full has one more
OWN = "own"  # the choice among rubrics of one that is written here
SCALES = tuple((name, " / ".join(grades)) for name, grades in WORTH.items())
_PLAIN = {option.key: option for option in OF_JUDGINGS if option.at_server}
_BY_HAND = ("base_url", "limit")  # laid out in the page itself
FIELDS = tuple(form_field(key, option) for key, option in _PLAIN.items() if key not in _BY_HAND)


@dataclass(frozen=True, slots=True)
class CriterionRow:
    """A criterion as it was typed."""

    name: str = ""
    asks: str = ""
    scale: str = ""
    weight: str = ""

    @property
    def empty(self) -> bool:
        return not (self.name or self.asks)


@dataclass(frozen=True, slots=True)
class JudgeFilled:
    """The form as it was filled in. `request` is None where no judge is chosen yet, or where `problem` says why."""

    values: Mapping[str, str]
    runs: tuple[str, ...]
    rows: tuple[CriterionRow, ...]
    request: JudgingRequest | None = None
    problem: ConfigError | None = None


@dataclass(frozen=True, slots=True)
class RubricChoice:
    """A rubric that may be chosen, and its value in the form."""

    value: str
    rubric: GradingRubric
    note: str = ""


@dataclass(frozen=True, slots=True)
class RubricChoices:
    """What may be chosen besides a rubric of one's own; the first is the one that an empty form has."""

    of: Sequence[RubricChoice] = field(default=(RubricChoice("", GradingRubric()),))

    def meant(self, value: str) -> GradingRubric:
        """Raises: ConfigError."""
        for each in self.of:
            if each.value == value:
                return each.rubric
        raise ConfigError(f"rubric {value[:80]!r}: it is none of those that this form offers")


def judge_filled(form: FormData, choices: RubricChoices) -> JudgeFilled:
    """Read a form."""
    values = {name: str(value).strip() for name, value in form.multi_items()}
    runs = tuple(str(each) for each in dict.fromkeys(form.getlist("runs")))
    rows = _rows(form)
    try:
        return JudgeFilled(values, runs, rows, _request(values, runs, rows, choices))
    except ConfigError as problem:
        return JudgeFilled(values, runs, rows, problem=problem)


def _rows(form: FormData) -> tuple[CriterionRow, ...]:
    columns = [
        [str(each).strip() for each in form.getlist(name)] for name in ("name", "asks", "scale", "weight")
    ]
    return tuple(CriterionRow(*each) for each in zip(*columns, strict=False))


def with_room(rows: Sequence[CriterionRow]) -> list[CriterionRow]:
    """The rows that say something and some that are empty, so that another one can be typed."""
    said = [row for row in rows if not row.empty]
    return said + [CriterionRow()] * max(1, ROWS - len(said))


def _request(
    values: Mapping[str, str], runs: tuple[str, ...], rows: Sequence[CriterionRow], choices: RubricChoices
) -> JudgingRequest | None:
    """What the API would be asked. Raises: ConfigError."""
    if not runs:
        raise ConfigError("Tick the run whose answers are to be judged")
    pairs = values.get("how") == "pairs"
    if pairs and len(runs) != 2:
        raise ConfigError(f"Pairs are the answers of two runs, and {len(runs)} are ticked: tick two")
    chosen = values.get("rubric", "")
    rubric = own_rubric(values, rows) if chosen == OWN else choices.meant(chosen)
    if not (judges := judges_of(values)):
        return None
    body = {
        "runs": runs[:1] if pairs else runs,
        "judges": judges,
        "rubric": None if rubric == GradingRubric() else rubric_table(rubric),
        "votes": values.get("votes") or 1,
        "against": runs[1] if pairs else None,
        "config": told(values, _PLAIN),
    }
    try:
        return JudgingRequest.model_validate(body)
    except ValidationError as error:
        faults = [f"{'.'.join(map(str, each['loc']))}: {reason(each['msg'])}" for each in error.errors()]
        raise ConfigError("; ".join(faults)) from None


def judges_of(values: Mapping[str, str]) -> tuple[str, ...]:
    """`provider/name` of the judge that is chosen, and of those that are typed, one a line."""
    first = f"{values.get('provider', '')}/{values['model']}" if values.get("model") else ""
    return tuple(each for each in (first, *values.get("others", "").split()) if each)


def own_rubric(values: Mapping[str, str], rows: Sequence[CriterionRow]) -> GradingRubric:
    """The rubric that was typed. Raises: ConfigError with every fault."""
    criteria = [
        {
            "name": row.name or f"criterion-{number}",
            "asks": row.asks,
            "scale": row.scale or SCALES[0][0],
            "weight": _number(row.weight, row.name),
        }
        for number, row in enumerate(rows, 1)
        if not row.empty
    ]
    return rubric_of(
        {
            "name": values.get("rubric_name") or "own",
            "guidance": values.get("guidance", "").replace("\r\n", "\n"),
            "criteria": criteria,
        },
        "the rubric",
    )


def _number(text: str, name: str) -> float:
    try:
        return float(text or 1)
    except ValueError:
        raise ConfigError(f"Weight of {name or 'a criterion'}: {text[:20]!r} is no number") from None


def rows_of(rubric: GradingRubric) -> list[CriterionRow]:
    """A rubric as the form has it, to be changed."""
    return [CriterionRow(each.name, each.asks, each.scale, f"{each.weight:g}") for each in rubric.criteria]
