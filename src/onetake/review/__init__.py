"""Review: what changed among entries against a git commit, and what a person decides about each change."""
