"""The parts of a message: texts, images, files, sounds, refusals, in both shapes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from proctor.providers.translation.untranslatable import (
    Json,
    Untranslatable,
    kind_of,
    listed,
    object_in,
    text_in,
)

_TEXTS = frozenset({"input_text", "output_text", "text", "summary_text", "reasoning_text"})
_DETAILS = frozenset({"auto", "low", "high"})


def chat_parts(content: Any, field: str) -> list[Json]:
    """The parts of a Responses message as Chat Completions has them. Raises: Untranslatable."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [_chat_part(object_in(part, at), at) for at, part in _numbered(content, field)]


def chat_content(parts: list[Json]) -> str | list[Json]:
    """One text as such: not every server takes lists."""
    if not parts:
        return ""
    return parts[0]["text"] if len(parts) == 1 and parts[0]["type"] == "text" else parts


def joined(parts: list[Json]) -> str:
    return "".join(part["text"] for part in parts if part["type"] == "text")


def _chat_part(part: Json, field: str) -> Json:
    kind = kind_of(part)
    if kind in _TEXTS:
        return {"type": "text", "text": text_in(part, "text", field)}
    if kind == "input_image":
        return _chat_image(part, field)
    if kind == "input_file":
        return _chat_file(part, field)
    if kind == "input_audio":
        return _sound(part, field)
    if kind == "refusal":
        return {"type": "refusal", "refusal": text_in(part, "refusal", field)}
    raise Untranslatable(f"{field}.type", f"chat servers know no {kind!r}")


def _chat_image(part: Json, field: str) -> Json:
    if part.get("image_url") is None and part.get("file_id") is not None:
        raise Untranslatable(
            f"{field}.file_id", "chat servers have no uploaded images; send the image itself as image_url"
        )
    image: Json = {"url": text_in(part, "image_url", field)}
    if str(part.get("detail")) in _DETAILS:
        image["detail"] = part["detail"]
    return {"type": "image_url", "image_url": image}


def _chat_file(part: Json, field: str) -> Json:
    if part.get("file_url") is not None:
        raise Untranslatable(
            f"{field}.file_url", "chat servers fetch no files; send the file itself as file_data"
        )
    told = {name: part[name] for name in ("filename", "file_data", "file_id") if part.get(name) is not None}
    return {"type": "file", "file": told}


def response_parts(content: Any, field: str, *, ours: bool = True) -> list[Json]:
    """The parts of a chat message as Responses has them; `ours`: what goes to the model. Raises: Untranslatable."""
    text = "input_text" if ours else "output_text"
    if isinstance(content, str):
        return [{"type": text, "text": content}]
    return [_response_part(object_in(part, at), at, text) for at, part in _numbered(content, field)]


def _response_part(part: Json, field: str, text: str) -> Json:
    put = _RESPONSE_PARTS.get(kind_of(part))
    if put is None:
        raise Untranslatable(f"{field}.type", f"Responses know no part {part.get('type')!r}")
    told = put(part, field)
    return {"type": text, **told} if "text" in told else told


def _image(part: Json, field: str) -> Json:
    image = object_in(part.get("image_url"), f"{field}.image_url")
    url = text_in(image, "url", f"{field}.image_url")
    return {"type": "input_image", "image_url": url, "detail": image.get("detail") or "auto"}


def _sound(part: Json, field: str) -> Json:
    return {"type": "input_audio", "input_audio": object_in(part.get("input_audio"), f"{field}.input_audio")}


_RESPONSE_PARTS: Mapping[str, Callable[[Json, str], Json]] = {
    "text": lambda part, field: {"text": text_in(part, "text", field)},
    "image_url": _image,
    "file": lambda part, field: {"type": "input_file", **object_in(part.get("file"), f"{field}.file")},
    "input_audio": _sound,
    "refusal": lambda part, field: {"type": "refusal", "refusal": text_in(part, "refusal", field)},
}


def _numbered(content: Any, field: str) -> list[tuple[str, Any]]:
    return [(f"{field}[{n}]", part) for n, part in enumerate(listed(content, field))]
