"""Whether parts are those of one whole: asked the same, none missing, none twice and different."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from typing import Any

from proctor.errors import ConfigError, NotFound
from proctor.service.data.parts import PartFound, at_work
from proctor.store import AttemptRow
from proctor.types import Run, Shard, Status

MOST_TOLD = 5  # items or parts of a message
# Of the facts of sources: what one machine may have otherwise than the next, or what the hash of the items says.
APART = frozenset({"sandbox", "image_sha256", "left_out", "copies", "data_sha256", "revisions"})


@dataclass(frozen=True, slots=True)
class WholeRun:
    """The parts of one run, by their number; `missing` are those that nobody has."""

    parts: tuple[PartFound, ...]
    missing: tuple[int, ...]  # counted from 1

    @property
    def first(self) -> Run:
        return self.parts[0].run

    @property
    def of(self) -> int:
        return self.parts[0].shard.of

    @property
    def planned(self) -> int:
        """Askings of the whole. Where a part is missing, as many as the source says that it has."""
        if not self.missing:
            return sum(part.run.planned for part in self.parts)
        facts = self.first.manifest.facts
        if rollouts := getattr(facts, "rollouts", None):
            return sum(rollouts.values())
        return (facts.n or 0) * (3 if facts.worded else 1) * self.first.cell.repeats


def picked(parts: Sequence[PartFound], chosen: Sequence[str]) -> list[PartFound]:
    """The parts without those that another, chosen by the beginning of its run's id, stands for. Raises: NotFound."""
    for each in chosen:
        if not any(part.run.id.startswith(each) for part in parts):
            raise NotFound(f"--run {each}: no part has this id")
    stands = {_place(part) for part in parts if part.run.id.startswith(tuple(chosen))} if chosen else set()
    return [part for part in parts if _place(part) not in stands or part.run.id.startswith(tuple(chosen))]


def _place(part: PartFound) -> tuple[str, str, Shard]:
    return (*_group(part), part.shard)


def _group(part: PartFound) -> tuple[str, str]:
    return str(part.run.cell.model), part.run.cell.source.listed


def wholes(parts: Sequence[PartFound], *, partial: bool) -> Iterator[WholeRun]:
    """The wholes that parts make, one for each model or agent on each source. Raises: ConfigError, DataError."""
    grouped: dict[tuple[str, str], list[PartFound]] = {}
    for part in parts:
        grouped.setdefault(_group(part), []).append(part)
    found = [_whole(group, partial=partial) for group in grouped.values()]
    if not partial:
        _need_all(found)
    yield from found


def _whole(group: Sequence[PartFound], *, partial: bool) -> WholeRun:
    first, own = group[0], dict[Shard, PartFound]()
    for part in group:
        if not part.run.manifest.opened:
            raise ConfigError(f"{part} was asked nothing yet")
        _need_same(first, part)
        if (other := own.get(part.shard)) is not None:
            _need_equal(other, part)
        else:
            own[part.shard] = part
    for part in own.values():
        _need_ended(part, partial=partial)
    parts = tuple(own[shard] for shard in sorted(own, key=lambda shard: shard.index))
    there = {part.shard.index for part in parts}
    return WholeRun(parts, tuple(i + 1 for i in range(first.shard.of) if i not in there))


def _need_all(found: Sequence[WholeRun]) -> None:
    lacking = [whole for whole in found if whole.missing]
    if not lacking:
        return
    told = "; ".join(
        f"of {whole.first.cell.model} on {whole.first.source_title} shard "
        f"{', '.join(f'{each}/{whole.of}' for each in whole.missing[:MOST_TOLD])}"
        f"{f' and {len(whole.missing) - MOST_TOLD} more' if len(whole.missing) > MOST_TOLD else ''} missing (there: "
        f"{', '.join(str(part.shard) for part in whole.parts[:MOST_TOLD])})"
        for whole in lacking
    )
    raise ConfigError(
        f"Not all parts are there: {told}. Name what has them too, or merge with --partial: `proctor resume` then asks "
        "what is missing"
    )


def _need_ended(part: PartFound, *, partial: bool) -> None:
    """A part whose items failed has ended: the run that is made of it is partial as well."""
    run = part.run
    if run.status is Status.COMPLETED or (partial and not at_work(part)):
        return
    state = (
        "still being asked"
        if at_work(part)
        else f"{run.status}, with {run.settled:,} of {run.planned:,} settled"
    )
    home = f"PROCTOR_HOME={part.home} " if part.home else ""
    cure = "wait for its end" if at_work(part) else f"`{home}proctor resume {run.id[:8]}` asks what it lacks"
    more = "" if at_work(part) else ", or merge what there is with --partial"
    raise ConfigError(f"{part} is {state}: {cure}{more}")


# Asked the same ----------------------------------------------------------------------------------


def _need_same(one: PartFound, other: PartFound) -> None:
    mine, theirs = _asked(one.run), _asked(other.run)
    for word, value in mine.items():
        if value != theirs[word]:
            raise ConfigError(
                f"{one} and {other} were not asked the same: they differ in their {word} "
                f"({_short(value)} and {_short(theirs[word])}). They are no parts of one run"
            )


def _asked(run: Run) -> Mapping[str, Any]:
    """What must be the same in all parts, by what it is called."""
    cell, manifest = run.cell, run.manifest
    facts = {key: value for key, value in asdict(manifest.facts).items() if key not in APART}
    return {
        "number of shards": cell.limits.shard.of if cell.limits.shard else 1,
        "items": facts.pop("item_set_sha256", None),
        "graders": manifest.facts.graders,
        "sampling": asdict(cell.sampling),
        "repeats": cell.repeats,
        "agent": cell.agent and asdict(cell.agent),
        "mode of answering": manifest.mode,
        "model": manifest.model.name,
        "digest of the model": manifest.model.digest,
        "quantization of the model": manifest.model.quantization,
        "settings sent": manifest.sampling and asdict(manifest.sampling),
        **{word.replace("_", " "): value for word, value in facts.items()},
        "comparability": run.comparability,
        "exam": run.exam,
        "rows": run.sample,
    }


def _short(value: object) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= 120 else f"{text[:119]}…"


# Twice -------------------------------------------------------------------------------------------


def _need_equal(one: PartFound, other: PartFound) -> None:
    """Raises: ConfigError, with the first items that differ."""
    differing: list[str] = []
    for mine, theirs in zip_longest(one.rows(), other.rows()):
        if _content(mine) != _content(theirs):
            row = mine or theirs
            assert row is not None
            differing.append(row.item_id)
            if len(differing) > MOST_TOLD:
                break
    if not differing:
        return
    more = ", ..." if len(differing) > MOST_TOLD else ""
    raise ConfigError(
        f"{one} and {other} are the same part, and their attempts differ: items {', '.join(differing[:MOST_TOLD])}"
        f"{more}. Name only one of the two, or say which counts: --run {other.run.id[:8]}"
    )


def _content(row: AttemptRow | None) -> object:
    if row is None:
        return None
    return (row.item_id, row.repeat, row.item_hash, row.outcome, row.score, row.answer, row.at)
