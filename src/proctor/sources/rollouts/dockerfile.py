"""What a task's Dockerfile asks for: its variables and copies are taken over; what only a builder can do is named."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

STANDARD_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
NO_MATTER = {
    "LABEL",
    "USER",
    "CMD",
    "ENTRYPOINT",
    "EXPOSE",
    "MAINTAINER",
    "STOPSIGNAL",
    "HEALTHCHECK",
    "VOLUME",
}
MAPPED = (
    "overlay_files",
    "overlay_repo_files",
)  # copied into every box, whether or not the Dockerfile says so
SHOWN = 60  # characters of a line
_HEREDOC = re.compile(r"(?<!<)<<-?[ \t]*[\"']?(\w+)[\"']?")
_VARIABLE = re.compile(r"\$(?:\{(\w+)(?::?-([^}]*))?\}|(\w+))")
_PAIR = re.compile(r"(\w+)=(\"(?:[^\"\\]|\\.)*\"|'[^']*'|(?:[^\s\\]|\\.)*)")


@dataclass(frozen=True, slots=True)
class DockerLine:
    """One instruction, its continuation lines joined: `FROM`, and what follows. `document` are its here-documents."""

    number: int
    word: str
    rest: str
    document: str = ""

    def __str__(self) -> str:
        told = f"{self.word} {' '.join(self.rest.split())}"
        return f"line {self.number}: {told[:SHOWN]}{'...' if len(told) > SHOWN else ''}"


@dataclass(frozen=True, slots=True)
class Copied:
    """One source of a COPY, relative to the task's folder, and where it is put in the box."""

    source: str
    target: str  # absolute
    into: bool  # as a name in the folder `target`, not as `target` itself
    line: DockerLine


@dataclass(frozen=True, slots=True)
class DockerRecipe:
    """A Dockerfile, read. `steps` are lines that only a program that builds images carries out."""

    base: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    copies: Sequence[Copied] = ()
    steps: Sequence[DockerLine] = ()


def recipe_of(text: str) -> DockerRecipe:
    """Never raises: what it does not know is a step for a builder."""
    known: dict[str, str] = {"PATH": STANDARD_PATH}
    told: dict[str, str] = {}
    copies: list[Copied] = []
    steps: list[DockerLine] = []
    bases: list[str] = []
    place = PurePosixPath("/")
    for line in docker_lines(text):
        if line.word == "FROM":
            bases.append(line.rest.split()[0] if line.rest.split() else "")
            steps += [line] if len(bases) > 1 else []
        elif line.word in ("ARG", "ENV"):
            pairs = pairs_of(line.rest, known)
            known.update(pairs)
            told.update(pairs if line.word == "ENV" else {})
        elif line.word == "WORKDIR":
            place = place / filled(line.rest.strip(), known)
        elif line.word == "COPY":
            made = _copies(line, known, place)
            copies += made or ()
            steps += [line] if made is None else []
        elif line.word not in NO_MATTER:
            steps.append(line)
    return DockerRecipe(bases[0] if bases else None, told, copies, steps)


def docker_lines(text: str) -> Iterator[DockerLine]:
    """The instructions, without comments."""
    rows = iter(enumerate(text.splitlines(), 1))
    for number, row in rows:
        if not row.strip() or row.lstrip().startswith("#"):
            continue
        whole = row.strip()
        while whole.endswith("\\"):
            _, more = next(rows, (0, ""))
            whole = whole[:-1] + ("\\" if more.lstrip().startswith("#") else " " + more.strip())
        word, _, rest = whole.partition(" ")
        document: list[str] = []
        for end in _HEREDOC.findall(rest) if word.upper() in ("RUN", "COPY", "ADD") else ():
            while (follows := next(rows, None)) is not None and follows[1].strip() != end:
                document.append(follows[1])
            document.append(end)
        yield DockerLine(number, word.upper(), rest.strip(), "\n".join(document))


def pairs_of(rest: str, known: Mapping[str, str]) -> dict[str, str]:
    """NAME=value pairs, or the old form NAME value; an ARG without a default tells nothing."""
    found = _PAIR.findall(rest)
    if found:
        return {name: filled(_unquoted(value), known) for name, value in found}
    name, _, value = rest.partition(" ")
    return {name: filled(value.strip(), known)} if value else {}


def _unquoted(value: str) -> str:
    quoted = len(value) > 1 and value[0] in "\"'" and value[-1] == value[0]
    return re.sub(r"\\(.)", r"\1", value[1:-1] if quoted else value)


def filled(value: str, known: Mapping[str, str]) -> str:
    return _VARIABLE.sub(lambda each: known.get(each[1] or each[3]) or each[2] or "", value)


def _copies(line: DockerLine, known: Mapping[str, str], place: PurePosixPath) -> list[Copied] | None:
    """What a COPY puts where; None where only a builder can tell."""
    words = words_of(filled(line.rest, known))
    options = [word for word in words if word.startswith("--")]
    names = [word for word in words if not word.startswith("--")]
    if len(names) < 2 or any(option.startswith("--from") for option in options) or "<<" in line.rest:
        return None
    *sources, target = names
    into = target.endswith("/") or len(sources) > 1
    cleaned = [source.removeprefix("./").strip("/") for source in sources]
    if any(not source or source == "." or set(source) & set("*?[") for source in cleaned):
        return None
    end = str(place / target)
    return [Copied(source, end, into, line) for source in cleaned if not _mapped(source, end)]


def _mapped(source: str, target: str) -> bool:
    root = "/app/repo" if source == MAPPED[1] else "/app"
    return source in MAPPED and target.rstrip("/") == root


def words_of(rest: str) -> list[str]:
    bracket = rest.find("[")
    if bracket >= 0 and rest.endswith("]"):
        try:
            listed = json.loads(rest[bracket:])
        except json.JSONDecodeError:
            return rest.split()
        return [*rest[:bracket].split(), *(str(each) for each in listed)]
    return rest.split()
