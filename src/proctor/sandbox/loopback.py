"""Sockets in a box's own network, which has its loopback and nothing else: made inside, accepted from outside.

A socket belongs to the network namespace that it was made in, whoever holds it. So a thread of this process enters the
namespace, listens there, and leaves: programs of the box find a server at 127.0.0.1, without any route, relay or
program in the box. Needs CAP_SYS_ADMIN, over the user namespace too that the box's network belongs to (setns(2),
network_namespaces(7)); `sandbox/relay` is the way where it cannot be done.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import socket
import struct
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
CLONE_NEWNET = 0x40000000  # linux/sched.h
SIOCSIFFLAGS = 0x8914  # linux/sockios.h
IFF_UP = 0x1  # linux/if.h
WAITING = 128  # connections that nobody has accepted yet
HERE = "127.0.0.1"
# No right to, no such process here, or no such thing on this system: no fault of the port's.
CANNOT_ENTER = (errno.EPERM, errno.EACCES, errno.ENOENT, errno.ESRCH, errno.ENOSYS)


def new_network() -> int:
    """A descriptor of a new network namespace whose loopback is up. Whoever asked closes it. Raises: OSError."""

    def make() -> int:
        _call("unshare", CLONE_NEWNET)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
            fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", IFF_UP))
        return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)

    return _in_a_thread_of_its_own(make)


def listen_in(network: int, port: int) -> socket.socket:
    """A socket that listens at this port of the loopback of a network namespace. Raises: OSError."""

    def make() -> socket.socket:
        _call("setns", network, CLONE_NEWNET)
        return socket.create_server((HERE, port), backlog=WAITING)

    return _in_a_thread_of_its_own(make)


def network_of(pid: int, mark: str) -> int:
    """A descriptor of the network that a process of this machine is in, which whoever asked closes.

    A daemon elsewhere tells numbers of processes too, which are others here: `mark` has to stand in the names of its
    control groups, and its network must not be this process's own. Raises: OSError.
    """
    process = os.open(f"/proc/{pid}", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with os.fdopen(os.open("cgroup", os.O_RDONLY | os.O_CLOEXEC, dir_fd=process)) as groups:
            if mark not in groups.read():
                raise ProcessLookupError(errno.ESRCH, f"process {pid} of this machine is another one")
        network = os.open("ns/net", os.O_RDONLY | os.O_CLOEXEC, dir_fd=process)
    finally:
        os.close(process)
    if os.path.samestat(os.fstat(network), Path("/proc/self/ns/net").stat()):
        os.close(network)
        raise PermissionError(errno.EPERM, f"process {pid} has this machine's own network")
    return network


def _in_a_thread_of_its_own(work: Callable[[], T]) -> T:
    """Done in a thread that ends with it: a thread stays in the namespace that it entered."""
    done: list[T] = []
    failed: list[OSError] = []

    def doing() -> None:
        try:
            done.append(work())
        except OSError as error:
            failed.append(error)

    thread = threading.Thread(target=doing)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return done[0]


def _call(name: str, *words: int) -> None:
    """A function of the C library that tells success by 0. Raises: OSError."""
    if not hasattr(libc := ctypes.CDLL(None, use_errno=True), name):
        raise OSError(errno.ENOSYS, f"this system has no {name}")
    if getattr(libc, name)(*words):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
