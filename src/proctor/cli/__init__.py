"""The command line. Commands are imported only when they are called, so that `--help` stays quick."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click

from proctor import __version__
from proctor.errors import Exit, ProctorError
from proctor.log import LEVELS, VARIABLE, Level, begin

# command -> (module, what --help says in the list)
COMMANDS: dict[str, tuple[str, str]] = {
    "run": ("run", "Ask models the questions of a file or a suite, and say which is better."),
    "batch": ("batch", "Send a file of requests to a model, check such a file, compare what came back."),
    "rollouts": ("rollouts", "Have agents work on prepared tasks in sandboxes, and say which is better."),
    "task": ("task", "Make prepared tasks for agents, and check that they measure what they should."),
    "sandbox": (
        "sandbox",
        "Make the roots that agents begin with, and try whether this machine contains them.",
    ),
    "agents": ("agents", "Install agents that others wrote, such as codex, and list what is here."),
    "gauntlet": ("gauntlet", "Run exploits against a sandbox: which change a score, leak, or harm?"),
    "resume": ("resume", "Continue a run with what is missing or failed."),
    "rerun": ("resume", "Start a new run from the words of an old one."),
    "show": ("show", "Show a run or a comparison: scores, counts, what they rest on."),
    "list": ("show", "List the newest runs."),
    "compare": ("compare", "Compare runs or models: which is better, by how much, on which items."),
    "gate": ("gate", "Hold a new run against the last accepted one, for pipelines."),
    "leaderboard": (
        "leaderboard",
        "Rank the models that were asked the same, with ties where there are ties.",
    ),
    "history": ("leaderboard", "Show the runs of the last days and how each model's score moved."),
    "plan": ("plan", "Say what a run would ask, cost and be able to show, without asking anything."),
    "import": ("logs", "Import the logs of lm-eval and Inspect as runs beside proctor's own."),
    "merge": ("merge", "Make one run of the parts that --shard asked apart."),
    "bundle": ("bundle", "Pack a run with everything that its figures can be checked with."),
    "verify": ("bundle", "Recompute every figure of a bundle, offline."),
    "status": ("remote", "Say where a server's job is, or wait until it has ended (--server)."),
    "results": ("remote", "Show what a server's job measured (--server)."),
    "cancel": ("remote", "End a server's job (--server)."),
    "restart": ("remote", "Put a server's job back into the queue (--server)."),
    "grade": (
        "grade",
        "Grade a run's kept replies with other graders, beside its own, without asking anything.",
    ),
    "label": (
        "label",
        "Grade a run's replies yourself, by single keys or in a file: that is what a judge is corrected by.",
    ),
    "rescore": ("grade", "Read a run's kept replies again with other extractors, without asking anything."),
    "export": (
        "export",
        "Write a run's items, answers and scores as CSV, JSON or JSONL, or as lm-eval does.",
    ),
    "report": ("export", "Write a report as one file: HTML, Markdown or LaTeX."),
    "models": ("models", "List the models that providers offer now."),
    "data": ("data", "Import the official rows of suites, and list what is here."),
    "dataset": ("dataset", "Keep files of questions under a name that runs and schedules know."),
    "keys": ("keys", "Create, list and revoke the API keys of the server."),
    "projects": ("keys", "List and create projects."),
    "prune": ("prune", "Delete old runs."),
    "backup": ("backup", "Write the database and all files to one file, while server and workers go on."),
    "restore": ("backup", "Put back what `proctor backup` wrote, into SQLite or PostgreSQL."),
    "simulate": (
        "simulate",
        "Start the model simulator: an OpenAI and Ollama server for dry runs and tests.",
    ),
    "demo": ("demo", "Score the built-in models on the sample rows and show the commands that go further."),
    "examples": ("examples", "Write the files that the documents' commands name into a folder of your own."),
    "help": ("help", "Read the pages of the documents in the terminal: graders, batches, server, ..."),
    "completion": ("completion", "Print the script by which bash, zsh or fish completes proctor's words."),
}

# What `--server` sends to a server; everything else works on this machine.
REMOTE = frozenset(
    {"run", "list", "compare", "history", "leaderboard", "status", "results", "cancel", "restart"}
)


class Lazy(click.Group):
    """A group whose commands live in modules that are imported on use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        remote = bool(ctx.params.get("server")) and cmd_name in REMOTE
        module = import_module(f"proctor.cli.{'remote' if remote else COMMANDS[cmd_name][0]}")
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(self.rows())

    def rows(self) -> list[tuple[str, str]]:
        """What `--help` lists."""
        return [(name, what) for name, (_, what) in COMMANDS.items()]


@click.group(cls=Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="proctor")
@click.option(
    "--server",
    envvar="PROCTOR_SERVER",
    metavar="URL",
    help="Ask this proctor server: run, list, status, results, cancel, restart, compare, history, "
    "leaderboard, dataset.",
)
@click.option(
    "--log-level",
    type=click.Choice(LEVELS),
    envvar=VARIABLE,
    help="What to log on standard error: info has requests' retries, limits and slowness, debug every request.  "
    "[default: warning; info in the logs of jobs]",
)
def proctor(server: str | None, log_level: Level | None) -> None:
    """proctor gives AI models their exams.

    Start with `proctor demo`, or with your own questions:
    `proctor run my_questions.jsonl --model ollama/a --model ollama/b`.
    """
    begin(log_level or "warning")
    if log_level is not None:
        os.environ[VARIABLE] = log_level  # for the processes that this one starts


def main(args: Sequence[str] | None = None, program: click.Group = proctor) -> None:
    """The `proctor` program; it ends with a code of `errors.Exit`."""
    try:
        code: Any = program.main(args=args, standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(Exit.REQUEST)
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted.", err=True)
        sys.exit(Exit.INTERRUPTED)
    except BrokenPipeError:
        sys.exit(Exit.DONE)  # the reader (head, less) has seen enough
    except ProctorError as error:
        tell(error)
        sys.exit(error.exit_code)
    sys.exit(int(code) if isinstance(code, int) else 0)


def tell(error: ProctorError) -> None:
    """An error as people see it: what, then what to do."""
    click.echo(f"Error ({error.slug}): {error}", err=True)
    click.echo(f"  {error.cure}", err=True)
