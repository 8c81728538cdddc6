"""Probe: a sample of the stored requests is asked again, and what comes is compared in structure, not in text."""
