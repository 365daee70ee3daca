"""Pages on which answers are judged, labelled, and what that says."""
