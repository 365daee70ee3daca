"""`make bench`: proctor measured beside a bare aiohttp loop in the same minutes on the same machine.

    python tools/bench.py [--only PART] [--rounds N] [--scale SHARE]

Both ask the same simulator the same prompts, in turns, and each figure is the median of its rounds.
Nothing is asserted about time: the exit code is 0 unless something broke. The last lines of the
output are `figure value bar`. Bars and what they mean: docs/notes.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from pathlib import Path

from bench_figures import FIGURES, Figure
from bench_programs import (
    PROGRAMS,
    Bench,
    Broken,
    Sample,
    Server,
    Work,
    clean_environ,
    run_bare,
    run_batch,
    run_on_ollama,
    run_proctor,
)
from proctor.simulator import spawn

PROGRAM_TIMEOUT_S = 1800.0  # of one that fills a database first

FEW, MANY = 5_000, 20_000
STARTS = 5  # rounds of what is short and noisy
HELPS = 9
SPREAD_S, SPREAD_SIGMA, SPREAD_PARALLEL = 0.2, 0.5, 256
FIXED_S = 0.1
ZERO_PARALLEL = 128


@dataclass(slots=True)
class Measured:
    """What the rounds gave for one figure: proctor's values and the reference's."""

    ours: list[float] = field(default_factory=list)
    reference: list[float] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        return statistics.median(self.ours) / statistics.median(self.reference)

    def value(self, figure: Figure) -> float:
        return self.ratio if figure.by_ratio else statistics.median(self.ours)


Found = dict[str, Measured]


def measure_help(bench: Bench) -> Found:
    """`proctor --help` beside a Python that does nothing, without a meter between."""
    beside = Path(sys.executable).with_name("proctor")
    program = [str(beside)] if beside.exists() else [sys.executable, "-m", "proctor"]
    found = Measured()
    for _ in range(HELPS):
        found.reference.append(_wall_ms([sys.executable, "-c", "pass"]))
        found.ours.append(_wall_ms([*program, "--help"]))
    return {"help_ms": found}


def _wall_ms(command: Sequence[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, env=clean_environ(), stdout=subprocess.DEVNULL, check=True)
    return 1000 * (time.perf_counter() - start)


# Figures that every run of 5,000 at zero latency gives.
WHOLE: Mapping[str, Callable[[Sample], float]] = {
    "cpu_ratio_whole": lambda sample: 1000 * sample.cpu_s / sample.items,
    "req_per_s": lambda sample: sample.items / sample.wall_s,
    "memory_mb": attrgetter("rss_mb"),
    "first_request_s": attrgetter("first_request_s"),
}


def measure_whole(bench: Bench) -> Found:
    """A server without latency: what an item costs, and what starting costs."""
    found = {name: Measured() for name in ("cpu_ratio", *WHOLE)}
    few, many = bench.work(FEW), bench.work(MANY)
    with spawn([], {}) as simulated:
        server = Server(simulated.url)
        _warm_up(bench, server)
        for number in range(max(STARTS, bench.rounds)):
            bare = run_bare(bench, server, few, parallel=ZERO_PARALLEL)
            ours = run_proctor(bench, server, few, parallel=ZERO_PARALLEL)
            for name, read in WHOLE.items():
                found[name].reference.append(read(bare))
                found[name].ours.append(read(ours))
            if number < bench.rounds:
                more_bare = run_bare(bench, server, many, parallel=ZERO_PARALLEL)
                more_ours = run_proctor(bench, server, many, parallel=ZERO_PARALLEL)
                found["cpu_ratio"].reference.append(_marginal(bare, more_bare))
                found["cpu_ratio"].ours.append(_marginal(ours, more_ours))
    return found


def _warm_up(bench: Bench, server: Server) -> None:
    """Once each, uncounted: compiles what is not compiled yet, and shows early what is broken."""
    run_bare(bench, server, bench.work(1), parallel=1)
    run_proctor(bench, server, bench.work(1), parallel=1)


def _marginal(few: Sample, many: Sample) -> float:
    """CPU seconds of 1,000 items more: starting and ending stand outside."""
    return 1000 * (many.cpu_s - few.cpu_s) / (many.items - few.items)


def measure_batch(bench: Bench) -> Found:
    """The same requests as lines of a batch: what one costs from file to output file, and what memory many take."""
    found = {name: Measured() for name in ("batch_cpu_ratio", "batch_req_per_s", "batch_memory_mb")}
    few, many = bench.work(FEW), bench.work(MANY)
    with spawn([], {}) as simulated:
        server = Server(simulated.url)
        for _ in range(bench.rounds):
            bare, more_bare = (run_bare(bench, server, work, parallel=ZERO_PARALLEL) for work in (few, many))
            ours, more_ours = (run_batch(bench, server, work, parallel=ZERO_PARALLEL) for work in (few, many))
            found["batch_cpu_ratio"].reference.append(_marginal(bare, more_bare))
            found["batch_cpu_ratio"].ours.append(_marginal(ours, more_ours))
            for name, read in (
                ("batch_req_per_s", WHOLE["req_per_s"]),
                ("batch_memory_mb", WHOLE["memory_mb"]),
            ):
                found[name].reference.append(read(more_bare))
                found[name].ours.append(read(more_ours))
    return found


def measure_million(bench: Bench) -> Found:
    """A million lines, once: does memory stay what it was?"""
    found, work = {"million_memory_mb": Measured(), "million_req_per_s": Measured()}, bench.work(1_000_000)
    with spawn([], {}) as simulated:
        server = Server(simulated.url)
        bare = run_bare(bench, server, bench.work(MANY), parallel=ZERO_PARALLEL)
        ours = run_batch(bench, server, work, parallel=ZERO_PARALLEL)
    for name, read in (("million_memory_mb", WHOLE["memory_mb"]), ("million_req_per_s", WHOLE["req_per_s"])):
        found[name].reference.append(read(bare))
        found[name].ours.append(read(ours))
    return found


def measure_latency(bench: Bench) -> Found:
    """Replies that take their time: how much of the possible overlap is used."""
    found, work = {name: Measured() for name in LATENCY}, bench.work(FEW)
    with spawn(["--latency", str(SPREAD_S), "--sigma", str(SPREAD_SIGMA)], {}) as simulated:
        server = Server(simulated.url)
        for _ in range(bench.rounds):
            bare = run_bare(bench, server, work, parallel=SPREAD_PARALLEL)
            ours = run_proctor(bench, server, work, parallel=SPREAD_PARALLEL)
            for name, read in LATENCY.items():
                found[name].reference.append(read(bare))
                found[name].ours.append(read(ours))
    return found


LATENCY: Mapping[str, Callable[[Sample], float]] = {
    "efficiency": lambda sample: sample.latency_s / SPREAD_PARALLEL / sample.wall_s,
    "end_s": lambda sample: sample.wall_s - sample.first_request_s - sample.window_s,
}


def measure_saturation(bench: Bench) -> Found:
    """A server with few places and a patient queue: is it kept busy by a client that was told no number?"""
    run = partial(run_proctor, bench, parallel=None)
    return {"saturation": _saturation(bench, bench.work(2000), 16, run)}


def measure_saturation_of_ollama(bench: Bench) -> Found:
    return {"saturation_ollama": _saturation(bench, bench.work(1000), 4, partial(run_on_ollama, bench))}


def _saturation(bench: Bench, work: Work, slots: int, run: Callable[[Server, Work], Sample]) -> Measured:
    """The reference knows the server: it keeps every place and as many waiting."""
    found, capacity = Measured(), slots / FIXED_S
    with spawn(["--latency", str(FIXED_S), "--slots", str(slots)], {}) as simulated:
        server = Server(simulated.url)
        for _ in range(bench.rounds):
            bare = run_bare(bench, server, work, parallel=2 * slots)
            ours = run(server, work)
            found.reference.append(bare.items / bare.window_s / capacity)
            found.ours.append(ours.items / ours.window_s / capacity)
    return found


def measure_workers(bench: Bench) -> Found:
    """Two processes at work on one run beside one; the simulator takes a core of its own."""
    found, work = Measured(), bench.work(MANY)
    with spawn([], {}) as simulated:
        server = Server(simulated.url)
        for _ in range(bench.rounds):
            one, two = (
                run_proctor(bench, server, work, parallel=ZERO_PARALLEL, workers=workers)
                for workers in (1, 2)
            )
            found.reference.append(WHOLE["req_per_s"](one))
            found.ours.append(WHOLE["req_per_s"](two))
    return {"workers_req_per_s": found}


def measure_rollouts(bench: Bench) -> Found:
    """Trials beside the bare sandbox, agent and verifier."""
    told = _told_by("rollouts.py", bench)
    found = {"trial_overhead_ms": Measured(told["trial_overhead_ms"], told["bare_trial_ms"])}
    for places in (1, 4, 8):
        ours, bare = (told[f"{name}_trials_per_s_{places}"] for name in ("ours", "bare"))
        found[f"trials_per_s_{places}"] = Measured(ours, bare)
    return found


def measure_gateway(bench: Bench) -> Found:
    """Calls of an agent through the gateway beside the same direct ones."""
    told = _told_by("gateway.py", bench)
    beside = told.pop("direct_ms")
    return {f"gateway_{name}": Measured(ours, list(beside)) for name, ours in told.items()}


def measure_program(program: str, reference: str, bench: Bench) -> Found:
    """A program of bench/ that prints seconds or milliseconds by figure, one of which is the reference."""
    found = _told_by(program, bench)
    beside = found.pop(reference)
    return {name: Measured(ours, list(beside)) for name, ours in found.items()}


def _told_by(program: str, bench: Bench) -> dict[str, list[float]]:
    words = [sys.executable, str(PROGRAMS / program), str(bench.folder), str(bench.rounds)]
    try:
        done = subprocess.run(
            words, env=clean_environ(), capture_output=True, text=True, timeout=PROGRAM_TIMEOUT_S
        )
    except subprocess.TimeoutExpired:
        raise Broken(f"{program}: not done after {PROGRAM_TIMEOUT_S:g} s, so it was ended") from None
    if done.returncode:
        raise Broken(done.stderr.strip()[-500:])
    found: dict[str, list[float]] = json.loads(done.stdout)
    return found


PARTS: Mapping[str, Callable[[Bench], Found]] = {
    "help": measure_help,
    "whole": measure_whole,
    "exams": partial(measure_program, "exams.py", "bootstrap_s"),
    "served": partial(measure_program, "served.py", "health_p95_ms"),
    "dashboard": partial(measure_program, "dashboard.py", "health_p95_ms"),
    "crowd": partial(measure_program, "crowd.py", "health_p95_ms"),
    "latency": measure_latency,
    "saturation": measure_saturation,
    "ollama": measure_saturation_of_ollama,
    "batch": measure_batch,
    "eta": partial(measure_program, "eta.py", "perfect"),
    "uploads": partial(measure_program, "uploads.py", "orjson_s"),
    "workers": measure_workers,
    "rollouts": measure_rollouts,
    "gateway": measure_gateway,
}
SLOW: Mapping[str, Callable[[Bench], Found]] = {  # only where they are named: each takes minutes
    "million": measure_million,
    "rows": partial(measure_program, "rows.py", "run_row_ms"),
}
ONLY: Mapping[str, tuple[str, ...]] = {
    "core": ("help", "whole", "latency"),
    **{name: (name,) for name in (*PARTS, *SLOW)},
    "batch": ("batch", "eta", "uploads"),
}


def table(found: Found) -> Iterator[str]:
    """Each figure beside its reference, with the least and the most that a round gave."""
    yield f"{'figure':<24}{'ours':>10}{'reference':>11}{'ratio':>8}{'bar':>9}   {'rounds of ours':<22}what"
    for figure in _measured_figures(found):
        measured, digits = found[figure.name], figure.decimals
        ours, reference = statistics.median(measured.ours), statistics.median(measured.reference)
        bounds = f"{min(measured.ours):.{digits}f} to {max(measured.ours):.{digits}f}"
        yield (
            f"{figure.name:<24}{ours:>10.{digits}f}{reference:>11.{digits}f}{measured.ratio:>8.2f}"
            f"{_bar(figure):>9}   {bounds:<22}{figure.what}"
        )


def lines(found: Found) -> Iterator[str]:
    """`figure value bar`, for programs to read; `-` where there is no bar."""
    for figure in _measured_figures(found):
        digits = 2 if figure.by_ratio else figure.decimals
        bar = "-" if figure.bar is None else f"{figure.bar:g}"
        yield f"{figure.name} {found[figure.name].value(figure):.{digits}f} {bar}"


def _measured_figures(found: Found) -> list[Figure]:
    return [figure for figure in FIGURES if figure.name in found]


def _bar(figure: Figure) -> str:
    if figure.bar is None:
        return "-"
    return f"{'>=' if figure.at_least else '<='} {figure.bar:g}{'x' if figure.by_ratio else ''}"


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tools/bench.py", description="proctor beside a bare aiohttp loop.")
    parser.add_argument("--only", choices=list(ONLY), help="measure this part only")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of each part (default 3)")
    parser.add_argument(
        "--scale", type=float, default=1.0, help="share of the items, to try the bench itself (default 1)"
    )
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    """What broke is told at once, what was measured all the same at the end; 1 if anything broke."""
    chosen = parse(arguments)
    found: Found = {}
    broke = False
    with tempfile.TemporaryDirectory(prefix="proctor-bench-") as folder:
        bench = Bench(Path(folder), chosen.rounds, chosen.scale)
        for name in ONLY[chosen.only] if chosen.only else PARTS:
            start = time.perf_counter()
            try:
                found |= (PARTS | SLOW)[name](bench)
            except Broken as broken:
                broke = True
                print(f"bench: {name}: {broken}", file=sys.stderr)
            print(f"{name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    print("\n".join(["", *table(found), "", *lines(found)]))
    return int(broke)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
