"""proctor gives AI models their exams.

    import proctor

    evaluation = proctor.evaluate("questions.csv", model="ollama/qwen3:8b")
    print(evaluation.score)

Importing proctor imports nothing else until `evaluate` is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from proctor.python import evaluate

__all__ = ["__version__", "evaluate"]


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    if name == "evaluate":
        from proctor.python import evaluate

        return evaluate
    raise AttributeError(f"module 'proctor' has no attribute {name!r}")
