"""`proctor task check`: whether a prepared task measures what it should, tried before any model is asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from proctor.errors import DataError, SandboxError
from proctor.service.rollouts.calibrating import AgentShown, Calibration, calibration
from proctor.settings import Settings
from proctor.sources.rollouts.reading import read_task
from proctor.sources.rollouts.task import PreparedTask
from proctor.trial_record import TrialRecord

How = Literal["ok", "warn", "fail"]
LEAST_TEST_LINES = 3  # of a test in a row that an instruction may not hold
LONGEST_LINE = 300  # characters of a test's output
FULL = 1.0 - 1e-9


@dataclass(frozen=True, slots=True)
class CheckWish:
    """How tasks are checked: `repeats` is how often the verifier judges the same work."""

    repeats: int = 3
    sandbox: str = "bubblewrap"
    image: str = "base"
    overrides: Path | None = None


@dataclass(frozen=True, slots=True)
class CheckLine:
    """One thing that was looked at, what was seen, and what to do where that is not as it should be."""

    how: How
    what: str
    cure: str = ""


@dataclass(frozen=True, slots=True)
class CheckedTask:
    """A folder with all that was looked at; fit where nothing failed."""

    folder: str
    task: str | None  # its id, None where it could not be read
    sha256: str | None
    lines: Sequence[CheckLine]

    @property
    def fit(self) -> bool:
        return all(line.how != "fail" for line in self.lines)


def check_task(folder: Path, settings: Settings, wish: CheckWish) -> CheckedTask:
    """Raises: SandboxMissing, ConfigError where this machine cannot run any task as was asked."""
    try:
        task = read_task(folder, settings.home, wish.overrides)
    except DataError as error:
        return CheckedTask(str(folder), None, None, [CheckLine("fail", str(error), error.cure)])
    lines = [*_read(task), *_told(task)]
    refused = task.refusal(wish.sandbox)
    if refused is not None:
        lines.append(CheckLine("fail", refused))
    else:
        lines += asyncio.run(_tried(task, settings, wish))
    return CheckedTask(str(folder), task.id, task.sha256, lines)


def document(checked: CheckedTask) -> dict[str, Any]:
    """As JSON."""
    return {
        "folder": checked.folder,
        "task": checked.task,
        "sha256": checked.sha256,
        "fit": checked.fit,
        "lines": [{"how": line.how, "what": line.what, "cure": line.cure} for line in checked.lines],
    }


def _read(task: PreparedTask) -> Iterator[CheckLine]:
    rubrics, tests = len(task.rubrics), len(task.tests)
    yield CheckLine(
        "ok", f"it can be read: rubrics: {rubrics}, test scripts: {tests}, sha256 {task.sha256[:12]}"
    )
    yield from (CheckLine("warn", each) for each in task.remarks)


def _told(task: PreparedTask) -> Iterator[CheckLine]:
    """What the agent is told and given holds neither tests nor answer."""
    shown = [task.instruction, *(_text(each.source) for each in task.agent_files() if each.source.is_file())]
    lines = [line.strip() for text in shown for line in text.splitlines() if line.strip()]
    for test in task.tests:
        own = [line.strip() for line in _text(task.evaluation / test.path).splitlines() if line.strip()]
        runs = zip(*(own[place:] for place in range(LEAST_TEST_LINES)), strict=False)
        held = zip(*(lines[place:] for place in range(LEAST_TEST_LINES)), strict=False)
        if set(runs) & set(held):
            cure = "Tell the agent what is wanted in words; take the lines of the test out."
            yield CheckLine("fail", f"what the agent is told holds lines of {test.path}", cure)
            return
    yield CheckLine("ok", "what the agent is told holds no test")


def _text(path: Path) -> str:
    return path.read_text("utf-8", "replace")


async def _tried(task: PreparedTask, settings: Settings, wish: CheckWish) -> list[CheckLine]:
    async with calibration(
        task.origin, wish.overrides, settings.home, sandbox=wish.sandbox, image=wish.image
    ) as tried:
        return [line async for line in _calibrated(task, tried, wish.repeats)]


async def _calibrated(task: PreparedTask, tried: Calibration, repeats: int) -> AsyncIterator[CheckLine]:
    try:
        for remark in await tried.need_requirements(task):
            yield CheckLine("warn", remark)
    except SandboxError as missing:
        yield CheckLine("fail", str(missing))
        return
    nothing = await tried.nothing(repeats)
    if nothing.failed:
        yield CheckLine(
            "fail", f"the verifier could not be run: {nothing.failed[0]}", "It is no fault of an agent."
        )
        return
    yield _of_nothing(nothing)
    reference = await tried.reference(repeats) if task.reference else AgentShown()
    yield _of_reference(task, reference)
    yield _agreed(nothing, reference)
    yield _planted(nothing, await tried.planted())
    yield _early(nothing, await tried.early_end())


def _of_nothing(shown: AgentShown) -> CheckLine:
    if shown.best == 0:
        return CheckLine("ok", "the null agent, which does nothing, scores 0")
    given = sorted(path for path, result in shown.records[0].tests.items() if result.passed)
    return CheckLine(
        "fail",
        f"the null agent, which does nothing, scores {shown.best:.3f}: {', '.join(given)} pass on the untouched files",
        'Make the rubric of what must stay as it is a gate ("gate": true), or have its tests need the work.',
    )


def _of_reference(task: PreparedTask, shown: AgentShown) -> CheckLine:
    what = "solution" if task.stages else "patch"
    if task.reference is None:
        where = "solution/solve.sh" if task.stages else "overlay_files/diff.patch"
        cure = f"Write {where}: without it nobody knows whether the task can be done."
        return CheckLine("warn", f"the reference {what} was not tried: there is none", cure)
    if shown.failed:
        return CheckLine("fail", f"the reference {what} could not be verified: {shown.failed[0]}")
    if shown.worst >= FULL:
        return CheckLine("ok", f"the reference {what} scores 1")
    record = min(shown.records, key=lambda each: each.score)
    failing = sorted(path for path, result in record.tests.items() if not result.passed)
    why = (
        f"the agent that applies it ended as {record.ended}"
        if record.ended != "done"
        else _last(record, failing)
    )
    return CheckLine(
        "fail",
        f"the reference {what} scores {shown.worst:.3f}: {why}",
        f"Mend the {what}{'' if task.stages else ', which is against overlay_repo_files/'}, or the tests.",
    )


def _last(record: TrialRecord, failing: Sequence[str]) -> str:
    """The failing scripts, each with the line of its output that says most: its last error, else its last line."""
    return "; ".join(f"{path} fails ({_telling(record.tests[path].output)})" for path in failing)


def _telling(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if "Error" in line and "short test summary" not in line]
    return ([*lines, *errors] or ["no output"])[-1][:LONGEST_LINE]


def _agreed(*all_shown: AgentShown) -> CheckLine:
    flaky = {path: counts for shown in all_shown for path, counts in shown.flaky.items()}
    judged = sum(len(record.tests) for shown in all_shown for record in shown.records)
    times = max(len(shown.records) for shown in all_shown)
    if not flaky and times > 1:
        return CheckLine(
            "ok", f"the verifier agrees with itself: {times} times on the same work, {judged} tests run"
        )
    if not flaky:
        return CheckLine(
            "warn", "whether the verifier agrees with itself was not tried", "Ask for --repeats 2 or more."
        )
    told = ", ".join(f"{path} passed {passed} times of {times}" for path, (passed, times) in flaky.items())
    cure = "Take out of these tests what depends on time, chance, order or load."
    return CheckLine("fail", f"the verifier does not agree with itself on the same work: {told}", cure)


def _planted(nothing: AgentShown, shown: AgentShown) -> CheckLine:
    if shown.failed:
        return CheckLine("fail", f"with planted rewards the verifier could not be run: {shown.failed[0]}")
    if shown.best <= nothing.best:
        return CheckLine("ok", "a planted reward does not count")
    got = sorted(path for path, result in shown.records[0].tests.items() if result.passed)
    return CheckLine(
        "fail",
        f"a planted reward counts: an agent that wrote result files and a conftest.py scores {shown.best:.3f} by "
        f"{', '.join(got)}",
        "Let the tests judge what the code does, and not files that the agent can write.",
    )


def _early(nothing: AgentShown, shown: AgentShown) -> CheckLine:
    if shown.failed or shown.best <= nothing.best:
        return CheckLine("ok", "code that ends the process which runs it passes no test")
    got = sorted(path for path, result in shown.records[0].tests.items() if result.passed)
    return CheckLine(
        "fail",
        f"code that ends the process which runs it scores {shown.best:.3f} by {', '.join(got)}",
        "Have the tests run the repository's code in a process of its own, as `asked.py` of `proctor task new` does.",
    )
