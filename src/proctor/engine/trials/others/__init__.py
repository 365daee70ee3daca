"""Tasks of other makers in trials: their files are made in a box, worked on in steps, and verified by a reward."""
