"""What trials show, as JSON, for whoever looks at benchmarks: see service/rows/trials_document.py."""

from __future__ import annotations

from proctor.service.rows.trials_document import matrix_document, task_document, trials_document

__all__ = ["matrix_document", "task_document", "trials_document"]
