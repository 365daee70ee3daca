"""The variables of the environment that proctor reads: what each does, and its default in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Setting:
    """One environment variable: its name, what it does, its default in words."""

    name: str
    what: str
    default: str
    secret: bool = False


# What tells a task of an array job which one it is, and who sets it.
ARRAYS: Mapping[str, str] = {
    **dict.fromkeys((f"SLURM_ARRAY_TASK_{word}" for word in ("ID", "COUNT", "MIN", "STEP")), "Slurm"),
    "JOB_COMPLETION_INDEX": "Kubernetes",
    **dict.fromkeys(("AWS_BATCH_JOB_ARRAY_INDEX", "AWS_BATCH_JOB_ARRAY_SIZE"), "AWS Batch"),
}

SETTINGS: tuple[Setting, ...] = (
    Setting("PROCTOR_HOME", "Folder of the database and of all files.", "./data"),
    Setting(
        "PROCTOR_DATABASE_URL",
        "Database, as a SQLAlchemy URL: `sqlite:///FILE` or `postgresql+psycopg://...`.",
        "`proctor.db` in PROCTOR_HOME",
        secret=True,
    ),
    Setting(
        "PROCTOR_REDIS_URL",
        "Redis or Valkey through which several machines share a queue and the limits of providers, "
        "such as `redis://HOST:6379/0`.",
        "none: the database alone is the queue",
        secret=True,
    ),
    Setting(
        "PROCTOR_SHARED",
        "Where machines share uploaded requests, imported rows, tasks and folders of trials: `s3://BUCKET/PREFIX`, "
        "or a folder that all mount.",
        "none: through the database, if that is PostgreSQL",
    ),
    Setting("AWS_ENDPOINT_URL", "Address of the S3-compatible server of PROCTOR_SHARED.", "Amazon's"),
    Setting("AWS_REGION", "Region of that server.", "us-east-1"),
    Setting("AWS_ACCESS_KEY_ID", "Key's id for that server.", "none", secret=True),
    Setting("AWS_SECRET_ACCESS_KEY", "Key for that server.", "none", secret=True),
    Setting("AWS_SESSION_TOKEN", "Token that goes with a key of short life.", "none", secret=True),
    Setting(
        "PROCTOR_SHARDS",
        "In how many parts a run is asked by the tasks of an array job, for `--shard auto`; Kubernetes tells none.",
        "as many as the array has tasks",
    ),
    *(
        Setting(name, f"Set by {whose} for each task of an array job, for `--shard auto`.", "none")
        for name, whose in ARRAYS.items()
    ),
    Setting(
        "GITHUB_STEP_SUMMARY",
        "File that `proctor gate` appends its summary to; GitHub sets it for each step of a workflow.",
        "none",
    ),
    Setting(
        "PROCTOR_DATA",
        "Where the rows of suites come from: `imported` or `sample`. `--data` wins over it.",
        "imported",
    ),
    Setting("OLLAMA_HOST", "Address of the Ollama server.", "http://127.0.0.1:11434"),
    Setting(
        "OPENAI_BASE_URL",
        "Address of the OpenAI-compatible server, with its `/v1`.",
        "https://api.openai.com/v1",
    ),
    Setting("OPENAI_API_KEY", "Key for OpenAI or the compatible server.", "none", secret=True),
    Setting(
        "GEMINI_BASE_URL",
        "Address of the Gemini server, without `/v1beta`.",
        "https://generativelanguage.googleapis.com",
    ),
    Setting("GOOGLE_API_KEY", "Key for Gemini; it wins over GEMINI_API_KEY.", "none", secret=True),
    Setting("GEMINI_API_KEY", "Key for Gemini.", "none", secret=True),
    Setting("XAI_BASE_URL", "Address of the Grok server, with its `/v1`.", "https://api.x.ai/v1"),
    Setting("GROK_API_KEY", "Key for Grok; it wins over XAI_API_KEY.", "none", secret=True),
    Setting("XAI_API_KEY", "Key for Grok.", "none", secret=True),
    Setting("ANTHROPIC_BASE_URL", "Address of the Anthropic server.", "https://api.anthropic.com"),
    Setting("ANTHROPIC_API_KEY", "Key for Anthropic.", "none", secret=True),
    Setting(
        "HF_ENDPOINT", "Address of the Hugging Face hub, or of a mirror of it.", "https://huggingface.co"
    ),
    Setting("HF_TOKEN", "Token for the hub; public data sets need none.", "none", secret=True),
    Setting(
        "PROCTOR_GITHUB_RAW_URL",
        "Where PubMedQA's official test ids are fetched when they were not imported.",
        "https://raw.githubusercontent.com",
    ),
    Setting(
        "PROCTOR_KEYS_FILE",
        "File of further keys, NAME=VALUE a line, readable by its owner alone (0600); the environment wins.",
        "`keys.env` in PROCTOR_HOME",
    ),
    Setting("PROCTOR_AUTH", "`keys`: the server wants an API key; `off`: none, on loopback only.", "off"),
    Setting(
        "PROCTOR_HOSTS",
        "Names, separated by commas, under which the server may be called, besides loopback and its own address.",
        "none",
    ),
    Setting(
        "PROCTOR_ALLOWED_ADDRESSES",
        "Hosts, separated by commas, that users of a server with keys may name as base URLs although not public.",
        "none",
    ),
    Setting("PROCTOR_MOST_RUNNING", "Jobs that run at once, over all workers.", "3"),
    Setting(
        "PROCTOR_MOST_QUEUED",
        "Jobs that one user may have waiting; a benchmark of tasks counts as one.",
        "10",
    ),
    Setting(
        "PROCTOR_REQUESTS_PER_MINUTE",
        "API calls a minute of one user, or of one address without keys.",
        "100",
    ),
    Setting("PROCTOR_UPLOAD_MB", "How large a data set may be that is uploaded to the server.", "50"),
    Setting(
        "PROCTOR_BATCH_UPLOAD_MB",
        "How large a file of requests may be that is uploaded to the server; up to 2147.",
        "1074 (1 GiB)",
    ),
    Setting("PROCTOR_BATCH_REQUESTS", "Requests that a batch of `/v1/batches` may have.", "50000"),
    Setting("PROCTOR_BATCH_MB", "How large a file may be that is uploaded to `/v1/files`.", "200"),
    Setting(
        "PROCTOR_BATCH_WINDOWS",
        "Completion windows, separated by commas, that `/v1/batches` offers, such as `24h,1h`.",
        "24h",
    ),
    Setting("PROCTOR_JOB_TIMEOUT", "How long a job may take; a batch has its completion window.", "3h"),
    Setting("PROCTOR_JOB_MEMORY_MB", "Memory that a job's processes may use together.", "2147"),
    Setting(
        "PROCTOR_DISK_FREE_MB", "Room that must stay free on the disk of PROCTOR_HOME while jobs run.", "500"
    ),
    Setting(
        "PROCTOR_FIRST_RETRY",
        "How long a job waits after its first failure that may pass; doubled after the next.",
        "60s",
    ),
    Setting(
        "DOCKER_HOST",
        "Socket of the Docker daemon, or of podman's service, in which boxes of `docker` are made.",
        "unix:///var/run/docker.sock",
    ),
    Setting(
        "SANDBOX_BACKEND",
        "The sandbox of rollouts: `bubblewrap`, `docker`, `modal` or `local`; it wins over a benchmark's own.",
        "what the benchmark says, else `bubblewrap`",
    ),
    Setting("MODAL_TOKEN_ID", "Who asks Modal for boxes of `modal`.", "as Modal's client knows", secret=True),
    Setting("MODAL_TOKEN_SECRET", "The secret of that token.", "as Modal's client knows", secret=True),
    Setting("PROCTOR_SERVER", "Address of the server that `proctor --server` commands talk to.", "none"),
    Setting("PROCTOR_API_KEY", "Key for that server.", "none", secret=True),
    Setting(
        "PROCTOR_LOG_LEVEL",
        "What is logged on standard error and in jobs' logs: debug, info, warning or error; "
        "`--log-level` wins over it.",
        "warning; info for jobs",
    ),
    Setting("NO_COLOR", "If set, no colours in the terminal.", "not set"),
)

# What PROCTOR_KEYS_FILE may hold.
KEYS = tuple(
    setting.name
    for setting in SETTINGS
    if setting.secret and setting.name.endswith(("_KEY", "_TOKEN", "_KEY_ID", "_TOKEN_ID", "_TOKEN_SECRET"))
)
