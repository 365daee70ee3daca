"""The tables, as SQLAlchemy sees them; the same on SQLite and PostgreSQL.

    plan     the table somebody wants
    run      one cell of it on its way            belongs to a plan
    attempt  one try at one item, narrow          belongs to a run
    payload  what the model said in that try      beside its attempt, in the same transaction
    item     what was asked, kept once            found by its hash from any run
    score    what the run shows                   written when it ends
    job      a run's place in the queue           only for runs that were handed to the server
    project, schedule, api_key, audit             what the server knows besides
    key_project                                   which projects a key reaches
    pulse    how fast a run went, moment by moment  a few hundred rows a run
    look, gone; share, saved_view   see look_tables.py; share_tables.py
    grade    what further graders give an attempt   beside its first grade, never over it
    note     what a person says of an answer      beside its score, never over it
    session  a browser that showed its key
    dataset  an uploaded file of questions        its bytes: dataset_file, dataset_chunk, found by hash

Narrow rows and wide bodies live apart: a list, a filter or a mean over a million attempts reads
only the narrow ones. Times are Unix seconds that the caller hands in; the database's clock is
never asked. A change here needs a new file in migrations/versions and a new HEAD in schema.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    Dialect,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    TypeDecorator,
)
from sqlalchemy.types import TypeEngine

from proctor.store.core.partial_index import partial_index

# Names that do not depend on the database, so that a later migration can name what it changes.
NAMES = {
    "pk": "pk_%(table_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s",
    "uq": "uq_%(table_name)s_%(column_0_name)s",
}


class Told(TypeDecorator[Any]):
    """A number that a server told. SQLite keeps text in any column, and older versions of proctor handed on
    whatever a server called a number: text reads as null.
    """

    impl: type[TypeEngine[Any]] = Integer
    cache_ok = True

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], Any] | None:
        return _number_or_none if dialect.name == "sqlite" else None


class ToldAmount(Told):
    impl = Double
    cache_ok = True


def _number_or_none(value: Any) -> Any:
    return None if isinstance(value, str) else value


METADATA = MetaData(naming_convention=NAMES)

# Ids sort by their bytes on every database: only then is all that begins alike one range of the index.
ITEM_ID = Text().with_variant(Text(collation="C"), "postgresql")

PLAN = Table(
    "plan",
    METADATA,
    Column("id", Text, primary_key=True),  # UUID
    Column("name", Text, nullable=False),
    Column("body", Text, nullable=False),  # JSON, see plan.plan_to_json
    Column("created_at", Double, nullable=False),
)

RUN = Table(
    "run",
    METADATA,
    Column("num", Integer, primary_key=True),  # short key of the attempts; people see `id`
    Column("id", Text, nullable=False, unique=True),  # UUID
    Column("plan_id", Text, ForeignKey("plan.id"), nullable=False),
    Column("status", Text, nullable=False),
    Column("cell", Text, nullable=False),  # JSON, see plan.cell_to_json
    Column("provider", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("source", Text, nullable=False),  # suite name, or file name without its folder
    Column("source_title", Text, nullable=False),
    Column("sample", Boolean, nullable=False),  # made of sample rows, not of the suite's own
    Column("comparability", Text),  # runs may be compared, on the items they share, where this is equal
    Column("planned", Integer, nullable=False),
    Column("settled", Integer, nullable=False),  # grows with each batch, counted afresh at the end
    Column("manifest", Text, nullable=False),  # JSON
    Column("owner", Text),  # who works on it; null unless running
    Column("lease_until", Double),  # after this moment the owner counts as dead
    Column("created_at", Double, nullable=False),
    Column("started_at", Double),
    Column("finished_at", Double),
    Column("elapsed_s", Double, nullable=False),  # summed over resumes
    Column("stopped", Text),
    Column("error", Text),
    Column("error_slug", Text),
    Column("parent_id", Text),
    # No foreign key: SQLite could not add the column to a table that has rows.
    Column("project_id", Integer, nullable=False, server_default="1"),
    Column("summary", Text),  # JSON, written when it ends: counts, histograms, see service/results/profile.py
    Column("exam", Text),  # runs were asked the very same, all items alike, where this is equal too
    Index("run_plan", "plan_id"),
    Index("run_created", "created_at"),
    Index("run_source", "source", "model"),
    Index("run_status", "status"),
    Index("run_project", "project_id", "created_at", "status"),
    sqlite_autoincrement=True,
)

ITEM = Table(
    "item",
    METADATA,
    Column("hash", Text, primary_key=True),
    Column("body", LargeBinary, nullable=False),  # see bodies.py
)

ATTEMPT = Table(
    "attempt",
    METADATA,
    Column("run_num", Integer, ForeignKey("run.num"), nullable=False),
    Column("item_id", ITEM_ID, nullable=False),
    Column("repeat", Integer, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("position", Integer, nullable=False),
    Column("task", Text, nullable=False),
    Column("item_hash", Text, nullable=False),
    Column("target", Text),  # its first 200 characters; statistics need it beside the answer
    Column("cluster", Text),
    Column("outcome", Text, nullable=False),
    Column("score", Double),
    Column("answer", Text),  # its first 200 characters
    Column("rung", Integer),
    Column("latency_s", ToldAmount),
    Column("input_tokens", Told),
    Column("output_tokens", Told),
    Column("reasoning_tokens", Told),
    Column("cost_usd", ToldAmount),
    Column("retries", Integer, nullable=False),
    Column("error_slug", Text),
    Column("at", Double, nullable=False),
    Column("service_s", ToldAmount),
    Column("in_flight", Double),
    Column("unused_input_tokens", Told),
    Column("unused_output_tokens", Told),
    Column("unused_cost_usd", ToldAmount),
    *(Column(name, ToldAmount) for name in ("first_token_s", "inter_token_s")),
    *(Column(name, kind) for name, kind in (("status", Told), ("finish", Text))),  # of a refusal; of a reply
    PrimaryKeyConstraint("run_num", "item_id", "repeat", "attempt"),
    # One for each way a page of results is asked for; all three give it in order, without a sort.
    Index("attempt_place", "run_num", "position", "repeat"),
    Index("attempt_task", "run_num", "task", "position", "repeat"),
    Index("attempt_outcome", "run_num", "outcome", "position", "repeat"),
    sqlite_with_rowid=False,
)

# No foreign key: it is written in the same transaction as its attempt, and the check would cost
# another look-up in the widest index for every reply.
PAYLOAD = Table(
    "payload",
    METADATA,
    Column("run_num", Integer, nullable=False),
    Column("item_id", ITEM_ID, nullable=False),
    Column("repeat", Integer, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("body", LargeBinary, nullable=False),  # see bodies.py
    PrimaryKeyConstraint("run_num", "item_id", "repeat", "attempt"),
)

SCORE = Table(
    "score",
    METADATA,
    Column("run_num", Integer, ForeignKey("run.num"), nullable=False),
    Column("task", Text, nullable=False),
    Column("metric", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("place", Integer, nullable=False),  # order of showing; 0 is the headline
    Column("value", Double),
    Column("stderr", Double),
    Column("low", Double),
    Column("high", Double),
    Column("scored", Integer, nullable=False),
    Column("asked", Integer, nullable=False),
    Column("method", Text, nullable=False),
    Column("reason", Text),
    PrimaryKeyConstraint("run_num", "task", "metric"),
)

# Whoever reads figures of several runs asks first whether an ended run lacks its own, and whether one has ended.
partial_index("run_lacking", "summary IS NULL AND finished_at IS NOT NULL", RUN.c.num)
_ENDED = (RUN.c[name] for name in ("source", "model", "project_id", "finished_at", "settled"))
partial_index("run_ended", "finished_at IS NOT NULL", *_ENDED)
# Lists show the headlines of thousands of runs; partial, so that no other query is planned by it.
partial_index("score_headline", "place = 0", SCORE.c.run_num)

PROJECT = Table(
    "project",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("created_at", Double, nullable=False),
    sqlite_autoincrement=True,
)
# The state of a job is its run's status; here stands only what the queue needs besides.
JOB = Table(
    "job",
    METADATA,
    Column("run_num", Integer, ForeignKey("run.num"), primary_key=True),
    Column("user", Text, nullable=False),
    Column("priority", Integer, nullable=False),  # 0 high, 1 normal, 2 low
    Column("run_after", Double, nullable=False),  # not to be started before
    Column("tries", Integer, nullable=False),  # how often a worker has taken it
    Column("cancel_at", Double),  # when somebody asked to end it
    Column("schedule_id", Integer),
    Index("job_queue", "priority", "run_num"),
)

SCHEDULE = Table(
    "schedule",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False),
    Column("project_id", Integer, nullable=False),
    Column("user", Text, nullable=False),
    Column("cron", Text, nullable=False),
    Column("body", Text, nullable=False),  # JSON, see plan.cell_to_json
    Column("enabled", Boolean, nullable=False),
    Column("next_at", Double, nullable=False),
    Column("last_at", Double),
    Column("last_run_id", Text),
    Column("last_error", Text),
    Column("created_at", Double, nullable=False),
    sqlite_autoincrement=True,
)

API_KEY = Table(
    "api_key",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("user", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("prefix", Text, nullable=False),  # the key's first characters, to tell keys apart
    Column("digest", Text, nullable=False, unique=True),  # SHA-256 of the key, which itself is kept nowhere
    Column("scopes", Text, nullable=False),  # of read, label, run, admin; separated by commas
    Column("created_at", Double, nullable=False),
    *(Column(name, Double) for name in ("last_used_at", "revoked_at")),
    sqlite_autoincrement=True,
)

# Which projects a key reaches; one with the scope admin reaches all, and has no row here.
KEY_PROJECT = Table(
    "key_project",
    METADATA,
    Column("key_id", Integer, ForeignKey("api_key.id"), nullable=False),
    Column("project_id", Integer, ForeignKey("project.id"), nullable=False),
    PrimaryKeyConstraint("key_id", "project_id"),
)

AUDIT = Table(
    "audit",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("at", Double, nullable=False),
    Column("user", Text, nullable=False),
    Column("action", Text, nullable=False),  # submit, cancel, restart, delete, ...
    Column("target", Text, nullable=False),
    Column("detail", Text, nullable=False),
    Column(
        "project_id", Integer
    ),  # in which it was done; null for what is the server's: keys, log-ins, projects
    Index("audit_at", "at"),
    Index("audit_project", "project_id", "id"),
    sqlite_autoincrement=True,
)

PULSE = Table(
    "pulse",
    METADATA,
    Column("run_num", Integer, ForeignKey("run.num"), nullable=False),
    Column("at", Double, nullable=False),
    Column("done", Integer, nullable=False),  # items with an outcome, in all sittings
    Column("in_flight", Integer, nullable=False),
    Column("items_per_s", Double, nullable=False),
    Column("tokens_per_s", Double, nullable=False),
    Column("retries", Integer, nullable=False),  # since the stretch began, as are errors and cost
    Column("errors", Integer, nullable=False),
    Column("cost_usd", Double),
    Column("low_s", Double),  # time left, from ... to; null while nothing is known of it
    Column("high_s", Double),
    PrimaryKeyConstraint("run_num", "at"),
)

# What further graders make of a kept reply. The first grade stands in the attempt's own row, which statistics read
# without another table; these are read for the grader that is asked for, which is one range of the key.
GRADE = Table(
    "grade",
    METADATA,
    Column("run_num", Integer, ForeignKey("run.num"), nullable=False),
    Column("grader", Text, nullable=False),  # its name, version and settings
    Column("item_id", ITEM_ID, nullable=False),
    Column("repeat", Integer, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("outcome", Text, nullable=False),
    Column("score", Double),
    Column("answer", Text),  # its first 200 characters
    Column("note", Text),  # why, in words for a person; its first 2,000 characters
    Column("cost_usd", Double),  # of grading
    Column("at", Double, nullable=False),
    PrimaryKeyConstraint("run_num", "grader", "item_id", "repeat", "attempt"),
    sqlite_with_rowid=False,
)

NOTE = Table(
    "note",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("run_num", Integer, ForeignKey("run.num"), nullable=False),
    Column("item_id", ITEM_ID, nullable=False),
    Column("repeat", Integer, nullable=False),
    Column("user", Text, nullable=False),
    Column("at", Double, nullable=False),
    Column("flag", Boolean, nullable=False),
    Column("text", Text, nullable=False),
    Index("note_item", "run_num", "item_id", "repeat"),
    sqlite_autoincrement=True,
)

SESSION = Table(
    "session",
    METADATA,
    Column("digest", Text, primary_key=True),  # SHA-256 of what the cookie holds
    Column("key_id", Integer, ForeignKey("api_key.id"), nullable=False),
    *(Column(name, Double, nullable=False) for name in ("created_at", "expires_at")),
)

# A file of questions or of requests, or a suite, that was uploaded. What runs need of it is in their cells.
DATASET = Table(
    "dataset",
    METADATA,
    Column("id", Text, primary_key=True),  # UUID
    Column("project_id", Integer, nullable=False),
    Column("name", Text, nullable=False),
    Column("content", Text, nullable=False),  # SHA-256 of its files' hashes and names
    Column("format", Text, nullable=False),
    *(Column(name, Integer, nullable=False) for name in ("bytes", "rows")),
    Column("reading", Text, nullable=False),  # JSON: which column is what, the kind of answers, the grader
    Column("found", Text, nullable=False),  # JSON: what was found in it, so read
    Column("created_at", Double, nullable=False),
    Column("created_by", Text, nullable=False),
    Column("holds", Text, nullable=False, server_default="questions"),
    Index("dataset_name", "project_id", "name", unique=True),
    Index("dataset_content", "content"),
)

# The files of a content, and their bytes in pieces: datasets/content.py. Both are found by hash, as items are.
DATASET_FILE = Table(
    "dataset_file",
    METADATA,
    *(Column(name, Text, nullable=False) for name in ("content", "filename", "sha256")),
    Column("bytes", Integer, nullable=False),
    PrimaryKeyConstraint("content", "filename"),
    Index("dataset_file_sha256", "sha256"),
)

DATASET_CHUNK = Table(
    "dataset_chunk",
    METADATA,
    *(Column(name, kind, nullable=False) for name, kind in (("sha256", Text), ("place", Integer))),
    Column("body", LargeBinary, nullable=False),
    PrimaryKeyConstraint("sha256", "place"),
)

# Alembic's own table, spelled as Alembic spells it, so that a new database needs no Alembic.
STAMPS = MetaData()
STAMP = Table(
    "alembic_version",
    STAMPS,
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)
