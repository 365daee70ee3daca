"""Pages of batches: files of requests, their replies, failures and labels."""
