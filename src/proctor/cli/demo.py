"""`proctor demo`: the first thing a new user sees."""

from __future__ import annotations

import os
from collections.abc import Iterator

import click

from proctor.cli.finish import finish
from proctor.cli.progress import shower
from proctor.cli.tables import result_lines
from proctor.figures import duration
from proctor.settings import Settings, read_settings
from proctor.types import Cell, Model, Plan, SourceRef

SUITES = ("superglue", "medical", "mmlu")
MODELS = (Model("simulator", "sim"), Model("baseline", "majority"), Model("baseline", "random"))
PROBED = 4
ITEMS = 200  # of a quick run


@click.command("demo")
def demo_command() -> int:
    """Score the built-in models on the sample rows and show the commands that go further.

    The sample rows are few and our own: they show how proctor works, not how good a model is.
    """
    from proctor.service.runs import start

    settings = read_settings(os.environ)
    for suite in SUITES:
        ref = SourceRef("suite", suite, preset="full", rows="sample")
        plan = Plan(tuple(Cell(model, ref) for model in MODELS), name=f"demo {suite}")
        show = shower()
        with show:
            outcome = start(plan, settings, watch=show.watch)
        if outcome.error or outcome.interrupted or outcome.evaluation is None:
            return finish(outcome, as_json=False)
        click.echo("")
        for result in outcome.evaluation.results:
            # The headline and the facts; `proctor show` has the single tasks.
            lines = list(result_lines(result))
            click.echo(lines[0])
        click.echo(outcome.evaluation.verdict)
    click.echo("")
    for line in further(settings):
        click.echo(line)
    return 0


def further(settings: Settings) -> Iterator[str]:
    """The commands that go further: for the models found on this machine, else how to find some."""
    from proctor.service.offers import offers, probe

    yield "Go further:"
    offer = offers(settings, ("ollama",))[0]
    models = [m.model for m in offer.models]
    if models:
        yield f"  Ollama at {settings.ollama_host} has {len(models)} models. Your own questions (JSONL or CSV):"
        both = " ".join(f"--model {model}" for model in models[:2])
        yield f"    proctor run my_questions.jsonl {both}"
        for p in probe(models[:PROBED], settings):
            minutes = (
                f"about {duration(p.seconds * ITEMS)}"
                if p.seconds is not None
                else f"time unknown: {p.problem}"
            )
            yield f"    proctor run mmlu --preset quick --model {p.model}   # {ITEMS} questions, {minutes}"
        yield "  Suites need their official files once: proctor data import PATH"
        return
    yield f"  No Ollama model found ({offer.problem or 'the server has none'})."
    yield "  Your own questions (JSONL or CSV with question and answer), with two models of an Ollama server:"
    yield "    proctor run my_questions.jsonl --model ollama/A --model ollama/B"
    yield "  the same with any OpenAI-compatible server (vLLM, llama.cpp, LM Studio):"
    yield "    proctor run my_questions.jsonl --model openai/NAME --base-url http://127.0.0.1:8000/v1"
    yield "  or without any model server, with a simulated one:"
    yield "    proctor run my_questions.jsonl --model simulator/sim --model baseline/majority"
    yield "  Official rows of the suites: proctor data import PATH, then proctor run mmlu --model ..."
