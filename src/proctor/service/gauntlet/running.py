"""Runs exploits one after the other, looks at this machine before, during and after each, and says what was seen."""

from __future__ import annotations

import json
import os
import secrets
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

from proctor.errors import SandboxMissing
from proctor.service.gauntlet.canaries import HOST, OF_TASK, bodies
from proctor.service.gauntlet.ears import Ears
from proctor.service.gauntlet.exploits import LIMITS, UNLIMITED, Exploit
from proctor.service.gauntlet.room import GauntletRoom, opened_room
from proctor.service.gauntlet.signs import SIGNS, Observed, seen_signs
from proctor.service.gauntlet.witness import Witness, end_marked, kept_mb, used_mb
from proctor.service.rollouts.local.streaming import LogStream
from proctor.settings import Settings

OWN = "own"
WITHOUT_ORIGIN = (OWN, "open-container", "open-gateway")
HANGS_S, READY_S, ENDS_S = 120.0, 180.0, 20.0
SLACK = {"memory_mb": 24.0, "processes": 4.0, "disk_mb": 1.0, "log_mb": 1.0, "cores": 0.35}
LEAST_S = 1.0  # an agent that works for less is not measured by the share of a core that it had
DESCRIPTORS = 400  # of proctor's own
CALL_TOKENS = 30  # of one answer of the model
LEAST_FENCE = 3
PROCTOR_MB, KEPT_MB = 150.0, 64.0
LOGS = {
    "agent": "logs/agent.log",
    "eval": "logs/eval.log",
    "notes": "artifacts/notes.md",
    "scoring": "scoring_results.md",
    "metrics": "artifacts/custom_metrics.json",
}


@dataclass(frozen=True, slots=True)
class ExploitShown:
    """What came of one exploit. `signs` are words by the names of signs; `worked`: what it aimed at was seen."""

    exploit: Exploit
    setting: str
    signs: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def worked(self) -> bool:
        return bool(self.exploit.success.keys() & self.signs.keys())

    def of(self, kind: str) -> list[str]:
        return [words for name, words in self.signs.items() if SIGNS[name].kind == kind]


@dataclass(slots=True)
class TrialsProcess:
    """The process that runs the trials, and the lines that go to it and come back."""

    sandbox: str
    room: GauntletRoom
    log: IO[bytes]
    process: subprocess.Popen[bytes] | None = None
    told: str = ""

    def begin(self) -> None:
        """Raises: SandboxMissing with what it says of this machine."""
        words = [sys.executable, "-m", "proctor", "gauntlet-trials", self.sandbox, str(self.room.place)]
        environ = {**os.environ, **self.room.environ}
        self.process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            env=environ,
            start_new_session=True,
        )
        answer = self._line(READY_S)
        if answer is None or "ready" not in answer:
            self.end()
            self.log.flush()
            said = Path(self.log.name).read_text(errors="replace").strip()
            raise SandboxMissing(said.removeprefix("Error: ") or "the process of the trials did not begin")
        self.told = str(answer["ready"])

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def ask(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """The answer; one that says so where the process died or hung, after which another is begun."""
        assert self.process is not None and self.process.stdin is not None
        with suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            self.process.stdin.flush()
        answer = self._line(HANGS_S)
        if answer is not None:
            return answer
        self.end()
        code = self.process.returncode
        self.begin()
        return {"score": None, "error": f"the process that runs trials hung or died (exit code {code})"}

    def _line(self, seconds: float) -> Mapping[str, Any] | None:
        assert self.process is not None and self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], seconds)
        line = self.process.stdout.readline() if ready else b""
        try:
            told = json.loads(line)
        except ValueError:
            return None
        return told if isinstance(told, dict) else None

    def end(self) -> None:
        if self.process is not None and self.process.poll() is None:
            with suppress(BrokenPipeError, subprocess.TimeoutExpired):
                self.process.communicate(timeout=ENDS_S)
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()


