"""The JSON of a manifest, as it is kept in databases and bundles and shown by `--json`: read once, written once.

Every version wrote more than the one before, so any key may be missing; a key that is not known is kept unread. What
is known must be of its type.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from proctor.errors import DataError
from proctor.json_object import JsonObject
from proctor.manifest import (
    UNOPENED,
    Adherence,
    Aggregate,
    BatchFacts,
    CopiedRows,
    ExamFacts,
    Facts,
    JudgingFacts,
    LeftOut,
    LogFacts,
    Manifest,
    Origin,
    RolloutFacts,
    SentSampling,
    ServedModel,
    ServerClock,
    TaskFacts,
    TaskSpec,
)
from proctor.types import Sampling

_SAMPLING: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(("temperature", "top_p", "min_p", "repeat_penalty"), (float, int)),
    **dict.fromkeys(("top_k", "repeat_last_n", "max_tokens", "context_tokens", "seed"), (int,)),
    "stop": (list,),
    "think": (bool, str),
    "mode": (str,),
}
# Texts that sources of one kind know.
_EXAM = ("answer_type", "toml_sha256", "preset")
_LOG = ("tool", "tool_version", "log", "log_sha256", "log_content_sha256")
_BATCH = ("file", "file_sha256", "endpoint", "order")
_ROLLOUTS = ("sandbox", "image_sha256")
_JUDGING = ("rubric", "rubric_sha256", "judge_prompt")


# Reading -----------------------------------------------------------------------------------------


def manifest_from(document: object, where: str = "manifest") -> Manifest:
    """The manifest that the JSON object tells. Raises DataError naming what is not as it must be."""
    if document == {}:
        return UNOPENED
    told = JsonObject(document, where)
    return Manifest(
        facts=_facts(told),
        proctor=told.take("proctor", str),
        model=_model(told.object("model")),
        sampling=_sampling(told.object("sampling")),
        mode=told.take("mode", str),
        remarks=told.texts("remarks"),
        not_sent=told.texts("not_sent"),
        repeats=told.take("repeats", int),
        replies=told.take("replies", str),
        adjustments=told.texts("adjustments") if "adjustments" in told.left else None,
        server_clock=_clock(told.object("server_clock")),
        schema=_schema(told.object("schema")),
        parts=told.table("parts", str) or {},
        unread=told.rest(),
    )


def _facts(told: JsonObject) -> Facts:
    rows = told.word("rows", Origin)
    shared: dict[str, Any] = {
        "suite": told.take("suite", str),
        "rows": rows,
        "tasks": _tasks(told),
        "n": told.take("n", int),
        "item_set_sha256": told.take("item_set_sha256", str),
        "metric_versions": told.table("metric_versions", str),
        "aggregate": told.word("aggregate", Aggregate),
        "categories": _categories(told.object("categories")),
        "prompts": told.table("prompts", str),
        "style": told.take("style", str),
        "wording": told.take("wording", int, str),
        "shots": told.take("shots", int),
        "shuffle": told.take("shuffle", bool),
        "stop": told.texts("stop"),
        "extractor": told.take("extractor", str),
        "seed": told.take("seed", int),
        "scored_tasks": told.take("scored_tasks", int),
        "left_out": _left_out(told.object("left_out")),
        "copies": _copies(told.object("copies")),
    }
    if rows == "batch":
        return _batch_facts(told, shared)
    if rows == "rollouts":
        return _rollout_facts(told, shared)
    if rows == "judging":
        return _judging_facts(told, shared)
    return _log_facts(told, shared) if rows == "log" else _exam_facts(told, shared)


def _batch_facts(told: JsonObject, shared: dict[str, Any]) -> BatchFacts:
    return BatchFacts(
        **shared,
        **_told_texts(told, _BATCH),
        models=told.table("models", int) or {},
        stream=told.take("stream", bool),
    )


def _rollout_facts(told: JsonObject, shared: dict[str, Any]) -> RolloutFacts:
    return RolloutFacts(
        **shared,
        **_told_texts(told, _ROLLOUTS),
        folders=told.table("folders", str) or {},
        rollouts=told.table("rollouts", int) or {},
        pass_score=told.take("pass_score", float, int),
    )


def _judging_facts(told: JsonObject, shared: dict[str, Any]) -> JudgingFacts:
    judged = told.table("judged", str) or {}
    return JudgingFacts(
        **shared, **_told_texts(told, _JUDGING), judged=judged, pairwise=told.take("pairwise", bool)
    )


def _exam_facts(told: JsonObject, shared: dict[str, Any]) -> ExamFacts:
    return ExamFacts(**shared, **_told_texts(told, _EXAM), limit=told.take("limit", int))


def _told_texts(told: JsonObject, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: told.take(name, str) for name in names}


def _log_facts(told: JsonObject, shared: dict[str, Any]) -> LogFacts:
    return LogFacts(
        **shared,
        **_told_texts(told, _LOG),
        log_settings=told.take("log_settings", dict) or {},
        log_notes=told.texts("log_notes"),
    )


def _tasks(told: JsonObject) -> dict[str, TaskSpec]:
    """One record a task of what the JSON has in tables side by side."""
    if isinstance(told.left.get("tasks"), list):  # as the first version wrote them
        told.left["tasks"] = {key: key for key in told.texts("tasks")}
    titles = told.table("tasks", str) or {}
    specs = _specs(told)
    sizes, asked = told.table("full_sizes", int) or {}, told.table("asked", int) or {}
    hashes, revisions = told.table("data_sha256", str) or {}, told.table("revisions", str) or {}
    graders = told.table("graders", str) or {}
    keys = dict.fromkeys((*titles, *specs, *sizes, *asked, *hashes, *revisions, *graders))
    return {
        key: TaskSpec(
            title=titles.get(key, key),
            **specs.get(key, {}),
            full_size=sizes.get(key),
            asked=asked.get(key),
            data_sha256=hashes.get(key),
            revision=revisions.get(key),
            grader=graders.get(key),
        )
        for key in keys
    }


def _specs(told: JsonObject) -> dict[str, dict[str, Any]]:
    found = told.left.get("metrics")
    if isinstance(found, dict) and found and all(isinstance(version, str) for version in found.values()):
        return {}  # the first version wrote the metrics' versions under this key, and no kinds of answers
    table = told.object("metrics")
    specs = {} if table is None else {key: _inner(table, key) for key in list(table.left)}
    return {
        key: {
            "kind": spec.need("kind", str),
            "official": spec.texts("official"),
            "also": spec.texts("also"),
            "positive": spec.take("positive", str),
            "labels": spec.texts("labels"),
            "extra": bool(spec.take("extra", bool)),
        }
        for key, spec in specs.items()
    }


def _inner(table: JsonObject, key: str) -> JsonObject:
    found = table.object(key)
    if found is None:
        raise DataError(f"{table.where}.{key} is missing")
    return found


def _categories(told: JsonObject | None) -> dict[str, tuple[str, ...]]:
    return {} if told is None else {title: told.texts(title) for title in list(told.left)}


def _left_out(told: JsonObject | None) -> LeftOut | None:
    return (
        None if told is None else LeftOut(told.need("rows", int), told.need("of", int), told.texts("faults"))
    )


def _copies(told: JsonObject | None) -> CopiedRows | None:
    return None if told is None else CopiedRows(told.need("questions", int), told.need("rows", int))


def _model(told: JsonObject | None) -> ServedModel:
    if told is None:
        return ServedModel()
    return ServedModel(**{each.name: told.take(each.name, str) for each in fields(ServedModel)})


def _sampling(told: JsonObject | None) -> SentSampling | None:
    if told is None:
        return None
    unsent = _SAMPLING.keys() - told.left.keys()
    values: dict[str, Any] = {name: told.take(name, *types) for name, types in _SAMPLING.items()}
    values["stop"] = tuple(values["stop"] or ())
    return SentSampling.without(Sampling(**values), unsent)


def _clock(told: JsonObject | None) -> ServerClock | None:
    if told is None:
        return None
    return ServerClock(
        told.take("requests", int) or 0, told.take("seconds", float, int) or 0.0, told.take("why_not", str)
    )


def _schema(told: JsonObject | None) -> Adherence | None:
    return None if told is None else Adherence(told.need("replies", int), told.need("held", int))


# Writing -----------------------------------------------------------------------------------------

# None says something here: no suite, no preset, no limit, no file of replies, no positive label.
_NULLS = frozenset({"suite", "preset", "limit", "replies", "positive"})
_SPEC = ("official", "also", "positive", "kind", "labels", "extra")


def manifest_document(manifest: Manifest) -> dict[str, Any]:
    """The manifest as JSON; `{}` while nothing is known of the run. What was not told is left out."""
    if not manifest.opened:
        return {}
    asked, model = _asked(manifest), asdict(manifest.model)
    if isinstance(manifest.facts, LogFacts):  # what another tool asked tells less
        asked, model = {key: value for key, value in asked.items() if value}, _plain(model)
    else:
        asked["replies"] = manifest.replies
    about = _plain({"proctor": manifest.proctor, "model": model, **asked})
    return _joined({**facts_document(manifest.facts), **about}, manifest.unread)


def facts_document(facts: Facts) -> dict[str, Any]:
    """What the source knew, as JSON."""
    if isinstance(facts, LogFacts):
        return _plain({**_log(facts), **_shared(facts)})
    if isinstance(facts, RolloutFacts):
        return _plain(_rollouts(facts))
    if isinstance(facts, JudgingFacts):
        return _plain(_judging(facts))
    return _plain(_batch(facts) if isinstance(facts, BatchFacts) else _exam(facts))


def sampling_document(sent: SentSampling) -> dict[str, Any]:
    """The settings that reached the model, by their names in Sampling; None was left to the server."""
    values = {**asdict(sent.values), "stop": list(sent.values.stop)}
    return {name: value for name, value in values.items() if sent.sent(name)}


def _plain(record: Mapping[str, Any]) -> dict[str, Any]:
    """What was told, with lists as JSON has them."""
    told = {key: value for key, value in record.items() if value is not None or key in _NULLS}
    return {key: list(value) if isinstance(value, tuple) else value for key, value in told.items()}


def _joined(document: dict[str, Any], unread: Mapping[str, Any]) -> dict[str, Any]:
    """The document with what was not read in its old place."""
    for key, value in unread.items():
        inner = document.get(key)
        nested = isinstance(inner, dict) and isinstance(value, dict)
        document[key] = _joined(inner or {}, value) if nested else value
    return document


def _shared(facts: TaskFacts) -> dict[str, Any]:
    tasks = facts.tasks
    specs = {
        key: _plain({name: getattr(task, name) for name in _SPEC})
        for key, task in tasks.items()
        if task.kind is not None
    }
    return {
        "suite": facts.suite,
        "rows": facts.rows,
        "data_sha256": facts.data_sha256 or None,
        "revisions": facts.revisions or None,
        "aggregate": facts.aggregate,
        "scored_tasks": facts.scored_tasks,
        "categories": {title: list(keys) for title, keys in facts.categories.items()} or None,
        "left_out": facts.left_out and _plain(asdict(facts.left_out)),
        "copies": facts.copies and asdict(facts.copies),
        "tasks": {key: task.title for key, task in tasks.items()},
        "n": facts.n,
        "asked": facts.asked or None,
        "full_sizes": facts.full_sizes,
        "item_set_sha256": facts.item_set_sha256,
        "metrics": specs or None,
        "metric_versions": facts.metric_versions,
        "prompts": facts.prompts,
        "style": facts.style,
        "wording": facts.wording,
        "shots": facts.shots,
        "shuffle": facts.shuffle,
        "stop": facts.stop or None,
        "extractor": facts.extractor,
        "graders": facts.graders or None,
        "seed": facts.seed,
    }


def _exam(facts: ExamFacts) -> dict[str, Any]:
    return {**_shared(facts), **{name: getattr(facts, name) for name in (*_EXAM, "limit")}}


def _batch(facts: BatchFacts) -> dict[str, Any]:
    own = {name: getattr(facts, name) for name in (*_BATCH, "stream")}
    return {**_shared(facts), **own, "models": facts.models or None}


def _rollouts(facts: RolloutFacts) -> dict[str, Any]:
    own = {name: getattr(facts, name) for name in _ROLLOUTS}
    tables = {"folders": facts.folders or None, "rollouts": facts.rollouts or None}
    return {**_shared(facts), **own, **tables, "pass_score": facts.pass_score}


def _judging(facts: JudgingFacts) -> dict[str, Any]:
    own = {name: getattr(facts, name) for name in (*_JUDGING, "pairwise")}
    return {**_shared(facts), **own, "judged": facts.judged or None}


def _log(facts: LogFacts) -> dict[str, Any]:
    own = {name: getattr(facts, name) for name in (*_LOG, "log_settings")}
    return {**own, "log_notes": facts.log_notes or None}


def _asked(manifest: Manifest) -> dict[str, Any]:
    """How the model was asked."""
    clock = manifest.server_clock
    return {
        "sampling": manifest.sampling and sampling_document(manifest.sampling),
        "mode": manifest.mode,
        "remarks": manifest.remarks,
        "not_sent": manifest.not_sent,
        "repeats": manifest.repeats,
        "adjustments": manifest.adjustments,
        "server_clock": clock and _plain(asdict(clock)),
        "schema": manifest.schema and asdict(manifest.schema),
        "parts": manifest.parts or None,
    }
