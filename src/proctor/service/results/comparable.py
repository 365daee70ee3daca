"""Which runs may be compared: what two runs must share, and what is said of those that do not."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any

import orjson

from proctor.errors import ConfigError
from proctor.manifest import BatchFacts, Facts, JudgingFacts, Manifest, RolloutFacts
from proctor.service.judging.names import is_judge, judging_command
from proctor.sources.batches.lines import GROUP
from proctor.stats.compare import Side
from proctor.types import Run

UNENFORCED = "structured, the schema not enforced"

# What two runs must share for a comparison on the items that both were asked, as far as this version can vary it.
# Prompts and metric versions are told by task; the items themselves are matched one by one, by id and words.
COMPARABILITY: dict[str, Callable[[Manifest], Any]] = {
    # An imported copy and the hub's are the same rows if their hash says so; sample rows never are.
    "kind of rows": lambda m: _kind_of_rows(m.facts),
    "suite": lambda m: m.facts.suite,
    "tasks": lambda m: sorted(m.facts.tasks),
    "prompts": lambda m: m.facts.prompts,
    "style": lambda m: [m.facts.style, m.facts.wording, m.facts.shots, m.facts.shuffle],
    # A run whose server did not enforce its schema was written freely, under prompts made for one.
    "mode of answering": lambda m: UNENFORCED if m.unenforced else m.mode or "generate",
    "extractor": lambda m: m.facts.extractor,
    "metric versions": lambda m: m.facts.metric_versions,
}
# The same, of what only some runs have.
FURTHER: dict[str, Callable[[Manifest], Any]] = {
    "graders": lambda m: m.facts.graders,
    # With how much a trial passes is what success means. Sandbox, image, limits: told (rows/conditions.py).
    "pass score": lambda m: m.facts.pass_score if isinstance(m.facts, RolloutFacts) else None,
}
BY_TASK = ("prompts", "metric versions")  # need be the same only where both runs have them


def _kind_of_rows(facts: Facts) -> str:
    """Requests of one file, by its name, are comparable where they are the same; those of two files never are."""
    if isinstance(facts, BatchFacts):
        return f"requests of {facts.file}"
    return facts.rows if facts.rows in ("sample", "file", "rollouts") else "official"


def graded(manifest: Manifest) -> bool:
    """Whether a run's scores are its model's: not those of requests of which no right answer is known.

    A judge's verdicts are scores of another run, and none of its own.
    """
    if isinstance(manifest.facts, JudgingFacts):
        return False
    tasks = manifest.facts.tasks
    return GROUP not in tasks or tasks[GROUP].kind is not None


def comparability(manifest: Manifest) -> str | None:
    """32 hex digits that runs share if their scores may be compared on the items that all of them were asked.

    None for runs that can have no score; `proctor batch compare` compares their replies.
    """
    if not graded(manifest):
        return None
    facts = [look(manifest) for look in COMPARABILITY.values()]
    # Only where there are some: runs of the exam's own grader keep the key that they have always had.
    further = [fact for look in FURTHER.values() if (fact := look(manifest))]
    return _key([*facts, *further])


def exam(manifest: Manifest) -> str:
    """32 hex digits that runs share if they were asked the very same: all items alike too."""
    return _key([comparability(manifest), manifest.facts.item_set_sha256])


def _key(facts: Any) -> str:
    return hashlib.sha256(orjson.dumps(facts, option=orjson.OPT_SORT_KEYS)).hexdigest()[:32]


def check_comparable(runs: Sequence[Run]) -> None:
    """Raises ConfigError naming what differs between runs that cannot be compared, whatever items they share."""
    for run in runs:
        if not run.manifest.opened:
            raise ConfigError(
                f"Run {run.id[:8]} ({run.source_title}) is {run.status} and was asked nothing: choose one that was"
            )
        if isinstance(run.manifest.facts, JudgingFacts):
            judged = " and ".join(each[:8] for each in run.manifest.facts.judged)
            raise ConfigError(
                f"Run {run.id[:8]} ({run.source_title}) is a judge's: its verdicts are grades of run {judged}, and no "
                f"score of {run.cell.model}. `proctor show {judged.partition(' ')[0]} --grader judge` shows them"
            )
        if not graded(run.manifest):
            raise ConfigError(
                f"Run {run.id[:8]} ({run.source_title}) has no scores, since no right answers are known: "
                "`proctor batch compare` compares what came back"
            )
    first = runs[0]
    for other in runs[1:]:
        if apart := _difference(first.manifest, other.manifest):
            raise ConfigError(_refusal(first, other, f"they differ in their {apart}"))


def check_shared(sides: Sequence[Side]) -> None:
    """Raises ConfigError for two runs that were asked different items, none of them the same."""
    for (one, rows), (other, others) in combinations(sides, 2):
        if one.manifest.facts.item_set_sha256 != other.manifest.facts.item_set_sha256:
            mine, theirs = ({(row.item, row.content) for row in side} for side in (rows, others))
            if mine and theirs and mine.isdisjoint(theirs):
                counts = f"of the {len(mine):,} and {len(theirs):,} that they"
                words = f"task {counts} worked on" if _on_tasks(one) else f"item {counts} were asked"
                raise ConfigError(_refusal(one, other, f"they share no {words}"))


def _difference(one: Manifest, other: Manifest) -> str:
    """What keeps two runs from being compared on shared items, in words; "" where nothing does."""
    for word, look in COMPARABILITY.items():
        mine, theirs = look(one), look(other)
        if word in BY_TASK and isinstance(mine, Mapping) and isinstance(theirs, Mapping):
            both = mine.keys() & theirs.keys()
            if not both and mine and theirs:
                return f"{word} ({_apart(mine, theirs)})"
            mine, theirs = ({key: of[key] for key in sorted(both)} for of in (mine, theirs))
        if word != "tasks" and mine != theirs:
            return f"{word} ({_apart(mine, theirs)})"
    for word, look in FURTHER.items():
        if (mine := look(one)) != (theirs := look(other)):
            return f"{word} ({_apart(mine, theirs)})"
    return ""


def _refusal(one: Run, other: Run, why: str) -> str:
    named = " and ".join(f"{run.id[:8]} ({run.source_title})" for run in (one, other))
    unlike = one.manifest.facts.wording != other.manifest.facts.wording
    cure = "; with --wording all every item is asked in all three wordings" if unlike else ""
    if one.manifest.facts.graders != other.manifest.facts.graders:
        cure += f". {_one_grader(one, other)}"
    for run in (one, other):
        if held := run.manifest.unenforced:
            cure += f". {held.sentence} in {run.id[:8]}; --mode generate asks the same of every server"
    same = "Give both the same tasks" if _on_tasks(one) else "Ask the same of both, in the same way"
    return f"Runs {named} cannot be compared: {why}. {same}{cure}"


def _one_grader(one: Run, other: Run) -> str:
    """How both get grades of one grader."""
    for run, needs in ((one, other), (other, one)):
        if judge := next((name for name in run.manifest.facts.graders.values() if is_judge(name)), None):
            make = judging_command(needs.id[:8], judge)
            return f"{make} gives both the grades of one judge, and --grader '{judge}' compares by them"
    return (
        "`proctor grade RUN --grader NAME` gives both the grades of one, and --grader NAME compares by them"
    )


def _on_tasks(run: Run) -> bool:
    return isinstance(run.manifest.facts, RolloutFacts)


def _apart(one: object, two: object) -> str:
    """Two facts of manifests, of tables only what differs."""
    if isinstance(one, Mapping) and isinstance(two, Mapping):
        keys = [key for key in dict.fromkeys([*one, *two]) if one.get(key) != two.get(key)]
        one, two = (", ".join(f"{key}: {of.get(key, '-')}" for key in keys) for of in (one, two))
    return f"{one} and {two}"
