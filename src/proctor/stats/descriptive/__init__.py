"""Figures of figures: averages of several runs, histograms, shares by wording."""
