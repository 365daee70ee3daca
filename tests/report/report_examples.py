"""Evaluations built by hand for the tests of reports: every figure in them is a literal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from proctor.findings import Comparison, Difference, Estimate, Evaluation, RunResult, Score, Speed, Tally
from proctor.manifest_json import manifest_from
from proctor.references import ExamRef
from proctor.report import render
from proctor.report.blocks import Table
from proctor.report.page import page_of
from proctor.stats import compare, pairs_share
from proctor.stats.pairs import RANDOMISED
from proctor.types import Cell, Model, Run, Sampling, Status

NOW = 1763683200.0  # 2025-11-21 00:00 UTC
WEIGHTED = "Wilson on the effective n, tasks weighted by their full sizes"
COMBINED = "draws of each task combined, 2,000 draws, seed 0"
TANGO = pairs_share.TANGO
PAIR_METHODS = {
    pairs_share.TANGO,
    pairs_share.PAIRED_T,
    pairs_share.PAIRED_T_CLUSTERS,
    compare.RESAMPLED,
    compare.RESAMPLED_CLUSTERS,
    compare.STRATIFIED,
}
HASH = "9f2c" * 16

SPEC: Mapping[str, Any] = {
    "official": ["accuracy"],
    "also": [],
    "positive": "yes",
    "kind": "labels",
    "labels": ["no", "yes"],
    "extra": False,
}

MANIFEST: Mapping[str, Any] = {
    "suite": "superglue",
    "rows": "imported",
    "data_sha256": {"boolq": HASH},
    "tasks": {"boolq": "BoolQ"},
    "n": 500,
    "asked": {"boolq": 500},
    "full_sizes": {"boolq": 3270},
    "item_set_sha256": "17ab" * 16,
    "prompts": {"boolq": "boolq/1"},
    "extractor": "proctor/1",
    "style": "proctor",
    "wording": 1,
    "shots": 0,
    "shuffle": False,
    "mode": "generate",
    "metrics": {"boolq": SPEC},
    "metric_versions": {"accuracy": "accuracy/1"},
    "aggregate": "macro",
    "scored_tasks": 1,
    "seed": 0,
    "preset": None,
    "limit": 500,
    "proctor": "0.1.0",
    "model": {
        "name": "ollama/a",
        "address": "http://127.0.0.1:11434",
        "digest": "sha256:5f0e",
        "quantization": "Q4_K_M",
        "parameters": "7.6B",
        "note": None,
    },
    "sampling": {"temperature": 0.0, "top_p": None, "max_tokens": 512, "context_tokens": 8192, "seed": 0},
    "repeats": 1,
    "replies": None,
}

BOOLQ = ExamRef("suite", "superglue", tasks=("boolq",), limit=500)


def estimate(
    value: float | None = 0.8,
    low: float | None = 0.763,
    high: float | None = 0.833,
    *,
    scored: int = 500,
    asked: int = 500,
    method: str = "Wilson",
    reason: str | None = None,
) -> Estimate:
    return Estimate(value, None, low, high, scored, asked, method, reason)


def score(e: Estimate, *, task: str = "boolq", title: str = "BoolQ", metric: str = "accuracy") -> Score:
    return Score(task, title, metric, e)


def run(
    name: str = "a", *, ident: str | None = None, manifest: Mapping[str, Any] = MANIFEST, **other: Any
) -> Run:
    """A complete run of 500 items by `ollama/NAME`, with anything else that is said of it."""
    facts: dict[str, Any] = {
        "id": ident or f"{name[:1]}0000000-run",
        "plan_id": "plan-1",
        "status": Status.COMPLETED,
        "cell": Cell(Model("ollama", name), BOOLQ),
        "source_title": "SuperGLUE (BoolQ so far)",
        "planned": 500,
        "settled": 500,
        "manifest": manifest_from(manifest),
        "created_at": NOW - 86400.0,
        "started_at": NOW - 86390.0,
        "finished_at": NOW - 86000.0,
        "elapsed_s": 390.0,
    }
    return Run(**{**facts, **other})


def tally(**other: Any) -> Tally:
    facts: dict[str, Any] = {
        "outcomes": {"correct": 400, "wrong": 95, "no_answer": 3, "truncated": 2},
        "answer_rate": 0.99,
        "speed": Speed(0.74, 500, 1.0),
        "input_tokens_per_item": 213.0,
        "output_tokens_per_item": 41.0,
        "cost_usd": 0.0421,
        "errors": {},
        "retries": 0,
    }
    return Tally(**{**facts, **other})


def result(
    of: Run | None = None, scores: Sequence[Score] | None = None, counts: Tally | None = None
) -> RunResult:
    return RunResult(
        of or run(), tuple(scores if scores is not None else [score(estimate())]), counts or tally()
    )


def one(of: RunResult | None = None) -> Evaluation:
    return Evaluation("plan-1", (of or result(),), (), "")


def difference(**other: Any) -> Difference:
    """The headline of two runs on 500 items, the first of which is better; anything else as it is said."""
    facts: dict[str, Any] = {
        "task": "",
        "title": "SuperGLUE (BoolQ so far)",
        "metric": "accuracy",
        "first": 0.8,
        "second": 0.73,
        "estimate": estimate(0.07, 0.035, 0.106, method=TANGO),
        "test": pairs_share.MCNEMAR,
        "p_value": 0.00019,
        "both_right": 340,
        "only_first": 60,
        "only_second": 25,
        "adjusted_p": 0.00057,
        "verdict": "first better",
        "correlation": 0.53,
        "detectable": 0.051,
        "items_needed": 180,
    }
    return Difference(**{**facts, **other})


def compared(
    a: Run, b: Run, /, *, tasks: Sequence[Difference] = (), margin: float = 0.01, **other: Any
) -> Comparison:
    return Comparison(a, b, difference(**{"margin": margin, **other}), tuple(tasks))


def three() -> Evaluation:
    """Three models, one of which is better than both others."""
    runs = (run("qwen2.5:7b-instruct"), run("llama3.1:8b"), run("gemma2:2b"))
    a, b, c = runs
    results = (
        result(a),
        result(b, [score(estimate(0.73, 0.6895, 0.767))], tally(outcomes={"correct": 365, "wrong": 135})),
        result(c, [score(estimate(0.712, 0.671, 0.75))], tally(cost_usd=None, output_tokens_per_item=None)),
    )
    pairs = (
        compared(a, b),
        compared(
            a,
            c,
            second=0.712,
            estimate=estimate(0.088, 0.051, 0.126, method=TANGO),
            only_first=70,
            only_second=26,
        ),
        compared(
            b,
            c,
            first=0.73,
            second=0.712,
            estimate=estimate(0.018, -0.014, 0.05, method=TANGO),
            only_first=38,
            only_second=29,
            p_value=0.328,
            adjusted_p=0.328,
            verdict="no difference shown",
        ),
    )
    verdict = "ollama/qwen2.5:7b-instruct is better than ollama/llama3.1:8b on rows like these 500, by 0.070."
    return Evaluation("plan-1", results, pairs, verdict)


def many_tasks(models: int = 1, tasks: int = 57) -> Evaluation:
    """MMLU's shape: one score over all tasks, then one for each."""
    keys = [f"subject_{i:02}" for i in range(tasks)]
    manifest = {
        **MANIFEST,
        "suite": "mmlu",
        "tasks": {key: f"MMLU: Subject {i}" for i, key in enumerate(keys)},
        "asked": dict.fromkeys(keys, 35),
        "metrics": {key: {**SPEC, "kind": "choices", "labels": [], "positive": None} for key in keys},
        "aggregate": "micro",
        "scored_tasks": tasks,
        "full_sizes": dict.fromkeys(keys, 246),
        "data_sha256": {key: f"{i:02x}" * 32 for i, key in enumerate(keys)},
        "prompts": {"mmlu": "mmlu/1"},
        "limit": None,
    }
    results = []
    for m in range(models):
        overall = Score(
            "",
            "MMLU (57 subjects)",
            "accuracy",
            estimate(0.6 + m / 50, 0.59, 0.68, scored=2000, asked=2000, method=WEIGHTED),
        )
        each = [
            Score(
                key, f"MMLU: Subject {i}", "accuracy", estimate(0.4 + i / 100, 0.3, 0.95, scored=35, asked=35)
            )
            for i, key in enumerate(keys)
        ]
        of = run(
            "abc"[m] + "-model",
            manifest=manifest,
            source_title="MMLU (57 subjects)",
            planned=2000,
            settled=2000,
            cell=Cell(Model("ollama", "abc"[m] + "-model"), ExamRef("suite", "mmlu", preset="standard")),
        )
        results.append(result(of, [overall, *each]))
    return Evaluation("plan-1", tuple(results), (), "")


