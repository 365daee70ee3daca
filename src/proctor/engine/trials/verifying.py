"""The verifier: each test script in a box of its own, with the patch, and a verdict that tested code cannot write.

A Python script has passed where it exits with 0 AND its last line is the one that only the program that runs it can
write (inside/run_test.py); a shell script where it exits with 0. A test's time limit is the tested code's, and scored;
what keeps a script from being run at all says nothing of the work.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

from proctor.engine.trials.boxes import furnish, opened_box
from proctor.engine.trials.folder import room_for
from proctor.engine.trials.metrics import CustomMetrics
from proctor.errors import VerifierError
from proctor.sandbox.contract import ARTIFACTS, REPO, Box, Command, CommandEnd, Mount, Policy, Sandbox
from proctor.sources.rollouts.meta import TestScript
from proctor.sources.rollouts.task import PreparedTask
from proctor.trial_record import OUTPUT_CHARACTERS, Consumed, RubricScore, TestResult

EVALUATION = "/app/evaluation"
RUNNER = "/opt/proctor/run_test.py"
PYTHON = ("python3", "-I", "-B", RUNNER)
ENVIRONMENT = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONNOUSERSITE": "1"}
BOX_S = 60.0  # for all that is not the scripts' own time


@dataclass(frozen=True, slots=True)
class VerifyTerms:
    """Where a task's tests are run. `seconds` is what all of them may take together."""

    sandbox: Sandbox
    policy: Policy
    environment: Mapping[str, str]
    seconds: float
    log: Path


@dataclass(frozen=True, slots=True)
class PatchVerdict:
    """What the tests say, by script, and what it comes to; 0 to 1."""

    tests: Mapping[str, TestResult]
    rubrics: Mapping[str, RubricScore]
    score: float
    custom_metrics: Mapping[str, float]
    used: Consumed
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class Verifying:
    """The verifying of one patch, whose files are in the folder `work`."""

    task: PreparedTask
    work: Path
    terms: VerifyTerms
    used: list[Consumed] = field(default_factory=list)
    metrics: CustomMetrics = field(default_factory=CustomMetrics)

    async def verdict(self) -> PatchVerdict:
        """Raises: VerifierError with what the verifier printed; SandboxError, DiskFull."""
        task = self.task
        if not task.tests:
            raise VerifierError(f"{task.id} has no test scripts: nothing can be said of any work on it")
        try:
            async with asyncio.timeout(self.terms.seconds + BOX_S + len(task.tests)):
                tests = await self._tests()
        except TimeoutError:
            raise VerifierError(
                f"{task.id}: the verifier did not end in time; it printed: {self._printed()}"
            ) from None
        passed = {path: result.passed for path, result in tests.items()}
        return PatchVerdict(
            tests,
            rubric_scores(task, passed),
            task.score(passed),
            self.metrics.found,
            together(self.used),
            self.metrics.notes,
        )

    async def _tests(self) -> dict[str, TestResult]:
        tests: dict[str, TestResult] = {}
        left = self.terms.seconds
        # A script that hangs takes its share, and leaves the others at least half of an even one.
        reserved = self.terms.seconds / (2 * len(self.task.tests))
        for number, script in enumerate(self.task.tests, 1):
            seconds = left - reserved * (len(self.task.tests) - number)
            result = await self._in_a_box(script, seconds)
            left -= result.seconds or 0.0
            tests[script.path] = result
            self._log(script.path, result)
        return tests

    async def _in_a_box(self, script: TestScript, seconds: float) -> TestResult:
        if not (self.task.evaluation / script.path).is_file():
            raise VerifierError(f"{self.task.id}: there is no file {script.path} in {self.task.evaluation}")
        mounts = [Mount(self.task.evaluation, EVALUATION), Mount(_runner(), RUNNER)]
        async with opened_box(self.terms.sandbox, self.terms.policy, mounts, self.task.build) as box:
            await box.put(self.work, REPO)
            await furnish(box, self.task.verifier_files())
            result = await self._run(box, script, seconds)
            self.metrics.take(await box.files(ARTIFACTS), script.path)
            self.used.append(box.consumed())
        return result

    async def _run(self, box: Box, script: TestScript, seconds: float) -> TestResult:
        path, word = f"{EVALUATION}/{script.path}", secrets.token_hex(16)
        shell = self._shell(script)
        paths = self.terms.environment.get("PYTHONPATH", "")
        argv = (shell, path) if script.runner == "sh" else (*PYTHON, script.runner, path, REPO, paths)
        env = {**self.terms.environment, **ENVIRONMENT}
        ended = await box.run(Command(argv, env, stdin=f"{word}\n".encode(), timeout_s=seconds))
        if script.runner == "sh":
            return _result(script, ended, ended.said, passed=ended.code == 0, unfinished=False)
        said, marks = _parted(ended.said, word.encode())
        finished = bool(marks.keys() & {"passed", "failed"})
        began = bool(marks) or ended.printed_bytes > len(ended.said) or ended.why == "timeout"
        if "broken" in marks or not began:
            why = marks.get("broken") or f"it could not be run, exit code {ended.code}"
            raise VerifierError(f"{script.path}: {why}; it printed: {_text(said)[-1_000:]}")
        passed = "passed" in marks and ended.code == 0
        return _result(script, ended, said, passed=passed, unfinished=not finished and ended.code == 0)

    def _shell(self, script: TestScript) -> str:
        """The shell that a script's first line names."""
        with (self.task.evaluation / script.path).open("rb") as file:
            first = file.readline(200)
        return "bash" if first.startswith(b"#!") and b"bash" in first else "sh"

    def _log(self, path: str, result: TestResult) -> None:
        how = "passed" if result.passed else f"failed {result.why}".strip()
        heading = f"== {path}: {how}, exit code {result.exit_code}, {result.seconds or 0.0:.3f} s\n"
        with room_for(self.terms.log), self.terms.log.open("a", encoding="utf-8") as file:
            file.write(f"{heading}{result.output.rstrip()}\n")

    def _printed(self) -> str:
        try:
            return self.terms.log.read_text(encoding="utf-8", errors="replace")[-1_000:]
        except OSError:
            return "nothing"


