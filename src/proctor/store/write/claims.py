"""By what right attempts of a run are kept: who owns the run, or shards of it. The guard stands in each commit.

The whole run is its owner's: one statement finds that out, counts what is new and prolongs the lease. Of a
divided run everybody, its owner too, keeps attempts of the shards that are his: his shards are locked first,
so that whoever takes one waits for this commit, and the run's row last and shortly, for all need it.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, update

from proctor.errors import Conflict
from proctor.store.core.fleet_tables import SHARD
from proctor.store.core.tables import RUN
from proctor.types import Status

_AT_WORK = RUN.c.status == Status.RUNNING.value
_OF_RUN = update(RUN).where(RUN.c.num == bindparam("of_run"), _AT_WORK)
_OWNED = _OF_RUN.where(RUN.c.owner == bindparam("of_owner")).values(
    lease_until=bindparam("until"),
    settled=RUN.c.settled + bindparam("more"),
    elapsed_s=RUN.c.elapsed_s + bindparam("seconds"),
)
# The time of a run is its owner's: helpers work in it.
_HELPED = _OF_RUN.values(settled=RUN.c.settled + bindparam("more"))
_HELD = (
    update(SHARD)
    .where(
        SHARD.c.run_num == bindparam("of_run"),
        SHARD.c.owner == bindparam("of_owner"),
        SHARD.c.status == Status.RUNNING.value,
    )
    .values(lease_until=bindparam("until"))
    .returning(SHARD.c.shard)
)


@dataclass(frozen=True, slots=True)
class Claim:
    """What one commit rests on. `shards` are those it has attempts of; None: the run is not divided.

    `seconds` are those since the commit before: the time of work that is killed is counted up to its last commit.
    """

    run_num: int
    owner: str
    until: float  # the lease from now on
    settled: int = 0
    seconds: float = 0.0
    shards: frozenset[int] | None = None
    helps: bool = False  # the run is another's

    def begin(self, connection: Connection) -> None:
        """Lock what the commit rests on. Raises Conflict if it is no longer the owner's."""
        if self.shards is None:
            self._count(connection)
            return
        asked = {"of_run": self.run_num, "of_owner": self.owner, "until": self.until}
        held = frozenset(connection.execute(_HELD, asked).scalars())
        if lost := self.shards - held:
            raise Conflict(
                f"{self.owner} lost shard {min(lost) + 1} of the run: another process has taken it over"
            )

    def end(self, connection: Connection) -> None:
        """Count what is new. Raises Conflict if the run has meanwhile ended, or is another's."""
        if self.shards is not None:
            self._count(connection)

    def _count(self, connection: Connection) -> None:
        asked: dict[str, int | float | str] = {"of_run": self.run_num, "more": self.settled}
        if not self.helps:
            asked |= {"of_owner": self.owner, "until": self.until, "seconds": self.seconds}
        if connection.execute(_HELPED if self.helps else _OWNED, asked).rowcount == 0:
            raise Conflict(f"{self.owner} lost the run: another process has taken it over or ended it")
