"""How a judging begins: what is wanted, what of it was done before, what it will take; for every door."""
