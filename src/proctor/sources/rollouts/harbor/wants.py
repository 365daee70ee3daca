"""What a shell script wants of the box that it runs in, as far as its words tell: programs, packages, a network."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from proctor.sources.rollouts.harbor.inside.stand_in import (
    LOOPBACK,
    OWN,
    UV_INSTALLER,
    name_and_version,
    programs_of,
    specs_of,
)

PACKAGE = "package:"  # a requirement: an installed package of Python, by its name there
BEFORE = {
    "if",
    "then",
    "else",
    "elif",
    "do",
    "while",
    "until",
    "!",
    "time",
    "exec",
    "sudo",
    "command",
    "{",
    "(",
}
FETCHING = {"npm": "install", "yarn": "add", "cargo": "install", "go": "install", "gem": "install"}
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)
_HEREDOC = re.compile(r"(?<!<)<<-?[ \t]*[\"']?(\w+)[\"']?")
_PARTS = re.compile(r"&&|\|\||;|\||\n|&")


@dataclass(slots=True)
class Wants:
    """`requires` as a task tells them, `lacking` in sentences: what no box has."""

    requires: dict[str, None] = field(default_factory=dict)
    lacking: dict[str, None] = field(default_factory=dict)

    def need(self, *names: str) -> None:
        self.requires.update(dict.fromkeys(names))

    def need_packages(self, specs: Sequence[str], script: str) -> None:
        for spec in specs:
            name, version = name_and_version(spec)
            if "://" in spec or spec.startswith("git+"):
                self.lacking[f"{script} downloads {spec}"] = None
            elif spec.startswith((".", "/")):
                self.lacking[f"{script} builds and installs {spec}"] = None
            elif name not in OWN and re.fullmatch(r"[a-z0-9][a-z0-9.-]*", name):
                self.need(f"{PACKAGE}{name}" + (f"=={version}" if version else ""))


def wants_of(text: str, script: str, wants: Wants) -> None:
    """Add what the script `text` wants; `script` is its name in sentences. Never raises."""
    for words in _commands(text):
        reader = READERS.get(words[0].rpartition("/")[2])
        if reader is not None:
            reader(words[1:], script, wants)


def _commands(text: str) -> Iterator[list[str]]:
    """The simple commands of a script, as words: without here-documents, remarks, assignments, redirections."""
    for part in _PARTS.split("\n".join(_lines(text))):
        try:
            words = shlex.split(part, comments=True)
        except ValueError:  # quotes that do not close in this part
            words = part.split()
        while words and (words[0] in BEFORE or _ASSIGNMENT.fullmatch(words[0])):
            words = words[1:]
        if words:
            yield words


def _lines(text: str) -> Iterator[str]:
    rows = iter(text.replace("\\\n", " ").splitlines())
    for row in rows:
        yield "" if row.lstrip().startswith("#") else row
        for end in _HEREDOC.findall(row):
            while (follows := next(rows, None)) is not None and follows.strip() != end:
                pass


def _apt(words: Sequence[str], _script: str, wants: Wants) -> None:
    names = [word for word in words if not word.startswith("-")]
    if names[:1] == ["install"]:
        wants.need(*(program for name in names[1:] if _is_name(name) for program in programs_of(name)))


def _is_name(word: str) -> bool:
    return re.fullmatch(r"[a-z0-9][a-z0-9+.:=~-]*", word) is not None


def _pip(words: Sequence[str], script: str, wants: Wants) -> None:
    if words[:1] == ["install"] and not {"-r", "--requirement"} & set(words):
        wants.need_packages(specs_of(words[1:]), script)


def _uv(words: Sequence[str], script: str, wants: Wants) -> None:
    plain = [word for word in words if word not in ("-q", "--quiet", "--no-cache", "--no-progress")]
    if plain[:2] == ["tool", "run"] or plain[:1] == ["run"]:
        _uvx(plain[2 if plain[0] == "tool" else 1 :], script, wants, tool=plain[0] == "tool")
    elif plain[:2] in (["pip", "install"], ["tool", "install"]):
        wants.need_packages(specs_of(plain[2:]), script)
    elif plain[:1] == ["add"]:
        wants.need_packages(specs_of(plain[1:]), script)


def _uvx(words: Sequence[str], script: str, wants: Wants, *, tool: bool = True) -> None:
    left = list(words)
    named: list[str] = []
    origin = False
    while left and left[0].startswith("-"):
        option, _, value = left.pop(0).partition("=")
        if option in ("--with", "-w", "--from"):
            origin = origin or option == "--from"
            named += (value or (left.pop(0) if left else "")).split(",")
        elif option in ("-p", "--python", "--index-url", "--directory", "--project") and not value and left:
            left.pop(0)
    wants.need_packages([each for each in named if each], script)
    if left and (tool or left[0] == "pytest") and not origin:
        wants.need_packages([left[0].replace("@", "==")], script)


def _python(words: Sequence[str], script: str, wants: Wants) -> None:
    wants.need("python3")
    module = words[words.index("-m") + 1 : words.index("-m") + 2] if "-m" in words else []
    if module == ["pip"]:
        _pip(words[words.index("-m") + 2 :], script, wants)
    elif module == ["pytest"]:
        wants.need(f"{PACKAGE}pytest")


def _pytest(_words: Sequence[str], _script: str, wants: Wants) -> None:
    wants.need(f"{PACKAGE}pytest")


def _fetch(by: str) -> Callable[[Sequence[str], str, Wants], None]:
    def read(words: Sequence[str], script: str, wants: Wants) -> None:
        urls = [word for word in words if "://" in word or LOOPBACK.match(word)]
        outside = [url for url in urls if not LOOPBACK.match(url) and not UV_INSTALLER.search(url)]
        for url in outside:
            if "$" not in url:
                wants.lacking[f"{script} downloads {url}"] = None
        if any(LOOPBACK.match(url) for url in urls):
            wants.need(by)

    return read


def _git(words: Sequence[str], script: str, wants: Wants) -> None:
    wants.need("git")
    for url in (each for each in words if words[0] == "clone" and "://" in each):
        if not url.startswith("file://") and not LOOPBACK.match(url):
            wants.lacking[f"{script} downloads {url}"] = None


def _installing(program: str) -> Callable[[Sequence[str], str, Wants], None]:
    def read(words: Sequence[str], script: str, wants: Wants) -> None:
        if words[:1] and words[0] in (FETCHING[program], "ci", "i"):
            wants.lacking[f"{script} downloads with {program}"] = None

    return read


READERS: Mapping[str, Callable[[Sequence[str], str, Wants], None]] = {
    "apt": _apt,
    "apt-get": _apt,
    "pip": _pip,
    "pip3": _pip,
    "uv": _uv,
    "uvx": _uvx,
    "python": _python,
    "python3": _python,
    "pytest": _pytest,
    "curl": _fetch("curl"),
    "wget": _fetch("wget"),
    "git": _git,
    **{program: _installing(program) for program in FETCHING},
}