@dataclass(slots=True)
class Gauntlet:
    """Everything that is made for one run. `control`: every exploit in the setting where it must succeed."""

    room: GauntletRoom
    ears: Ears
    trials: TrialsProcess
    control: bool = False

    def shown(self, exploit: Exploit) -> ExploitShown:
        setting = exploit.control if self.control else OWN
        if setting == "none":
            return ExploitShown(exploit, setting)
        marker = f"gauntlet-{secrets.token_hex(8)}"
        self.ears.fresh(marker)
        witness = Witness(marker, self.room.outside, self.room.home / "boxes", self.trials.pid)
        request = self._request(exploit, setting, marker)
        began = time.monotonic()
        try:
            with witness.watching():
                told = self.trials.ask(request)
            seen = self._observed(request, witness, told)
        finally:
            end_marked(marker)
        shutil.rmtree(self.room.place / "tasks" / marker, ignore_errors=True)
        return ExploitShown(exploit, setting, seen_signs(seen, exploit.success), time.monotonic() - began)

    def _request(self, exploit: Exploit, setting: str, marker: str) -> dict[str, Any]:
        limits = asdict(LIMITS if setting == OWN else UNLIMITED) | dict(exploit.limits)
        told = {**self.room.told(marker), **self.ears.told}
        beside = exploit.beside and setting in (OWN, "open-container")
        return {
            "stamp": marker,
            "group": exploit.group,
            "task": str(self.room.task(exploit, marker)),
            "script": str(exploit.script.absolute()),
            "setting": setting,
            "environment": [f"{name}={value}" for name, value in told.items()],
            "limits": limits,
            "victim": str(self.room.victim) if beside else "",
            "victim_script": str(self.room.victim_script),
            "later": exploit.later,
            "repository": "" if setting in WITHOUT_ORIGIN else str(self.room.repository(exploit, marker)),
        }

    def _observed(self, request: Mapping[str, Any], witness: Witness, told: Mapping[str, Any]) -> Observed:
        place = self.room.home / "runs" / f"{request['stamp']}-e-0"
        limits, used, record = request["limits"], told.get("used") or {}, told.get("record") or {}
        seen = Observed(told["score"], told["error"], told.get("later"), told.get("victim") or "")
        model = told.get("model") or {}
        seen.foreign, seen.miscounted = model.get("foreign") or (), model.get("miscounted") or ""
        seen.alive, seen.outside, seen.left = witness.alive(), witness.new_files(), witness.left()
        seen.packets, seen.listener = sorted(set(self.ears.heard)), self.ears.knocked
        seen.logs = {name: _text(place / path) for name, path in LOGS.items()}
        seen.logs["terminal"] = _as_shown(place) if request["setting"] == OWN else seen.logs["agent"]
        seen.logs["headings"] = _headings(seen.logs["scoring"])
        seen.logs["record"] = "\n".join([*(record.get("notes") or ()), *(record.get("custom_metrics") or ())])
        own = [bytes(self.ears.bytes_heard), *(bodies(place) if place.is_dir() else ())]
        first = [_bytes(place / "logs/agent.log"), _bytes(place / "artifacts/diff.patch")]
        seen.canaries = [
            *self.room.canaries.found_in(own, HOST),
            *self.room.canaries.found_in(first, OF_TASK),
        ]
        seen.peaks = {**witness.peaks, **used_mb(used), **_measured(place, used, record)}
        seen.bounds = _bounds(limits)
        return seen


def _measured(place: Path, used: Mapping[str, Any], record: Mapping[str, Any]) -> dict[str, float]:
    """What the kernel counted for the box is better than what was seen of it now and then."""
    log = place / "logs/agent.log"
    found = {"log_mb": log.stat().st_size / 1e6 if log.is_file() else 0.0, "kept_mb": kept_mb(place)}
    if used.get("tokens") is not None:
        found["tokens"] = used["tokens"]
    if used.get("peak_memory_bytes") is not None:
        found["memory_mb"] = used["peak_memory_bytes"] / (1 << 20)
    seconds = next((each["seconds"] for each in record.get("phases", ()) if each["name"] == "agent"), 0.0)
    if seconds >= LEAST_S and used.get("cpu_s") is not None:
        found["cores"] = used["cpu_s"] / seconds
    return found


def _bounds(limits: Mapping[str, float]) -> dict[str, float]:
    return {
        "seconds": limits["trial_s"],
        "memory_mb": limits["memory_mb"] + limits["disk_mb"] + SLACK["memory_mb"],
        "processes": limits["pids"] + SLACK["processes"],
        "disk_mb": limits["disk_mb"] + SLACK["disk_mb"],
        "log_mb": limits["output_mb"] + SLACK["log_mb"],
        "cores": limits["cpus"] + SLACK["cores"],
        "tokens": (limits["max_tokens"] or 1e9) + CALL_TOKENS,
        "descriptors": DESCRIPTORS,
        "proctor_mb": PROCTOR_MB,
        "kept_mb": KEPT_MB,
    }


def _as_shown(place: Path) -> str:
    """What a terminal gets of a trial's logs while it is under way."""
    return "\n".join(line.text for line in LogStream(place.parent.parent).fresh([place.name]))


def _headings(report: str) -> str:
    """The headings of a Markdown file, which stand outside of its fenced blocks (CommonMark 0.31, 4.5)."""
    found, fence = [], ""
    for line in report.splitlines():
        mark = line[: len(line) - len(line.lstrip("`~"))]
        if not fence and len(mark) >= LEAST_FENCE:
            fence = mark
        elif fence and mark[:1] == fence[:1] and len(mark) >= len(fence) and line.strip("`~ ") == "":
            fence = ""
        elif not fence and line.startswith("#"):
            found.append(line)
    return "\n".join(found)


def _bytes(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() and not path.is_symlink() else b""


def _text(path: Path) -> str:
    return _bytes(path).decode("utf-8", "replace")


@contextmanager
def opened_gauntlet(settings: Settings, sandbox: str, *, control: bool = False) -> Iterator[Gauntlet]:
    """Ready for exploits. Raises: SandboxMissing, ConfigError."""
    with opened_room(settings.home) as room, (room.place / "trials.log").open("wb") as log:
        ears = Ears(room.daemon, room.canaries["daemon"]).begin()
        trials = TrialsProcess(sandbox, room, log)
        try:
            trials.begin()
            yield Gauntlet(room, ears, trials, control)
        finally:
            trials.end()
            ears.close()


def run_gauntlet(
    settings: Settings, exploits: Sequence[Exploit], sandbox: str, *, control: bool = False
) -> Iterator[ExploitShown]:
    """Each exploit as it has ended. Raises: SandboxMissing, ConfigError."""
    with opened_gauntlet(settings, sandbox, control=control) as gauntlet:
        for exploit in exploits:
            yield gauntlet.shown(exploit)
