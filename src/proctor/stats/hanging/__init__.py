"""What hangs together without saying so."""
