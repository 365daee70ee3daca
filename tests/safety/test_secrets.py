"""A word planted in every secret setting is in nothing that settings say of themselves; see test_guards.py for jobs."""

from __future__ import annotations

from proctor.settings import read_settings
from proctor.settings.variables import SETTINGS

KEYS = {each.name: f"planted-{number}-4711" for number, each in enumerate(SETTINGS) if each.secret}
PASSWORDS = ("planted-redis-4711", "planted-database-4711")


def test_no_secret_is_in_what_settings_say_of_themselves() -> None:
    environ = {name: word for name, word in KEYS.items() if not name.endswith("_URL")}
    environ["PROCTOR_REDIS_URL"] = f"redis://:{PASSWORDS[0]}@127.0.0.1:9/0"
    environ["PROCTOR_DATABASE_URL"] = f"postgresql://proctor:{PASSWORDS[1]}@127.0.0.1/proctor"
    told = repr(read_settings(environ))
    assert len(environ) >= 9 and not [secret for secret in (*environ.values(), *PASSWORDS) if secret in told]
