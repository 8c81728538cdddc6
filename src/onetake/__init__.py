"""Record a model's answer once, only if it is good; replay it to exactly the caller that asked."""
