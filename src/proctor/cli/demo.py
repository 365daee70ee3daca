"""`proctor demo`: the first thing a new user sees."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from proctor.cli.finish import finish, say
from proctor.cli.progress import shower
from proctor.cli.tables import result_lines
from proctor.references import ExamRef
from proctor.settings import Settings, read_settings
from proctor.types import Cell, Model, Plan

if TYPE_CHECKING:
    from proctor.service.opening.offers import Probe

SUITES = ("glue", "superglue", "medical", "mmlu")
MODELS = (Model("simulator", "sim"), Model("baseline", "majority"), Model("baseline", "random"))
PROBED = 2
SAMPLE_ITEMS = 171  # MMLU's sample rows
QUICK_ITEMS = 200


@click.command("demo")
def demo_command() -> int:
    """Score the built-in models on the sample rows and show the commands that go further.

    The sample rows are few and our own: they show how proctor works, not how good a model is.
    """
    from proctor.service.context import open_context
    from proctor.service.runs.lifecycle import start

    settings = read_settings(os.environ)
    for suite in SUITES:
        ref = ExamRef("suite", suite, preset="full", rows="sample")
        plan = Plan(tuple(Cell(model, ref) for model in MODELS), name=f"demo {suite}")
        show = shower()
        with show, open_context(settings) as context:
            outcome = start(context, plan, watch=show.watch)
        if outcome.error or outcome.unfinished or outcome.interrupted or outcome.evaluation is None:
            return finish(outcome, as_json=False)
        click.echo("")
        # Headlines only: `proctor show` has the single tasks.
        say(next(result_lines(result)) for result in outcome.evaluation.results)
        say([outcome.evaluation.verdict])
    click.echo("")
    for line in further(settings):
        click.echo(line)
    return 0


def further(settings: Settings) -> Iterator[str]:
    """The commands that go further: for the models found on this machine, else how to find some."""
    from proctor.service.opening.offers import chat_models, offers, probe

    yield "Go further:"
    offer = offers(settings, ("ollama",))[0]
    if models := chat_models(offer):
        yield from _with_models(models, probe(models[:PROBED], settings), settings.ollama_host)
        return
    yield f"  No Ollama model found ({offer.problem or 'the server has none'})."
    yield "  Your own questions (JSONL or CSV with question and answer), with two models of an Ollama server:"
    yield "    proctor run my_questions.jsonl --model ollama/A --model ollama/B"
    yield "  the same with any OpenAI-compatible server (vLLM, llama.cpp, LM Studio):"
    yield "    proctor run my_questions.jsonl --model openai/NAME --base-url http://127.0.0.1:8000/v1"
    yield "  or without any model server, with a simulated one:"
    yield "    proctor run my_questions.jsonl --model simulator/sim --model baseline/majority"
    yield "  Official rows of the suites: proctor data import PATH, then proctor run mmlu --model ..."


def _with_models(models: Sequence[Model], probes: Sequence[Probe], host: str) -> Iterator[str]:
    named = " ".join(f"--model {p.model}" for p in probes)
    known = [p.seconds for p in probes if p.seconds is not None]
    each_s = sum(known) if len(known) == len(probes) else None
    yield f"  Ollama at {host} has {len(models)} {'model' if len(models) == 1 else 'models'} to ask."
    for p in probes:
        if p.problem:
            yield f"  {p.model} did not answer a first question: {p.problem}"
    yield f"    proctor run mmlu --data sample {named}   # {_minutes(each_s, SAMPLE_ITEMS)}"
    yield f"    proctor run my_questions.jsonl {named}   # {_minutes(each_s, 100)} per 100 questions"
    yield f"    proctor data import PATH && proctor run mmlu {named}   # {_minutes(each_s, QUICK_ITEMS)}"
    yield "  (times: from one question asked of each model just now, one request at a time)"


def _minutes(each_s: float | None, items: int) -> str:
    """About how long, in minutes; what was not measured is not estimated."""
    if each_s is None:
        return "time unknown"
    minutes = each_s * items / 60
    return "under a minute" if minutes < 1 else f"about {math.ceil(minutes)} min"
