"""Output files of batches, written from attempts: their lines, and the file that grows beside a run."""
