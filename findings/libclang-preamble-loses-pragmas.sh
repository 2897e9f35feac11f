#!/usr/bin/env bash
# A precompiled preamble does not keep pushed macros, aliases of includes, and the counter.
#
# Seen with libclang 18.1.1 from PyPI: a unit is parsed once without and once with PrecompiledPreamble, and parsed again.
# Its header pushes the macro `name` and defines it anew, makes `b.h` an alias for `a.h` (-fms-extensions), and expands
# `__COUNTER__` twice. Behind the preamble, `pop_macro` leaves the new definition, with a warning; `a.h` itself is
# included; and `__COUNTER__` begins at 0 again. Other state (`#pragma pack`, ms_struct, poisoned identifiers, guards) is kept.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q libclang==18.1.1
cd "$folder"
cat >first.h <<'C'
#define name pushed
#pragma push_macro("name")
#undef name
#define name later
#pragma include_alias("a.h", "b.h")
enum { COUNT = __COUNTER__ + __COUNTER__ };
C
echo 'struct from_a { int x; };' >a.h
echo 'struct from_b { int x; };' >b.h
cat >unit.c <<'C'
#include "first.h"
int begun;
#pragma pop_macro("name")
#include "a.h"
struct name { char count[__COUNTER__ + 1]; };
C
"$folder/venv/bin/python" - <<'PYTHON'
import sys
from clang.cindex import CursorKind, Index

seen = []
for options in (0, 4):
    unit = Index.create().parse("unit.c", ["-fms-extensions"], options=options)
    for _ in range(2):  # the first parse again builds the preamble
        unit.reparse(options=options)
    structs = [c for c in unit.cursor.get_children() if c.kind == CursorKind.STRUCT_DECL]
    seen.append([(c.spelling, c.type.get_size()) for c in structs] + [len(unit.diagnostics)])
    print(*seen[-1])
with_preamble, alone = seen[1], seen[0]
sys.exit(alone[:2] != [("from_b", 4), ("pushed", 3)] or with_preamble[:2] != [("from_a", 4), ("later", 1)])
PYTHON
