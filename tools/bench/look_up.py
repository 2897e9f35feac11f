"""drgn's look-up of one struct by name, and nothing else: `DRGN'S-PYTHON look_up.py ELF STRUCT`.

Runs in the environment that has drgn, apart from the project: a file is named here although no program runs it,
which drgn calls an extra module.
"""

import sys

import drgn

program = drgn.Program()
program.extra_module("vmlinux", create=True).try_file(sys.argv[1], force=True)
print(program.type(f"struct {sys.argv[2]}"))
