"""What environment/Dockerfile does to the files of a task, as steps that a box without a network can take."""

from __future__ import annotations

import fnmatch
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from proctor.sources.rollouts.dockerfile import (
    STANDARD_PATH,
    DockerLine,
    docker_lines,
    filled,
    pairs_of,
    words_of,
)
from proctor.sources.rollouts.place import BuildStep

CONTEXT = "environment"
SHELL = ("/bin/sh", "-c")
LET_BE = {"LABEL", "CMD", "ENTRYPOINT", "EXPOSE", "MAINTAINER", "STOPSIGNAL", "HEALTHCHECK", "VOLUME"}
ROOTS = {"", "root", "0", "root:root", "0:0"}
STOOD_IN = re.compile(r"--from=\S*astral-sh/uv\S*")  # uv has a stand-in of ours
_OPTION = re.compile(r"--(?:mount|network|security)=\S+\s*")


@dataclass(slots=True)
class HarborBuild:
    """The steps, in order; `environment` is what ENV leaves, `workdir` None where there is no WORKDIR."""

    steps: list[BuildStep] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    workdir: str | None = None
    base: str | None = None
    lacking: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    @property
    def targets(self) -> list[str]:
        """Where files are put, as absolute paths: the folders of what is copied."""
        copied = (each for each in self.steps if each.kind == "copy")
        return [each.target if each.into else str(PurePosixPath(each.target).parent) for each in copied]


def build_of(text: str, context: Sequence[str]) -> HarborBuild:
    """`context` are the files of environment/, by their paths in it. Never raises: what no box can do is lacking."""
    return _Reading(context).read(text)


@dataclass(slots=True)
class _Reading:
    context: Sequence[str]
    built: HarborBuild = field(default_factory=HarborBuild)
    known: dict[str, str] = field(default_factory=lambda: {"PATH": STANDARD_PATH})
    shell: tuple[str, ...] = SHELL
    place: PurePosixPath = PurePosixPath("/")

    def read(self, text: str) -> HarborBuild:
        for line in docker_lines(text):
            self._take(line)
        return self.built

    def _take(self, line: DockerLine) -> None:
        if line.word == "FROM":
            self._from(line)
        elif line.word in ("ARG", "ENV"):
            pairs = pairs_of(line.rest, self.known)
            self.known.update(pairs)
            self.built.environment.update(pairs if line.word == "ENV" else {})
        elif line.word == "WORKDIR":
            self.place = self.place / filled(line.rest.strip().strip("\"'"), self.known)
            self.built.workdir = str(self.place)
            self.built.steps.append(BuildStep("folder", str(line), target=str(self.place)))
        elif line.word == "SHELL":
            self.shell = tuple(words_of(line.rest)) or SHELL
        elif line.word == "RUN":
            self.built.steps.append(self._run(line))
        elif line.word in ("COPY", "ADD"):
            self._copy(line)
        elif line.word == "USER":
            if line.rest.strip() not in ROOTS:
                self.built.remarks.append(f"{line}: a box has one user, without rights")
        elif line.word not in LET_BE:
            self.built.lacking.append(f"{line}: no box can do that")

    def _from(self, line: DockerLine) -> None:
        words = [word for word in line.rest.split() if not word.startswith("--")]
        if self.built.base is not None:
            self.built.lacking.append(f"{line}: an image of several stages is not built")
        self.built.base = filled(words[0], self.known) if words else ""

    def _run(self, line: DockerLine) -> BuildStep:
        rest = _OPTION.sub("", line.rest)
        words: tuple[str, ...] = (*self.shell, rest)
        if rest.startswith("["):
            words = _listed(rest) or words
        elif rest.startswith("<<"):
            words = (*self.shell, line.document.rpartition("\n")[0])
        elif line.document:
            words = (*self.shell, f"{rest}\n{line.document}\n")
        return BuildStep("run", str(line), words, dict(self.known), str(self.place))

    def _copy(self, line: DockerLine) -> None:
        if STOOD_IN.search(line.rest):
            return
        words = words_of(filled(line.rest, self.known))
        options = [word for word in words if word.startswith("--")]
        names = [word for word in words if not word.startswith("--")]
        if line.document:
            self._written(line, names)
        elif len(names) < 2 or any(option.startswith("--from") for option in options):
            self.built.lacking.append(f"{line}: only files of {CONTEXT}/ can be copied")
        elif any("://" in name or name.startswith("git@") for name in names[:-1]):
            self.built.lacking.append(f"{line}: a box has no network to fetch it")
        else:
            mode = next((each.partition("=")[2] for each in options if each.startswith("--chmod=")), None)
            self._copied(line, names[:-1], names[-1], mode)

    def _written(self, line: DockerLine, names: Sequence[str]) -> None:
        """COPY <<END /path: the document becomes a file."""
        end = line.document.rpartition("\n")[2]
        target = str(self.place / names[-1])
        script = f'mkdir -p "${{1%/*}}" && cat > "$1" <<\'{end}\'\n{line.document}\n'
        self.built.steps.append(BuildStep("run", str(line), ("/bin/sh", "-c", script, "sh", target)))

    def _copied(self, line: DockerLine, sources: Sequence[str], target: str, mode: str | None) -> None:
        found = [each for source in sources for each in self._matching(source)]
        if not found:
            self.built.lacking.append(f"{line}: {CONTEXT}/ holds no such file")
        place = str(self.place / target)
        into = target.endswith(("/", "/.")) or target == "." or len(found) > 1
        for each in found:
            if ".." in PurePosixPath(each).parts:
                self.built.lacking.append(f"{line}: it leads out of {CONTEXT}/")
                continue
            source = f"{CONTEXT}/{each}".rstrip("/")
            folder = each == "" or each not in self.context
            self.built.steps.append(
                BuildStep("copy", str(line), source=source, target=place, into=into and not folder, mode=mode)
            )

    def _matching(self, source: str) -> Iterator[str]:
        """The files and folders of the context that a word names; "" is all of it."""
        name = str(PurePosixPath("/", source.removeprefix("./"))).strip("/")
        there = dict.fromkeys(self.context)
        there |= dict.fromkeys(
            str(parent)
            for path in self.context
            for parent in PurePosixPath(path).parents
            if str(parent) != "."
        )
        if name == "" or name in there:
            yield name
        elif set(name) & set("*?["):
            deep = len(PurePosixPath(name).parts)
            yield from sorted(
                each
                for each in there
                if len(PurePosixPath(each).parts) == deep and fnmatch.fnmatchcase(each, name)
            )


def _listed(rest: str) -> tuple[str, ...]:
    try:
        found = json.loads(rest)
    except (json.JSONDecodeError, RecursionError):
        return ()
    return tuple(str(each) for each in found) if isinstance(found, list) else ()


def merged(*environments: Mapping[str, str]) -> dict[str, str]:
    """Variables, later ones over earlier ones."""
    return {name: value for each in environments for name, value in each.items()}
