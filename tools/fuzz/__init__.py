"""`make fuzz`: every parser of text from outside is given inputs that nobody meant."""
