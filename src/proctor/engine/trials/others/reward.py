"""The verdict of a test.sh: it runs in a clean box, and what it leaves in /logs/verifier when it ends is the reward.

Everything that still runs at its end is killed before the reward is read, and what pytest leaves running with pytest.
Tested code is a program of the same user in the same box all the same: docs/tasks-of-others.md says what that means.
No reward, or one that is none, is a fault of the verifier's and no 0 of the agent's.
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from proctor.engine.trials.metrics import plain_bytes
from proctor.errors import VerifierError
from proctor.sources.rollouts.place import Stage
from proctor.sources.rollouts.task import PreparedTask

FOLDER, AS_JSON, AS_TEXT = "/logs/verifier", "reward.json", "reward.txt"
MAIN = "reward"  # the key that counts where there are several; without it all of them, alike
MOST_BYTES = 64_000
MOST_KEYS = 100


@dataclass(frozen=True, slots=True)
class Reward:
    """What a test.sh wrote, by key; of reward.txt the key is `reward`."""

    values: Mapping[str, float]

    @property
    def whole(self) -> float:
        """The one number that it comes to: that of the key `reward`, else the mean of all."""
        known = self.values.get(MAIN)
        return sum(self.values.values()) / len(self.values) if known is None else known

    @property
    def share(self) -> float:
        """The same, 0 to 1."""
        return min(1.0, max(0.0, self.whole))

    def reaches(self, least: Mapping[str, float]) -> bool:
        """Whether it has every key with at least that reward; `reward` is the whole where there is no such key."""
        have = {MAIN: self.whole, **self.values}
        return all(have.get(key, -math.inf) >= value for key, value in least.items())


def reward_in(folder: Path, script: str) -> Reward:
    """Raises: VerifierError where there is none, or none that can be read."""
    body = plain_bytes(folder / AS_JSON, MOST_BYTES)
    if body is not None:
        return Reward(_keys(body, script))
    body = plain_bytes(folder / AS_TEXT, MOST_BYTES)
    if body is None:
        raise VerifierError(f"{script} ended without a reward: it wrote neither {AS_JSON} nor {AS_TEXT}")
    return Reward({MAIN: _number(body.decode("utf-8", "replace").strip(), f"{script}: {AS_TEXT}")})


def _keys(body: bytes, script: str) -> Mapping[str, float]:
    where = f"{script}: {AS_JSON}"
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        raise VerifierError(f"{where} is no JSON") from None
    if isinstance(found, int | float) and not isinstance(found, bool):
        found = {MAIN: found}
    if not isinstance(found, dict) or not 0 < len(found) <= MOST_KEYS:
        raise VerifierError(f"{where} holds no object of rewards")
    return {str(key): _number(value, f"{where}, {key}") for key, value in found.items()}


def _number(told: object, where: str) -> float:
    try:
        value = float(told) if isinstance(told, str | int | float) else math.nan
    except (ValueError, OverflowError):
        value = math.nan
    if not math.isfinite(value) or abs(value) > 1e300:
        raise VerifierError(f"{where}: {str(told)[:60]!r} is no reward")
    return value


def tests_of(task: PreparedTask, stage: Stage, room: Path) -> Path:
    """The folder that is seen at /tests: the task's own, or several together, made in `room`."""
    if len(stage.tests) == 1:
        return task.folder / stage.tests[0]
    for each in stage.tests:
        shutil.copytree(task.folder / each, room, symlinks=True, dirs_exist_ok=True)
    room.chmod(0o755)
    return room
