"""`python -m layoutlint` is the command line."""

from layoutlint.cli import main

if __name__ == "__main__":
    main()
