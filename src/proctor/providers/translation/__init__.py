"""Between OpenAI's two shapes, Responses and Chat Completions: requests one way, replies the other. No I/O."""

from proctor.providers.translation.manners import upstreams
from proctor.providers.translation.readers import ReplyReader
from proctor.providers.translation.translate import Translation, translate
from proctor.providers.translation.untranslatable import Untranslatable

__all__ = ["ReplyReader", "Translation", "Untranslatable", "translate", "upstreams"]
