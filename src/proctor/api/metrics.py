"""Prometheus figures: requests by route and status, how long they took, and how the queue stands."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from proctor.service.context import Context
from proctor.service.runs import queue
from proctor.service.watch import job_states

LOG = logging.getLogger("proctor.api")
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 30, 300)


class _Standing(Collector):
    """Runs and the queue at the moment of the scrape, of the projects that whoever scrapes reaches."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def collect(self) -> Iterator[GaugeMetricFamily]:
        context = self._context
        jobs = GaugeMetricFamily("proctor_runs", "Runs by state.", labels=["status"])
        for status, count in job_states.states(context).items():
            jobs.add_metric([status], count)
        yield jobs
        standing = queue.standing(context)
        waiting = GaugeMetricFamily(
            "proctor_queue_waiting", "Jobs that wait, by priority.", labels=["priority"]
        )
        for priority, count in standing.waiting.items():
            waiting.add_metric([priority], count)
        yield waiting
        yield GaugeMetricFamily("proctor_queue_running", "Jobs at work.", value=standing.running)
        yield from _resources(context)


def _resources(context: Context) -> Iterator[GaugeMetricFamily]:
    """What jobs at work use, by job, and the disk. A job that has ended is in no figure any more."""
    memory = GaugeMetricFamily(
        "proctor_job_memory_bytes", "Resident memory of a job's processes.", labels=["job_id"]
    )
    cores = GaugeMetricFamily("proctor_job_cpu_cores", "Processors that a job keeps busy.", labels=["job_id"])
    for run_id, load in job_states.loads(context).items():
        memory.add_metric([run_id], load.memory_bytes)
        if load.cores is not None:
            cores.add_metric([run_id], load.cores)
    disk = queue.disk(context)
    yield memory
    yield cores
    yield GaugeMetricFamily(
        "proctor_disk_free_bytes", "Room on the disk of PROCTOR_HOME.", value=disk.free_bytes
    )
    yield GaugeMetricFamily("proctor_disk_least_bytes", "What must stay free there.", value=disk.least_bytes)


@dataclass(slots=True)
class Metrics:
    """A registry of its own for each application, and the middleware that fills it."""

    registry: CollectorRegistry = field(default_factory=CollectorRegistry)
    requests: Counter = field(init=False)
    seconds: Histogram = field(init=False)

    def __post_init__(self) -> None:
        labels = ["method", "route", "status"]
        self.requests = Counter("proctor_requests", "Requests.", labels, registry=self.registry)
        self.seconds = Histogram(
            "proctor_request_seconds",
            "How long requests took.",
            ["route"],
            buckets=BUCKETS,
            registry=self.registry,
        )

    def text(self, context: Context) -> bytes:
        standing = CollectorRegistry()
        standing.register(_Standing(context))
        return generate_latest(self.registry) + generate_latest(standing)

    def counting(self, app: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
        """The application with every answer counted under its route's pattern, never its whole path."""

        async def counted(scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            status, start = 500, time.perf_counter()

            async def sending(message: MutableMapping[str, Any]) -> None:
                nonlocal status
                if message["type"] == "http.response.start":
                    status = message["status"]
                await send(message)

            try:
                await app(scope, receive, sending)
            finally:
                route = getattr(scope.get("route"), "path", "none")
                self.requests.labels(scope["method"], route, str(status)).inc()
                took_s = time.perf_counter() - start
                self.seconds.labels(route).observe(took_s)
                # Whoever reads the log may not read what was shared: the token is no part of it.
                path = route if scope["path"].startswith("/shared/") else scope["path"]
                LOG.info("%s %s: %d in %.0f ms", scope["method"], path, status, 1000 * took_s)

        return counted