GLUE: Mapping[str, Any] = {
    **MANIFEST,
    "suite": "glue",
    "tasks": {"cola": "CoLA", "mrpc": "MRPC", "stsb": "STS-B", "mnli": "MNLI", "ax": "AX, the diagnostics"},
    "asked": dict.fromkeys(("cola", "mrpc", "stsb", "mnli", "ax"), 100),
    "full_sizes": dict.fromkeys(("cola", "mrpc", "stsb", "mnli", "ax"), 1000),
    "data_sha256": {key: key * 8 for key in ("cola", "mrpc", "stsb", "mnli", "ax")},
    "metrics": {
        "cola": {**SPEC, "official": ["mcc"], "also": ["accuracy"]},
        "mrpc": {**SPEC, "official": ["accuracy", "f1"], "positive": "equivalent"},
        "stsb": {**SPEC, "official": ["pearson", "spearman"], "kind": "number", "labels": []},
        "mnli": {**SPEC, "also": ["accuracy_m", "accuracy_mm"], "labels": ["e", "n", "c"]},
        "ax": {**SPEC, "official": ["mcc"], "also": ["accuracy"], "labels": ["e", "n", "c"], "extra": True},
    },
    "scored_tasks": 9,
}


def glue(**facts: Any) -> Evaluation:
    """A run of five tasks; its scores come in the wrong order, as no store promises one."""
    manifest = {**GLUE, **facts}
    specs = manifest["metrics"]
    found = [
        score(estimate(0.5), task=task, title=manifest["tasks"][task], metric=metric)
        for task, spec in reversed(specs.items())
        for metric in reversed([*spec["official"], *spec["also"]])
    ]
    headline = score(estimate(0.6, method=COMBINED), task="", title="GLUE", metric="score (4 of 9 tasks)")
    return one(result(run(manifest=manifest, source_title="GLUE"), [headline, *found]))


