"""What proctor asks of a kind of source: one row of the table in `__init__.py`."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Literal, Protocol, TypeVar

from proctor.engine.attempts import ErrorBudgets
from proctor.errors import ProctorError
from proctor.grading.formats import Label
from proctor.protocols import Grader, GradeReply, Source
from proctor.providers import open_provider
from proctor.providers.contract import Labels, Opening, Provider
from proctor.providers.ledger import SpendingBounds
from proctor.references import SourceRef
from proctor.service.context import Context
from proctor.settings import Settings
from proctor.sources.exams.items import item_hash
from proctor.store import Store
from proctor.types import Attempt, Cell, Item, Run

if TYPE_CHECKING:
    from proctor.simulator import KnownAnswer

R = TypeVar("R", bound=SourceRef)
S = TypeVar("S", bound=Source)

Tell = Callable[[int, int], None]  # bytes that have come, of how many
TaskLabels = Mapping[str, tuple[Label, ...]]


def exam_hash(item: Item) -> str:
    """Of a question with its right answers."""
    return item_hash(item.ask.messages, item.choices, item.target, item.aliases)


def by_protocol(cell: Cell, opening: Opening) -> Provider:
    """The model behind its provider's own protocol."""
    return open_provider(cell.model, cell.sampling, opening)


@dataclass(frozen=True, slots=True)
class Method:
    """What a run takes of its source: how replies are graded, and what is sent or known besides the items."""

    grade: GradeReply
    opener: Callable[[Cell, Opening], Provider] = by_protocol
    stop: tuple[str, ...] = ()  # where the model is to stop, besides the user's own
    labels: Callable[[], Labels] = lambda: Labels({}, "no rows")  # for baselines
    row_ids: Sequence[str] = ()  # for replays: item ids in the order of the rows
    errors: ErrorBudgets = ErrorBudgets()


@dataclass(frozen=True, slots=True)
class Fetch:
    """How rows that are not on this machine are got; `refused` is said to whoever may not have it done."""

    get: Callable[[Settings, Tell | None], None]
    refused: str


class Sends(Protocol):
    """What an attempt leaves on this machine besides its row is put where other machines find it."""

    def send(self, attempt: Attempt) -> None:
        """Before the attempt is kept; it waits for the disk and the net, and what fails is logged."""

    def end(self) -> None:
        """After the last one: what could not be put is tried once more."""


