"""What was asked and how, in prose: items, rows, order, prompts, worked examples, settings, models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from proctor.figures import amount
from proctor.findings import Evaluation
from proctor.manifest import Facts, LogFacts, ServedModel
from proctor.references import ExamRef
from proctor.report.words import ended, items_planned, labels, metrics_beside, names_joined, once, unique
from proctor.types import Run, Sampling

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

# Where the rows of an exam came from.
ROWS: Mapping[str, str] = {
    "sample": "The rows are sample rows that come with proctor, not those of the benchmark.",
    "imported": "The rows were imported from a copy of the benchmark's own files.",
    "hub": "The rows were downloaded from the hub{revision}.",
    "file": "The rows are a file of the user's own.",
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
    facts = run.manifest.facts
    tasks = len(facts.tasks) - len(metrics_beside(run))
    of = f" of {amount(tasks)} tasks" if tasks > 1 else ""
    times = ""
    if run.cell.repeats > 1:
        wording = " in each wording" if facts.worded else ""
        times = f", each asked {amount(run.cell.repeats)} times{wording}"
    return f"The plan held {amount(items_planned(run))} items{of}{times}."


def _rows(run: Run) -> str:
    said, facts = [], run.manifest.facts
    if logged(run):
        said.append(LOGGED.format(tool=_tool(facts)))
    elif words := ROWS.get(facts.rows or ""):
        said.append(words.format(revision=_revision(facts)))
        said += file_words(facts)
    hashes = facts.data_sha256
    if len(hashes) == 1:
        said.append(f"The SHA-256 of the data is {next(iter(hashes.values()))}.")
    elif hashes:
        said.append("The SHA-256 of the rows of each task stands under Data.")
    if facts.item_set_sha256:
        said.append(f"The set of items has the SHA-256 {facts.item_set_sha256}.")
    return " ".join(said)


def file_words(facts: Facts) -> Iterator[str]:
    """What is odd in a user's file and bears on its score: rows that were left out, questions that return."""
    if gone := facts.left_out:
        yield (
            f"Of its {amount(gone.of)} rows, {amount(gone.rows)} could not be used and were left out; no score "
            "counts them."
        )
    if copies := facts.copies:
        yield (
            f"In {amount(copies.rows)} of its rows {amount(copies.questions)} "
            f"{'question stands' if copies.questions == 1 else 'questions stand'} more than once; copies of a "
            "question are one cluster."
        )


def logged(run: Run) -> bool:
    """True for the log of another tool: what it asked, and how, is not proctor's to say."""
    return run.cell.source.imported


def _tool(facts: Facts) -> str:
    known = [facts.tool, facts.tool_version] if isinstance(facts, LogFacts) else []
    words = " ".join(filter(None, known))
    return f", {words}," if words else ""


def _revision(facts: Facts) -> str:
    known = unique(facts.revisions.values())
    if not known:
        return ""
    return f", revision {known[0]}" if len(known) == 1 else ", in the revisions that stand under Data"


def _chosen(run: Run) -> str:
    source, facts, said = run.cell.source, run.manifest.facts, []
    if facts.seed is not None:
        said.append(
            f"The items stand in a fixed order, drawn with seed {facts.seed} and spread evenly over tasks and answers."
        )
    if not isinstance(source, ExamRef):
        return " ".join(said)
    whole = (source.preset in (None, "full") and source.limit is None) or _all_taken(facts)
    if whole:
        said.append("No item of the chosen tasks was left out of the plan.")
        return " ".join(said)
    if source.limit is not None:
        said.append(f"The plan was limited to the first {amount(source.limit)} items of each task.")
    if source.preset not in (None, "full"):
        said.append(
            f'The plan took the first items of that order, up to the size of the preset "{source.preset}".'
        )
    return " ".join(said)


def _all_taken(facts: Facts) -> bool:
    """True if a preset or a limit was wide enough for every item that there is."""
    return bool(facts.full_sizes) and facts.full_sizes == facts.asked


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
    held, mode = run.manifest.schema, run.manifest.mode or run.cell.sampling.mode
    if held is None:
        return MODES.get(mode, "")
    if held.enforced:
        return f"{MODES[mode]} {held.sentence}."
    return f"The replies were asked for under a schema that admits only the options of the item. {held.sentence}."


def _prompts(run: Run) -> str:
    """Style, wordings, worked examples, order of the choices, and the versions of the prompts."""
    facts, said = run.manifest.facts, []
    prompts = facts.prompts or {}
    if facts.style is not None and list(prompts) != ["verbatim"]:
        said.append(_style(facts.style, facts.wording or 1))
        said.append(_shots(facts.shots or 0))
    if facts.shuffle:
        said.append(
            f"The lettered choices stood in an order of their own for each item, drawn with seed {facts.seed or 0}."
        )
    if prompts:
        said.append(versions("prompts", prompts.values()))
    return " ".join(said)


def _style(style: str, wording: int | str) -> str:
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


def versions(what: str, found: Iterable[str]) -> str:
    known = unique(found)
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


def sampling_sent(run: Run) -> Sampling:
    """The settings that reached the model; those of the plan where the run did not write them down."""
    return run.manifest.sampling.values if run.manifest.sampling else run.cell.sampling


def sampling_words(sampling: Sampling, repeats: int = 1) -> str:
    """How replies were drawn, in one sentence. A repeat raises the seed by one."""
    chosen = []
    for name, words in _CHOICES.items():
        value = getattr(sampling, name)
        if value is not None:
            chosen.append(words.format(amount(value) if name.endswith("_tokens") else value))
            if name == "seed" and repeats > 1:
                chosen[-1] = f"the seeds {value} to {value + repeats - 1}, one for each repeat"
    if count := len(sampling.stop):
        chosen.append("1 stop sequence" if count == 1 else f"{amount(count)} stop sequences")
    think = sampling.think
    if think is not None:
        effort = "on" if think is True else "off" if think is False else think
        chosen.append(f"reasoning {effort}")
    if not chosen:
        return "How replies were drawn was left to the provider."
    return f"The requests named {names_joined(chosen)}; all other settings were left to the provider."


def _not_sent(run: Run) -> str:
    names = [name.replace("_", " ") for name in run.manifest.not_sent]
    if not names:
        return ""
    verb = "was" if len(names) == 1 else "were"
    return f"Asked for and not sent, since the server has no word for it, {verb}: {names_joined(names)}."


def _model_facts(run: Run, name: str) -> Iterator[str]:
    model = run.manifest.model
    said = [f"the digest {model.digest}"] if model.digest else []
    if model.quantization:
        said.append(f"the quantization {model.quantization}")
    if said:
        yield f"{name} had {names_joined(said)}."
    elif model != ServedModel():
        yield f"The server named no digest of {name}, so its weights cannot be identified beyond the name."
    if model.server:
        yield f"{name} was served by {model.server}."
    for remark in run.manifest.remarks:
        yield ended(f"Of {name}: {remark}")
    if adjustments := run.manifest.adjustments:
        yield ended(f"For {name} the server's refusals changed these parameters: {'; '.join(adjustments)}")
