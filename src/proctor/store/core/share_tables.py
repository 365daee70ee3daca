"""What people put aside for others and for themselves: documents given away by a link, and filters by a name.

share        a document as it was when it was given away, found by the hash of the token in its link
saved_view   a list's filters, kept by whoever uses them
"""

from __future__ import annotations

from sqlalchemy import Column, Double, Index, Integer, LargeBinary, Table, Text

from proctor.store.core.tables import METADATA

# No foreign keys: a share outlives the run that it was made of, as a printed page would.
SHARE = Table(
    "share",
    METADATA,
    Column("id", Text, primary_key=True),  # UUID; what people revoke, and no way to the document
    Column("digest", Text, nullable=False, unique=True),  # SHA-256 of the token, which itself is kept nowhere
    Column("kind", Text, nullable=False),  # run, comparison, board, item, batch, rollouts
    Column("title", Text, nullable=False),
    Column("address", Text, nullable=False),  # the page that it was made on
    Column("projects", Text, nullable=False),  # whose rows are in it: ids, by commas; empty is all there are
    Column("user", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("expires_at", Double, nullable=False),
    Column("revoked_at", Double),
    Column("seen", Integer, nullable=False),  # how often it was opened
    Column("last_seen_at", Double),
    Column("body", LargeBinary, nullable=False),  # the HTML in zstd; empty once it has ended
    Index("share_user", "user", "created_at"),
)

SAVED_VIEW = Table(
    "saved_view",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("user", Text, nullable=False),
    Column("project_id", Integer),  # which project's list it is of; null is every list of its user
    Column("page", Text, nullable=False),  # history, ...
    Column("name", Text, nullable=False),
    Column("query", Text, nullable=False),  # of the page's address, without the question mark
    Column("created_at", Double, nullable=False),
    Index("saved_view_name", "user", "page", "name", unique=True),
    sqlite_autoincrement=True,
)