def two_suites() -> Evaluation:
    """Two runs of GLUE, compared as a whole and task by task."""
    first = glue().results[0]
    second = replace(first, run=replace(first.run, id="b0000000-run", cell=Cell(Model("ollama", "b"), BOOLQ)))
    tasks = [
        difference(task="cola", title="CoLA", metric="mcc", test=RANDOMISED, adjusted_p=0.02),
        difference(
            task="mrpc",
            title="MRPC",
            metric="accuracy + f1",
            test=RANDOMISED,
            estimate=estimate(0.002, -0.004, 0.008, method=compare.RESAMPLED),
            p_value=0.9996,
            adjusted_p=0.9999,
            verdict="practically equal",
        ),
        difference(task="mnli", title="MNLI", verdict="second better", p_value=0.00001, adjusted_p=0.00002),
    ]
    pair = compared(
        first.run,
        second.run,
        tasks=tasks,
        metric="score",
        test=compare.STRATIFIED_TEST,
        estimate=estimate(0.9996, 0.99, 0.99996, method=compare.STRATIFIED),
        items_needed=None,
    )
    return Evaluation("p", (first, second), (pair,), "ollama/a is better than ollama/b.")


def stopped(**other: Any) -> RunResult:
    """A run that failed after 212 of 500 items."""
    facts: dict[str, Any] = {
        "status": Status.FAILED,
        "settled": 212,
        "error": "ollama at 127.0.0.1:11434 refused the connection",
        "error_slug": "error-budget",
    }
    return result(
        run("broken", **{**facts, **other}),
        [score(estimate(0.75, 0.687, 0.803, scored=212, asked=213))],
        tally(outcomes={"correct": 159, "wrong": 53, "error": 20}, errors={"network": 19, "overloaded": 1}),
    )


THINKING = Sampling(temperature=None, max_tokens=8192, seed=None, context_tokens=None, think="high")


def text_of(evaluation: Evaluation) -> str:
    """The report as Markdown."""
    return render(evaluation, "md", now=NOW)


def methods_of(evaluation: Evaluation) -> str:
    """The part of the report on methods, with the papers."""
    text = text_of(evaluation)
    return text[text.index("## Methods") : text.index("## Record")]


def table_named(evaluation: Evaluation, caption: str) -> Table:
    """The first table whose caption begins like this."""
    blocks = page_of(evaluation, now=NOW).blocks
    return next(b for b in blocks if isinstance(b, Table) and b.caption.startswith(caption))


def table_of(evaluation: Evaluation, caption: str) -> dict[str, tuple[str, ...]]:
    """A table's rows by their names."""
    return {row[0]: row[1:] for row in table_named(evaluation, caption).rows}
