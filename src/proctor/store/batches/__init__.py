"""Batches and files as OpenAI's API has them, in the database."""
