"""`make rollouts-codex`: the real codex works on an example task in a sandbox without network, through the gateway.

It installs codex, starts the simulator with a script that solves the task, in place of a model, runs
configs/codex.toml by the documented script, ends the simulator, and says how the trial is looked at.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from proctor.simulator import SimulatorDied, spawn

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = "examples/scripts/mend-the-mean.jsonl"
FURTHER = """
This was a dry run of everything but a model: the script {script} said what codex does.
With a model of yours: model = "PROVIDER/NAME" in configs/codex.toml, and its key or address in the environment.

What codex did:  {proctor} rollouts trajectory codex    (--format atif: as an ATIF document)
Dashboard:       {proctor} serve, then http://127.0.0.1:8420/rollouts"""


def ran(words: Sequence[str], environ: Mapping[str, str]) -> int:
    """Show a command and run it to its end; it has its Ctrl-C itself."""
    print(f"$ {' '.join(words)}", flush=True)
    command = [sys.executable, *(("-m",) if words[0] == "proctor" else ()), *words]
    with subprocess.Popen(command, cwd=ROOT, env={**os.environ, **environ}) as process:
        try:
            return process.wait()
        except KeyboardInterrupt:
            process.wait()
            raise


def main() -> int:
    try:
        if code := ran(["proctor", "agents", "install", "codex"], {}):
            return code
        with spawn(["--script", str(ROOT / SCRIPT), "--context", "200000"], {}) as server:
            # The simulator wants no key; one is told, so that none of this machine's is.
            environ = {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "no-key-is-needed"}
            code = ran(["scripts/eval_rollouts.py", "run", "configs/codex.toml"], environ)
    except SimulatorDied as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Interrupted; the simulator is stopped.", file=sys.stderr)
        return 130
    if not code:
        print(FURTHER.format(script=SCRIPT, proctor=".venv/bin/proctor"), flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
