"""``python -m ccgbo`` is the command line."""

from ccgbo.cli import main

if __name__ == "__main__":
    main()
