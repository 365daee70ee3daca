"""What a plan will take and what it can show, before anything is asked."""
