"""`python -m onetake`: the command line."""

from onetake.cli import main

if __name__ == "__main__":
    main()
