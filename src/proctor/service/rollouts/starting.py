"""Benchmarks of tasks that are handed to the server: the words of a TOML as JSON, held to what its operator allows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from proctor.errors import Forbidden, ProctorError, QueueFull
from proctor.plan.rollouts import plan_of_table
from proctor.providers import PROVIDERS
from proctor.references import RolloutsRef
from proctor.service.context import Context
from proctor.service.output.stamps import release, stamped
from proctor.service.rollouts.allowed import BUILT_IN, NUMBERS, Allowed, allowed_by, need_allowed
from proctor.service.rollouts.opening import told_by
from proctor.service.rollouts.prepared import file_inside, folder_named
from proctor.service.runs import queue
from proctor.service.runs.queue import Ticket
from proctor.service.runs.requests import Body, Priority
from proctor.settings import Settings
from proctor.types import Plan, Run

MOST_TASKS = 2_000  # entries of a benchmark
Name = Annotated[str, Field(min_length=1, max_length=100)]


class TaskRequest(Body):
    """One entry of `tasks`: who works on what, and how often."""

    prepared_dir: str = Field(
        min_length=1, max_length=500, description="A prepared task of the server, by name."
    )
    model: str | None = Field(None, max_length=300, description="PROVIDER/NAME, for agents that ask a model.")
    agent: Name = Field(
        "shell", description="null, reference, shell, or an agent of the server's proctor.toml."
    )
    rollouts: int = Field(1, ge=1, le=1000, description="How many independent trials.")
    apply_overrides: bool = True
    overrides: str | None = Field(None, max_length=500, description="A file in the task's folder.")
    environment_variables: dict[str, str] = Field({}, max_length=100)
    timeout_s: float | None = Field(None, gt=0, le=7 * 86400, description="The agent's time.")
    token_limit: int | None = Field(None, ge=1, le=10**12)


class LimitsRequest(Body):
    """What one trial may use; what is left out is as the table of limits has it."""

    agent_s: float | None = Field(None, gt=0, le=7 * 86400)
    verifier_s: float | None = Field(None, gt=0, le=7 * 86400)
    trial_s: float | None = Field(None, gt=0, le=7 * 86400)
    memory_mb: int | None = Field(None, ge=16)
    cpus: float | None = Field(None, gt=0)
    pids: int | None = Field(None, ge=4)
    disk_mb: int | None = Field(None, ge=1)
    output_mb: float | None = Field(None, gt=0)
    max_tokens: int | None = Field(None, ge=1, le=10**12)
    max_cost_usd: float | None = Field(None, gt=0, le=10**9)
    max_calls: int | None = Field(None, ge=1, le=10**9)


class RolloutsRequest(Body):
    """A benchmark of tasks, in the words of its TOML."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "name": "nightly",
                    "parallel": 4,
                    "tasks": [{"prepared_dir": "mend-the-mean", "agent": "reference", "rollouts": 3}],
                }
            ]
        },
    )

    name: Name
    tasks: list[TaskRequest] = Field(min_length=1, max_length=MOST_TASKS)
    parallel: int = Field(1, ge=1, le=256, description="How many trials run at once.")
    sandbox: str | None = Field(None, max_length=50, description="bubblewrap (default) or docker.")
    image: str | None = Field(None, pattern=r"^[A-Za-z0-9][\w.-]{0,99}$")
    limits: LimitsRequest | None = None
    pass_score: float | None = Field(None, gt=0, le=1)
    project_id: int = Field(1, ge=1, le=2**31 - 1)
    priority: Priority = "high"


def start(context: Context, request: RolloutsRequest, user: str) -> list[Run]:
    """Put a benchmark into the queue, a job for each agent and model; they are done one after the other.

    Raises: ConfigError, Forbidden for what the operator does not allow, QueueFull, NotFound for a project.
    """
    settings = context.settings
    plan = plan_of_request(settings, request)
    if not queue.has_room(context, user):
        raise QueueFull(
            f"{user} has {settings.most_queued} runs or benchmarks waiting, which is all that may wait"
        )
    plan = stamped(plan, settings.home, context.store)
    # Every trial has its own deadline: how long all of them may take follows from theirs.
    longest_s = max(cell.limits.timeout_s for cell in plan.cells)
    ticket = Ticket(user, request.project_id, request.priority)
    try:
        return queue.submit_all(context, plan, ticket, longest_s=longest_s)
    except ProctorError:
        ref = plan.cells[0].source
        assert isinstance(ref, RolloutsRef)
        release(settings.home, ref.name, ref.stamp, context.store)
        raise


def plan_of_request(settings: Settings, request: RolloutsRequest) -> Plan:
    """The plan, without a stamp yet. Raises: ConfigError, Forbidden."""
    allowed, agents = allowed_by(settings.home)
    table = request.model_dump(exclude_none=True, exclude={"project_id", "priority"})
    table["tasks"] = [
        _task(settings, each, agents, f"tasks[{place}]") for place, each in enumerate(request.tasks)
    ]
    if agents:
        table["agents"] = dict(agents)
    _check_limits(request, settings, allowed)
    # Replays answer from files of this machine.
    providers = tuple(each for each in PROVIDERS if each != "replay")
    return plan_of_table(table, replace(told_by(settings, "body"), providers=providers))


def _task(settings: Settings, task: TaskRequest, agents: Mapping[str, Any], where: str) -> dict[str, Any]:
    if task.agent not in (*BUILT_IN, *agents):
        known = ", ".join(dict.fromkeys([*BUILT_IN, *agents]))
        raise Forbidden(
            f"{where}: agent {task.agent!r}: this server has {known}; its operator adds others as [agents.NAME] of "
            "proctor.toml"
        )
    folder = folder_named(settings, task.prepared_dir, where)
    table = task.model_dump(exclude_none=True)
    table["prepared_dir"] = str(folder)
    if task.overrides is not None:
        table["overrides"] = str(file_inside(folder, task.overrides, where))
    return table


def _check_limits(request: RolloutsRequest, settings: Settings, allowed: Allowed) -> None:
    named = request.limits.model_dump(exclude_none=True) if request.limits else {}
    wanted = {name: named[name] for name in NUMBERS if name in named}
    need_allowed({"parallel": request.parallel, **wanted}, request.sandbox, allowed)
