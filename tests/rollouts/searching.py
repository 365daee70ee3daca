"""A search for a key from inside of a box, as an agent's script: wherever a program there can look.

First all is gathered that is no file of the root: environments, command lines, memory and descriptors of processes, and
what a server at the box's loopback answers. Only then what is looked for is decoded, so that no search finds itself.
"""

from __future__ import annotations

import asyncio
import base64
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from proctor.sandbox.contract import Command, Policy, Sandbox

KEY = "sk-proj-Qm7xZr2TfL9cWb4HnV8sJkD3pYgA6uEeRt5oXi1B"
POLICY = Policy(memory_mb=256, disk_mb=64)
PIECE = 10  # any 19 characters in a row of a form of the key hold one of its pieces whole
MASK = 0x55

GATHER = """
import os, re, socket

os.makedirs("/tmp/hay", exist_ok=True)

def put(name, found):
    with open("/tmp/hay/" + name, "ab") as file:
        file.write(found + b"\\n")

def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""

def memory(pid):
    try:
        source = open(f"/proc/{pid}/mem", "rb", 0)
    except OSError:
        return
    with source:
        for line in read(f"/proc/{pid}/maps").decode().splitlines():
            span, rights, _, device = line.split()[:4]
            if rights[0] == "r" and (rights[1] == "w" or device == "00:00"):
                begin, end = (int(each, 16) for each in span.split("-"))
                try:
                    source.seek(begin)
                    put("memory", source.read(end - begin))
                except (OSError, ValueError, OverflowError):
                    pass

def answered(request):
    try:
        with socket.create_connection(("127.0.0.1", 8080), 10) as line:
            line.settimeout(10)
            line.sendall(request)
            while part := line.recv(65536):
                put("gateway", part)
    except OSError as error:
        put("unanswered", str(error).encode())

put("environment", repr(dict(os.environ)).encode())
for pid in filter(str.isdigit, os.listdir("/proc")):
    for name in ("environ", "cmdline", "comm", "maps", "mountinfo", "status", "auxv", "loginuid"):
        put(name, read(f"/proc/{pid}/{name}"))
    for folder in ("fd", "ns", "map_files"):
        try:
            for each in os.listdir(f"/proc/{pid}/{folder}"):
                put("links", os.readlink(f"/proc/{pid}/{folder}/{each}").encode())
                if folder == "fd" and each not in "012":
                    put("descriptors", read(f"/proc/{pid}/fd/{each}"))
        except OSError:
            pass
    memory(pid)
for name in ("net/unix", "net/tcp", "keys", "key-users", "mounts", "cmdline", "version", "sys/kernel/hostname"):
    put("kernel", read("/proc/" + name))
body = b'{"model": "m", "messages": [{"role": "user", "content": "What is your key?"}], "input": "key?", "stream": %s}'
head = b"Host: 127.0.0.1\\r\\nConnection: close\\r\\nX-Echo: headers\\r\\nContent-Type: application/json\\r\\n"
answered(b"GET /v1/models HTTP/1.1\\r\\n" + head + b"\\r\\n")
answered(b"TRACE /v1/models HTTP/1.1\\r\\n" + head + b"\\r\\n")
answered(b"GET /../../etc/keys.env HTTP/1.1\\r\\n" + head + b"\\r\\n")
answered(b"no request at all\\r\\n\\r\\n")
for path in (b"/v1/chat/completions", b"/v1/responses", b"/v1/nothing"):
    for text in (body % b"false", body % b"true", b"{}", b"no JSON"):
        told = b"Content-Length: %d\\r\\nAuthorization: Bearer none\\r\\n\\r\\n" % len(text)
        answered(b"POST " + path + b" HTTP/1.1\\r\\n" + head + told + text)
"""
LOOK = """
import os, subprocess, sys
needles = bytes(each ^ MASK for each in bytes.fromhex("NEEDLES"))
tops = ["/" + each for each in os.listdir("/") if each not in ("proc", "sys", "dev")] + ["/dev/shm"]
told = subprocess.run(["grep", "-rlasF", "-f", "-", *tops], input=needles, stdout=subprocess.PIPE).stdout
for path in told.decode().splitlines():
    print("FOUND", path)
for each in sorted(os.listdir("/tmp/hay")):
    print("GATHERED", each, os.path.getsize("/tmp/hay/" + each))
print("SEARCHED", *sorted(tops))
"""


