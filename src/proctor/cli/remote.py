"""`proctor --server URL ...`: the commands that ask a server instead of this machine."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from proctor.cli.exits import OF_RUNS, Ended, ended
from proctor.cli.options import kept_grader_option, server_options, wanted_from
from proctor.cli.server_call import ServerCall, server_of
from proctor.errors import Exit
from proctor.findings import Cause, Estimate, failed_in_short
from proctor.plan.doors import as_config

if TYPE_CHECKING:
    from proctor.cli.tables import Listed

BENCHMARKING = "/benchmarking"
POLL_S = 30

format_option = click.option(
    "--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True
)


@click.command("run", epilog=OF_RUNS)
@click.argument("suite")
@click.option(
    "--project-id", type=int, metavar="N", help="Where it goes.  [default: the first that the key reaches]"
)
@server_options
@click.option("--custom-config", metavar="JSON", help="Further fields of the server's `config`.")
@click.option("--priority", type=click.Choice(["high", "normal", "low"]), default="normal", show_default=True)
@click.option("--wait", is_flag=True, help="Follow the jobs until they end.")
@format_option
def run_command(suite: str, models: tuple[str, ...], form: str, **given: Any) -> int:
    """Submit a benchmark of SUITE for each model."""
    server = server_of()
    wait, priority, project = given["wait"], given["priority"], given["project_id"]
    config = {**as_config(wanted_from(suite, models, given)), **_further(given["custom_config"])}
    if project is None:
        project = _first_project(server)
    jobs = []
    for name in models:
        provider, slash, model = name.partition("/")
        if not slash:
            raise click.UsageError(f"--model {name}: write PROVIDER/NAME, such as ollama/{name}")
        body = {
            "project_id": project,
            "suite": suite,
            "config": {**config, "provider": provider, "model": model},
            "priority": priority,
        }
        jobs.append(server.post(f"{BENCHMARKING}/run", body))
    if not wait:
        _show(
            form,
            jobs,
            (f"{job['job_id']}  {job['message']}, about {job['estimated_duration']}" for job in jobs),
        )
        return 0
    results = [_follow(server, job["job_id"], form, None) for job in jobs]
    return ended([Ended.told(result) for result in results if result is not None])


def _first_project(server: ServerCall) -> int:
    known = server.get("/projects")["projects"]
    return int(known[0]["id"]) if known else 1  # the server says what is wrong with 1


def _further(custom_config: str | None) -> dict[str, Any]:
    if not custom_config:
        return {}
    try:
        further = json.loads(custom_config)
    except ValueError as error:
        raise click.UsageError(f"--custom-config: not JSON ({error})") from error
    if not isinstance(further, dict):
        raise click.UsageError("--custom-config: give a JSON object")
    return further


@click.command("status", epilog=OF_RUNS)
@click.argument("job")
@click.option("--poll", is_flag=True, help="Wait until the job has ended.")
@click.option(
    "--timeout", type=float, default=300, show_default=True, metavar="S", help="Wait at most this long."
)
@format_option
def status_command(job: str, poll: bool, timeout: float, form: str) -> int:
    """Say where JOB is, or with --poll wait until it has ended.

    With --poll it ends with the exit codes of `proctor run`, and with 1 at the timeout.
    """
    server = server_of()
    if poll:
        result = _follow(server, job, form, timeout)
        return Exit.DEFECT if result is None else ended([Ended.told(result)])
    state = server.get(f"/jobs/status/{job}")
    _show(form, state, [_state_line(state)])
    return 0


def _follow(server: ServerCall, job: str, form: str, timeout: float | None) -> dict[str, Any] | None:
    """What the job shows at its end, printed too; None if it has not ended by then."""
    deadline = None if timeout is None else time.monotonic() + timeout
    state = server.get(f"/jobs/status/{job}")
    while not state["ended"]:
        click.echo(_state_line(state), err=True)
        left = POLL_S if deadline is None else min(POLL_S, deadline - time.monotonic())
        if left <= 0:
            click.echo(f"{job} has not ended within {timeout:g} s; it goes on", err=True)
            return None
        state = server.get(f"/jobs/status/{job}/poll", timeout=round(left, 1), current_status=state["status"])
    result: dict[str, Any] = server.get(f"{BENCHMARKING}/results/{job}")
    _show(form, result, _result_lines(result))
    return result


def _state_line(state: Mapping[str, Any]) -> str:
    from proctor.figures import share

    done = "" if state["percentage"] is None else f"  {share(state['percentage'] / 100)}"
    return f"{state['job_id']}  {state['status']}{done}  {state['step']}"


@click.command("results")
@click.argument("job")
@kept_grader_option
@format_option
def results_command(job: str, form: str, grader: str | None) -> int:
    """Show what JOB measured so far."""
    result = server_of().get(f"{BENCHMARKING}/results/{job}", grader=grader)
    _show(form, result, _result_lines(result))
    return 0


def _result_lines(result: Mapping[str, Any]) -> Iterator[str]:
    from proctor.cli.tables import columns

    mark = " (partial)" if result["partial"] else ""
    sample = "  [sample rows, no real score]" if result["sample"] else ""
    yield f"{result['provider']}/{result['model_name']}  {result['status']}{mark}{sample}"
    if result["error"]:
        yield f"  {result['error']}"
    yield from _cause_lines(result)
    rows = [("", metric, *_figures(of)) for metric, of in result["overall"].items()]
    for tasks in result["performance_data"].values():
        rows += [
            (task, metric, *_figures(of)) for task, metrics in tasks.items() for metric, of in metrics.items()
        ]
    yield from columns(rows, ("task", "metric", "score", "n"))


def _cause_lines(result: Mapping[str, Any]) -> Iterator[str]:
    told = ""
    for cause in result["causes"]:
        found = Cause(cause["slug"], cause["said"], cause["items"], cause["item_id"])
        yield f"  {found.in_words(result['progress']['planned'] or 0)}"
        if cause["advice"] not in ("", told):
            yield f"    -> {cause['advice']}"
        told = cause["advice"]


def _figures(of: Mapping[str, Any]) -> tuple[str, str]:
    from proctor.figures import fraction

    if of["mean"] is None:
        return f"not measured: {of['reason']}", "0"
    low, high = of["ci"] or (None, None)
    return f"{fraction(of['mean'])} [{fraction(low)}, {fraction(high)}]", f"{of['n']:,}"


@click.command("list")
@click.option("--model", "model_name", metavar="NAME")
@click.option("--suite", metavar="NAME")
@click.option("--status", type=click.Choice(["pending", "running", "completed", "failed", "cancelled"]))
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, metavar="N")
@format_option
def list_command(form: str, **wanted: Any) -> int:
    """List the newest jobs."""
    found = server_of().get(f"{BENCHMARKING}/results", **wanted)
    _show(form, found, (*_rows(found["results"]), f"{len(found['results'])} of {found['total']:,}"))
    return 0


@click.command("history")
@click.option("--model", "model_name", metavar="NAME")
@click.option("--days", type=click.IntRange(1, 3650), default=30, show_default=True, metavar="N")
@format_option
def history_command(form: str, **wanted: Any) -> int:
    """Show the runs of the last days."""
    found = server_of().get(f"{BENCHMARKING}/history", **wanted)
    _show(form, found, (*_rows(found["history"]), f"{found['total_runs']:,} runs. {found['date_range']}."))
    return 0


def _rows(jobs: list[Mapping[str, Any]]) -> Iterator[str]:
    from proctor.cli.tables import list_lines

    return list_lines(map(_listed, jobs))


def _listed(job: Mapping[str, Any]) -> Listed:
    from proctor.cli.tables import Listed
    from proctor.figures import estimate, unmeasured

    score, head = job["score"], "-"
    if score is not None:
        low, high = score["ci"] or (None, None)
        found = Estimate(score["mean"], None, low, high, score["n"], score["asked"], "")
        head = f"{score['metric']} {estimate(found)}"
    return Listed(
        run=job["job_id"],
        created=job["created_at"],
        status=job["status"],
        partial=job["partial"],
        model=f"{job['provider']}/{job['model_name']}",
        source=f"{job['benchmark_suite']}{' (sample)' if job['sample'] else ''}",
        score=head,
        unmeasured=unmeasured(job["not_measured"], job["planned"]),
        failed=failed_in_short([Cause(each["slug"], each["said"], each["items"]) for each in job["causes"]]),
    )


@click.command("cancel")
@click.argument("job")
def cancel_command(job: str) -> int:
    """End a waiting or running JOB; what it asked is kept."""
    click.echo(server_of().post(f"{BENCHMARKING}/cancel/{job}")["message"])
    return 0


@click.command("restart")
@click.argument("job")
def restart_command(job: str) -> int:
    """Put a failed, cancelled or partial JOB back into the queue."""
    click.echo(server_of().post(f"/jobs/restart/{job}")["message"])
    return 0


@click.command("compare")
@click.argument("names", nargs=-1, required=True, metavar="A B...")
@click.option("--suite", "benchmark_suite", metavar="NAME")
@click.option("--metric", "metrics", multiple=True, default=("score",), show_default=True, metavar="NAME")
@kept_grader_option
@format_option
def compare_command(names: tuple[str, ...], form: str, **wanted: Any) -> int:
    """Compare models or runs."""
    body = {"model_ids": list(names), **wanted, "metrics": list(wanted["metrics"])}
    found = server_of().post(f"{BENCHMARKING}/compare", body)
    of = found["comparison"]
    lines = (
        f"best: {of['best_performing']}"
        + (f" (tied: {', '.join(of['tie_group'])})" if of["tie_group"] else ""),
        f"against the runner-up: {of['statistical_significance']}",
        of["verdict"],
        *of["recommendations"],
    )
    _show(form, found, lines)
    return 0


@click.command("leaderboard")
@click.option("--suite", default="glue", show_default=True, metavar="NAME")
@click.option("--metric", default="score", show_default=True, metavar="NAME")
@click.option("--limit", type=click.IntRange(1, 1000), default=10, show_default=True, metavar="N")
@format_option
def leaderboard_command(form: str, **wanted: Any) -> int:
    """Rank the models that were asked the same."""
    from proctor.cli.tables import columns
    from proctor.figures import chance, fraction

    found = server_of().get(f"{BENCHMARKING}/leaderboard", **wanted)
    rows = [
        (
            "-".join(str(rank) for rank in dict.fromkeys(place["rank_interval"])),
            place["model_id"],
            f"{fraction(place['score'])} [{', '.join(fraction(end) for end in place['ci'] or ())}]",
            chance(place["p_best"]),
            str(place["benchmark_count"]),
        )
        for place in found["leaderboard"]
    ]
    _show(form, found, columns(rows, ("rank", "model", found["metric"], "P(best)", "runs")))
    return 0


def _show(form: str, document: object, lines: Any) -> None:
    if form == "json":
        click.echo(json.dumps(document, indent=2))
        return
    for line in lines:
        click.echo(line)
