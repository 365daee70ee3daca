"""The simulator as a process: it loads the answers, serves until told to stop, and says where it is."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
import threading
from collections.abc import Callable

from proctor.simulator.answers import Answers, read_answers
from proctor.simulator.app import listen, make_app
from proctor.simulator.options import Setup
from proctor.simulator.process import LISTENING

_STDIN = 0


def serve(setup: Setup) -> int:
    """Serve until SIGINT or SIGTERM, or until stdin closes where that was asked for.

    Prints one line when it listens. Returns the exit code: 0, or 2 with a line on stderr when the
    answers cannot be read or the port cannot be had.
    """
    try:
        answers = read_answers(setup.answers) if setup.answers else {}
    except (OSError, ValueError) as error:
        return _complain(error)
    # The answers stay: the collector need not walk through a million of them again and again.
    gc.freeze()
    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(_serve(setup, answers))
    except OSError as error:
        return _complain(error)
    return 0


def _complain(error: Exception) -> int:
    print(f"simulator: {error}", file=sys.stderr)
    return 2


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    try:
        import uvloop
    except ImportError:  # it is not made for every platform
        return asyncio.new_event_loop
    return uvloop.new_event_loop


async def _serve(setup: Setup, answers: Answers) -> None:
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    app = make_app(
        answers,
        setup.behaviours,
        seed=setup.seed,
        slots=setup.slots,
        slots_policy=setup.overload,
        key=setup.key,
        terms=setup.terms,
    )
    listening = await listen(app, host=setup.host, port=setup.port)
    print(f"{LISTENING} {listening.url}", flush=True)
    if setup.until_stdin_closes:
        threading.Thread(target=_watch_stdin, args=(loop, stop), daemon=True).start()
    await stop.wait()
    await listening.close()


def _watch_stdin(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    # os.read, not sys.stdin: its lock, held by a thread that waits, would spoil the interpreter's end.
    try:
        while os.read(_STDIN, 65536):
            pass
    except OSError:
        pass  # closed from the start is closed
    try:
        loop.call_soon_threadsafe(stop.set)
    except RuntimeError:
        pass  # a signal was quicker, and the loop is gone
