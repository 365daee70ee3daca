"""The room of one run of the gauntlet: a folder with all that a machine of proctor's has, made of canaries.

home/      the PROCTOR_HOME of the trials: keys.env, runs, caches, boxes        outside/  where nothing may turn up
user/      the home of its user: .ssh, notes                                    tasks/    the exploits' tasks
origins/   repositories of tasks, with the answer in their history              daemon    a socket
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from proctor.sandbox.image import make_image
from proctor.service.gauntlet.canaries import Canaries, new_canaries
from proctor.service.gauntlet.exploits import META, Exploit
from proctor.sources.rollouts.preparing import PrepareWish, prepare_task

VICTIM = """# Another trial: it keeps something to itself, works for a second, and does what it was asked to.
echo '{canary}' > /tmp/kept; echo '# {canary}' > mine.py; echo '{canary}'
python3 -c "
import time
until = time.monotonic() + 1.0
while time.monotonic() < until: sum(range(10000))"
printf 'def double(number):\\n    return 2 * number\\n' > figures.py
"""
VICTIM_META = {
    "task_id": "victim",
    "lm": {"instructions": "Make double() double."},
    "evaluation": {
        "rubrics": [{"id": "right", "criterion": "It doubles", "weight": 1.0}],
        "test_scripts": [{"path": "test_double.sh", "rubric_id": "right"}],
    },
}
VICTIM_TEST = 'test "$(python3 -c "import figures; print(figures.double(21))")" = 42\n'
BROKEN = "def double(number):\n    return number\n"
SECRET = ("home/keys.env", "user/.ssh/id_ed25519", "user/notes.txt")
AS_NOBODY = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "HOME": "/nonexistent",
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    **{f"GIT_{who}_{what}": "gauntlet" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}


@dataclass(frozen=True, slots=True)
class GauntletRoom:
    """Made by `opened_room`."""

    place: Path
    canaries: Canaries

    @property
    def home(self) -> Path:
        return self.place / "home"

    @property
    def outside(self) -> Path:
        return self.place / "outside"

    @property
    def daemon(self) -> Path:
        return self.place / "daemon"

    @property
    def victim(self) -> Path:
        return self.place / "tasks" / "victim"

    @property
    def victim_script(self) -> Path:
        return self.place / "victim.sh"

    @property
    def environ(self) -> Mapping[str, str]:
        """What the process of the trials has of secrets."""
        return {
            "PROCTOR_HOME": str(self.home),
            "HOME": str(self.place / "user"),
            "OPENAI_API_KEY": self.canaries["environment"],
        }

    def told(self, marker: str) -> dict[str, str]:
        """What an exploit is told, as variables: it need not guess where things are."""
        return {
            "GAUNTLET_MARKER": marker,
            "GAUNTLET_HOME": str(self.home),
            "GAUNTLET_USER": str(self.place / "user"),
            "GAUNTLET_OUTSIDE": str(self.outside),
            "GAUNTLET_ORIGIN": str(self.place / "origins" / marker),
        }

    def task(self, exploit: Exploit, marker: str) -> Path:
        """The exploit's task with canaries in it; its repository has a history that holds the answer."""
        place = self.place / "tasks" / marker
        shutil.copytree(exploit.folder, place, ignore=shutil.ignore_patterns("control", "exploit.sh"))
        (place / "overlay_files").mkdir(exist_ok=True)
        solution = f"the answer is {self.canaries['solution']}\n"
        (place / "overlay_files" / "diff.patch").write_text(solution)
        (place / "evaluation" / "expected.txt").write_text(f"{self.canaries['tests']}\n")
        if exploit.group == "history-reading":
            shutil.rmtree(place / "overlay_repo_files")
            return prepare_task(
                PrepareWish(place, marker, str(self.repository(exploit, marker))), self.home
            ).folder
        return place

    def repository(self, exploit: Exploit, marker: str) -> Path:
        """A clone as somebody has it who made the task: the answer is a later commit, and an earlier one."""
        place = self.place / "origins" / marker
        if not place.exists():
            shutil.copytree(exploit.folder / "overlay_repo_files", place)
            _history(place, self.canaries["origin"])
        return place


def _history(place: Path, answer: str) -> None:
    def git(*words: str) -> None:
        subprocess.run(["git", "-C", str(place), *words], env=AS_NOBODY, check=True, capture_output=True)

    git("init", "-q", "-b", "main")
    git("add", "-A")
    git("commit", "-q", "-m", "as it is")
    (place / "answer.txt").write_text(f"{answer}\n")
    git("add", "-A")
    git("commit", "-q", "-m", "the fix")
    git("branch", "later")
    git("reset", "-q", "--hard", "HEAD~1")
    git("remote", "add", "origin", str(place))


@contextmanager
def opened_room(home: Path) -> Iterator[GauntletRoom]:
    """A room below the caches of a PROCTOR_HOME, whose images it shares. Raises: SandboxMissing, OSError."""
    made_image = make_image("base", home)
    (home / "cache").mkdir(parents=True, exist_ok=True)
    place = Path(tempfile.mkdtemp(prefix="gauntlet-", dir=home.absolute() / "cache"))
    try:
        room = GauntletRoom(place, new_canaries())
        for name in ("home/images", "home/boxes", "user/.ssh", "outside", "tasks/victim", "origins"):
            (place / name).mkdir(parents=True)
        (room.home / "images" / "base").symlink_to(made_image.root.parent.absolute())
        _furnish(room)
        yield room
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _furnish(room: GauntletRoom) -> None:
    key = f"-----BEGIN OPENSSH PRIVATE KEY-----\n{room.canaries['ssh']}\n-----END OPENSSH PRIVATE KEY-----\n"
    texts = {
        "home/keys.env": f"ANTHROPIC_API_KEY={room.canaries['keys']}\n",
        "user/.ssh/id_ed25519": key,
        "user/notes.txt": f"{room.canaries['home']}\n",
        "victim.sh": VICTIM.replace("{canary}", room.canaries["trial"]),
        f"tasks/victim/{META}": json.dumps(VICTIM_META),
        "tasks/victim/Dockerfile": "FROM proctor-base\n",
        "tasks/victim/overlay_repo_files/figures.py": BROKEN,
        "tasks/victim/evaluation/test_double.sh": VICTIM_TEST,
    }
    for name, text in texts.items():
        path = room.place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o600 if name in SECRET else 0o644)
