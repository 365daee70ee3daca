"""Images: the roots that boxes begin with, by name; never this machine's own root, and never half made.

    images/NAME              a link to the folder of that name that is used now
    images/NAME.WHAT-HASH/   root/ and image.json: what it was made of, and the hash of all that is in it

An image of this machine's programs is made again when these have changed, in a folder of its own: boxes that are open
keep theirs. One process at a time makes one; the others wait and find it. Where two versions of proctor share a home,
each finds its own by what it is made of.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from proctor.errors import SandboxMissing
from proctor.sandbox import machine_root, rootfs
from proctor.sandbox.places import sweep

BASE = "base"  # what benchmarks use that name no image; made when it is needed


@dataclass(frozen=True, slots=True)
class Image:
    """A root, and the hash of all that is in it."""

    name: str
    root: Path
    sha256: str
    made: str = ""  # of what, in words


@dataclass(frozen=True, slots=True)
class ImageRecipe:
    """What an image is made of: this machine's programs with `packages` of Python, a folder or archive, or Debian.

    `programs` are further ones of this machine, by their names.
    """

    kind: Literal["machine", "rootfs", "debian"] = "machine"
    packages: tuple[str, ...] = ()
    source: str = ""  # the path of the folder or archive, or the name of Debian's release
    programs: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        if self.kind == "machine":
            further = ", ".join((*self.packages, *self.programs))
            return " with ".join(["this machine's programs", *filter(None, [further])])
        return f"Debian {self.source}" if self.kind == "debian" else self.source

    def fingerprint(self) -> str:
        """What an image of it rests on; another one makes it stale. Raises: SandboxMissing."""
        told = [self.kind, self.source, *self.packages]
        if self.kind == "machine":
            told += machine_root.facts(self.packages, self.programs)
        return hashlib.sha256("\0".join(told).encode()).hexdigest()

    def fill(self, root: Path) -> None:
        """Raises: SandboxMissing, OSError."""
        if self.kind == "machine":
            machine_root.fill(root, self.packages, self.programs)
        elif self.kind == "debian":
            rootfs.debian(root, self.source)
        else:
            rootfs.copied(root, Path(self.source))


def find_image(name: str, home: Path) -> Image:
    """The image as it is, stale or not. Raises: SandboxMissing where there is none of that name."""
    told = _told(home / "images" / name)
    if told is None:
        raise SandboxMissing(
            f"There is no image {name!r} here: `proctor sandbox image --name {name}` makes one"
        )
    return _image(name, home / "images" / name, told)


def recipe_of(name: str, home: Path) -> ImageRecipe:
    """What the image of that name is made of; that of `base` is known before it is there. Raises: SandboxMissing."""
    told = _told(home / "images" / name)
    if told is None and name != BASE:
        find_image(name, home)
    return _recipe(told) if told else ImageRecipe()


def make_image(name: str, home: Path) -> Image:
    """The image of that name, made again where it is stale; `base` is made where it is missing.

    Raises: SandboxMissing.
    """
    told = _told(home / "images" / name)
    if told is None and name != BASE:
        return find_image(name, home)
    recipe = _recipe(told) if told else ImageRecipe()
    return build_image(name, home, recipe)


def build_image(name: str, home: Path, recipe: ImageRecipe, *, anew: bool = False) -> Image:
    """The image of that name by this recipe: the one that is there, unless it is another's, stale or wanted anew.

    Raises: SandboxMissing.
    """
    link = home / "images" / name
    print_of = recipe.fingerprint()
    if not anew and (found := _present(name, print_of, [link])):
        return found
    link.parent.mkdir(parents=True, exist_ok=True)
    with _alone(link.parent):
        before = [link, *link.parent.glob(f"{name}.{print_of[:12]}-*")]
        found = None if anew else _present(name, print_of, before)
        if found is None:
            found = _made(name, link, recipe, print_of)
        _point(link, found.root.parent.name)
    return found


def _present(name: str, print_of: str, folders: Iterable[Path]) -> Image | None:
    """The first of these that is made of this."""
    for each in folders:
        told = _told(each)
        if told is not None and told["made_of"] == print_of:
            return _image(name, each, told)
    return None


def unused_images(home: Path) -> list[str]:
    """Delete the images that no name leads to. While boxes are open none is deleted. Gives the names of folders."""
    boxes = home / "boxes"
    sweep(boxes)
    if any(boxes.glob("box-*")):
        return []
    images = home / "images"
    used = {each.resolve() for each in images.glob("*") if each.is_symlink()}
    gone = [each for each in images.glob("*.*") if each.is_dir() and each.resolve() not in used]
    for each in gone:
        shutil.rmtree(each, ignore_errors=True)
    return [each.name for each in gone]


def _made(name: str, link: Path, recipe: ImageRecipe, print_of: str) -> Image:
    for left in link.parent.glob(".making-*"):
        shutil.rmtree(left, ignore_errors=True)
    making = Path(tempfile.mkdtemp(prefix=".making-", dir=link.parent))
    try:
        (making / "root").mkdir(mode=0o755)
        recipe.fill(making / "root")
        rootfs.complete(making / "root")
        digest = root_sha256(making / "root")
        told = {"sha256": digest, "made_of": print_of, "made_at": time.time(), "recipe": asdict(recipe)}
        (making / "image.json").write_text(json.dumps(told, indent=2))
        making.chmod(0o755)
        final = link.with_name(f"{name}.{print_of[:12]}-{digest[:12]}")
        if not final.is_dir():
            making.rename(final)
    except OSError as error:
        raise SandboxMissing(f"The image {name!r} could not be made in {link.parent}: {error}") from error
    finally:
        shutil.rmtree(making, ignore_errors=True)
    return _image(name, final, told)


def _point(link: Path, target: str) -> None:
    """Lead the name to that folder, at once for whoever looks."""
    if link.is_dir() and not link.is_symlink():
        link.rename(link.with_name(f"{link.name}.before-{os.getpid()}"))
    fresh = link.with_name(f".{link.name}.{os.getpid()}")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(target)
    fresh.replace(link)


@contextmanager
def _alone(images: Path) -> Iterator[None]:
    with (images / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _told(link: Path) -> dict[str, Any] | None:
    try:
        told: dict[str, Any] = json.loads((link / "image.json").read_bytes())
    except FileNotFoundError:
        return None
    return told if {"recipe", "made_of", "sha256"} <= told.keys() else None


def _recipe(told: Mapping[str, Any]) -> ImageRecipe:
    recipe = told["recipe"]
    further = tuple(recipe.get("programs", ()))
    return ImageRecipe(recipe["kind"], tuple(recipe["packages"]), recipe["source"], further)


def _image(name: str, link: Path, told: Mapping[str, Any]) -> Image:
    return Image(name, link.resolve() / "root", told["sha256"], _recipe(told).words)


def root_sha256(root: Path) -> str:
    """SHA-256 over names, permissions and contents of all files and links, in the order of their names."""
    found = hashlib.sha256()
    for path in sorted(_files(root)):
        told = path.lstat()
        found.update(f"{path.relative_to(root)}\0{stat.S_IMODE(told.st_mode):o}\0{told.st_size}\0".encode())
        if stat.S_ISLNK(told.st_mode):
            found.update(os.fsencode(path.readlink()))
        elif stat.S_ISREG(told.st_mode):
            with path.open("rb") as file:
                while chunk := file.read(1 << 20):
                    found.update(chunk)
    return found.hexdigest()


def _files(root: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(root):
        yield from (Path(folder, name) for name in names)
        yield from (Path(folder, name) for name in folders if Path(folder, name).is_symlink())
