"""The verifier: each test script in a box of its own, with the patch, and a verdict that tested code cannot write.

A Python script has passed where it exits with 0 AND its last line is the one that only the program that runs it can
write (inside/run_test.py); a shell script where it exits with 0. A test's time limit is the tested code's, and scored;
what keeps a script from being run at all says nothing of the work.
"""

from __future__ import annotations

import asyncio
import secrets
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path

from proctor.engine.room import room_for
from proctor.engine.trials.baseline import TaskBaseline
from proctor.engine.trials.boxes import folder_left, furnish, opened_box, put_files
from proctor.engine.trials.metrics import CustomMetrics
from proctor.engine.trials.others.reward import FOLDER, reward_in, tests_of
from proctor.engine.trials.others.stand_ins import shown, with_stand_ins
from proctor.errors import VerifierError
from proctor.printable import printable
from proctor.sandbox.contract import ARTIFACTS, REPO, Box, Command, CommandEnd, Mount, Policy, Sandbox
from proctor.sources.rollouts.meta import TestScript
from proctor.sources.rollouts.place import TESTS, Stage
from proctor.sources.rollouts.task import FULL, PreparedTask
from proctor.trial_record import OUTPUT_CHARACTERS, Consumed, RubricScore, TestResult

EVALUATION = "/app/evaluation"
RUNNER = "/opt/proctor/run_test.py"
PYTHON = ("python3", "-I", "-B", RUNNER)
ENVIRONMENT = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONNOUSERSITE": "1"}
SET_OFF = "  "  # before what a script printed, so that none of its lines is taken for a heading of ours
BOX_S = 60.0  # for all that is not the scripts' own time


