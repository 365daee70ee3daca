"""The sandboxes by the names they are asked for: a new one is a row of the table."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from proctor.errors import ConfigError, SandboxMissing
from proctor.references import RolloutsRef
from proctor.sandbox.bubblewrap import Bubblewrap
from proctor.sandbox.contract import Sandbox
from proctor.sandbox.docker.sandbox import DockerSandbox, docker_answers
from proctor.sandbox.image import BASE, make_image, recipe_of
from proctor.sandbox.local import Local
from proctor.sandbox.modal.sandbox import ModalSandbox
from proctor.sandbox.modal.words import tokens
from proctor.sandbox.places import sweep

BOXES = "boxes"  # of PROCTOR_HOME: where boxes are while they are open
# Of a sandbox of Modal, which ends by itself should nobody end it: a trial with what it may wait for its model.
AROUND_S, MOST_LIFETIME_S = 3_600.0, 86_400.0
Opener = Callable[[RolloutsRef, Path], Sandbox]


def bubblewrap(ref: RolloutsRef, home: Path) -> Sandbox:
    return Bubblewrap(make_image(ref.image, home), home / BOXES)


def docker(ref: RolloutsRef, home: Path) -> Sandbox:
    return DockerSandbox(make_image(ref.image, home), home / BOXES)


def local(_ref: RolloutsRef, home: Path) -> Sandbox:
    return Local(home / BOXES)


def modal(ref: RolloutsRef, home: Path) -> Sandbox:
    lifetime_s = min(MOST_LIFETIME_S, 2 * ref.limits.trial_s + AROUND_S)
    return ModalSandbox(home, home / BOXES, recipe_of(ref.image, home), lifetime_s)


SANDBOXES: Mapping[str, Opener] = {
    "bubblewrap": bubblewrap,
    "docker": docker,
    "local": local,
    "modal": modal,
}


def open_sandbox(ref: RolloutsRef, home: Path) -> Sandbox:
    """The sandbox that a benchmark names; `home` is PROCTOR_HOME. Nothing is probed yet: that is its `check`.

    Raises: ConfigError for a name that is not known, SandboxMissing where this machine has not what it needs.
    """
    opener = SANDBOXES.get(ref.sandbox)
    if opener is None:
        known = ", ".join(sorted(SANDBOXES))
        raise ConfigError(f"{ref.name}: no sandbox {ref.sandbox!r}; there are {known}")
    return opener(ref, home)


def lacking(ref: RolloutsRef, home: Path) -> str | None:
    """What this machine lacks for a benchmark's boxes, as far as a glance tells; a run tries it in a box first."""
    if ref.image != BASE and not (home / "images" / ref.image).exists():
        return f"the image {ref.image} (`proctor sandbox image`)"
    if ref.sandbox == "bubblewrap" and os.geteuid():
        return "root, which bubblewrap's limits need"
    if ref.sandbox == "bubblewrap" and shutil.which("bwrap") is None:
        return "bubblewrap (apt-get install bubblewrap)"
    if ref.sandbox == "docker" and not docker_answers():
        return "a Docker daemon at DOCKER_HOST"
    if ref.sandbox == "modal":
        try:
            tokens(home)
        except SandboxMissing as missing:
            return str(missing)
    return None


def left_boxes(home: Path) -> list[str]:
    """Take away what dead processes of this machine left of their boxes; gives their names.

    Containers are taken away when docker's sandbox is checked the next time.
    """
    return sweep(home / BOXES)
