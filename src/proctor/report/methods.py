"""The methods in prose, fit for a paper's appendix: it states only what was done to these runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from proctor.figures import amount
from proctor.report.words import ended, labels, listed, state, unique
from proctor.types import Evaluation, Run, RunResult, Sampling

PAPERS: Mapping[str, str] = {
    "Wilson 1927": "Wilson, E. B. (1927). Probable inference, the law of succession, and statistical inference. "
    "Journal of the American Statistical Association 22, 209-212.",
    "Kish 1965": "Kish, L. (1965). Survey Sampling. New York: Wiley.",
    "McNemar 1947": "McNemar, Q. (1947). Note on the sampling error of the difference between correlated "
    "proportions or percentages. Psychometrika 12, 153-157.",
    "Tango 1998": "Tango, T. (1998). Equivalence test and confidence interval for the difference in proportions "
    "for the paired-sample design. Statistics in Medicine 17, 891-908.",
    "Phipson and Smyth 2010": "Phipson, B., Smyth, G. K. (2010). Permutation p-values should never be zero. "
    "Statistical Applications in Genetics and Molecular Biology 9, article 39.",
    "Efron and Tibshirani 1993": "Efron, B., Tibshirani, R. J. (1993). An Introduction to the Bootstrap. "
    "New York: Chapman and Hall.",
    "Holm 1979": "Holm, S. (1979). A simple sequentially rejective multiple test procedure. "
    "Scandinavian Journal of Statistics 6, 65-70.",
}

# Estimate.method -> what was done.
INTERVALS: Mapping[str, str] = {
    "Wilson": "The interval of a task's score is the 95 % score interval of a proportion (Wilson 1927).",
    "Wilson on the effective n, tasks weighted by their full sizes": (
        "The score over all tasks weights each task by the size of its whole set; its interval is the 95 % score "
        "interval of a proportion (Wilson 1927) on the effective number of items under these weights (Kish 1965)."
    ),
    "Tango's paired score interval": (
        "The p-values are those of the exact two-sided test of McNemar on the discordant items, those that "
        "only one of the two models got right (McNemar 1947, in its binomial form); the intervals of the "
        "differences are 95 % score intervals for paired proportions (Tango 1998)."
    ),
    "paired percentile bootstrap of item means, 2,000 draws, seed 0": (
        "Each item was asked several times, and its score is the mean of them. The p-values are those of a paired "
        "permutation test by 10,000 random sign flips of the items' differences (Phipson and Smyth 2010); the "
        "intervals of the differences are percentile intervals over 2,000 resamples of the items, seed 0 (Efron and "
        "Tibshirani 1993)."
    ),
}

INDEPENDENCE = (
    "The intervals take the items as independent: where several items share one text they are somewhat too narrow. "
    "They speak of items like these, not of other prompts or other tasks."
)

COUNTING = (
    "A reply from which no answer could be read, a reply cut by the length limit before its answer, and a refusal "
    "count as wrong. An item that ended in an error got no reply and measured nothing: it is left out of the scores, "
    "and a run that has such items is called partial. The answer rate is the share of the replies from which an "
    "answer could be read."
)

STOPPED = (
    "A run that did not get to its end is scored on the beginning of its order up to the first gap, since what was "
    "answered beyond a gap was answered because it was quick."
)

# Where the score over all tasks is weighted, and the comparison is not.
UNWEIGHTED = "In a comparison every item counts the same, so that a difference need not be that of two weighted scores."

MEANING = (
    "A p-value here is the probability of discordant items split at least as unevenly as these, if both models "
    "were equally likely to be the one that is right. It is not the probability that the models are equally good. "
    "A large one does not show that they are, and a small one says neither that the difference is large nor that "
    "it holds for other questions, prompts or settings."
)

# Providers that stand for no model: what their scores are.
NO_MODEL: Mapping[str, str] = {
    "baseline": "answers from the labels alone, without a model",
    "replay": "stands for replies that were made elsewhere and only read and scored here",
    "simulator": "is proctor's own simulated server: its scores say nothing of any model",
}


def methods(evaluation: Evaluation) -> Iterator[str]:
    """Paragraphs: what was asked, how it was asked, how it was counted, how sure it is, what was compared."""
    if not evaluation.results:
        return
    yield " ".join(_what_was_asked(evaluation))
    yield " ".join(_how_it_was_asked(evaluation))
    yield " ".join(_how_it_was_counted(evaluation))
    if sure := " ".join(_how_sure(evaluation)):
        yield sure
    if compared := " ".join(_what_was_compared(evaluation)):
        yield compared


def papers(evaluation: Evaluation) -> tuple[str, ...]:
    """The papers that the methods name."""
    text = " ".join(methods(evaluation))
    return tuple(paper for cited, paper in PAPERS.items() if cited in text)


@dataclass(frozen=True, slots=True)
class _Shared:
    """Sentences of several runs: said once where all runs say the same, else for each."""

    evaluation: Evaluation

    def say(self, sentences: Mapping[str, str]) -> Iterator[str]:
        """From run id -> sentence; runs without one are passed over."""
        names = labels(self.evaluation)
        said: dict[str, list[str]] = {}
        for run_id, text in sentences.items():
            if text:
                said.setdefault(text, []).append(names[run_id])
        for text, who in said.items():
            everyone = len(who) == len(names)
            yield text if everyone else f"For {listed(who)}: {text}"


def _what_was_asked(evaluation: Evaluation) -> Iterator[str]:
    runs = [result.run for result in evaluation.results]
    share = _Shared(evaluation)
    names = list(labels(evaluation).values())
    verb = "was" if len(names) == 1 else "were"
    yield f"{listed(names)} {verb} asked the items of {listed(unique(run.source_title for run in runs))}."
    yield from share.say({run.id: _amount_asked(run) for run in runs})
    yield from share.say({run.id: _rows(run) for run in runs})
    yield from share.say({run.id: _chosen(run) for run in runs})


def _amount_asked(run: Run) -> str:
    n = run.planned // run.cell.repeats if run.cell.repeats else run.planned
    tasks = len(run.manifest.get("tasks") or ())
    of = f" of {amount(tasks)} tasks" if tasks > 1 else ""
    times = f", each asked {amount(run.cell.repeats)} times" if run.cell.repeats > 1 else ""
    return f"The plan held {amount(n)} items{of}{times}."


def _rows(run: Run) -> str:
    said = []
    if run.cell.source.kind == "file":
        said.append("The rows are a file of the user's own.")
    elif run.manifest.get("rows") == "sample":
        said.append("The rows are sample rows that come with proctor, not those of the benchmark.")
    elif run.manifest.get("rows") == "imported":
        said.append("The rows were imported from a copy of the benchmark's own files.")
    hashes = data_hashes(run.manifest)
    if len(hashes) == 1:
        said.append(f"The SHA-256 of the data is {next(iter(hashes.values()))}.")
    elif hashes:
        said.append("The SHA-256 of the rows of each task stands under Data.")
    if item_set := run.manifest.get("item_set_sha256") or run.manifest.get("item_set"):
        said.append(f"The set of items has the SHA-256 {item_set}.")
    return " ".join(said)


def data_hashes(manifest: Mapping[str, Any]) -> dict[str, str]:
    """What the data is -> its SHA-256; one entry a task, or a single one."""
    found = manifest.get("data_sha256") or manifest.get("data")
    if isinstance(found, Mapping):
        return {str(name): str(value) for name, value in found.items()}
    return {"data": str(found)} if found else {}


def _chosen(run: Run) -> str:
    source, said = run.cell.source, []
    seed = run.manifest.get("seed")
    if seed is not None:
        said.append(
            f"The items stand in a fixed order, drawn with seed {seed} and spread evenly over tasks and answers."
        )
    if source.preset in (None, "full") and source.limit is None:
        said.append("No item of the chosen tasks was left out of the plan.")
    if source.limit is not None:
        said.append(f"The plan was limited to the first {amount(source.limit)} items of each task.")
    if source.preset not in (None, "full"):
        said.append(
            f'The plan took the first items of that order, up to the size of the preset "{source.preset}".'
        )
    return " ".join(said)


def _how_it_was_asked(evaluation: Evaluation) -> Iterator[str]:
    runs = [result.run for result in evaluation.results]
    share = _Shared(evaluation)
    names = labels(evaluation)
    for run in runs:
        if words := NO_MODEL.get(run.cell.model.provider):
            yield f"{names[run.id]} {words}."
    asked = [run for run in runs if run.cell.model.provider not in ("baseline", "replay")]
    yield from share.say({run.id: _prompts(run) for run in runs})
    yield from share.say({run.id: sampling_words(run.cell.sampling) for run in asked})
    for run in asked:
        if run.cell.model.provider in NO_MODEL:
            continue
        yield from _model_facts(run, names[run.id])


def _prompts(run: Run) -> str:
    prompts = run.manifest.get("prompts")
    if not prompts:
        return ""
    versions = unique(str(v) for v in (prompts.values() if isinstance(prompts, Mapping) else [prompts]))
    return _versions("prompts", versions)


def _versions(what: str, versions: list[str]) -> str:
    if len(versions) == 1:
        return f"The version of the {what} is {versions[0]}."
    return f"The versions of the {what} are {listed(versions)}."


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


def sampling_words(sampling: Sampling) -> str:
    """How replies were drawn, in one sentence."""
    chosen = []
    for name, words in _CHOICES.items():
        value = getattr(sampling, name)
        if value is not None:
            chosen.append(words.format(amount(value) if name.endswith("_tokens") else value))
    if sampling.stop:
        chosen.append(f"{amount(len(sampling.stop))} stop sequences")
    if sampling.think is not None:
        effort = "on" if sampling.think is True else "off" if sampling.think is False else sampling.think
        chosen.append(f"reasoning {effort}")
    if not chosen:
        return "How replies were drawn was left to the provider."
    return f"The requests named {listed(chosen)}; all other settings were left to the provider."


def _model_facts(run: Run, name: str) -> Iterator[str]:
    model = run.manifest.get("model")
    facts = model if isinstance(model, Mapping) else {}
    said = [f"the digest {facts['digest']}"] if facts.get("digest") else []
    if facts.get("quantization"):
        said.append(f"the quantization {facts['quantization']}")
    if said:
        yield f"{name} had {listed(said)}."
    elif model:
        yield f"The server named no digest of {name}, so its weights cannot be identified beyond the name."
    if adjustments := run.manifest.get("adjustments"):
        yield ended(
            f"For {name} the server's refusals changed these parameters: {'; '.join(map(str, adjustments))}"
        )


def _how_it_was_counted(evaluation: Evaluation) -> Iterator[str]:
    runs = [result.run for result in evaluation.results]
    yield from _Shared(evaluation).say({run.id: _reading(run) for run in runs})
    yield COUNTING
    if any(run.partial or run.stopped for run in runs):
        yield STOPPED


def _reading(run: Run) -> str:
    said = []
    if extractor := run.manifest.get("extractor"):
        said.append(f"Answers were read from the replies by the extractor {extractor}.")
    metrics = run.manifest.get("metrics")
    if isinstance(metrics, Mapping) and metrics:
        said.append(_versions("metrics", unique(map(str, metrics.values()))))
    return " ".join(said)


def _how_sure(evaluation: Evaluation) -> Iterator[str]:
    used = unique(
        s.estimate.method for r in evaluation.results for s in r.scores if s.estimate.low is not None
    )
    for method in used:
        yield INTERVALS.get(method, f"The 95 % intervals of the scores were computed by: {method}.")
    if used:
        yield INDEPENDENCE


def _what_was_compared(evaluation: Evaluation) -> Iterator[str]:
    tested = [c for c in evaluation.comparisons if c.p_value is not None]
    if not tested:
        return
    yield "The models were compared in pairs, on the items that both have scored."
    for method in unique(c.difference.method for c in tested):
        yield INTERVALS.get(method, f"The differences were compared by: {method}.")
    if any("weighted" in s.estimate.method for r in evaluation.results for s in r.scores):
        yield UNWEIGHTED
    adjusted = [c for c in tested if c.adjusted_p is not None]
    if len(adjusted) > 1:
        yield f"The p-values were adjusted for {amount(len(adjusted))} comparisons (Holm 1979)."
    elif adjusted:
        yield "With a single comparison there was nothing to adjust the p-value for."
    yield (
        "A model is called better only if the adjusted p-value is below 0.05 and the interval of the difference "
        "leaves out 0."
    )
    if any(_short(result) for result in evaluation.results):
        yield "Runs that are not complete were compared on as far as they got."
    yield MEANING


def _short(result: RunResult) -> bool:
    return state(result.run) != "complete"
