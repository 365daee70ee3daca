"""Everything that can go wrong on purpose: one tree of errors, each with slug, HTTP status and exit code.

The slug is stored with a failed attempt, shown to people and explained in docs/reference/errors.md.
Anything else that is raised is a bug.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from proctor.exits import EXITS as EXITS
from proctor.exits import Exit as Exit
from proctor.printable import in_one_line as in_one_line
from proctor.printable import printable as printable

if TYPE_CHECKING:  # `--help` needs errors and not the words of the system
    from proctor.types import Usage


class ProctorError(Exception):
    """Something that proctor did not foresee went wrong. (The root of all errors.)"""

    slug = "internal"
    http_status = 500
    exit_code = Exit.DEFECT
    cure = "This is a defect of proctor: please report it with the log."

    def __str__(self) -> str:
        """Its words; they may quote users, files and servers, so they are made printable."""
        return printable(super().__str__())


class ConfigError(ProctorError):
    """The request, the file of settings or the environment is wrong."""

    slug = "config"
    http_status = 400
    exit_code = Exit.REQUEST
    cure = "Correct the option, key or variable that the message names; `proctor COMMAND --help` lists them."
    param = code = ""  # of OpenAI's API: the parameter that is meant, and its word for what is wrong


class MetricMissing(ConfigError):
    """No task of the runs reports the metric that was asked for."""

    slug = "metric-missing"
    cure = "Choose one of the metrics that the message names."


class DataError(ProctorError):
    """Rows could not be read: a bad line, a missing column, a file that is not what it says."""

    slug = "data"
    http_status = 400
    exit_code = Exit.REQUEST
    cure = "Correct the file, or its name, as the message says. Nothing was asked, nothing was lost."


class TooLarge(DataError):
    """An upload is larger than the server takes."""

    slug = "too-large"
    http_status = 413
    cure = "Split the file; whoever runs the server raises PROCTOR_UPLOAD_MB, or PROCTOR_BATCH_UPLOAD_MB."


class BadLines(DataError):
    """Lines of an uploaded file of requests cannot be sent. Nothing of the file was kept."""

    slug = "bad-lines"
    cure = "Correct the lines that the message names, or upload the file leniently: then they are left out."

    faults: Sequence[Mapping[str, Any]] = ()  # the first of them: line (from 1), code, message, param


class DataMissing(DataError):
    """A suite's rows are not on this machine."""

    slug = "data-missing"
    http_status = 409
    cure = "Import the official files (`proctor data import PATH`), name a mirror of the hub, or try `--data sample`."


class NotFound(ProctorError):
    """No such run, suite, task or model."""

    slug = "not-found"
    http_status = 404
    exit_code = Exit.REQUEST
    cure = "`proctor list` shows the runs; `proctor models` shows the models."


class Conflict(ProctorError):
    """The right request at the wrong moment, such as resuming a run that is running."""

    slug = "conflict"
    http_status = 409
    exit_code = Exit.REQUEST
    cure = "`proctor show RUN` tells what state the run is in."


class StoreError(ProctorError):
    """The database could not keep what was measured: disk full, connection lost, locked."""

    slug = "store"
    http_status = 503
    exit_code = Exit.NOTHING
    cure = "Put right what the message says of the database, then `proctor resume RUN`: what was committed is safe."


class DiskFull(StoreError):
    """The disk of the database is full. A job waits until there is room, and goes on by itself."""

    slug = "disk-full"
    cure = "Make room on that disk, then `proctor resume RUN`: what was committed is safe. A job goes on by itself."


class SharedError(StoreError):
    """What machines share is out of reach: the bucket or the folder of PROCTOR_SHARED, or a file that is not whole."""

    slug = "shared"
    cure = "Put right what the message says of PROCTOR_SHARED; a job is tried again by itself."


class OutputError(ProctorError):
    """The output file of a batch lacks lines, because it could not be written; every reply is kept in the database."""

    slug = "output"
    http_status = 503
    exit_code = Exit.PART
    cure = "Put right what the message says of the file; `proctor resume RUN` writes the missing lines."


