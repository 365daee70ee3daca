"""`make fuzz`: `python -m fuzz [--only NAME,...] [--count N] [--seed N]`; it ends by itself and prints one table.

Each parser runs in a process of its own that may take 4 GB of addresses; its peak of memory is what it holds more than
it began with. The same seed gives the same inputs, and `--only NAME --number N` gives one of them again.
Exit code 1 where anything was found.
"""

from __future__ import annotations

import argparse
import mmap
import os
import pickle
import resource
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

from fuzz.contract import Parser, Room
from fuzz.table import PARSERS
from fuzz.trying import Fault, Trial, Tried

COUNT = 1_000_000
MOST_ADDRESSES = 4 << 30
MOST_MB = 500.0
STRETCH = 200  # inputs of one process, where its end is foreseen
MEMORY = Path("/dev/shm")
HEAD = "parser                     inputs   inputs/s   refused  findings   slowest ms    peak MB"


def main(arguments: Sequence[str]) -> int:
    told = _told(arguments)
    chosen = [each for each in PARSERS if not told.only or each.name in told.only.split(",")]
    if not chosen:
        print(f"no such parser; there are {', '.join(each.name for each in PARSERS)}")
        return 2
    if told.number is not None:
        return _again(chosen[0], told.seed, told.number)
    print(f"seed {told.seed}, {told.count:,} inputs for {len(chosen)} parsers\n{HEAD}", flush=True)
    shares = sum(each.share for each in chosen)
    found, inputs = 0, 0
    for parser in chosen:
        tried, took_s, peak_mb = _apart(parser, told.seed, max(1, round(told.count * parser.share / shares)))
        _print(tried, took_s, peak_mb)
        inputs += tried.inputs
        found += len(tried.faults) + (peak_mb > MOST_MB)
    print(f"{inputs:,} inputs, {found} findings", flush=True)
    return 1 if found else 0


def _told(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="fuzz")
    parser.add_argument("--only", default="", help="names of parsers, with commas")
    parser.add_argument("--count", type=int, default=COUNT, help="inputs for all parsers together")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--number", type=int, help="give the one parser of --only this input again")
    return parser.parse_args(arguments)


def _again(parser: Parser, seed: int, number: int) -> int:
    with tempfile.TemporaryDirectory() as folder:
        trial = Trial(parser, Room(Path(folder)), seed)
        print(trial.input(number)[:4000])
        trial.give(number)
    for fault in trial.tried.faults.values():
        print(f"{fault.trace}\nsmallest: {fault.body[:4000]!r}")
    print(f"{1000 * trial.tried.slowest_s:.1f} ms")
    return 1 if trial.tried.faults else 0


def _apart(parser: Parser, seed: int, count: int) -> tuple[Tried, float, float]:
    """The parser under `count` inputs in processes of its own; an input that ends one is a finding as well."""
    start, peak_mb, number = time.monotonic(), 0.0, 0
    tried = Tried(parser.name)
    at = mmap.mmap(-1, 8)
    while number < count:
        end = min(count, number + STRETCH) if parser.apart else count
        told = _stretch(parser, seed, range(number, end), at)
        if told is not None:
            tried.add(told[0])
            peak_mb, number = max(peak_mb, told[1]), end
            continue
        last = int.from_bytes(at[:8], "little")
        tried.inputs += last + 1 - number
        if parser.apart:
            tried.refused += 1
        else:
            tried.faults[f"its process died at {last}"] = Fault("its process died", last, b"")
        number = last + 1
    return tried, time.monotonic() - start, peak_mb


def _stretch(parser: Parser, seed: int, numbers: range, at: mmap.mmap) -> tuple[Tried, float] | None:
    """What came of these inputs, and the peak of memory in MB; None where the process died."""
    out, into = os.pipe()
    child = os.fork()
    if not child:
        os.close(out)
        _child(parser, seed, numbers, into, at)
    os.close(into)
    with os.fdopen(out, "rb") as told:
        body = told.read()
    _, status = os.waitpid(child, 0)
    found: tuple[Tried, float] | None = None if status else pickle.loads(body)  # noqa: S301 - of our own child
    return found


def _child(parser: Parser, seed: int, numbers: range, into: int, at: mmap.mmap) -> None:
    code = 1
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # libraries that are not Python's own print what they raise
    try:
        resource.setrlimit(resource.RLIMIT_AS, (MOST_ADDRESSES, MOST_ADDRESSES))
        place = MEMORY if MEMORY.is_dir() else None
        with tempfile.TemporaryDirectory(prefix="proctor-fuzz-", dir=place) as folder:
            trial = Trial(parser, Room(Path(folder)), seed)
            before = _peak_mb()
            for number in numbers:
                at[:8] = number.to_bytes(8, "little")
                trial.give(number)
            told = pickle.dumps((trial.tried, _peak_mb() - before))
        with os.fdopen(into, "wb") as file:
            file.write(told)
        code = 0
    except BaseException:
        traceback.print_exc(file=sys.stdout)
        raise
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _print(tried: Tried, took_s: float, peak_mb: float) -> None:
    rate = tried.inputs / took_s if took_s else 0.0
    print(
        f"{tried.name:24}{tried.inputs:9,}{rate:11,.0f}{tried.refused:10,}{len(tried.faults):10}"
        f"{1000 * tried.slowest_s:13,.1f}{peak_mb:11,.1f}",
        flush=True,
    )
    for fault in tried.faults.values():
        print(f"  FOUND {fault.what}, {fault.times} times; --number {fault.number}: {fault.body[:160]!r}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
