"""What lies in Redis: notices, RQ jobs that say "look at this run". They carry ids; all else stands in the database.

Every name here is RQ's own, so that `rq info` and its dashboards show the queues as they show any other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from proctor.store.queue.entries import PRIORITIES

if TYPE_CHECKING:
    from redis import Redis
    from rq import Queue

SERIALIZER = "rq.serializers.JSONSerializer"
FUNCTION = "proctor.app.rq.look_at"
KEEP_RESULT_S = 300  # of a look that came to nothing, or went well
KEEP_FAILURE_S = 30 * 86400
HELP = "-help-"  # between a run's id and the number of its helper


@dataclass(frozen=True, slots=True)
class RunNotice:
    """`id` is the RQ job's; one of a helper has a number behind the run's id."""

    id: str
    queue: str

    @property
    def run_id(self) -> str:
        return run_of(self.id)


@dataclass(frozen=True, slots=True)
class Traces:
    """What RQ has of a notice: its status, and when it was last heard of and when it ended (Unix; 0.0: never)."""

    status: str
    heard: float
    ended: float


def run_of(notice_id: str) -> str:
    """
    >>> run_of("1f0c-help-2"), run_of("1f0c")
    ('1f0c', '1f0c')
    """
    return notice_id.partition(HELP)[0]


@dataclass(frozen=True, slots=True)
class Notices:
    """All functions raise RedisError."""

    redis: Redis

    def queued(self) -> set[str]:
        """The ids of all that no worker has taken yet."""
        with self.redis.pipeline(transaction=False) as pipeline:
            for name in PRIORITIES:
                pipeline.lrange(_queue(self.redis, name).key, 0, -1)
            return {job_id.decode() for found in pipeline.execute() for job_id in found}

    def traces(self, ids: Iterable[str]) -> dict[str, Traces]:
        from rq.job import Job
        from rq.utils import utcparse

        wanted = list(ids)
        with self.redis.pipeline(transaction=False) as pipeline:
            for job_id in wanted:
                pipeline.hmget(Job.key_for(job_id), "status", "last_heartbeat", "ended_at")
            rows = pipeline.execute()

        def unix(text: bytes | None) -> float:
            return utcparse(text.decode()).timestamp() if text else 0.0

        return {
            job_id: Traces(status.decode(), unix(heard), unix(ended))
            for job_id, (status, heard, ended) in zip(wanted, rows, strict=True)
            if status
        }

    def put(self, notice: RunNotice) -> None:
        """At the end of its queue, in the place of what there is of it."""
        self.drop(notice.id)
        _queue(self.redis, notice.queue).enqueue_call(
            FUNCTION,
            args=(notice.id,),
            job_id=notice.id,
            description=f"look at run {notice.id}",
            timeout=-1,  # the run's own limit holds
            result_ttl=KEEP_RESULT_S,
            failure_ttl=KEEP_FAILURE_S,
        )

    def drop(self, notice_id: str) -> None:
        from rq.exceptions import NoSuchJobError
        from rq.job import Job
        from rq.serializers import JSONSerializer

        try:
            Job.fetch(notice_id, connection=self.redis, serializer=JSONSerializer).delete()
        except NoSuchJobError:
            self.redis.delete(Job.key_for(notice_id))
        for name in PRIORITIES:
            _queue(self.redis, name).remove(notice_id)

    def failed(self) -> set[str]:
        """What stands in the registries of failed jobs; RQ adds those whose worker was killed."""
        found: set[str] = set()
        for name in PRIORITIES:
            found.update(_queue(self.redis, name).failed_job_registry.get_job_ids())
        return found

    def workers(self) -> int:
        """How many RQ workers said lately that they are there."""
        from rq import Worker

        return Worker.count(connection=self.redis)


def _queue(redis: Redis, name: str) -> Queue:
    from rq import Queue

    return Queue(name, connection=redis, serializer=SERIALIZER)
