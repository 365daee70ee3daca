"""What stands in braces in an agent's table, filled in for one trial; and the files of its home."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from proctor.engine.agents.contract import AgentJob
from proctor.engine.agents.own import variables
from proctor.references import Agent
from proctor.sandbox.contract import HOME

INSTRUCTION = f"{HOME}/instruction.md"
Filling = Mapping[str, str]  # "{model}" -> what stands there


def filling_of(agent: Agent, job: AgentJob) -> Filling:
    """All that is known without a gateway."""
    model = agent.model or ""
    return {
        "{instruction}": job.instruction,
        "{instruction_file}": INSTRUCTION,
        "{model}": model,
        "{model_name}": agent.model_name or model.partition("/")[2] or model,
        "{workdir}": job.cwd,
        "{home}": HOME,
        "{seconds}": f"{job.seconds:.0f}",
    }


def filled(template: str, put: Filling) -> str:
    """What stands in braces and is not known stays as it is.

    >>> filled("{a} {b}", {"{a}": "{b}"})
    '{b} {b}'
    """
    # In one go, so that braces of an instruction are not taken for words of ours.
    return re.sub("|".join(map(re.escape, put)), lambda found: put[found[0]], template)


async def put_home(agent: Agent, job: AgentJob, put: Filling) -> None:
    """Put the files into the agent's home that its table names. Raises: SandboxError."""
    files = {path: filled(content, put) for path, content in variables(agent.home_files).items()}
    if any("{instruction_file}" in word for word in _templates(agent)):
        files[Path(INSTRUCTION).name] = job.instruction
    if not files:
        return
    with tempfile.TemporaryDirectory(prefix="proctor-home-") as folder:
        for name in _written(Path(folder), files):
            await job.box.put(Path(folder, name), f"{HOME}/{name}")


def _written(folder: Path, files: Mapping[str, str]) -> Sequence[str]:
    """Write them, and tell what lies in the folder itself then."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")
    return sorted({Path(name).parts[0] for name in files})


def _templates(agent: Agent) -> Sequence[str]:
    return (*agent.argv, *agent.environment, *agent.home_files)