@dataclass(frozen=True, slots=True)
class Search:
    """What a search told: where it found something, and how many bytes it had gathered of what."""

    found: tuple[str, ...]
    gathered: dict[str, int]
    folders: tuple[str, ...]


def script(*keys: str) -> str:
    """The search, for `sh`."""
    needles = "\n".join(sorted({piece for key in keys for piece in _pieces(key)}))
    masked = bytes(each ^ MASK for each in needles.encode()).hex()
    look = LOOK.replace("MASK", str(MASK)).replace("NEEDLES", masked)
    return f"python3 - <<'END'\n{GATHER}END\npython3 - <<'END'\n{look}END\nrm -r /tmp/hay\n"


def told(said: str) -> Search:
    lines = said.splitlines()
    done = [each for each in lines if each.startswith("SEARCHED ")]
    assert done, said
    found = tuple(each.removeprefix("FOUND ") for each in lines if each.startswith("FOUND "))
    gathered = {name: int(size) for name, size in re.findall(r"^GATHERED (\S+) (\d+)$", said, re.MULTILINE)}
    return Search(found, gathered, tuple(done[0].split()[1:]))


def _pieces(key: str) -> Iterator[str]:
    for form in forms(key).values():
        for begin in range(0, len(form) - PIECE + 1, PIECE):
            yield form[begin : begin + PIECE]


def forms(key: str) -> dict[str, str]:
    """The key as it may be written; of base64 what does not depend on what stands beside it."""
    plain = key.encode()
    shifted = {f"base64 {at}": base64.b64encode(b"\0" * at + plain)[4:-4].decode() for at in range(3)}
    return {"plain": key, "hex": plain.hex(), "HEX": plain.hex().upper(), "backwards": key[::-1], **shifted}


def _planted() -> str:
    """The search, started by a shell that holds the key, beside files and processes that have it in several forms."""
    kinds = forms(KEY)
    lines = [f"printf %s {shlex.quote(KEY)} > /app/repo/.env", f"held={KEY}"]
    lines += [f"printf %s {kinds['hex']} > /tmp/h", f"printf %s {kinds['base64 1'][7:31]} > /dev/shm/b"]
    lines += [f"env OPENAI_API_KEY={KEY} sleep 30 &", f"sh -c 'sleep 30; : {KEY[9:40]}' &", "sleep 0.2"]
    return "\n".join([*lines, script(KEY)])


def finds_what_is_planted_and_nothing_before(sandbox: Sandbox, place: Path) -> None:
    """Whoever runs this has KEY in the environment. A search that could not find would be none."""

    async def searched() -> list[str]:
        box = await sandbox.open(POLICY)
        try:
            said = []
            for words in (script(KEY), _planted()):
                (place / "search.sh").write_text(words)
                await box.put(place / "search.sh", "/app/artifacts/search.sh")
                ended = await box.run(Command(("sh", "/app/artifacts/search.sh"), timeout_s=60))
                said.append(ended.said.decode())
            return said
        finally:
            await box.close()

    before, after = asyncio.run(searched())
    finds_nothing(before)
    found = set(told(after).found)
    assert {"/app/repo/.env", "/tmp/h", "/dev/shm/b"} <= found
    assert {"/tmp/hay/environ", "/tmp/hay/cmdline", "/tmp/hay/memory"} <= found


def finds_nothing(said: str) -> None:
    """A search that looked everywhere, and in vain."""
    search = told(said)
    assert search.found == ()
    assert {"environ", "cmdline", "memory", "links"} <= search.gathered.keys()
    assert {"/app", "/usr", "/home", "/tmp", "/run", "/dev/shm"} <= set(search.folders)
