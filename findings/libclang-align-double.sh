#!/usr/bin/env bash
# -malign-double lowers the alignment of `long double` from 16 to 8 in 64-bit mode, in clang alone.
#
# Seen with libclang 18.1.1 from PyPI: without the flag `b` of `struct s { char a; long double b; }` is at byte 16 on
# x86_64, as the psABI has it; with the flag at byte 8. gcc's manual says of the flag that it is on by default in 64-bit
# mode, and gcc 12 leaves `b` at byte 16 with it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q libclang==18.1.1
"$folder/venv/bin/python" - <<'PYTHON'
import sys
from clang.cindex import Index

text = "struct s { char a; long double b; };\n"
offsets = {}
for flags in ((), ("-malign-double",)):
    words = ["--target=x86_64-linux-gnu", *flags]
    unit = Index.create().parse("s.c", words, unsaved_files=[("s.c", text)])
    offsets[flags] = next(unit.cursor.get_children()).type.get_offset("b") // 8
print(offsets)
sys.exit(list(offsets.values()) != [16, 8])
PYTHON
