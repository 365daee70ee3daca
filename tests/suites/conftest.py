"""Fixtures of the tests of suites and question files."""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def file(tmp_path):
    """Write a file by name: bytes, text, or rows as JSON lines; gives its path."""

    def write(name, content):
        path = tmp_path / name
        if isinstance(content, list):
            content = "\n".join(json.dumps(row) for row in content)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write
