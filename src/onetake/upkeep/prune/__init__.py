"""`onetake prune`: what is needed no more, by reason, to the trash."""
