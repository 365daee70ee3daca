"""OpenAI's Batch API: files and batches as it has them, on the queue and the store of every other run."""
