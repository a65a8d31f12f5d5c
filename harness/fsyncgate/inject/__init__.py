"""How a fault is made: one file a mechanism. What it does is in `faults/`, where it hits in the scenario."""
