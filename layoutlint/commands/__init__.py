"""One module per command of the command line: its options, and what runs and prints when it is called.

They import what they use when they run: `--version`, `--help` and mistakes in the command line need none
of it.
"""