@dataclass(frozen=True, slots=True)
class VerifyTerms:
    """Where a task's tests are run. `seconds` is what all of them may take together."""

    sandbox: Sandbox
    policy: Policy
    environment: Mapping[str, str]
    seconds: float
    log: Path
    baseline: TaskBaseline | None = None  # of tasks whose files are made by steps


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
    """The verifying of one patch, whose files are in the folder `work`.

    Of a task in steps, `reached` are the files after each step by its test script; what is not in it was not reached.
    """

    task: PreparedTask
    work: Path
    terms: VerifyTerms
    reached: Mapping[str, Path] | None = None
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
        given = {path: result.given for path, result in tests.items()}
        return PatchVerdict(
            tests,
            rubric_scores(task, given),
            task.score(given),
            self.metrics.found,
            together(self.used),
            self.metrics.notes,
        )

    async def can_begin(self) -> None:
        """Whether the named tests of an instance can be found at all. Raises: VerifierError, which tells why not."""
        for script in self.task.tests:
            if script.runner == "instance":
                await self._in_a_box(script, self.terms.seconds, looking=True)

    async def _tests(self) -> dict[str, TestResult]:
        tests: dict[str, TestResult] = {}
        left = self.terms.seconds
        # A script that hangs takes its share, and leaves the others at least half of an even one.
        reserved = self.terms.seconds / (2 * len(self.task.tests))
        for number, script in enumerate(self.task.tests, 1):
            if self.reached is not None and script.path not in self.reached:
                tests[script.path] = TestResult(False, "This step was not reached.", script.rubric, share=0.0)
                continue
            seconds = left - reserved * (len(self.task.tests) - number)
            result = await self.one(script, seconds)
            left -= result.seconds or 0.0
            tests[script.path] = result
        return tests

    async def one(self, script: TestScript, seconds: float) -> TestResult:
        """What one script says. Raises: VerifierError, SandboxError, DiskFull."""
        stage = self.task.stage_of(script)
        if stage is None:
            result = await self._in_a_box(script, seconds)
        else:
            result = await self._rewarded(script, stage, min(seconds, stage.verifier_s or seconds))
        self._log(script.path, result)
        return result

    async def _rewarded(self, script: TestScript, stage: Stage, seconds: float) -> TestResult:
        """By the reward that a test.sh writes; of several keys, each is a figure of the task's own, too."""
        work = self.work if self.reached is None else self.reached[script.path]
        terms = self.terms
        assert terms.baseline is not None
        with tempfile.TemporaryDirectory(prefix="tests-", dir=terms.log.parent) as room:
            tests = await asyncio.to_thread(tests_of, self.task, stage, Path(room))
            mounts = [Mount(tests, TESTS), *shown(terms.baseline.tools, self.task.place.home)]
            async with opened_box(terms.sandbox, terms.policy, mounts, None) as box:
                await put_files(box, self.task.place, work, terms.baseline.system)
                env = with_stand_ins({**terms.environment, **ENVIRONMENT, **stage.verifier_env})
                words = ("bash", f"{TESTS}/{stage.script}")
                ended = await box.run(Command(words, env, self.task.place.cwd, timeout_s=seconds))
                self.used.append(box.consumed())
                if ended.why == "timeout":
                    return replace(
                        _result(script, ended, ended.said, passed=False, unfinished=False), share=0.0
                    )
                try:
                    reward = reward_in(await box.files(FOLDER), script.path)
                except VerifierError as error:
                    raise VerifierError(f"{error}; it printed: {_text(ended.said)[-1_000:]}") from None
        for key, value in reward.values.items():
            self.metrics.found[f"{stage.name}.{key}" if stage.name else key] = value
        result = _result(script, ended, ended.said, passed=reward.share >= FULL, unfinished=False)
        return replace(result, share=reward.share)

    async def _in_a_box(self, script: TestScript, seconds: float, *, looking: bool = False) -> TestResult:
        if not (self.task.evaluation / script.path).is_file():
            raise VerifierError(f"{self.task.id}: there is no file {script.path} in {self.task.evaluation}")
        mounts = [Mount(self.task.evaluation, EVALUATION), Mount(_runner(), RUNNER)]
        async with opened_box(self.terms.sandbox, self.terms.policy, mounts, self.task.build) as box:
            await box.put(self.work, REPO)
            await furnish(box, self.task.verifier_files())
            result = await self._run(box, script, seconds, "collect" if looking else script.runner)
            self.metrics.take(await folder_left(box, ARTIFACTS), script.path)
            self.used.append(box.consumed())
        return result

    async def _run(self, box: Box, script: TestScript, seconds: float, how: str) -> TestResult:
        path, word = f"{EVALUATION}/{script.path}", secrets.token_hex(16)
        shell = self._shell(script)
        paths = self.terms.environment.get("PYTHONPATH", "")
        argv = (shell, path) if script.runner == "sh" else (*PYTHON, how, path, REPO, paths)
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
        result = _result(script, ended, said, passed=passed, unfinished=not finished and ended.code == 0)
        return replace(
            result, share=_share(marks, passed=result.passed) if script.runner == "instance" else None
        )

    def _shell(self, script: TestScript) -> str:
        """The shell that a script's first line names."""
        with (self.task.evaluation / script.path).open("rb") as file:
            first = file.readline(200)
        return "bash" if first.startswith(b"#!") and b"bash" in first else "sh"

    def _log(self, path: str, result: TestResult) -> None:
        how = "passed" if result.passed else f"failed {result.why}".strip()
        heading = f"== {path}: {how}, exit code {result.exit_code}, {result.seconds or 0.0:.3f} s\n"
        with room_for(self.terms.log), self.terms.log.open("a", encoding="utf-8") as file:
            file.write(heading + "".join(f"{SET_OFF}{line}\n" for line in _lines(result.output)))

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


def _share(marks: Mapping[str, str], *, passed: bool) -> float:
    """Of the tests of an instance, how many passed; none where they did not come to their end."""
    good, _, whole = marks.get("share", "").strip().partition("/")
    if passed or not (good.isdecimal() and whole.isdecimal()):
        return float(passed)
    return int(good) / max(1, int(whole))


def _text(said: bytes) -> str:
    return said.decode("utf-8", "replace").replace("\0", "\ufffd")[-OUTPUT_CHARACTERS:]


def _lines(output: str) -> Sequence[str]:
    return printable(output).rstrip().split("\n") if output.strip() else ()


def rubric_scores(task: PreparedTask, given: Mapping[str, float]) -> dict[str, RubricScore]:
    """Each criterion with what its tests give, 1 where all passed; None for one that has none."""
    scores = {}
    for each in task.rubrics:
        of = [given[script.path] for script in task.tests if script.rubric == each.id]
        share = sum(of) / len(of) if of else None
        passed = sum(one >= FULL for one in of)
        scores[each.id] = RubricScore(each.criterion, each.weight, share, len(of), passed, each.gate)
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
