import sys

sys.dont_write_bytecode = False  # where it is forbidden, each process of pytest would compile all tests, and hypothesis
