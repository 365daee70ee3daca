"""What was asked and how, in prose: items, rows, order, prompts, worked examples, settings, models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from proctor.figures import amount
from proctor.findings import Evaluation, adherence
from proctor.report.words import ended, items_planned, labels, metrics_beside, names_joined, once, unique
from proctor.types import Run

# Providers that stand for no model: what their scores are.
NO_MODEL: Mapping[str, str] = {
    "baseline": "answers from the labels alone, without a model",
    "replay": "stands for replies that were made elsewhere and only read and scored here",
    "simulator": "is proctor's own simulated server: its scores say nothing of any model",
}

LOGGED = (
    "The run was made by another program{tool} and imported from its log: answers and scores are those of the log, "
    "and nothing was asked, read or scored anew here."
)

# Where the rows of a suite came from.
ROWS: Mapping[str, str] = {
    "sample": "The rows are sample rows that come with proctor, not those of the benchmark.",
    "imported": "The rows were imported from a copy of the benchmark's own files.",
    "hub": "The rows were downloaded from the hub{revision}.",
}

MODES: Mapping[str, str] = {
    "generate": "The answers were written freely and read from the replies.",
    "structured": "The replies were written under a schema that admits only the options of the item.",
    "logprob": (
        "The answers are the options whose first token had the highest log-probability; no reply was written out."
    ),
}


def what_was_asked(evaluation: Evaluation) -> Iterator[str]:
    runs = [result.run for result in evaluation.results]
    names = list(labels(evaluation).values())
    verb = "was" if len(names) == 1 else "were"
    yield f"{names_joined(names)} {verb} asked the items of {names_joined(unique(run.source_title for run in runs))}."
    yield from once(evaluation, {run.id: _amount_asked(run) for run in runs})
    yield from once(evaluation, {run.id: _rows(run) for run in runs})
    yield from once(evaluation, {run.id: _chosen(run) for run in runs})


def _amount_asked(run: Run) -> str:
    tasks = len(run.manifest.get("tasks") or ()) - len(metrics_beside(run))
    of = f" of {amount(tasks)} tasks" if tasks > 1 else ""
    times = ""
    if run.cell.repeats > 1:
        wording = " in each wording" if run.manifest.get("wording") == "all" else ""
        times = f", each asked {amount(run.cell.repeats)} times{wording}"
    return f"The plan held {amount(items_planned(run))} items{of}{times}."


def _rows(run: Run) -> str:
    said = []
    if logged(run):
        said.append(LOGGED.format(tool=_tool(run)))
    elif run.cell.source.kind == "file":
        said.append("The rows are a file of the user's own.")
        said += file_words(run.manifest)
    elif words := ROWS.get(str(run.manifest.get("rows"))):
        said.append(words.format(revision=_revision(run)))
    hashes = data_hashes(run.manifest)
    if len(hashes) == 1:
        said.append(f"The SHA-256 of the data is {next(iter(hashes.values()))}.")
    elif hashes:
        said.append("The SHA-256 of the rows of each task stands under Data.")
    if item_set := run.manifest.get("item_set_sha256") or run.manifest.get("item_set"):
        said.append(f"The set of items has the SHA-256 {item_set}.")
    return " ".join(said)


def file_words(manifest: Mapping[str, Any]) -> Iterator[str]:
    """What is odd in a user's file and bears on its score: rows that were left out, questions that return."""
    if gone := manifest.get("left_out"):
        yield (
            f"Of its {amount(gone['of'])} rows, {amount(gone['rows'])} could not be used and were left out; no score "
            "counts them."
        )
    if copies := manifest.get("copies"):
        yield (
            f"In {amount(copies['rows'])} of its rows {amount(copies['questions'])} "
            f"{'question stands' if copies['questions'] == 1 else 'questions stand'} more than once; copies of a "
            "question are one cluster."
        )


def logged(run: Run) -> bool:
    """True for the log of another tool: what it asked, and how, is not proctor's to say."""
    return run.cell.source.kind == "log"


