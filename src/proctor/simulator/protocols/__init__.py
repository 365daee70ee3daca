"""The wire shapes of the simulated servers, and what real servers do otherwise."""
