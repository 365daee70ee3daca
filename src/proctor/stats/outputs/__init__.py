"""Two outputs to the same requests: how often they agree, beyond chance too, and how much time and money changed."""
