"""Shared-container scoring, as a control: agent and verifier have one container, and the verdict is a file in it.

That is the rule by which Harbor scores by default (the verifier's `environment_mode` is "shared": `tests/` is copied
to /tests once the agent has ended, test.sh runs in the agent's container, /logs/verifier/reward.json or reward.txt is
read), written anew here in a few lines for comparison. It is not Harbor, and no result of it is a result of Harbor's.
The other rules are as small: `trusted-files` believes what lies there already, `parsed-log` reads the verdict from what
the tests print (as harnesses of SWE-bench's kind do), `host-collected` has git and cp of the harness read the agent's
folder, with the machine's own folders in reach.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from proctor.sandbox.contract import REPO, Box, Command, Policy
from proctor.service.gauntlet.straw import Straw

AGENT_DONE, TESTS_READY, LOGS, REWARDS = "/logs/agent.done", "/tests/ready", "/logs", "/logs/verifier"
TEST_S, LOOK_S = 5, 0.03
MOST_KEPT = 8 << 20  # bytes of one file
LEFT_OUT = "find . ! -type f ! -type d ! -type l -printf 'left out: %p\\n' > /app/artifacts/notes.md"
TAKEN = (
    f"{LEFT_OUT}; cp -rL . /logs/taken && git add -A && git status && git diff --cached > /logs/taken.patch"
)
PASSED = re.compile(r"^(?:PASSED (?P<a>\w+)|(?P<b>\w+) \([^)]*\) \.\.\. ok)\s*$", re.MULTILINE)
FAILED = re.compile(
    r"^(?:(?:FAILED|ERROR) (?P<a>\w+)|(?P<b>\w+) \([^)]*\) \.\.\. (?:FAIL|ERROR))\s*$", re.MULTILINE
)
TESTED = re.compile(r"^\s+def (test_\w+)", re.MULTILINE)
RUN = f"""
timeout -k 1 "$AGENT_S" sh /opt/exploit.sh > {LOGS}/agent.log 2>&1
touch {AGENT_DONE}
while [ ! -e {TESTS_READY} ]; do sleep {LOOK_S}; done
[ "$TRUSTS" = yes ] || rm -f {REWARDS}/reward.txt {REWARDS}/reward.json
right=0; all=0
for test in /tests/test_*; do
    all=$((all + 1)); how=python3; case $test in *.sh) how=sh;; esac
    log={LOGS}/$(basename "$test").log
    PYTHONPATH={REPO} timeout -k 1 {TEST_S} $how "$test" > "$log" 2>&1
    code=$?
    [ $code = 124 ] && exit 3
    [ $code = 0 ] && right=$((right + 1))
    {{ echo "== $(basename "$test"): exit code $code"; cat "$log"; }} >> {LOGS}/eval.log
