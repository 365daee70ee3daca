"""What a project holds of OpenAI's API, for tests of the walls: two files, and a batch that waits for a worker."""

from __future__ import annotations

import json

from proctor.service.batches.openai import batches, files, steps
from proctor.service.batches.openai.batches import NewBatch
from proctor.service.batches.openai.files import NewFile
from proctor.service.context import Context
from proctor.service.datasets.arriving import copied

CHAT = "/v1/chat/completions"


def files_and_batch(context: Context, word: str, user: str, project: int) -> tuple[str, str, str]:
    """A file that a batch reads, one that none does, and the batch."""
    path = context.settings.home / f"{word}-requests.jsonl"
    body = {"model": "simulator/sim", "messages": [{"role": "user", "content": f"What does a {word} drink?"}]}
    made = []
    for custom_id in ("one", "two"):
        line = {"custom_id": f"{word}-{custom_id}", "method": "POST", "url": CHAT, "body": body}
        path.write_text(json.dumps(line) + "\n")
        with copied(path, context.settings) as arrived:
            made.append(files.keep(context, project, arrived, NewFile("batch"), user=user).id)
    new = NewBatch(made[0], CHAT, "24h", {"of": word})
    batch = batches.create(context, project, new, user=user).row.id
    steps.look(context)
    return made[0], made[1], batch
