"""Bring over what other recorders wrote: reading is apart from judging, and judging from writing."""
