"""proctor gives AI models their exams.

    import proctor

    evaluation = proctor.evaluate("questions.csv", model="ollama/qwen3:8b")
    print(evaluation.score)

`judge` has a model grade the kept replies, `label` keeps what people say of them. Importing proctor imports nothing
else until one of them is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from proctor.python import evaluate, judge, label

__all__ = ["__version__", "evaluate", "judge", "label"]


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    if name in ("evaluate", "judge", "label"):
        from proctor import python

        return getattr(python, name)
    raise AttributeError(f"module 'proctor' has no attribute {name!r}")
