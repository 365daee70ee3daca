"""What providers offer: the programs that answer, and the models that they list."""

from __future__ import annotations

from dataclasses import dataclass

from proctor.types import Model


@dataclass(frozen=True, slots=True)
class Server:
    """Which program answers at an address, by what it says of itself: `llama.cpp`, `vllm`, `ollama`, ...

    `slots` is how many requests it works on at once, where it says that.
    """

    name: str
    version: str | None = None
    slots: int | None = None

    def __str__(self) -> str:
        """As people read it.

        >>> str(Server("llama.cpp", "b1-7e4c0a9")), str(Server("lmstudio"))
        ('llama.cpp b1-7e4c0a9', 'lmstudio')
        """
        return f"{self.name} {self.version}" if self.version else self.name


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A model that a provider offers. None where the server does not say.

    `remarks` are what a reader of its results should know of how it was found and of what reaches it.
    """

    model: Model
    digest: str | None = None
    parameters: str | None = None
    quantization: str | None = None
    size_bytes: int | None = None
    context_tokens: int | None = None
    note: str | None = None
    server: Server | None = None
    remarks: tuple[str, ...] = ()
    created: float | None = None  # Unix time
