"""Whether this machine can hold what is asked for: found by doing it once, in a box that is thrown away."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from proctor.errors import SandboxError, SandboxMissing
from proctor.sandbox.contract import Command, CommandEnd, Policy

if TYPE_CHECKING:
    from proctor.sandbox.bubblewrap import Bubblewrap

ONLY_ROOT = (
    "bubblewrap's limits need root here: memory, cores and processes are held by control groups, and disk by a file "
    "system of its own; run proctor as root, or in a container of its own that is started with --privileged"
)
# The names of its network devices, and whether it may make namespaces of its own.
PORT = 8080  # any
LOOK = 'cat /proc/net/dev; echo "users: $(cat /proc/sys/user/max_user_namespaces)"; id -u'
LOOKING = Command(("sh", "-c", LOOK), cwd="/", timeout_s=20.0)


async def probe(sandbox: Bubblewrap, policy: Policy) -> None:
    """Open a box under the policy and look around in it. What earlier processes left is taken away first.

    Raises: SandboxMissing, saying what was tried, what the machine said and what to do.
    """
    if os.geteuid():
        raise SandboxMissing(ONLY_ROOT)
    sandbox.sweep()
    try:
        box = await sandbox.open(policy)
        try:
            _need(await box.run(LOOKING))
            (await box.listen(PORT)).socket.close()  # from now on its commands share a network
            _need(await box.run(LOOKING))
        finally:
            await box.close()
    except SandboxMissing:
        raise
    except SandboxError as error:
        raise SandboxMissing(f"A box does not hold here: {error}. {_advice(str(error))}") from error


def _need(ended: CommandEnd) -> None:
    """What was seen in a box must be what belongs there. Raises: SandboxMissing."""
    said = ended.said.decode("utf-8", "replace")
    if ended.code:
        raise SandboxMissing(f"A box does not work here: its first command ended with {ended.code}: {said}")
    devices = [line.split(":")[0].strip() for line in said.splitlines() if ":" in line and "|" not in line]
    others = [each for each in devices if each not in ("lo", "users")]
    if others:
        raise SandboxMissing(
            f"A box sees the network devices {', '.join(others)}: it must see none but its own"
        )
    if said.split()[-1] != "1000":
        raise SandboxMissing(f"A box runs its commands as user {said.split()[-1]}, which should be 1000")


def _advice(told: str) -> str:
    """What to install or allow, by what was said."""
    for word, advice in ADVICE:
        if word in told:
            return advice
    return "Nothing runs less contained instead"


ADVICE = (
    ("--disable-userns", "bubblewrap 0.8 or newer is needed"),
    ("does not mount", "Mounting needs root with CAP_SYS_ADMIN: in a container, start it with --privileged"),
    (
        "namespace",
        "Allow user namespaces: sysctl user.max_user_namespaces=10000 and, where there are such settings, "
        "kernel.unprivileged_userns_clone=1 and kernel.apparmor_restrict_unprivileged_userns=0",
    ),
    ("uid map", "Allow user namespaces: sysctl kernel.apparmor_restrict_unprivileged_userns=0"),
    ("cgroup", "Make /sys/fs/cgroup writable: in a container, start it with --privileged"),
    ("proc", "The container hides parts of /proc: start it with --privileged"),
)
