"""What a chat server must get back with its own words, carried by the agent in its reasoning items.

The gateway keeps no conversations, and a Responses agent sends each reasoning item back as it got it. So the name under
which a server told its reasoning, and the signatures that Gemini puts on its calls, travel in `encrypted_content`.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any

import orjson

from proctor.providers.translation.untranslatable import Json, table

_MARK = "proctor-chat-1."


def sealed(content: Json) -> str:
    """
    >>> opened(sealed({"as": "reasoning"})), opened("gAAAAABo"), opened(None)
    ({'as': 'reasoning'}, {}, {})
    """
    return _MARK + base64.urlsafe_b64encode(orjson.dumps(content)).decode()


def opened(text: Any) -> Json:
    """What was sealed; nothing of what another server sealed."""
    if not isinstance(text, str) or not text.startswith(_MARK):
        return {}
    try:
        return table(orjson.loads(base64.urlsafe_b64decode(text.removeprefix(_MARK).encode())))
    except (binascii.Error, orjson.JSONDecodeError, UnicodeEncodeError):
        return {}
