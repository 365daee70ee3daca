"""One run and several processes: who asks which of its shards, what they know of each other, and who ends it."""