class QueueFull(ProctorError):
    """A user has as many runs waiting as one user may have."""

    slug = "queue-full"
    http_status = 429
    exit_code = Exit.NOTHING
    cure = "Wait until one of them has started, or cancel one: `proctor cancel JOB`."
    retry_after_s = 300


class TooManyRequests(ProctorError):
    """A client of the server asked more often than its limit allows."""

    slug = "too-many-requests"
    http_status = 429
    exit_code = Exit.NOTHING
    cure = "Wait as long as Retry-After says; a long poll or the event stream asks less often than a loop."

    def __init__(self, message: str, *, retry_after_s: int = 60) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class Unauthorized(ProctorError):
    """The server wants a key and got none, or one it does not know."""

    slug = "unauthorized"
    http_status = 401
    exit_code = Exit.REQUEST
    cure = "Send a key as `Authorization: Bearer KEY`; for the client, set PROCTOR_API_KEY."


class Forbidden(ProctorError):
    """The key is good, but not for this; or the request came from a page that is not proctor's."""

    slug = "forbidden"
    http_status = 403
    exit_code = Exit.REQUEST
    cure = "Use a key with the scope that the message names; an administrator creates it with `proctor keys create`."


class ResourceLimit(ProctorError):
    """A run needed more memory, disk, tokens or money than it may have."""

    slug = "resource-limit"
    http_status = 507
    exit_code = Exit.NOTHING
    cure = "Free what the message names or raise its limit, then restart the job: it goes on from there."


class WorkerDied(ProctorError):
    """The process that did a job's work died, or was killed from outside."""

    slug = "worker-died"
    exit_code = Exit.NOTHING
    cure = "Read the log that the message names, then restart the job: it goes on where it stopped."


class RunTimeout(ProctorError):
    """The run took longer than its limit."""

    slug = "run-timeout"
    http_status = 504
    exit_code = Exit.NOTHING
    cure = "`proctor resume RUN --timeout 6h` goes on where it stopped."


class ErrorBudget(ProctorError):
    """Too many items in a row failed; the run stopped before wasting more."""

    slug = "error-budget"
    http_status = 502
    exit_code = Exit.NOTHING
    cure = "Mend what the message names (usually the model's server), then `proctor resume RUN`."


class AttemptError(ProctorError):
    """One attempt at an item measured nothing. `retryable`: the same may succeed later."""

    slug = "attempt"
    http_status = 502
    exit_code = Exit.NOTHING
    retryable = False
    stops_run = False  # no other item can fare better
    of_item = False  # all else is well, and this one item cannot be measured
    may_pass = False  # not by trying again at once, but a resume may fare better
    cure = "`proctor resume RUN` tries again what failed."

    def __init__(
        self,
        message: str,
        *,
        retry_after_s: float | None = None,
        status: int | None = None,
        usage: Usage | None = None,
        away: bool = False,
        unreached: bool = False,
        raw: bytes = b"",
    ) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s  # the server's own delay
        self.status = status
        self.usage = usage  # what the server counted for a request whose reply is of no use
        self.away = away  # nobody can be answered now: no connection, or the model is being loaded
        self.raw = raw  # the server's own words, where they are kept with the attempt
        self.unreached = unreached  # a gateway says that it does not reach the server behind it


class ProviderError(AttemptError):
    """The model's server did not answer as it should."""

    slug = "provider"
    cure = "The message quotes the server. `proctor resume RUN` asks again what failed."


class AuthError(ProviderError):
    """401 or 403, or no key where one is needed."""

    slug = "auth"
    stops_run = True
    cure = "Set the variable that the message names to a valid key; what had begun goes on with `proctor resume RUN`."


class QuotaExhausted(ProviderError):
    """The account's quota is used up; waiting a minute will not help."""

    slug = "quota"
    stops_run = True
    cure = "Raise the account's limit or wait until it renews, then `proctor resume RUN`."


