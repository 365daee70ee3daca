"""Stands in for programs that download: uv, pip, apt-get, curl. Runs in the box; all that it gives is in the image.

    python3 -B stand_in.py NAME [WORD...]        NAME: as the program is called that it stands in for

What is asked for and is in the image is there; of another version, it is said. What is not in the image is named on
stderr, in a line that begins with "proctor:", and the exit code is that of a failure. It works with any Python from
3.8 on.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
from importlib import metadata
from pathlib import Path

TYPE_CHECKING = False  # as in typing, which takes its time to load
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

HERE = Path(__file__).absolute().parent
CHILD_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER
NO_NETWORK, NO_PACKAGE = 6, 100  # as curl and apt-get exit
# Debian's packages whose programs have other names; those with none are taken as there.
PROGRAMS_OF: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("ca-certificates", "gnupg", "locales", "tzdata", "lsb-release", "apt-utils"), ()),
    **dict.fromkeys(("software-properties-common", "apt-transport-https", "sudo", "vim", "nano"), ()),
    **dict.fromkeys(("python3-pip", "python3-venv", "python3-dev", "python3-setuptools", "pipx"), ()),
    **dict.fromkeys(("curl", "wget", "tmux", "asciinema", "less", "man-db", "bash-completion"), ()),
    **dict.fromkeys(("coreutils", "util-linux", "libc-bin", "base-files", "python3-minimal", "dialog"), ()),
    "build-essential": ("gcc", "make"),
    "python-is-python3": ("python",),
    "python3-full": ("python3",),
    "procps": ("ps",),
    "psmisc": ("killall",),
    "findutils": ("find",),
    "diffutils": ("diff",),
    "iproute2": ("ip",),
    "net-tools": ("netstat",),
    "netcat-openbsd": ("nc",),
    "netcat-traditional": ("nc",),
    "dnsutils": ("dig",),
    "openssh-client": ("ssh",),
    "openssh-server": ("sshd",),
    "nodejs": ("node",),
    "golang": ("go",),
    "golang-go": ("go",),
    "default-jdk": ("javac",),
    "g++": ("g++",),
    "xz-utils": ("xz",),
    "bsdmainutils": ("hexdump",),
    "postgresql-client": ("psql",),
    "mariadb-client": ("mysql",),
    "redis-server": ("redis-server",),
    "imagemagick": ("convert",),
    "poppler-utils": ("pdftotext",),
    "texlive": ("pdflatex",),
}
OWN = {"pytest-json-ctrf"}  # Python packages that have a stand-in of ours
UV_INSTALLER = re.compile(r"astral\.sh/uv|/uv/releases/|uv-installer\.sh")
LOOPBACK = re.compile(r"^(?:\w+://)?(?:localhost|127\.\d+\.\d+\.\d+|0\.0\.0\.0|\[::1\])(?:[:/]|$)")
_SPEC = re.compile(r"\s*([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*(.*)")
_VALUED = {"--index-url", "-i", "--extra-index-url", "--find-links", "-f", "--target", "-t", "--python", "-p"}
_VALUED |= {"--python-version", "--constraint", "-c", "--timeout", "--retries", "--prefix", "--cache-dir"}


def say(what: str) -> None:
    sys.stderr.write(f"proctor: {what}\n")


def programs_of(package: str) -> Sequence[str]:
    """The programs that a Debian package brings, as far as its name tells; none for libraries."""
    name = re.split(r"[=:/]", package)[0]
    if name in PROGRAMS_OF:
        return PROGRAMS_OF[name]
    if name.startswith(("lib", "python3-", "fonts-", "linux-headers")) or name.endswith(("-dev", "-doc")):
        return ()
    return (name,)


def name_and_version(spec: str) -> tuple[str, str | None]:
    """Of `pytest==8.4.1` or `pytest[x]>=8`; the version is None where no single one is asked for.

    >>> name_and_version("pytest==8.4.1"), name_and_version("A_b>=2")
    (('pytest', '8.4.1'), ('a-b', None))
    """
    found = _SPEC.match(spec)
    if found is None:
        return spec, None
    name = re.sub(r"[-_.]+", "-", found[1]).lower()
    exact = re.fullmatch(r"(?:===?|@)\s*([\w.+!-]+)", found[2].split(";")[0].strip())
    return name, exact[1] if exact else None


def there(spec: str, by: str) -> bool:
    """Whether the image has a Python package; says what it lacks, and where it has another version."""
    name, wanted = name_and_version(spec)
    if name in OWN:
        return True
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        say(f"{by}: the image lacks the Python package {spec}")
        return False
    if wanted is not None and version != wanted:
        say(f"{by}: {name} is {version} in the image, where {wanted} is asked for")
    return True


def apt(words: Sequence[str]) -> int:
    names = [word for word in words if not word.startswith("-")]
    if not names or names[0] != "install":
        return 0
    lacking = [
        (name, program) for name in names[1:] for program in programs_of(name) if not shutil.which(program)
    ]
    for name, program in lacking:
        say(f"apt-get: the image lacks the program {program} (of {name})")
    return NO_PACKAGE if lacking else 0


def specs_of(words: Sequence[str]) -> list[str]:
    """What an `install` names: packages, and those of the files after -r."""
    found: list[str] = []
    left = iter(words)
    for word in left:
        if word in ("-r", "--requirement", "--requirements"):
            lines = [
                line.split("#")[0].strip() for line in Path(next(left, os.devnull)).read_text().splitlines()
            ]
            found += [line for line in lines if line and not line.startswith("-")]
        elif word in ("-e", "--editable"):
            found.append(next(left, "."))
        elif word in _VALUED:
            next(left, None)
        elif not word.startswith("-"):
            found.append(word)
    return found


def pip(words: Sequence[str], by: str = "pip") -> int:
    if not words or words[0] != "install":
        return 0
    there_are = [_installed(spec, by) for spec in specs_of(words[1:])]  # each of them says what is lacking
    return 0 if all(there_are) else 1


def _installed(spec: str, by: str) -> bool:
    if "://" in spec or "@ git" in spec or spec.startswith("git+"):
        say(f"{by}: there is no network for {spec}")
        return False
    if spec.startswith((".", "/")):
        say(f"{by}: nothing is built in a box, and {spec} would have to be")
        return False
    return there(spec, by)


def uv(words: Sequence[str]) -> int:
    """The commands of uv that tests use."""
    plain = [word for word in words if word not in ("-q", "--quiet", "--no-cache", "-v", "--no-progress")]
    if plain[:2] in (["tool", "run"], ["x"]):
        return uvx(plain[2:])
    if plain[:1] == ["run"]:
        return uv_run(plain[1:])
    if plain[:1] == ["venv"]:
        return venv(plain[1:])
    if plain[:2] == ["pip", "install"]:
        code = pip(plain[1:], "uv pip")
        return code or starters(plain[2:])
    if plain[:1] == ["add"] or plain[:2] == ["tool", "install"]:
        return pip(["install", *plain[1 if plain[0] == "add" else 2 :]], "uv")
    if plain[:1] == ["--version"]:
        sys.stdout.write("uv 0.0.0 (a stand-in: it takes what the image has)\n")
    return 0


def venv(words: Sequence[str]) -> int:
    """An environment that sees the image's packages."""
    places = specs_of(words)
    place = places[0] if places else ".venv"
    made = [sys.executable, "-m", "venv", "--without-pip", "--system-site-packages", "--clear", place]
    return subprocess.run(made, check=False).returncode


