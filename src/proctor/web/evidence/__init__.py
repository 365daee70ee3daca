"""Pages of verdicts: comparison and leaderboard."""
