"""What is shown to boxes of tasks of others: programs that stand in for those which would download."""
