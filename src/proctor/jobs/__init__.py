"""Takes runs from the queue and has each done by a process of its own. Knows the store and nothing of exams."""
