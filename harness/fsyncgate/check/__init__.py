"""From a stored history to a verdict: pure functions that never talk to a machine."""
