"""What endangers a suite that replays by vcrpy: its configuration and its cassettes are read, and nothing of it runs.

`sources` reads Python files, `evaluation` tells values in them, `configurations` and `openings` what they say to vcrpy,
`cassettes` what was recorded, `examining` puts all of it together.
"""