def _runner() -> Path:
    return Path(str(files("proctor.engine.trials.inside").joinpath("run_test.py")))


def _parted(said: bytes, word: bytes) -> tuple[bytes, Mapping[str, str]]:
    """What a script printed, and what the program that runs it told with its secret word, by what it told."""
    marks = {}
    rest = []
    for line in said.split(b"\n"):
        if line.startswith(word):
            _, what, why = line.decode("utf-8", "replace").split(" ", 2)
            marks[what] = why
        else:
            rest.append(line)
    return b"\n".join(rest).strip(b"\n"), marks


def _result(
    script: TestScript, ended: CommandEnd, said: bytes, *, passed: bool, unfinished: bool
) -> TestResult:
    late = ended.why == "timeout"
    return TestResult(
        passed and not late,
        _text(said),
        script.rubric,
        ended.seconds,
        ended.code,
        "timeout" if late else "unfinished" if unfinished else "",
    )


def _text(said: bytes) -> str:
    return said.decode("utf-8", "replace").replace("\0", "\ufffd")[-OUTPUT_CHARACTERS:]


def rubric_scores(task: PreparedTask, passed: Mapping[str, bool]) -> dict[str, RubricScore]:
    """Each criterion with the share of its tests that passed; None for one that has none."""
    scores = {}
    for each in task.rubrics:
        of = [passed[script.path] for script in task.tests if script.rubric == each.id]
        share = of.count(True) / len(of) if of else None
        scores[each.id] = RubricScore(each.criterion, each.weight, share, len(of), of.count(True), each.gate)
    return scores


def together(used: Sequence[Consumed]) -> Consumed:
    """What several boxes used, one after the other: the largest peak, and the sums of the rest."""

    def total(name: str) -> float | None:
        known = [value for each in used if (value := getattr(each, name)) is not None]
        return sum(known) if known else None

    def count(name: str) -> int | None:
        value = total(name)
        return None if value is None else int(value)

    peaks = [each.peak_memory_bytes for each in used if each.peak_memory_bytes is not None]
    return Consumed(
        max(peaks, default=None),
        total("cpu_s"),
        total("throttled_s"),
        count("out_of_memory"),
        count("processes_refused"),
        count("written_bytes"),
        count("output_bytes"),
    )
