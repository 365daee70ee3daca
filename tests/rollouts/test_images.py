"""Images: made once however many ask, never half made, made again when what they are made of has changed."""

from __future__ import annotations

import asyncio
import fcntl
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from boxed import need_bubblewrap

from proctor.errors import SandboxError, SandboxMissing
from proctor.sandbox.bubblewrap import Bubblewrap
from proctor.sandbox.contract import Command, CommandEnd, Policy
from proctor.sandbox.image import ImageRecipe, build_image, find_image, make_image, unused_images


@pytest.fixture
def rootfs(tmp_path: Path) -> Path:
    """A root of somebody else's: hardly more than a shell."""
    folder = tmp_path / "rootfs"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin/sh").write_text("a shell")
    (folder / "etc").mkdir()
    (folder / "etc/passwd").write_text("root:x:0:0::/root:/bin/sh\n")
    return folder


def test_an_image_of_a_folder_has_what_every_box_needs(rootfs: Path, tmp_path: Path) -> None:
    image = build_image("mine", tmp_path, ImageRecipe("rootfs", source=str(rootfs)))
    assert (image.root / "app/repo").is_dir()
    assert "agent:x:1000" in (image.root / "etc/passwd").read_text()
    assert find_image("mine", tmp_path) == make_image("mine", tmp_path) == image


def test_the_same_root_has_the_same_hash_in_a_folder_and_in_an_archive(rootfs: Path, tmp_path: Path) -> None:
    archive = tmp_path / "rootfs.tar"
    subprocess.run(["tar", "-C", str(rootfs), "-cf", str(archive), "."], check=True)
    first = build_image("one", tmp_path, ImageRecipe("rootfs", source=str(rootfs)))
    second = build_image("two", tmp_path, ImageRecipe("rootfs", source=str(archive)))
    assert first.sha256 == second.sha256
    (rootfs / "bin/sh").write_text("another")
    third = build_image("one", tmp_path, ImageRecipe("rootfs", source=str(rootfs)), anew=True)
    assert third.sha256 != first.sha256


def test_a_root_without_a_shell_is_no_image_and_nothing_of_it_is_left(rootfs: Path, tmp_path: Path) -> None:
    (rootfs / "bin/sh").unlink()
    with pytest.raises(SandboxMissing, match="bin/sh"):
        build_image("mine", tmp_path, ImageRecipe("rootfs", source=str(rootfs)))
    assert [each.name for each in (tmp_path / "images").iterdir()] == [".lock"]
    with pytest.raises(SandboxMissing, match="proctor sandbox image --name mine"):
        make_image("mine", tmp_path)


def test_a_root_whose_links_lead_out_of_it_is_refused(rootfs: Path, tmp_path: Path) -> None:
    (rootfs / "etc/passwd").unlink()
    (rootfs / "etc/passwd").symlink_to(tmp_path / "of-the-machine")
    with pytest.raises(SandboxError, match="link"):
        build_image("mine", tmp_path, ImageRecipe("rootfs", source=str(rootfs)))
    assert not (tmp_path / "of-the-machine").exists()


def test_what_was_begun_and_not_finished_is_never_used(rootfs: Path, tmp_path: Path) -> None:
    left = tmp_path / "images/.making-killed"
    (left / "root").mkdir(parents=True)
    build_image("mine", tmp_path, ImageRecipe("rootfs", source=str(rootfs)))
    assert not left.exists()


def test_an_image_whose_ingredients_have_changed_is_made_again_beside_the_old_one(
    rootfs: Path, tmp_path: Path
) -> None:
    recipe = ImageRecipe("rootfs", source=str(rootfs))
    old = build_image("mine", tmp_path, recipe)
    told = old.root.parent / "image.json"
    told.write_text(json.dumps(json.loads(told.read_bytes()) | {"made_of": "other programs"}))
    (rootfs / "bin/tool").write_text("new")
    new = make_image("mine", tmp_path)
    assert (new.root / "bin/tool").is_file()
    assert old.root.is_dir(), "boxes that are open keep theirs"
    assert unused_images(tmp_path) == [old.root.parent.name]
    assert not old.root.exists()
    assert new.root.is_dir()


MAKES = (
    "import sys\nfrom pathlib import Path\nfrom proctor.sandbox.image import ImageRecipe, build_image\n"
    "print(build_image('mine', Path(sys.argv[1]), ImageRecipe('rootfs', source=sys.argv[2])).root)\n"
)


def test_a_process_waits_for_another_that_makes_an_image(rootfs: Path, tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    words = [sys.executable, "-c", MAKES, str(tmp_path), str(rootfs)]
    with (tmp_path / "images/.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
            while not waits(process.pid):
                assert process.poll() is None, "it did not wait"
                time.sleep(0.02)
            made = build_by_hand(rootfs, tmp_path)
            fcntl.flock(lock, fcntl.LOCK_UN)
            told, _ = process.communicate(timeout=60)
    assert told.strip() == str(made)


def waits(pid: int) -> bool:
    """Whether a process waits for a lock on a file (proc(5), /proc/locks)."""
    lines = Path("/proc/locks").read_text().splitlines()
    return any("->" in line and str(pid) in line.split() for line in lines)


def build_by_hand(rootfs: Path, home: Path) -> Path:
    """What the process that holds the lock would leave there."""
    elsewhere = build_image("mine", home / "elsewhere", ImageRecipe("rootfs", source=str(rootfs)))
    made = home / "images" / elsewhere.root.parent.name
    elsewhere.root.parent.rename(made)
    return made / "root"


@pytest.mark.slow
def test_packages_that_are_installed_beside_proctor_come_into_an_image(tmp_path: Path) -> None:
    need_bubblewrap()
    image = build_image("base", tmp_path, ImageRecipe(packages=("pytest",)))

    async def run() -> CommandEnd:
        box = await Bubblewrap(image, tmp_path / "boxes").open(Policy(disk_mb=64))
        try:
            test = "printf 'def test_it():\\n    assert 1 + 1 == 2\\n' > test_it.py; pytest -q; git --version; make -v"
            return await box.run(Command(("sh", "-c", test), timeout_s=60.0))
        finally:
            await box.close()

    said = asyncio.run(run()).said.decode()
    assert "1 passed" in said
    assert "git version" in said
    assert make_image("base", tmp_path).sha256 == image.sha256, "it stays as it was asked for"


def test_a_package_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SandboxMissing, match="pip install no-such-package"):
        build_image("base", tmp_path, ImageRecipe(packages=("no-such-package",)))


def test_what_this_process_has_loaded_makes_no_image_stale() -> None:
    script = "from proctor.sandbox.image import ImageRecipe as R\n{}\nprint(R().fingerprint())"
    words = [script.format(""), script.format("import ssl, sqlite3, ctypes, numpy")]
    told = {subprocess.check_output([sys.executable, "-c", each]) for each in words}
    assert len(told) == 1