class ModelNotFound(ProviderError):
    """The server answers, but does not offer this model."""

    slug = "model-not-found"
    stops_run = True
    cure = "`proctor models PROVIDER` lists what the server offers; for Ollama, `ollama pull MODEL` first."


class EndpointNotFound(ProviderError):
    """No server, or none of this kind, at the address."""

    slug = "endpoint-not-found"
    stops_run = True
    cure = "Correct the address (OLLAMA_HOST, OPENAI_BASE_URL or --base-url) or start the server."


class BadRequest(ProviderError):
    """The server refused this request and will refuse it again."""

    slug = "bad-request"
    of_item = True
    cure = (
        "The message quotes the server. Change the parameter or the row that it complains about and begin a new run: "
        "`proctor resume RUN` sends the same once more."
    )


class ContextOverflow(ProviderError):
    """The prompt does not fit the model's context. Nothing is cut silently."""

    slug = "context-overflow"
    of_item = True
    cure = (
        "Shorten these items, or give the model a longer context: with Ollama a new run with a higher "
        "--context-tokens; elsewhere the server sets it (llama.cpp: -c, which its -np slots share; vLLM: "
        "--max-model-len). As things are, `proctor resume RUN` would fail again."
    )


class RateLimited(ProviderError):
    """429: the server asks to slow down."""

    slug = "rate-limited"
    retryable = True
    cure = "proctor slows down by itself; if it lasts, lower --parallel or raise the account's limit, then resume."


class Overloaded(ProviderError):
    """503 or 529: the server is too busy for now."""

    slug = "overloaded"
    retryable = True
    cure = "proctor retries by itself; if it lasts, lower --parallel, then `proctor resume RUN`."


class ServerError(ProviderError):
    """Another 5xx, or an error in place of a reply."""

    slug = "server-error"
    retryable = True
    cure = "Look into the server's log; `proctor resume RUN` asks again what failed."


class NetworkError(ProviderError):
    """The connection broke."""

    slug = "network"
    retryable = True
    cure = "Check that the server still runs and is reachable; `proctor resume RUN` asks again what failed."


class RequestTimeout(ProviderError):
    """No complete reply within the request's time limit."""

    slug = "request-timeout"
    retryable = True
    cure = "Raise --request-timeout or lower --max-tokens; `proctor resume RUN` asks again what failed."


class BadReply(ProviderError):
    """200, but not a reply in the protocol's shape: no JSON, or a field of another type than it has."""

    slug = "bad-reply"
    retryable = True
    cure = "The message names the field, or shows how the reply begins; the address may be another kind of server's."


class SandboxError(AttemptError):
    """A sandbox could not be made, could not hold what was asked of it, or was lost."""

    slug = "sandbox"
    may_pass = True
    cure = "Install or allow what the message names; `proctor resume RUN` tries again what failed."


class SandboxMissing(SandboxError):
    """This machine cannot contain what was asked for, so nothing was run."""

    slug = "sandbox-missing"
    stops_run = True
    cure = "Install or allow what the message names, or choose another sandbox; nothing runs less contained instead."


class VerifierError(AttemptError):
    """The verifier of a task did not come to a verdict: it says nothing about the agent's work."""

    slug = "verifier"
    may_pass = True
    cure = "`proctor task check TASK` tries the verifier alone; `proctor resume RUN` verifies what the agents made."


class AgentModelError(AttemptError):
    """The model that an agent asks did not answer, so that the trial shows nothing of it."""

    slug = "agent-model"
    may_pass = True
    cure = "The message quotes the server. `proctor resume RUN` begins those trials again."


def attempt_errors() -> tuple[type[AttemptError], ...]:
    """AttemptError and every kind of it."""

    def kinds(root: type[AttemptError]) -> tuple[type[AttemptError], ...]:
        return (root, *(each for kind in root.__subclasses__() for each in kinds(kind)))

    return kinds(AttemptError)


def errors(root: type[ProctorError] = ProctorError) -> dict[str, type[ProctorError]]:
    """Every kind of error by its slug."""
    return {root.slug: root} | {
        slug: kind for each in root.__subclasses__() for slug, kind in errors(each).items()
    }
