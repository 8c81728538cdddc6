"""vcrpy's words for a suite that was written for it: its configuration, its request, its cassette."""
