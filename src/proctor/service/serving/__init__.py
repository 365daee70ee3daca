"""Commands that serve a model: started for a run, waited for, and ended with it, whatever becomes of proctor."""
