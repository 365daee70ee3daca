"""The gauntlet: exploits that an agent might try, run against a sandbox, and what was seen of each from outside."""
