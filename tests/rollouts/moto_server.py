"""moto's server: S3 and AWS Batch of another maker, on 127.0.0.1, in a virtual environment of its own.

    python tests/rollouts/moto_server.py install     into .cache/moto, once; pins and hashes are in pins/moto.txt

Its lock and ours cannot be one: it needs a dateutil older than ours. Nothing of it is imported here.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

from real import Command, NotHere, Running, pip_install, running, say

PINS = Path(__file__).with_name("pins") / "moto.txt"
HOME = Path(__file__).parents[2] / ".cache" / "moto"
PYTHON = (3, 11)
REGION, KEY_ID, KEY = "eu-west-1", "AKIDMOTO", "moto/secret+of+the+tests"


def install() -> None:
    """Have it; nothing where these very pins are there. Raises NotHere."""
    if sys.version_info[:2] != PYTHON:
        raise NotHere(f"moto is pinned for Python {'.'.join(map(str, PYTHON))}: make a .venv of it")
    stamp = hashlib.sha256(PINS.read_bytes()).hexdigest()
    HOME.parent.mkdir(parents=True, exist_ok=True)
    with (HOME.parent / "moto.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _stamp() == stamp:
            return
        began = time.monotonic()
        shutil.rmtree(HOME, ignore_errors=True)
        temporary = HOME / "tmp"
        temporary.mkdir(parents=True)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(HOME / "venv")], check=True)
        # By our own pip: one more copy of it would take longer than all else.
        site = next((HOME / "venv" / "lib").glob("python*/site-packages"))
        pip_install(["--target", str(site), "--require-hashes", "-r", str(PINS)], temporary)
        shutil.rmtree(temporary)
        (HOME / "pins.sha256").write_text(stamp)
        say(f"Installed moto in {time.monotonic() - began:.0f} s, into {HOME}.")


def _stamp() -> str:
    try:
        return (HOME / "pins.sha256").read_text()
    except FileNotFoundError:
        return ""


def python(*words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """A program in moto's environment, such as one that uses boto3."""
    argv = [str(HOME / "venv" / "bin" / "python"), *words]
    return subprocess.run(argv, env={**os.environ, **environ}, text=True, capture_output=True, check=True)


def environ_of(server: Running, address: str = "") -> dict[str, str]:
    """What proctor, or boto3, needs to use it."""
    shared = {"PROCTOR_SHARED": address} if address else {}
    return {
        **shared,
        "AWS_ENDPOINT_URL": server.url,
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ACCESS_KEY_ID": KEY_ID,
        "AWS_SECRET_ACCESS_KEY": KEY,
    }


@contextmanager
def moto_server(folder: Path, buckets: Sequence[str] = ()) -> Iterator[Running]:
    """The server, with these buckets, until the block ends. Raises NotHere with what to do."""
    if _stamp() != hashlib.sha256(PINS.read_bytes()).hexdigest():
        raise NotHere("moto is not installed: python tests/rollouts/moto_server.py install")

    def command(port: int) -> Command:
        words = ("-m", "moto.server", "-H", "127.0.0.1", "-p", str(port))
        return Command(
            [str(HOME / "venv" / "bin" / "python"), *words], {"MOTO_IAM_LOAD_MANAGED_POLICIES": "false"}
        )

    with running(command, folder / "moto.log", ready="/moto-api/data.json", longest_s=60.0) as server:
        # Jobs of AWS Batch are no containers here.
        asked(server, "POST", "/moto-api/config", json.dumps({"batch": {"use_docker": False}}).encode())
        for bucket in buckets:
            asked(server, "PUT", f"/{bucket}", _created())
        yield server


def _created() -> bytes:
    where = f"<LocationConstraint>{REGION}</LocationConstraint>"
    return f"<CreateBucketConfiguration>{where}</CreateBucketConfiguration>".encode()


def asked(server: Running, method: str, path: str, body: bytes | None = None) -> bytes:
    # The signature is not checked by moto; its region says which one is meant.
    credential = f"Credential={KEY_ID}/20261122/{REGION}/s3/aws4_request"
    headers = {
        "Authorization": f"AWS4-HMAC-SHA256 {credential}, SignedHeaders=host, Signature=0",
        "Content-Type": "application/json" if path.startswith("/moto-api") else "application/xml",
    }
    request = urllib.request.Request(server.url + path, body, headers, method=method)
    with urllib.request.urlopen(request, timeout=20) as answer:
        told: bytes = answer.read()
        return told


def main(words: Sequence[str]) -> int:
    if list(words) != ["install"]:
        print((__doc__ or "").strip(), file=sys.stderr)
        return 2
    try:
        install()
    except NotHere as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
