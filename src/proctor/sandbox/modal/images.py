"""Images for Modal, which builds them itself: of a recipe of ours, or of a task's Dockerfile."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from proctor.errors import SandboxError, SandboxMissing
from proctor.sandbox.docker.images import BASE, DOCKERFILE
from proctor.sandbox.image import ImageRecipe
from proctor.sandbox.modal.words import library

PROGRAMS = ("git", "procps", "ca-certificates")
PYTHON = ("python3", "python3-pip", "python-is-python3")
FROM = re.compile(r"\s*FROM\s+(?P<base>\S+)\s*", re.IGNORECASE)


def base_image(recipe: ImageRecipe) -> Any:
    """As near to our own image as Modal can make it: nothing of this machine's is sent. Raises: SandboxMissing."""
    images = library().Image
    if recipe.kind == "rootfs":
        raise SandboxMissing(
            f"The image made of {recipe.source} cannot be given to Modal, which builds its images itself: name an "
            "image of Debian's packages, or let tasks bring a Dockerfile"
        )
    if recipe.kind == "debian":
        words = " ".join((*PROGRAMS, *PYTHON))
        first = [f"RUN apt-get update && apt-get install -y --no-install-recommends {words}"]
        made = images.from_registry(f"debian:{recipe.source}-slim", setup_dockerfile_commands=first)
    else:
        made = images.debian_slim().apt_install(*PROGRAMS)
    return made.pip_install(*recipe.packages) if recipe.packages else made


def task_image(recipe: ImageRecipe, folder: Path) -> Any:
    """What a task's Dockerfile describes; the base where it has none. Raises: SandboxMissing, SandboxError."""
    file = folder / DOCKERFILE
    if not file.is_file():
        return base_image(recipe)
    lines = [
        each for each in file.read_text().splitlines() if each.strip() and not each.lstrip().startswith("#")
    ]
    bases = [found["base"] for each in lines if (found := FROM.fullmatch(each))]
    if bases[:1] != [BASE]:
        return library().Image.from_dockerfile(file, context_dir=folder)
    if len(bases) > 1 or not FROM.match(lines[0]):
        raise SandboxError(f"{file}: on Modal, `FROM {BASE}` must be its first line and its only FROM")
    made = base_image(recipe)
    return made.dockerfile_commands(lines[1:], context_dir=folder) if lines[1:] else made
