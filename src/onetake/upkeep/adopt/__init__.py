"""Stored answers for requests that a run missed, where a small difference explains it: `onetake adopt`."""
