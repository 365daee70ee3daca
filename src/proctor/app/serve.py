"""`proctor serve` and `proctor worker`: server and worker with everything they are made of."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from proctor.errors import in_one_line
from proctor.settings import Settings, read_settings

if TYPE_CHECKING:
    from proctor.service.context import Context
    from proctor.types import Run

LONGEST_MENDING_S = 10.0  # before a server answers; workers and pages do the rest

SHARDED = (("run",), ("batch", "run"), ("rollouts", "run"))  # commands that can be asked part by part

AppOf = Callable[[Settings], Any]


@click.command("serve")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8420,
    show_default=True,
    help="Port to listen on; 0 takes a free one.",
)
@click.option(
    "--workers",
    type=click.IntRange(1, 16),
    default=1,
    show_default=True,
    help="Worker processes; how many runs are at work at once is PROCTOR_MOST_RUNNING, over all of them.",
)
@click.option("--no-worker", is_flag=True, help="No worker; `proctor worker` works elsewhere.")
def serve_command(host: str, port: int, workers: int, no_worker: bool) -> int:
    """Start the server: REST API, dashboard and a worker that does the runs.

    Ctrl-C ends it. Runs that are under way go on where they stopped when it is started again.
    """
    settings = read_settings(os.environ)
    serve(Binding(host, port, 0 if no_worker else workers), settings, os.environ, _app)
    return 0


def _app(settings: Settings) -> Any:
    return import_module("proctor.web.app").add_pages(import_module("proctor.api.app").create_app(settings))


@dataclass(frozen=True, slots=True)
class Binding:
    """Where the server listens, and with how many workers beside it."""

    host: str
    port: int
    workers: int


def serve(place: Binding, settings: Settings, environ: Mapping[str, str], app_of: AppOf) -> None:
    """Serve the app until SIGTERM or Ctrl-C, with its workers. Prints the address once it answers.

    Raises ConfigError for an address that cannot be had or must not be, StoreError for the database.
    """
    from proctor.app.fleet import swept
    from proctor.app.server import bind, check_address, run, url_of
    from proctor.app.supervisor import Supervisor
    from proctor.jobs.worker import LEASE_S
    from proctor.service.context import open_context, open_store
    from proctor.service.results.results import make_good

    check_address(place.host, settings)
    with bind(place.host, place.port) as listening:
        with open_context(
            settings
        ) as context:  # made and brought up to date before several processes open it
            for told in make_good(context, longest_s=LONGEST_MENDING_S):
                log(told)
        app = app_of(_known_there(settings, place.host))
        words = [sys.executable, "-m", "proctor", "worker", "--parent", str(os.getpid())]
        workers = Supervisor(words, environ, place.workers, log)
        workers.start()
        try:
            with open_store(settings) as store, swept(store, settings, LEASE_S, log):
                run(app, listening, partial(_say_where, url_of(listening)))
        finally:
            workers.close()


def _known_there(settings: Settings, host: str) -> Settings:
    """The settings with the name under which the server was told to listen among those it answers to."""
    if host in ("0.0.0.0", "::"):
        return settings
    return replace(settings, hosts=(*settings.hosts, host))


def _say_where(url: str) -> None:
    click.echo(f"proctor serves at {url} (Ctrl-C ends it)")
    sys.stdout.flush()


@click.command("worker")
@click.option("--once", is_flag=True, help="Work until the queue is empty, then end.")
@click.option("--parent", type=int, hidden=True, help="End when this process, which started it, has ended.")
@click.option("--lease", "lease_s", type=click.FloatRange(0.5), default=30.0, hidden=True)
@click.option(
    "--shard",
    is_flag=False,
    flag_value="auto",
    metavar="[I/N|auto]",
    help="No queue: ask part I of N of the command after `--`, as a task of an array job does.",
)
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- run|batch run|rollouts run ...]")
def worker_command(
    once: bool, parent: int | None, lease_s: float, shard: str | None, command: tuple[str, ...]
) -> int:
    """Work on the runs that wait in the queue, each in a process of its own.

    Any number of workers may be at it, on any machine that reaches the database. SIGTERM or Ctrl-C ends
    it; its runs then wait for the next worker.

    With --shard there is no queue and no server: `proctor worker --shard 3/8 -- run exam.jsonl --model ollama/a`
    asks the third of eight parts, and `proctor merge` makes one run of them.
    """
    if shard is not None or command:
        return ask_shard(shard, command)
    from proctor.app.fleet import with_rq
    from proctor.jobs.worker import Worker
    from proctor.service.context import open_context
    from proctor.service.results.results import make_good
    from proctor.service.runs.schedules import submit_due

    settings = read_settings(os.environ)
    hopeless: set[str] = set()
    with open_context(settings) as context:
        worker = Worker(
            context.store,
            settings,
            os.environ,
            log,
            due=lambda now: [
                *submit_due(context, now=now),
                *make_good(context, longest_s=0.0, hopeless=hopeless),
            ],
            lacking=partial(_left_to_others, context, embedded=parent is not None),
            go_on=lambda: parent in (None, os.getppid()),
            lease_s=lease_s,
        )

        def end(_number: int, _frame: object) -> None:
            worker.stopping = True

        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, end)
        log(f"{worker.name}, process {os.getpid()}: waiting for runs")
        # Until the queue is empty: what waits stands in the database, and Redis has no part in it.
        with nullcontext() if once else with_rq(worker, os.environ):
            worker.work(once=once)
        log(f"{worker.name}: ended")
    return 0


def _left_to_others(context: Context, run: Run, *, embedded: bool) -> str | None:
    """What this machine lacks for a run, where others may have it: else the run is taken, and ends with its error."""
    from proctor.service.opening.needs import lacking
    from proctor.service.runs.fleet import elsewhere

    there_may_be_others = context.settings.several_machines and not (embedded and not elsewhere(context))
    return lacking(context, run) if there_may_be_others else None


def ask_shard(shard: str | None, command: Sequence[str]) -> int:
    """`proctor COMMAND --shard SHARD` in this process; its exit code."""
    from proctor.cli import proctor

    if shard is None:
        raise click.UsageError("A command needs --shard I/N before it: which part of it is this worker's?")
    if not any(tuple(command[: len(words)]) == words for words in SHARDED):
        told = ", ".join(" ".join(words) for words in SHARDED)
        raise click.UsageError(f"--shard needs a command after --: {told}")
    return int(proctor.main(args=[*command, "--shard", shard], standalone_mode=False) or 0)


def log(text: str) -> None:
    """A line of the server's or worker's log, on standard error."""
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    click.echo(f"{at} {in_one_line(text)}", err=True)
