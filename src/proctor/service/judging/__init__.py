"""Judges: models that grade kept replies. A judging is a run; its grades stand beside the judged run's own."""
