"""How fast onetake is beside the bare client and the peers, measured in one run; `scripts/bench` runs all of it."""
