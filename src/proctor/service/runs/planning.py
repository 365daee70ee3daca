"""What somebody at this machine wants, as the plan that runs."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from proctor.plan import Wanted, build, check, parse_batch, parse_source
from proctor.references import BatchRef, ExamRef
from proctor.service.grades.named import typed_here
from proctor.service.opening.sources import model_named, models_named, suite_names
from proctor.service.runs.lifecycle import resolved
from proctor.settings import Settings
from proctor.types import Plan


def plan_of_wanted(wanted: Wanted, settings: Settings) -> Plan:
    """Names become a suite or a file, and models. Raises ConfigError."""
    if named := wanted.given.get("grader"):
        wanted = replace(wanted, given={**wanted.given, "grader": typed_here(named)})
    source = parse_source(
        wanted.source, suite_names(), uploaded=partial(_uploaded, settings), **wanted.of("source")
    )
    base_url = wanted.given.get("base_url")
    models = models_named(wanted.models, settings, base_url=base_url)
    return resolved(check(build(wanted, source, models)), settings)


def plan_of_batch(wanted: Wanted, settings: Settings) -> Plan:
    """The plan that sends a file of requests, here or uploaded, to one model. Raises: ConfigError."""
    source = parse_batch(wanted.source, uploaded=partial(_requests, settings), **wanted.of("source"))
    model = model_named(wanted.models[0], settings, base_url=wanted.given.get("base_url"))
    return check(build(wanted, source, [model]))


def _requests(settings: Settings, name: str) -> BatchRef | None:
    """The uploaded file of requests that a name means."""
    from proctor.service.datasets.requests import requests_named  # what looks into files takes its time

    return requests_named(settings, name)


def _uploaded(settings: Settings, name: str) -> ExamRef | None:
    from proctor.service.datasets.kept import (
        here,  # what reads tables takes its time, and most names are no data set's
    )

    return here(settings)(name)