def starters(words: Sequence[str]) -> int:
    """Programs of installed packages, in the environment that was named: bin/pytest and its like."""
    values = dict(zip(words, list(words)[1:], strict=False)) if sys.version_info >= (3, 10) else {}
    named = values.get("--python") or values.get("-p") or ""
    folder = str(Path(named).parent) if "/" in named else ""
    own = os.environ.get("VIRTUAL_ENV")
    folder = folder or (f"{own}/bin" if own else "")
    for spec in specs_of(words) if folder else ():
        name, _ = name_and_version(spec)
        for each in [] if name in OWN else metadata.distribution(name).entry_points:
            if each.group == "console_scripts":
                module, _, call = each.value.partition(":")
                path = Path(folder, each.name)
                call_it = f"import sys\nfrom {module} import {call}\nsys.exit({call}())\n"
                path.write_text(f"#!{folder}/python3\n{call_it}")
                path.chmod(0o755)
    return 0


def _parted(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """What --with and --from name, and the command that follows."""
    wanted: list[str] = []
    left = list(words)
    while left and left[0].startswith("-"):
        word = left.pop(0)
        if word == "--":
            break
        option, _, value = word.partition("=")
        if option in ("--with", "-w", "--from"):
            wanted += (value or (left.pop(0) if left else "")).split(",")
        elif option in ("-p", "--python", "--index-url", "--directory", "--project") and not value and left:
            left.pop(0)
    return wanted, left


def uvx(words: Sequence[str]) -> int:
    wanted, command = _parted(words)
    if not command:
        return 0
    tool = command[0].replace("@", "==")
    name, _ = name_and_version(tool)
    there_are = [there(spec, "uvx") for spec in (*wanted, *([] if "--from" in words else [tool]))]
    if not all(there_are):
        return 1
    return started(name, command[1:])


def uv_run(words: Sequence[str]) -> int:
    wanted, command = _parted(words)
    there_are = [there(spec, "uv run") for spec in wanted]
    if not all(there_are):
        return 1
    if not command:
        return 0
    if command[0].endswith(".py"):
        command = [sys.executable, *command]
    return started(command[0], command[1:])


def started(name: str, words: Sequence[str]) -> int:
    if name in ("pytest", "py.test"):
        return pytest(words)
    for each in (
        metadata.entry_points().get("console_scripts", ())
        if sys.version_info < (3, 10)
        else (metadata.entry_points(group="console_scripts"))
    ):
        if each.name == name:
            module, _, call = each.value.partition(":")
            script = f"import sys; from {module} import {call}; sys.argv[0] = {name!r}; sys.exit({call}())"
            return subprocess.run([sys.executable, "-c", script, *words], check=False).returncode
    if shutil.which(name) is None:
        say(f"the image lacks the program {name}")
        return 127
    return subprocess.run([name, *words], check=False).returncode


def pytest(words: Sequence[str]) -> int:
    """pytest of the image; its exit code counts only where it came to its end. Nothing that it started lives on."""
    if not there("pytest", "pytest"):
        return 1
    heir_of_all()
    word, (ours, theirs) = os.urandom(16).hex(), os.pipe()
    program = str(HERE / "run_pytest.py")
    started = subprocess.Popen(
        [sys.executable, "-B", program, str(theirs), *words], stdin=subprocess.PIPE, pass_fds=(theirs,)
    )
    os.close(theirs)
    assert started.stdin is not None
    with started.stdin as stdin:
        stdin.write(f"{word}\n".encode())
    code = started.wait()
    end_heirs()
    os.set_blocking(ours, False)
    try:
        told = os.read(ours, 4096).decode("utf-8", "replace")
    except BlockingIOError:  # what the tests started holds its end, and said nothing
        told = ""
    if f"{word} {code}\n" not in told:
        say("the tests did not come to their end: they count as failed")
        return code or 1
    return code


def heir_of_all() -> None:
    """Processes whose parents end become children of this one, wherever they have gone (prctl(2))."""
    try:
        ctypes.CDLL(None).prctl(CHILD_SUBREAPER, 1, 0, 0, 0)
    except (OSError, AttributeError):
        pass  # a system that is no Linux


def end_heirs() -> None:
    """Kill what the tests left running: it could write a reward after them."""
    while True:
        try:
            children = Path("/proc/self/task", str(os.getpid()), "children").read_text().split()
        except OSError:
            children = _children()
        for pid in children:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(int(pid), signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _children() -> list[str]:
    """The children of this process, of a kernel that does not list them."""
    found = []
    for place in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if place.read_text().rpartition(")")[2].split()[1] == str(os.getpid()):
                found.append(place.parent.name)
    return found


def fetched(words: Sequence[str], by: str) -> int:
    """curl or wget: of uv's installer a script that does nothing; else the image's own, without a network."""
    urls = [word for word in words if "://" in word or LOOPBACK.match(word)]
    if any(UV_INSTALLER.search(url) for url in urls):
        sys.stdout.write("true\n")
        return 0
    outside = [url for url in urls if not LOOPBACK.match(url)]
    if outside:
        say(f"{by}: there is no network for {outside[0]}")
        return NO_NETWORK
    path = os.pathsep.join(
        each for each in os.environ.get("PATH", "").split(os.pathsep) if each != str(HERE / "bin")
    )
    own = shutil.which(by, path=path)
    if own is None:
        say(f"the image lacks the program {by}")
        return 127
    return subprocess.run([own, *words], check=False).returncode


NAMES: Mapping[str, Callable[[Sequence[str]], int]] = {
    "apt": apt,
    "apt-get": apt,
    "pip": pip,
    "pip3": pip,
    "uv": uv,
    "uvx": uvx,
    "pytest": pytest,
    "curl": lambda words: fetched(words, "curl"),
    "wget": lambda words: fetched(words, "wget"),
}

if __name__ == "__main__":
    sys.exit(NAMES[sys.argv[1]](sys.argv[2:]))
