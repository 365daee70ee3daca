"""Judges checked by people: what a judge's grades are worth once labels of some of the same replies are there."""
