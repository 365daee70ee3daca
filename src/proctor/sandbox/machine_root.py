"""A root of this machine's own programs: a shell, the usual tools, git and Python, in seconds and without a network."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from importlib import metadata
from pathlib import Path

from proctor.errors import SandboxMissing

VERSION = "5"  # of this recipe
PROGRAMS = """
    sh bash env true false cat cp mv rm ln ls mkdir rmdir touch chmod chown install head tail wc sort uniq cut tr tee
    sed grep egrep fgrep find xargs awk gawk mawk diff cmp patch dirname basename readlink realpath mktemp date sleep
    seq test [ echo printf id whoami uname nproc stat du df dd kill ps pgrep pkill timeout nohup setsid sha256sum md5sum
    base64 tar gzip gunzip zcat git expr which yes pwd tac nl od comm join paste fold split expand rev less make
"""
LOOKED_IN = "/usr/bin:/bin:/usr/local/bin"
AWAY = (
    "test",
    "tests",
    "site-packages",
    "__pycache__",
    "idlelib",
    "tkinter",
    "ensurepip",
    "lib2to3",
    "turtledemo",
    "pydoc_data",
    "config-*",
    "*.a",
)
GIT = Path("/usr/lib/git-core")
TEMPLATES = Path("/usr/share/git-core/templates")
# What wheels that are made for many Linuxes count on beside the C library (PEP 513, PEP 599), for agents in Python.
WHEELS_NEED = "libgcc_s.so.1 libstdc++.so.6 libm.so.6 libdl.so.2 librt.so.1 libpthread.so.0 libutil.so.1"
STARTER = "#!/usr/local/bin/python3\nimport sys\nfrom {module} import {name}\nsys.exit({call}())\n"
_LIBRARY = re.compile(r"(?:=> )?(/\S+) \(0x")
_NEEDED = re.compile(r"[A-Za-z0-9._-]+")
_C_LIBRARY = re.compile(r"/(?:libc\.so|ld-)[^/]*$")


def facts(packages: Sequence[str], further: Sequence[str] = ()) -> list[str]:
    """What the root is made of: each program, and the versions of the packages. Raises: SandboxMissing."""
    version, library, interpreter = _python_here()
    files = [*_programs(further).values(), interpreter, library, GIT, TEMPLATES, *_own_libraries()]
    stats = [
        f"{each} {told.st_size} {told.st_mtime_ns}"
        for each in files
        if each.exists()
        for told in (each.stat(),)
    ]
    return [VERSION, version, *stats, *(f"{each.name} {each.version}" for each in _distributions(packages))]


def is_program(name: str) -> bool:
    """Whether this machine has a program of a name that is no Python package beside proctor."""
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return shutil.which(name, path=LOOKED_IN) is not None
    return False


def fill(root: Path, packages: Sequence[str], further: Sequence[str] = ()) -> None:
    """`further` are programs of this machine beside the usual ones. Raises: SandboxMissing, OSError."""
    for each in ("bin", "lib", "lib64", "sbin"):
        (root / "usr" / each).mkdir(parents=True)
        (root / each).symlink_to(f"usr/{each}")
    _fill_programs(root, further)
    library = _fill_python(root)
    for package in _distributions(packages):
        _fill_package(root, library / "site-packages", package)
    _compile(root, library)


def _programs(further: Sequence[str] = ()) -> dict[str, Path]:
    """The usual ones that are here, and the further ones. Raises: SandboxMissing where one of these is not here."""
    found = {name: shutil.which(name, path=LOOKED_IN) for name in (*PROGRAMS.split(), *further)}
    missing = [name for name in further if found[name] is None]
    if missing:
        told = f"There is no program {', '.join(missing)} on this machine to put into an image: install it here first"
        raise SandboxMissing(told)
    return {name: Path(path) for name, path in found.items() if path is not None}


def _own_libraries() -> list[Path]:
    """The C library that this process itself uses."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    return sorted({Path(line.split()[-1]) for line in lines if _C_LIBRARY.search(line)})


def _fill_programs(root: Path, further: Sequence[str]) -> None:
    programs = _programs(further)
    for name, path in programs.items():
        _copy(path, root / "usr/bin" / name)
    for each in (GIT, TEMPLATES):
        if each.is_dir():
            shutil.copytree(each, root / str(each).lstrip("/"), symlinks=True)
    _fill_libraries(root, (*programs.values(), *(each for each in GIT.glob("*") if not each.is_symlink())))


def _python_here() -> tuple[str, Path, Path]:
    """The version, library and program of the interpreter that runs proctor, outside of its environment."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    base = Path(sys.base_prefix)
    return version, base / "lib" / version, base / "bin" / version


def _fill_python(root: Path) -> Path:
    """As /usr/local/bin/python3, with its standard library and nothing else."""
    version, source, program = _python_here()
    library = root / "usr/local/lib" / version
    shutil.copytree(source, library, ignore=shutil.ignore_patterns(*AWAY))
    (library / "site-packages").mkdir(exist_ok=True)
    interpreter = root / "usr/local/bin" / version
    interpreter.parent.mkdir(parents=True, exist_ok=True)
    _copy(program, interpreter)
    for name in ("python3", "python"):
        (interpreter.parent / name).symlink_to(version)
    needed = [each.parent / name for each in _own_libraries() for name in WHEELS_NEED.split()]
    _fill_libraries(root, (program, *source.glob("lib-dynload/*.so"), *filter(Path.exists, needed)))
    for each in filter(Path.exists, needed):
        _copy(each, root / str(each).lstrip("/"))
    return library


def _compile(root: Path, library: Path) -> None:
    """Compile Python's files once, since what a box compiles goes with it; the same files give the same bytes."""
    how = ("-q", "-q", "-j", "0", "--invalidation-mode", "unchecked-hash", "-s", str(root), "-p", "/")
    subprocess.run((sys.executable, "-m", "compileall", *how, str(library)), capture_output=True, check=False)


def _distributions(names: Iterable[str]) -> list[metadata.Distribution]:
    """The packages of these names and all that they need, as they are installed beside proctor.

    Raises: SandboxMissing for one that is not there.
    """
    found: dict[str, metadata.Distribution] = {}
    wanted = list(names)
    while wanted:
        name = wanted.pop()
        if name.lower() in found:
            continue
        try:
            each = found[name.lower()] = metadata.distribution(name)
        except metadata.PackageNotFoundError as missing:
            told = f"There is no Python package and no program {name} here to put into an image: pip install {name}"
            raise SandboxMissing(told) from missing
        for line in each.requires or ():
            needed = _NEEDED.match(line)
            if needed and ";" not in line:
                wanted.append(needed[0])
    return [found[name] for name in sorted(found)]


def _fill_package(root: Path, library: Path, package: metadata.Distribution) -> None:
    for file in package.files or ():
        if ".." not in file.parts and "__pycache__" not in file.parts:
            target = library / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(str(file.locate()), target)
    # Box and machine have the same Python, so that what is compiled for one runs in the other.
    compiled = [Path(str(file.locate())) for file in package.files or () if file.suffix == ".so"]
    if compiled:
        _fill_libraries(root, compiled)
    for each in package.entry_points.select(group="console_scripts"):
        name = each.attr.partition(".")[0]
        starter = root / "usr/local/bin" / each.name
        starter.write_text(STARTER.format(module=each.module, name=name, call=each.attr))
        starter.chmod(0o755)


def _fill_libraries(root: Path, programs: Iterable[Path]) -> None:
    """What the programs are linked with, by one run of ldd for all of them."""
    told = subprocess.run(
        ["ldd", *map(str, programs)], capture_output=True, text=True, errors="replace", check=False
    )
    for each in sorted(set(_LIBRARY.findall(told.stdout))):
        _copy(Path(each), root / each.lstrip("/"))


def _copy(source: Path, target: Path) -> None:
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source.resolve(), target)
