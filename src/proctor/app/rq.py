"""RQ's side of a worker: the process in a slot, and the function that its work horses call."""

from __future__ import annotations

import logging
import os
import select
import signal
import sys
import threading
from dataclasses import dataclass
from importlib import import_module

import click

from proctor.app.serve import log
from proctor.errors import ConfigError
from proctor.jobs.worker import LEASE_S
from proctor.settings import read_settings
from proctor.store.queue.entries import PRIORITIES

BEFOREHAND = (
    "proctor.jobs.rq_look",
    "proctor.service.opening.needs",
)  # what every work horse needs, read once
WORKER_TTL_S = 30  # how long RQ shows a worker as there that was killed, less a minute


@dataclass(slots=True)
class StartedAs:
    """What the process was started as; its work horses, forked off it, find it here. RQ hands them an id alone."""

    name: str = "worker"
    lease_s: float = LEASE_S
    held: bool = False  # whoever started it holds its standard input


_started_as = StartedAs()


@click.command("rq-worker", hidden=True)
@click.option("--name", required=True, help="The name of the worker that it belongs to, and its place there.")
@click.option(
    "--lease", "lease_s", type=float, default=LEASE_S, help="Seconds until a silent owner counts as dead."
)
def rq_worker_command(name: str, lease_s: float) -> int:
    """Work on the queues of PROCTOR_REDIS_URL, a run at a time, until standard input ends."""
    import rq
    from redis.exceptions import RedisError

    from proctor.jobs.rq_notices import SERIALIZER
    from proctor.settings.redis_link import connect

    settings = read_settings(os.environ)
    if settings.redis_url is None:
        raise ConfigError("PROCTOR_REDIS_URL is not set: there are no queues to work on")
    _started_as.name, _started_as.lease_s, _started_as.held = name, lease_s, True
    threading.Thread(target=_end_with_stdin, name="held", daemon=True).start()
    _speak()
    for each in BEFOREHAND:
        import_module(each)
    worker = rq.Worker(
        list(PRIORITIES),
        connection=connect(settings.redis_url, timeout_s=None),
        name=name.replace(" ", "-"),
        serializer=SERIALIZER,
        worker_ttl=WORKER_TTL_S,
        job_monitoring_interval=beat_s(lease_s),
        log_job_description=False,
    )
    try:
        worker.work(logging_level="WARNING")
    except RedisError:
        return 0  # another is started when Redis is back
    return 0


def beat_s(lease_s: float) -> int:
    """How often an RQ worker says that the notice it has is at work, in seconds.

    >>> beat_s(30.0), beat_s(2.0)
    (3, 1)
    """
    return max(1, int(lease_s / 10))


def look_at(notice_id: str) -> str:
    """What an RQ job of proctor's calls, in a work horse. Raises RunFailed for a run that failed for good."""
    from rq import get_current_job

    from proctor.jobs.rq_look import look
    from proctor.jobs.worker import Worker
    from proctor.service.context import open_context
    from proctor.service.opening.needs import lacking

    settings = read_settings(os.environ)
    with open_context(settings) as context:
        worker = Worker(
            context.store,
            settings,
            os.environ,
            log,
            go_on=_held,
            lacking=lambda run: lacking(context, run),
            lease_s=_started_as.lease_s,
            name=_started_as.name,
            part_of=_started_as.name.rpartition(" ")[0] or None,
        )

        def end(_number: int, _frame: object) -> None:
            worker.stopping = True

        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, end)
        job = get_current_job()
        assert job is not None, "RQ calls this"
        return look(worker, notice_id, job.connection)


def _held() -> bool:
    """False as soon as whoever started this process has ended, or lets it go."""
    return not _started_as.held or not select.select([sys.stdin], [], [], 0)[0]


def _end_with_stdin() -> None:
    while os.read(sys.stdin.fileno(), 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


class _Lines(logging.Handler):
    """RQ's log, a line an event, as the worker's own. That Redis is away the worker says, once."""

    def emit(self, record: logging.LogRecord) -> None:
        from redis.exceptions import RedisError

        told = [*record.args.values()] if isinstance(record.args, dict) else [*(record.args or ())]
        told += record.exc_info or ()
        if not any(isinstance(each, (RedisError, OSError)) for each in told):
            log(f"RQ: {record.getMessage()}")


def _speak() -> None:
    for name in ("rq.worker", "rq.job"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [_Lines()], False
