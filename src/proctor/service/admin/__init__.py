"""Who may use a server, from which addresses models may be asked, and what is deleted."""
