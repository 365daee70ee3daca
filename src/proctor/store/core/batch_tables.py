"""The tables of batches, beside those of runs: files, batches, models on record, and labels.

model_registry      what is known of a model that may be run: its size, what it needs, how fast it was
batch               a batch as OpenAI's API has it; the work is a run
batch_file          a file of that API: requests that came in, or what a run's attempts are written as
label               what a person says of a reply: a verdict on all of it, or a grade by a criterion; the newest counts
"""

from __future__ import annotations

from sqlalchemy import Boolean, Column, Double, ForeignKey, Index, Integer, Table, Text

from proctor.store.core.tables import ITEM_ID, METADATA

MODEL_REGISTRY = Table(
    "model_registry",
    METADATA,
    Column("model_id", Text, primary_key=True),  # provider/name
    Column("name", Text, nullable=False),  # as people call it
    Column("parameters", Text),  # "7.6B"
    Column("size_bytes", Double),  # of its weights; more than a 32-bit number holds
    Column("memory_bytes", Double),  # that serving it takes
    Column("context_tokens", Integer),
    Column("quantization", Text),
    Column("tokens_per_s", Double),  # output, over the last run that ended
    Column("measured_at", Double),
    Column("note", Text),
    Column("edited", Boolean, nullable=False),  # by a person: a list of the provider's changes nothing then
    Column("updated_at", Double, nullable=False),
)

BATCH_FILE = Table(
    "batch_file",
    METADATA,
    Column("id", Text, primary_key=True),  # file-...
    Column("project_id", Integer, nullable=False),
    Column("filename", Text, nullable=False),
    Column("purpose", Text, nullable=False),  # batch, batch_output
    Column("bytes", Double, nullable=False),
    Column("sha256", Text),  # of requests that came in: their bytes, in data/datasets
    Column("batch_id", Text),  # of what is written out of a batch's run
    Column("part", Text),  # output or error
    Column("user", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("expires_at", Double),
    Index("batch_file_project", "project_id", "created_at", "id"),
)

BATCH = Table(
    "batch",
    METADATA,
    Column("id", Text, primary_key=True),  # batch_...
    Column("project_id", Integer, nullable=False),
    Column("run_num", Integer, ForeignKey("run.num")),  # null where its file was refused
    Column("model", Text),
    Column("endpoint", Text, nullable=False),
    Column("input_file_id", Text, nullable=False),
    Column("output_file_id", Text),
    Column("error_file_id", Text),
    Column("completion_window", Text, nullable=False),
    Column("total", Integer, nullable=False),
    Column("completed", Integer),  # counted once it has ended; before that the run tells
    Column("failed", Integer),
    Column("usage", Text),  # JSON, likewise
    Column("errors", Text),  # JSON: why it was refused, as the API tells it
    Column("metadata", Text),  # JSON
    Column("output_expires_s", Integer),
    Column("user", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("expires_at", Double, nullable=False),
    *(
        Column(name, Double)
        for name in (
            "in_progress_at",
            "finalizing_at",
            "completed_at",
            "failed_at",
            "expired_at",
            "cancelling_at",
            "cancelled_at",
        )
    ),
    Index("batch_project", "project_id", "created_at", "id"),
    Index("batch_run", "run_num"),
)

LABEL = Table(
    "label",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("run_num", Integer, ForeignKey("run.num"), nullable=False),
    Column("item_id", ITEM_ID, nullable=False),
    Column("repeat", Integer, nullable=False),
    Column(
        "verdict", Text
    ),  # good, bad, best, edited, or a grade of the scale; null takes the one before back
    Column("text", Text),  # the reply as it should be, of edited
    Column("note", Text),
    Column("tags", Text, nullable=False),  # JSON list
    Column("user", Text, nullable=False),
    Column("at", Double, nullable=False),
    # Of a grade by a criterion of a rubric, or of a preference between two replies; null where all of a reply is meant.
    Column("criterion", Text),
    Column("rubric", Text),  # its name with the first digits of its hash
    Column("against", Text),  # id of the run of the other reply, of preferences
    Column("drawn", Text),  # random: one of those that stand for all; chosen: for another reason
    Column("attempt", Integer),  # which reply it is about, where several were tried
    Index("label_item", "run_num", "item_id", "repeat", "id"),
    sqlite_autoincrement=True,
)
