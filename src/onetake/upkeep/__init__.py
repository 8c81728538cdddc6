"""What becomes of entries after they were recorded: whether they still say what is true, and what to do about it."""
