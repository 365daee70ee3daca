"""Suites and user question files: where items come from, what is asked, how a reply is read."""

from proctor.suites.imports import Imported, ImportReport, import_path
from proctor.suites.questions import open_file
from proctor.suites.source import open_suite
from proctor.suites.tasks import SUITES

__all__ = ["SUITES", "ImportReport", "Imported", "import_path", "open_file", "open_suite"]