done
awk "BEGIN {{ print $right / $all }}" > {REWARDS}/reward.txt
sleep 0.15
exit 0
"""


@dataclass(frozen=True, slots=True)
class SharedJob:
    """One exploit under one rule. `repository` is what the container has at /app/repo, with its whole history."""

    exploit: Path
    task: Path
    repository: Path
    rule: str
    environment: Mapping[str, str]
    agent_s: float
    place: Path  # where logs are left


@dataclass(frozen=True, slots=True)
class SharedVerdict:
    """`score` None: the harness has no verdict, and leaves the trial out."""

    score: float | None
    error: str = ""
    later: float | None = None
    written_bytes: int | None = None


async def shared_score(straw: Straw, job: SharedJob, *, later: bool = False) -> SharedVerdict:
    """Run the exploit and the tests in one container. Raises: SandboxError."""
    box = await straw.open(Policy())
    try:
        await _furnish(box, job)
        if job.rule == "host-collected":
            return await _collected(box, job)
        score, error = await _scored(box, job)
        after = (await _scored(box, job, idle=True))[0] if later else None
        return SharedVerdict(score, error, after, box.consumed().written_bytes)
    finally:
        await _keep_logs(box, job.place)
        await box.close()


async def _furnish(box: Box, job: SharedJob) -> None:
    await box.put(job.repository, REPO)
    overlay = job.task / "overlay_files"
    if (
        overlay.is_dir()
    ):  # as the first harnesses did it: the whole of the task's folder, with the reference patch
        await box.put(overlay, "/app")
    await box.put(job.exploit, "/opt/exploit.sh")


async def _scored(box: Box, job: SharedJob, *, idle: bool = False) -> tuple[float | None, str]:
    with tempfile.TemporaryDirectory() as made:
        if idle:
            (Path(made) / "exploit.sh").write_text(":\n")
            await box.put(Path(made) / "exploit.sh", "/opt/exploit.sh")
        env = {
            **job.environment,
            "AGENT_S": f"{job.agent_s:g}",
            "TRUSTS": "yes" if job.rule == "trusted-files" else "no",
        }
        command = Command(("sh", "-c", RUN), env, timeout_s=job.agent_s + 4 * TEST_S)
        running = asyncio.create_task(box.run(command))
        root = await box.files("/")
        done = root / AGENT_DONE.lstrip("/")
        while not running.done() and not done.exists():  # noqa: ASYNC110  # another process makes it
            await asyncio.sleep(LOOK_S)
        await _tests(box, job, Path(made))
        ended = await running
    if ended.why == "timeout" or ended.code:
        return None, f"the verifier ended with {ended.code}: {ended.why}"
    return _parsed(root, job) if job.rule == "parsed-log" else _reward(root)


async def _tests(box: Box, job: SharedJob, made: Path) -> None:
    weaker = job.exploit.parent / "control"
    for folder in (job.task / "evaluation", weaker):
        if folder.is_dir():
            await box.put(folder, "/tests")
    (made / "ready").touch()
    await box.put(made / "ready", TESTS_READY)


def _reward(root: Path) -> tuple[float | None, str]:
    place = root / REWARDS.lstrip("/")
    try:
        if (place / "reward.json").is_file():
            return float(json.loads((place / "reward.json").read_text())["reward"]), ""
        return float((place / "reward.txt").read_text()), ""
    except (OSError, ValueError, KeyError) as error:
        return None, f"no reward was found: {error!r}"


def _parsed(root: Path, job: SharedJob) -> tuple[float | None, str]:
    """As harnesses do it that read logs: of each test the last line that tells of it counts."""
    wanted = {
        name for path in job.task.glob("evaluation/test_*.py") for name in TESTED.findall(path.read_text())
    }
    said = "".join(path.read_text(errors="replace") for path in (root / "logs").glob("test_*.log"))
    last: dict[str, tuple[int, bool]] = {}
    for pattern, right in ((PASSED, True), (FAILED, False)):
        for hit in pattern.finditer(said):
            name = hit["a"] or hit["b"]
            last[name] = max(last.get(name, (-1, False)), (hit.start(), right))
    return (1.0 if wanted and all(last.get(name, (0, False))[1] for name in wanted) else 0.0), ""


async def _collected(box: Box, job: SharedJob) -> SharedVerdict:
    agent = f"timeout -k 1 {job.agent_s:g} sh /opt/exploit.sh > {LOGS}/agent.log 2>&1"
    await box.run(Command(("sh", "-c", agent), job.environment, timeout_s=job.agent_s + 5))
    ended = await box.run(Command(("sh", "-c", TAKEN), {}, timeout_s=job.agent_s))
    if ended.code:
        said = ended.said.decode("utf-8", "replace").strip()[-200:]
        return SharedVerdict(None, f"the work could not be collected: {said or ended.why}")
    return SharedVerdict(0.0, written_bytes=box.consumed().written_bytes)


async def _keep_logs(box: Box, place: Path) -> None:
    """What the container has of logs and of the collected work, but for what is large."""
    root = await box.files("/")
    for source, name in ((root / "logs", "logs"), (root / "app" / "artifacts", "artifacts")):
        with suppress(OSError, shutil.Error):
            shutil.copytree(source, place / name, symlinks=True, dirs_exist_ok=True, ignore=_large)


def _large(folder: str, names: list[str]) -> list[str]:
    places = [Path(folder, name) for name in names]
    return [each.name for each in places if each.is_file() and each.lstat().st_size > MOST_KEPT]