class Beside(Protocol):
    """A file that grows beside a run. It stops no run: `trouble` says at the end what it lacks, and why."""

    @property
    def trouble(self) -> ProctorError | None: ...

    def begin(self, store: Store, run: Run, *, asks: bool = True) -> None:
        """Before the first item is asked. Raises: ConfigError."""

    def kept(self, attempts: Sequence[Attempt]) -> None:
        """After they were committed; in the writer's thread."""

    def shared(self) -> None:
        """From now on other processes keep attempts of the run as well, and what they keep belongs there too."""

    def end(self) -> None:
        """After the last one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceKind(Generic[R, S]):
    """How one kind of source is planned, opened, run, shown and compared.

    `open` takes what is on this machine alone, and raises ConfigError, DataError, or DataMissing, which `missing`
    may have a cure for. `called` is the name under which the API lists a run's scores.
    """

    # Planned: from a reference alone. Which options go with it is told in the table of plan/wanted.py.
    short: str = "--limit 20"  # options for a short first run
    resolved: Callable[[R, Settings], R] = lambda ref, _settings: ref  # with what the environment decides
    named: Callable[[R], str] = lambda ref: ref.listed  # its title before it is opened
    sized: Callable[[R, Context], int] = lambda _ref, _context: (
        0
    )  # how many items it means; 0: that is not known
    wordings: Callable[[R], int] = lambda _ref: 1  # in how many wordings each is asked
    alike: Callable[[R], Hashable] = lambda ref: ref  # equal where questions are of one kind and length
    # Opened, and run.
    open: Callable[[R, Settings], S]
    missing: Callable[[R], Fetch | None] = lambda _ref: None
    found: Callable[[R, S], R] = lambda ref, _source: ref  # with what opening it decided, for a resume
    # On several machines: what a run needs is fetched to this one before it is opened; what this one cannot have of it,
    # in words that follow "lacks"; and what this one has is put within reach of the others, which gives the reference
    # that means exactly that. Raise: StoreError; `bring` also NotFound and DataMissing.
    bring: Callable[[R, Context], None] = lambda _ref, _context: None
    lacking: Callable[[R, Context], str | None] = lambda _ref, _context: None
    share: Callable[[R, Context], R] = lambda ref, _context: ref
    # What its attempts leave on a machine, for the others; None where there is nothing, or no place to share. `forget`
    # takes it away again with the run.
    sends: Callable[[Run, Context], Sends | None] = lambda _run, _context: None
    forget: Callable[[Run, Context], None] = lambda _run, _context: None
    method: Callable[[S], Method]
    replayed: Callable[[S], S] = lambda source: source  # its replies made elsewhere, under prompts of others
    repeats: Callable[[S, Item, Cell], int] = lambda _source, _item, cell: (
        cell.repeats
    )  # how often an item is asked
    planned: Callable[[S, Cell], int] = lambda source, cell: len(source) * cell.repeats  # askings in all
    graded_as: Callable[[S, Mapping[str, str]], S] = lambda source, _graders: (
        source
    )  # as a run began, by task
    graded_with: Callable[[S, Grader], S] = lambda source, _grader: source  # one grader for all
    # By what kept replies are read again without the source; None: by the extractor and graders of the manifest.
    rereader: Callable[[R], Grader | None] = lambda _ref: None
    hashed: Callable[[Item], str] = exam_hash  # of what an item asks, as its source makes it
    answers: Callable[[S], Mapping[str, KnownAnswer]] = lambda _source: {}  # what the simulator is told
    # What grows beside a run of it, for this process alone; ConfigError and Conflict before anything is stored.
    beside: Callable[[R, Settings], AbstractContextManager[Beside | None]] = lambda _ref, _settings: (
        nullcontext()
    )
    # As other runs ask them that are to disturb nothing of the first: all that are run again together.
    afresh: Callable[[Sequence[R], Context], Sequence[R]] = lambda refs, _context: refs
    # What its runs may use together, and what all of them share; None: nothing is bounded.
    budget: Callable[[R], tuple[Hashable, SpendingBounds] | None] = lambda _ref: None
    # What a run that has ended leaves elsewhere in the store, in one go that may be done again.
    ended: Callable[[Run, Store], None] = lambda _run, _store: None
    # What is said of a run that has ended, beside its figures.
    said: Callable[[Run, Store], Sequence[str]] = lambda _run, _store: ()
    # Shown, and compared.
    called: Callable[[Run], str] = lambda run: run.source_title
    holds: Literal["questions", "requests", "tasks", "verdicts"] = (
        "questions"  # what its items are, for the words of lists and pages
    )
    by_content: bool = False  # whether items of other names are the same where their hashes are
    # A line for the run's log when an attempt has ended.
    logged: Callable[[R, Attempt], str | None] = lambda _ref, _attempt: None
    # What below PROCTOR_HOME is a run's own, and goes with it; the last argument: no other run of its plan is left.
    folders: Callable[[R, Settings, bool], Sequence[Path]] = lambda _ref, _settings, _last: ()
    on_server: bool = False  # whether a server may be asked for it again, as pages then offer
    own: bool = False  # the user's own questions, which can be changed
    # Labels with their synonyms, by which kept replies are read again: those proctor itself has of a task, and
    # those that only the rows have, which bundles keep.
    task_labels: Callable[[str], tuple[Label, ...] | None] = lambda _task: None
    row_labels: Callable[[S], TaskLabels] | None = None
