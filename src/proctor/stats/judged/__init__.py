"""Judges and labels: how far a judge agrees with people, which way it leans, and its score corrected by labels."""
