"""A run's rows as figures are made of them: which count, and what trials of agents show by them."""
