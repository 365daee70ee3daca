"""The tables `datasets` and `benchmarks` of the dataset runner's specification, as views: nothing is kept twice.

A view has no foreign keys; what they would promise is kept so. `benchmarks.model_id` is a `model_registry.model_id`,
whose row is added with the first benchmark of a model, and `benchmarks.dataset_id` a `datasets.id` as long as the
data set is there, which no run that waits or works can lose; afterwards it is the hash of what was asked. A migration
that rebuilds a table under them drops them first and creates them again.
"""

from __future__ import annotations

from sqlalchemy import Connection, text

_DATASETS = """
CREATE VIEW datasets AS
SELECT id, name, CASE holds WHEN 'requests' THEN 'data/datasets/' ELSE 'datasets/' END || content AS file_path,
    "rows" AS "count", {created_at} AS uploaded_at, {created_at} AS created_at
FROM dataset
"""

# A batch's speed is that of its last moments while it runs, and that of all of it when it has ended.
_BENCHMARKS = """
CREATE VIEW benchmarks AS
SELECT 'bm_' || run.id AS id, run.provider || '/' || run.model AS model_id,
    COALESCE(
        (SELECT MIN(dataset.id) FROM dataset WHERE dataset.content = {content}
         AND dataset.project_id = run.project_id AND dataset.name = run.source),
        (SELECT MIN(dataset.id) FROM dataset WHERE dataset.content = {content}
         AND dataset.project_id = run.project_id),
        {content}, {name}) AS dataset_id,
    run.status AS status,
    CASE WHEN run.planned > 0 THEN run.settled * 100 / run.planned ELSE 0 END AS progress,
    run.settled AS completed, run.planned AS total,
    COALESCE(
        CASE WHEN run.finished_at IS NOT NULL AND run.elapsed_s > 0 THEN {tokens} / run.elapsed_s END,
        (SELECT pulse.tokens_per_s FROM pulse WHERE pulse.run_num = run.num ORDER BY pulse.at DESC LIMIT 1), 0
    ) AS throughput,
    CASE WHEN run.finished_at IS NULL THEN
        CAST((SELECT (pulse.low_s + pulse.high_s) / 2 FROM pulse WHERE pulse.run_num = run.num
              ORDER BY pulse.at DESC LIMIT 1) AS INTEGER)
    ELSE 0 END AS eta_seconds,
    {started_at} AS started_at, {finished_at} AS completed_at,
    CASE WHEN run.finished_at IS NOT NULL THEN run.elapsed_s END AS total_time_seconds,
    COALESCE({out}, '/admin/benchmarks/bm_' || run.id || '/results.jsonl') AS results_file,
    '/admin/benchmarks/bm_' || run.id AS metadata_file, {run_created_at} AS created_at
FROM run
WHERE {kind} = 'batch'
"""

VIEWS = {"datasets": _DATASETS, "benchmarks": _BENCHMARKS}


def create_views(connection: Connection) -> None:
    """Beside tables that are there."""
    postgres = connection.dialect.name == "postgresql"
    for statement in VIEWS.values():
        connection.execute(text(statement.format_map(_places(postgres))))


def _places(postgres: bool) -> dict[str, str]:
    """What the two databases spell otherwise: members of JSON, and times."""

    def member(column: str, *path: str) -> str:
        if postgres:
            return f"(CAST({column} AS json) #>> '{{{','.join(path)}}}')"
        return f"json_extract({column}, '$.{'.'.join(path)}')"

    def time(seconds: str) -> str:
        return f"to_timestamp({seconds})" if postgres else f"datetime({seconds}, 'unixepoch')"

    return {
        "created_at": time("created_at"),
        "run_created_at": time("run.created_at"),
        "started_at": time("COALESCE(run.started_at, run.created_at)"),
        "finished_at": time("run.finished_at"),
        "tokens": f"CAST({member('run.summary', 'profile', 'output_tokens')} AS DOUBLE PRECISION)",
        **{name: member("run.cell", "source", name) for name in ("content", "name", "out", "kind")},
    }