def _tool(run: Run) -> str:
    known = [str(run.manifest[key]) for key in ("tool", "tool_version") if run.manifest.get(key)]
    return f", {' '.join(known)}," if known else ""


def data_hashes(manifest: Mapping[str, Any]) -> dict[str, str]:
    """What the data is -> its SHA-256; one entry a task, or a single one."""
    found = manifest.get("data_sha256") or manifest.get("data")
    if isinstance(found, Mapping):
        return {str(name): str(value) for name, value in found.items()}
    return {"data": str(found)} if found else {}


def revisions(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Task -> the commit of its rows on the hub, as far as it is known."""
    found = manifest.get("revisions")
    return {str(k): str(v) for k, v in found.items() if v} if isinstance(found, Mapping) else {}


def _revision(run: Run) -> str:
    known = unique(revisions(run.manifest).values())
    if not known:
        return ""
    return f", revision {known[0]}" if len(known) == 1 else ", in the revisions that stand under Data"


def _chosen(run: Run) -> str:
    source, said = run.cell.source, []
    seed = run.manifest.get("seed")
    if seed is not None:
        said.append(
            f"The items stand in a fixed order, drawn with seed {seed} and spread evenly over tasks and answers."
        )
    whole = (source.preset in (None, "full") and source.limit is None) or _all_taken(run.manifest)
    if whole and not logged(run):
        said.append("No item of the chosen tasks was left out of the plan.")
        return " ".join(said)
    if source.limit is not None:
        said.append(f"The plan was limited to the first {amount(source.limit)} items of each task.")
    if source.preset not in (None, "full"):
        said.append(
            f'The plan took the first items of that order, up to the size of the preset "{source.preset}".'
        )
    return " ".join(said)


def _all_taken(manifest: Mapping[str, Any]) -> bool:
    """True if a preset or a limit was wide enough for every item that there is."""
    sizes, asked = manifest.get("full_sizes"), manifest.get("asked")
    return bool(sizes) and sizes == asked


def how_it_was_asked(evaluation: Evaluation) -> Iterator[str]:
    runs = [result.run for result in evaluation.results]
    names = labels(evaluation)
    for run in runs:
        if words := NO_MODEL.get(run.cell.model.provider):
            yield f"{names[run.id]} {words}."
    asked = [run for run in runs if run.cell.model.provider not in ("baseline", "replay") and not logged(run)]
    yield from once(evaluation, {run.id: _prompts(run) for run in runs})
    yield from once(evaluation, {run.id: _how_drawn(run) for run in asked})
    yield from once(
        evaluation, {run.id: sampling_words(sampling_sent(run), run.cell.repeats) for run in asked}
    )
    yield from once(evaluation, {run.id: _not_sent(run) for run in asked})
    for run in asked:
        if run.cell.model.provider in NO_MODEL:
            continue
        yield from _model_facts(run, names[run.id])


def _how_drawn(run: Run) -> str:
    held = adherence(run.manifest)
    if held is None:
        return MODES.get(_mode(run), "")
    if held.enforced:
        return f"{MODES[_mode(run)]} {held.sentence}."
    return f"The replies were asked for under a schema that admits only the options of the item. {held.sentence}."


def _prompts(run: Run) -> str:
    """Style, wordings, worked examples, order of the choices, and the versions of the prompts."""
    manifest, said = run.manifest, []
    prompts = manifest.get("prompts")
    names = list(prompts) if isinstance(prompts, Mapping) else []
    style = manifest.get("style")
    if style is not None and names != ["verbatim"]:
        said.append(_style(str(style), manifest.get("wording", 1)))
        said.append(_shots(manifest.get("shots") or 0))
    if manifest.get("shuffle"):
        said.append(
            f"The lettered choices stood in an order of their own for each item, drawn with seed "
            f"{manifest.get('seed', 0)}."
        )
    if prompts:
        said.append(versions("prompts", prompts.values() if isinstance(prompts, Mapping) else [prompts]))
    return " ".join(said)


def _style(style: str, wording: object) -> str:
    if style != "proctor":
        return f'The prompts are those of the style "{style}".'
    if wording == "all":
        return "Each item was asked in three wordings, and its score is the mean over the three."
    return f"The prompts are in proctor's own style, wording {wording} of 3."


def _shots(shots: int) -> str:
    if not shots:
        return "No worked examples were shown."
    examples = "1 worked example" if shots == 1 else f"{amount(shots)} worked examples"
    return f"Before each item stood {examples} from the dev rows."


def versions(what: str, found: Iterable[object]) -> str:
    known = unique(map(str, found))
    if len(known) == 1:
        return f"The version of the {what} is {known[0]}."
    return f"The versions of the {what} are {names_joined(known)}."


# Sampling -> words; what is None was left to the provider and is not named.
_CHOICES: Mapping[str, str] = {
    "temperature": "temperature {:g}",
    "top_p": "top-p {:g}",
    "top_k": "top-k {}",
    "min_p": "min-p {:g}",
    "repeat_penalty": "repeat penalty {:g}",
    "repeat_last_n": "repeat window {}",
    "max_tokens": "at most {} output tokens",
    "context_tokens": "a context of {} tokens",
    "seed": "seed {}",
}


def _mode(run: Run) -> str:
    return str(run.manifest.get("mode") or run.cell.sampling.mode)


def sampling_sent(run: Run) -> Mapping[str, Any]:
    """The settings that reached the model; those of the plan where the run did not write them down."""
    sent = run.manifest.get("sampling")
    return sent if isinstance(sent, Mapping) else asdict(run.cell.sampling)


def sampling_words(sampling: Mapping[str, Any], repeats: int = 1) -> str:
    """How replies were drawn, in one sentence; the names are those of Sampling. A repeat raises the seed by one."""
    chosen = []
    for name, words in _CHOICES.items():
        value = sampling.get(name)
        if value is not None:
            chosen.append(words.format(amount(value) if name.endswith("_tokens") else value))
            if name == "seed" and repeats > 1:
                chosen[-1] = f"the seeds {value} to {value + repeats - 1}, one for each repeat"
    if stop := sampling.get("stop"):
        count = len(stop) if isinstance(stop, Sequence) and not isinstance(stop, str) else 1
        chosen.append("1 stop sequence" if count == 1 else f"{amount(count)} stop sequences")
    think = sampling.get("think")
    if think is not None:
        effort = "on" if think is True else "off" if think is False else think
        chosen.append(f"reasoning {effort}")
    if not chosen:
        return "How replies were drawn was left to the provider."
    return f"The requests named {names_joined(chosen)}; all other settings were left to the provider."


def _not_sent(run: Run) -> str:
    names = [str(name).replace("_", " ") for name in run.manifest.get("not_sent") or ()]
    if not names:
        return ""
    verb = "was" if len(names) == 1 else "were"
    return f"Asked for and not sent, since the server has no word for it, {verb}: {names_joined(names)}."


def _model_facts(run: Run, name: str) -> Iterator[str]:
    model = run.manifest.get("model")
    facts = model if isinstance(model, Mapping) else {}
    said = [f"the digest {facts['digest']}"] if facts.get("digest") else []
    if facts.get("quantization"):
        said.append(f"the quantization {facts['quantization']}")
    if said:
        yield f"{name} had {names_joined(said)}."
    elif model:
        yield f"The server named no digest of {name}, so its weights cannot be identified beyond the name."
    if facts.get("server"):
        yield f"{name} was served by {facts['server']}."
    for remark in run.manifest.get("remarks") or ():
        yield ended(f"Of {name}: {remark}")
    if adjustments := run.manifest.get("adjustments"):
        yield ended(
            f"For {name} the server's refusals changed these parameters: {'; '.join(map(str, adjustments))}"
        )
