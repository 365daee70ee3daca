"""Figures that describe and infer nothing: averages, histograms, shares by wording."""
