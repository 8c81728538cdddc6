"""Stored entries under the key and scrub rules of today: which are others, where they go, and how they get there."""
