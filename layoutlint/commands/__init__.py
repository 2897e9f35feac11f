"""The commands of the command line, a module each: options, and the code that runs and prints.

Commands import modules when they run: `--version`, `--help` and mistakes in the command line stay fast.
"""
