"""From a folder of Harbor's format to the task that is run: read, checked, hashed, copied.

folder -> files in hand -> spec, build, stages -> private copy -> PreparedTask
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from proctor.errors import DataError
from proctor.sources.rollouts.copies import kept
from proctor.sources.rollouts.dockerfile import DockerRecipe
from proctor.sources.rollouts.faults import JsonTold, TaskFaults
from proctor.sources.rollouts.harbor.building import CONTEXT, HarborBuild, build_of, merged
from proctor.sources.rollouts.harbor.instruction import without_canary
from proctor.sources.rollouts.harbor.places import HOME, parts_of, workdir_of
from proctor.sources.rollouts.harbor.spec import TASK, HarborSpec, HarborStep, read_spec
from proctor.sources.rollouts.harbor.wants import Wants, wants_of
from proctor.sources.rollouts.meta import Own, Rubric, TestScript, is_task_id, parsed
from proctor.sources.rollouts.place import Stage, WorkPlace
from proctor.sources.rollouts.task import SOLVE, PreparedTask
from proctor.sources.rollouts.tree import TaskFile, digest, links_out, tree_of

INSTRUCTION, DOCKERFILE, TEST = "instruction.md", f"{CONTEXT}/Dockerfile", "test.sh"
COMPOSE = ("docker-compose.yaml", "docker-compose.yml", "compose.yaml", "compose.yml")
KNOWN_AS = ".proctor.json"  # in a private copy: what the task is called, which its folder's name may tell
ROOTS = (TASK, INSTRUCTION, KNOWN_AS, CONTEXT, "tests", "solution", "steps")
TEXT_BYTES = 1_000_000  # of a file beyond which it is not looked into
VERIFIER_S = 600.0  # where a task does not say
REWARD = "reward"
_GIT = re.compile(r"(?<![\w/.-])git(?![\w-])", re.IGNORECASE)
_ODD = re.compile(r"[^\w.@+-]+")


def read_harbor(folder: Path, home: Path) -> PreparedTask:
    """Raises: DataError with every fault of the folder."""
    faults = TaskFaults(folder)
    try:
        tree = tree_of(folder, ROOTS, faults)
        task = HarborFolder(folder, tree, faults, read_spec(tree[TASK].content, faults)).task()
        links_out(tree, faults)
        faults.settle()
        tree[KNOWN_AS] = TaskFile(body=json.dumps({"id": task.id}).encode())
        sha256 = digest(tree)
        place = kept(tree, {}, sha256, home)
    except (OSError, UnicodeError) as error:
        raise DataError(f"{folder}: {error}") from None
    return replace(task, folder=place / "task", sha256=sha256)


@dataclass(slots=True)
class HarborFolder:
    """A folder while it is read. What is wrong with it is added to its faults."""

    folder: Path
    tree: dict[str, TaskFile]
    faults: TaskFaults
    spec: HarborSpec

    def task(self) -> PreparedTask:
        """The task, as yet without a private copy."""
        spec, build, stages, wants = self.spec, self._build(), self._stages(), self._wants()
        ident = self._known_as()
        environment = merged({"HOME": HOME}, build.environment, spec.environment)
        rubrics, tests = self._verdict(stages)
        return PreparedTask(
            self.folder,
            self.folder,
            ident,
            spec.title or ident,
            _told(stages),
            rubrics,
            tests,
            "",
            self._own(wants, stages, environment),
            DockerRecipe(build.base, environment),
            tags=spec.tags,
            remarks=(*spec.remarks, *build.remarks, *self._remarks(build, stages)),
            place=self._place(build, stages, environment),
            stages=stages,
            steps=build.steps,
            lacking=(*spec.lacking, *build.lacking, *wants.lacking, *self._composed()),
        )

    def _known_as(self) -> str:
        """Its name in [task], else the folder's; of a private copy, as it was read first."""
        known = self.tree.get(KNOWN_AS)
        if known is not None:
            told = JsonTold(parsed(known.content, KNOWN_AS, self.faults), KNOWN_AS, self.faults)
            return told.text("id") or "task"
        name = _ODD.sub("-", (self.spec.name or self.folder.resolve().name).rpartition("/")[2]).strip("-.")
        return name if is_task_id(name) else "task"

    def _build(self) -> HarborBuild:
        file = self.tree.get(DOCKERFILE)
        if file is None:
            return HarborBuild(base=self.spec.image)
        context = [name.removeprefix(f"{CONTEXT}/") for name in self.tree if name.startswith(f"{CONTEXT}/")]
        return build_of(file.content.decode("utf-8", "replace"), context)

    def _own(self, wants: Wants, stages: Sequence[Stage], environment: Mapping[str, str]) -> Own:
        return Own(
            _whole([each.agent_s for each in stages]),
            _whole([each.verifier_s for each in stages]),
            requires=("bash", *wants.requires),
            environment=environment,
            memory_mb=self.spec.memory_mb,
            cpus=self.spec.cpus,
        )

    def _place(
        self, build: HarborBuild, stages: Sequence[Stage], environment: Mapping[str, str]
    ) -> WorkPlace:
        workdir = workdir_of(self.spec.workdir or build.workdir)
        told = "\n".join(each.instruction for each in stages)
        parts = parts_of(workdir, build.targets, told, [text for _, text in self._texts()])
        made = [word for step in build.steps for word in step.words]
        return WorkPlace(
            "/", parts, workdir, environment["HOME"], _GIT.search("\n".join((told, *made))) is not None
        )

    def _stages(self) -> tuple[Stage, ...]:
        if self.spec.steps:
            return tuple(self._stage(step) for step in self.spec.steps)
        spec = self.spec
        self._need(f"tests/{TEST}", "is missing: it is what verifies the work")
        return (
            Stage(
                "",
                self._instruction(INSTRUCTION),
                ("tests",),
                TEST,
                "solution" if f"solution/{SOLVE}" in self.tree else None,
                None,
                spec.healthcheck,
                spec.agent_s,
                spec.verifier_s or VERIFIER_S,
                spec.verifier_env,
                spec.solution_env,
            ),
        )

    def _stage(self, step: HarborStep) -> Stage:
        place, spec = f"steps/{step.name}", self.spec
        own = f"{place}/tests"
        if f"{own}/{TEST}" not in self.tree:
            self._need(
                f"tests/{TEST}", f"is missing, and so is {own}/{TEST}: what verifies step {step.name}?"
            )
        return Stage(
            step.name,
            self._instruction(f"{place}/{INSTRUCTION}"),
            tuple(each for each in ("tests", own) if any(name.startswith(f"{each}/") for name in self.tree)),
            TEST,
            f"{place}/solution" if f"{place}/solution/{SOLVE}" in self.tree else None,
            f"{place}/workdir" if any(name.startswith(f"{place}/workdir/") for name in self.tree) else None,
            step.healthcheck,
            step.agent_s or spec.agent_s,
            step.verifier_s or spec.verifier_s or VERIFIER_S,
            merged(spec.verifier_env, step.verifier_env),
            spec.solution_env,
            step.least,
        )

    def _need(self, name: str, what: str) -> None:
        if name not in self.tree:
            self.faults.add(name, what)

    def _instruction(self, name: str) -> str:
        file = self.tree.get(name)
        text = "" if file is None else without_canary(file.content.decode("utf-8-sig", "replace"))
        if not text.strip():
            self.faults.add(name, "there is no instruction for the agent")
        return text

    def _verdict(self, stages: Sequence[Stage]) -> tuple[list[Rubric], list[TestScript]]:
        """One criterion for each step; where only the last one counts, the others weigh nothing."""
        if not self.spec.steps:
            return [Rubric(REWARD, "The reward that tests/test.sh gives", 1.0)], [
                TestScript(f"tests/{TEST}", REWARD, "reward")
            ]
        final = self.spec.strategy == "final"
        rubrics = [
            Rubric(
                each.name, f"The reward of step {each.name}", 0.0 if final and each is not stages[-1] else 1.0
            )
            for each in stages
        ]
        return rubrics, [
            TestScript(f"steps/{each.name}/tests/{TEST}", each.name, "reward") for each in stages
        ]

    def _wants(self) -> Wants:
        wants = Wants()
        for name, text in self._texts():
            if name.endswith(".sh") and "solution" not in name.split("/"):
                wants_of(text, name, wants)
        return wants

    def _texts(self) -> Iterator[tuple[str, str]]:
        """The files of tests, solutions and steps that may be looked into, by name."""
        for name, file in sorted(self.tree.items()):
            small = file.source is not None and file.source.stat().st_size <= TEXT_BYTES
            if small and file.link is None and name.startswith(("tests/", "solution/", "steps/")):
                yield name, file.content.decode("utf-8", "replace")

    def _composed(self) -> list[str]:
        found = [name for name in COMPOSE if f"{CONTEXT}/{name}" in self.tree]
        return [f"{CONTEXT}/{name} starts several containers, and a box is one" for name in found[:1]]

    def _remarks(self, build: HarborBuild, stages: Sequence[Stage]) -> Iterator[str]:
        if not all(each.solution for each in stages):
            yield f"there is no reference solution (solution/{SOLVE})"
        if build.base:
            yield f"boxes begin with the benchmark's image in place of {build.base}"
        place = self._place(build, stages, {"HOME": HOME})
        yield f"what counts lies in {', '.join(place.folders)}"


def _whole(seconds: Sequence[float | None]) -> float | None:
    """What all steps may take together; None where one does not say."""
    known = [each for each in seconds if each is not None]
    return sum(known) if len(known) == len(seconds) else None


def _told(stages: Sequence[Stage]) -> str:
    if len(stages) == 1:
        return stages[0].instruction
    return "\n\n".join(f"# Step {each.name}\n\n{each.instruction.strip()}" for each in stages) + "\n"
