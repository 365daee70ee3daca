"""A Docker daemon of the tests' own: no bridge, no registry, its data in a folder that goes with it."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest


@contextmanager
def dockerd(place: Path) -> Iterator[str]:
    """Start one and yield its address; it and all that it started ends with the block."""
    if shutil.which("dockerd") is None or os.getuid() != 0:
        told = "needs root and a Docker daemon to start: apt-get install docker.io"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(told)
    address = f"unix://{place}/docker.sock"
    folders = [f"--{name}-root={place / name}" for name in ("data", "exec")]
    without = ["--iptables=false", "--bridge=none", "--ip-forward=false", "--ip-masq=false"]
    words = ["dockerd", f"--host={address}", *folders, f"--pidfile={place / 'pid'}", *without]
    with (place / "log").open("wb") as log:
        daemon = subprocess.Popen(words, stdout=log, stderr=log)
    try:
        _until_it_answers(address, daemon, place / "log")
        yield address
    finally:
        daemon.terminate()
        daemon.wait(30)


def _until_it_answers(address: str, daemon: subprocess.Popen[bytes], log: Path) -> None:
    import docker
    from docker.errors import DockerException

    until = time.monotonic() + 60
    while time.monotonic() < until and daemon.poll() is None:
        if Path(address.removeprefix("unix://")).exists():
            with suppress(DockerException), closing(docker.DockerClient(base_url=address)) as client:
                client.ping()
                return
        time.sleep(0.05)
    pytest.fail(f"dockerd did not come up: {log.read_text()[-2_000:]}")
