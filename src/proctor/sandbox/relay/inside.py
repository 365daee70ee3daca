"""Runs in a box: listens at its loopback, and carries the connections there over its own stdin and stdout.

    python3 -I -B -c THIS       what to listen at it is told on stdin; it ends when that ends

It knows nothing of proctor and works with any Python from 3.8 on. The frames are those of `frames.py`.
"""

from __future__ import annotations

import os
import selectors
import signal
import socket
import struct

TYPE_CHECKING = False  # as in typing, which takes its time to load
if TYPE_CHECKING:
    from typing import Any

HEADER = struct.Struct(">BIH")  # kind, stream, length of what follows
LISTEN, READY, OPEN, DATA, END, RESET, CREDIT = range(7)
WINDOW = 1 << 18  # bytes of a stream on their way, each way
MOST_STREAMS = 128
PART = 1 << 15
MOST_WAITING = 1 << 20  # bytes that stdout does not take: nothing more is read meanwhile
HERE = "127.0.0.1"


class BoxConnection:
    """One connection of a program of the box."""

    def __init__(self, number: int, line: socket.socket) -> None:
        self.number, self.line = number, line
        self.window = WINDOW  # what may be sent to the other side
        self.waiting = bytearray()  # what the program has not taken yet
        self.taken = 0  # what it took and the other side was not told of
        self.said_end = self.heard_end = self.shut = False


class Carrier:
    """Everything in one thread: nothing blocks but the selector."""

    def __init__(self) -> None:
        self.selector = selectors.DefaultSelector()
        self.listeners: dict[socket.socket, int] = {}
        self.connections: dict[int, BoxConnection] = {}
        self.numbers = 0
        self.heard, self.saying = bytearray(), bytearray()
        self.watched: dict[Any, int] = {}

    def run(self) -> None:
        for each in (0, 1):
            os.set_blocking(each, False)
        while True:
            self.watch()
            for key, events in self.selector.select():
                if key.fileobj == 0:
                    if not self.hear():
                        return
                elif key.fileobj == 1:
                    self.say()
                elif isinstance(key.fileobj, socket.socket) and key.data is None:
                    self.accept(key.fileobj)
                elif isinstance(key.data, BoxConnection):
                    self.move(key.data, events)

    def watch(self) -> None:
        """Ask for what can be done now, and for nothing else."""
        flowing = len(self.saying) < MOST_WAITING
        wanted: dict[Any, tuple[int, BoxConnection | None]] = {0: (selectors.EVENT_READ, None)}
        if self.saying:
            wanted[1] = (selectors.EVENT_WRITE, None)
        if len(self.connections) < MOST_STREAMS:
            wanted.update(dict.fromkeys(self.listeners, (selectors.EVENT_READ, None)))
        for found in self.connections.values():
            reading = flowing and found.window > 0 and not found.said_end
            events = selectors.EVENT_READ * reading | selectors.EVENT_WRITE * bool(found.waiting)
            if events:
                wanted[found.line] = (events, found)
        for each in self.watched.keys() - wanted.keys():
            self.selector.unregister(each)
        for each, (events, data) in wanted.items():
            if each not in self.watched:
                self.selector.register(each, events, data)
            elif self.watched[each] != events:
                self.selector.modify(each, events, data)
        self.watched = {each: events for each, (events, _) in wanted.items()}

    def hear(self) -> bool:
        """What came on stdin; False at its end."""
        try:
            part = os.read(0, PART * 4)
        except BlockingIOError:
            return True
        self.heard += part
        while len(self.heard) >= HEADER.size:
            kind, number, length = HEADER.unpack_from(self.heard)
            if len(self.heard) < HEADER.size + length:
                break
            body = bytes(self.heard[HEADER.size : HEADER.size + length])
            del self.heard[: HEADER.size + length]
            self.told(kind, number, body)
        return bool(part)

    def told(self, kind: int, number: int, body: bytes) -> None:
        if kind == LISTEN:
            self.listen(number)
            return
        found = self.connections.get(number)
        if found is None:
            return
        if kind == DATA:
            found.waiting += body
        elif kind == END:
            found.heard_end = True
            self.finish(found)
        elif kind == CREDIT:
            found.window += struct.unpack(">I", body)[0]
        elif kind == RESET:
            self.drop(found, reset=not found.said_end)

    def listen(self, port: int) -> None:
        line = socket.create_server((HERE, port), backlog=MOST_STREAMS)
        line.setblocking(False)
        self.listeners[line] = port
        self.put(READY, port)

    def accept(self, listener: socket.socket) -> None:
        try:
            line, _ = listener.accept()
        except OSError:
            return
        line.setblocking(False)
        self.numbers += 1
        self.connections[self.numbers] = BoxConnection(self.numbers, line)
        self.put(OPEN, self.numbers, struct.pack(">H", self.listeners[listener]))

    def move(self, found: BoxConnection, events: int) -> None:
        try:
            if events & selectors.EVENT_WRITE:
                count = found.line.send(found.waiting[:PART])
                del found.waiting[:count]
                self.credit(found, count)
            if events & selectors.EVENT_READ and found.number in self.connections:
                part = found.line.recv(min(PART, found.window))
                found.window -= len(part)
                found.said_end = not part
                self.put(DATA if part else END, found.number, part)
            self.finish(found)
        except BlockingIOError:
            return
        except OSError:
            self.drop(found, reset=True)

    def credit(self, found: BoxConnection, count: int) -> None:
        found.taken += count
        if found.taken >= WINDOW // 4 and not found.heard_end:
            self.put(CREDIT, found.number, struct.pack(">I", found.taken))
            found.taken = 0

    def finish(self, found: BoxConnection) -> None:
        """Shut what was said to its end, and forget a connection of which both ways are."""
        if found.heard_end and not found.waiting and not found.shut:
            found.shut = True
            try:
                found.line.shutdown(socket.SHUT_WR)
            except OSError:
                """It is gone: reading tells."""
        if found.shut and found.said_end:
            self.drop(found, reset=False)

    def drop(self, found: BoxConnection, *, reset: bool) -> None:
        if self.connections.pop(found.number, None) is None:
            return
        if self.watched.pop(found.line, None) is not None:
            self.selector.unregister(found.line)
        found.line.close()
        if reset:
            self.put(RESET, found.number)

    def put(self, kind: int, number: int, body: bytes = b"") -> None:
        self.saying += HEADER.pack(kind, number, len(body)) + body

    def say(self) -> None:
        try:
            del self.saying[: os.write(1, self.saying[: PART * 2])]
        except BlockingIOError:
            return


if __name__ == "__main__":
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, signal.SIG_IGN)  # an agent that is asked to end may still speak
    Carrier().run()
