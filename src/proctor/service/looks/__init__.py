"""What was looked at beside a verdict: other models, reruns, other ways of asking, figures of runs at work."""
