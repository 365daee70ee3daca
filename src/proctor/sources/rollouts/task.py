"""A prepared task as it is run: its files in a private copy, an instruction, and what verifies the work."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from proctor.sources.rollouts.dockerfile import DockerRecipe
from proctor.sources.rollouts.meta import Own, Rubric, TestScript
from proctor.sources.rollouts.place import REPO_IN_BOX, BuildStep, Stage, WorkPlace

APP = "/app"
REPO = "overlay_repo_files"
OVERLAY = "overlay_files"
EVALUATION = "evaluation"
REFERENCE = "diff.patch"  # in OVERLAY; the agent never sees it
# What the agent never sees of overlay_files, by names: the answer, notes on it, the tests, and what leads to them.
GIVEN_AWAY = (
    REFERENCE,
    "*.patch",
    "*.diff",
    "notes.md",
    "repo_info.json",
    "tb_meta.json",
    "remove_repo_paths.txt",
)
OF_TESTS = {"tests", "test", EVALUATION, "solution"}
BUILDERS = ("docker", "modal")  # sandboxes that build a task's Dockerfile
SOLVE = "solve.sh"
FULL = 1.0 - 1e-9  # what a test script gives that passed


@dataclass(frozen=True, slots=True)
class BoxFile:
    """A file or folder of this machine, and where it is put in a box."""

    source: Path
    target: str

    @property
    def in_repository(self) -> bool:
        return self.target == REPO_IN_BOX or self.target.startswith(f"{REPO_IN_BOX}/")


@dataclass(frozen=True, slots=True)
class PreparedTask:
    """A task, with its overrides applied. `folder` is the private copy, `origin` the prepared folder.

    `sha256` is the hash of the copy's content; `changes` are what the overrides changed, `remarks` what a person
    should know before it is run, and `lacking` what keeps every sandbox from running it, all in sentences. Tasks of
    other makers have `stages`, and `steps` that make their files before any agent sees them.
    """

    folder: Path
    origin: Path
    id: str
    title: str
    instruction: str
    rubrics: Sequence[Rubric]
    tests: Sequence[TestScript]
    sha256: str
    own: Own = Own()
    recipe: DockerRecipe = DockerRecipe()
    overlay: Sequence[str] = ()  # files of overlay_files that the agent sees
    tags: Sequence[str] = ()
    sensitivity: str = "unknown"
    changes: Sequence[str] = ()
    remarks: Sequence[str] = field(default=())
    place: WorkPlace = WorkPlace()
    stages: Sequence[Stage] = ()
    steps: Sequence[BuildStep] = ()
    lacking: Sequence[str] = ()

    @property
    def repo(self) -> Path:
        return self.folder / REPO

    @property
    def evaluation(self) -> Path:
        """Where the test scripts are found by their paths."""
        return self.folder if self.stages else self.folder / EVALUATION

    @property
    def build(self) -> Path:
        """What a program that builds images may see of the task: nothing that tells the answer."""
        return self.folder.with_name("build")

    @property
    def reference(self) -> Path | None:
        """The reference solution: a patch; of tasks of others, the first script that solves them."""
        if self.stages:
            known = [stage.solution for stage in self.stages]
            return self.folder / known[0] / SOLVE if known[0] and all(known) else None
        path = self.folder / OVERLAY / REFERENCE
        return path if path.is_file() else None

    def stage_of(self, script: TestScript) -> Stage | None:
        """The step that a test script verifies; None where the task has no steps."""
        if not self.stages:
            return None
        return self.stages[[each.path for each in self.tests].index(script.path)]

    @property
    def environment(self) -> Mapping[str, str]:
        return {**self.recipe.environment, **self.own.environment}

    @property
    def timeout_s(self) -> float | None:
        """The agent's time; None: the benchmark's."""
        return self.own.timeout_s

    @property
    def verifier_timeout_s(self) -> float | None:
        return self.own.verifier_timeout_s

    @property
    def pass_score(self) -> float | None:
        """From which share of the weights on a trial passes; None: the benchmark's."""
        return self.own.pass_score

    @property
    def protect(self) -> Sequence[str]:
        """Globs of repository paths that a patch may not decide: they are put back before the work is verified."""
        return self.own.protect

    @property
    def requires(self) -> Sequence[str]:
        """Programs that a box must have; `python:NAME` is a module that its python3 must find."""
        found = [*self.own.requires]
        found += ["python:pytest"] if any(test.runner == "pytest" for test in self.tests) else []
        return tuple(dict.fromkeys(found))

    @property
    def uncounted(self) -> Sequence[Rubric]:
        """Rubrics without a test script, which do not count."""
        tested = {test.rubric for test in self.tests}
        return [rubric for rubric in self.rubrics if rubric.id not in tested]

    def agent_files(self) -> Sequence[BoxFile]:
        """What the agent's box is given: the repository, files beside it, and what the Dockerfile copies.

        Nothing where steps make the files.
        """
        if not self.place.whole:
            return ()
        given = [BoxFile(self.repo, REPO_IN_BOX)]
        given += [BoxFile(self.folder / OVERLAY / name, f"{APP}/{name}") for name in self.overlay]
        for each in self.recipe.copies:
            source = self.build / each.source
            if not source.exists():  # nothing of it may be seen
                continue
            name = PurePosixPath(each.source).name
            into = each.into and source.is_file()
            given.append(
                BoxFile(
                    source, f"{each.target.rstrip('/')}/{name}" if into else each.target.rstrip("/") or "/"
                )
            )
        return given

    def verifier_files(self) -> Sequence[BoxFile]:
        """What the verifier's box is given: the same. The tests are shown to it read-only, beside these."""
        return self.agent_files()

    def score(self, passed: Mapping[str, float]) -> float:
        """The share of the rubrics' weights, 0 to 1, by what test scripts gave (by path): 1 where one passed.

        A rubric has the mean of its scripts; one without scripts does not count. Gates give nothing, and where a
        script of a gate did not pass the score is 0.
        """
        of = {
            rubric.id: [passed[test.path] for test in self.tests if test.rubric == rubric.id]
            for rubric in self.rubrics
        }
        if any(share < FULL for rubric in self.rubrics if rubric.gate for share in of[rubric.id]):
            return 0.0
        counted = [rubric for rubric in self.rubrics if of[rubric.id] and not rubric.gate]
        whole = sum(rubric.weight for rubric in counted)
        gained = sum(rubric.weight * sum(of[rubric.id]) / len(of[rubric.id]) for rubric in counted)
        return gained / whole if whole else 0.0

    def refusal(self, sandbox: str) -> str | None:
        """Why it cannot be run in a sandbox, told by its files; None where it can."""
        if self.lacking:
            return f"{self.id} cannot be run in a box: {'; '.join(self.lacking)}"
        if not self.place.whole and sandbox == "local":
            return f"{self.id} works in {', '.join(self.place.folders)}, and sandbox 'local' has no root of its own"
        if sandbox in BUILDERS:
            return None
        if self.own.sandbox in BUILDERS:
            return f"{self.id} asks for sandbox {self.own.sandbox!r} and not {sandbox!r}"
        if self.own.sandbox == "any" or not self.recipe.steps:
            return None
        first = f"{self.recipe.steps[0]}"
        more = len(self.recipe.steps) - 1
        return (
            f"{self.id}: {sandbox} builds no Dockerfile, and this one has what must be built: {first}"
            f'{f" and {more} more" if more else ""}. Use sandbox = "docker", or write '
            '"proctor": {"sandbox": "any"} into its tb_meta.json where the task does without'
        )


def gives_away(path: str) -> bool:
    """Whether a file of the task, other than the repository's, would tell the agent the answer or the tests."""
    parts = PurePosixPath(path.removeprefix(f"{OVERLAY}/")).parts
    named = any(fnmatch.fnmatchcase(parts[-1].lower(), pattern) for pattern in GIVEN_AWAY)
    below = path.startswith(f"{OVERLAY}/") and bool(OF_TESTS & {part.lower() for part in parts[:-1]})
    return named or below or parts[0] == EVALUATION
