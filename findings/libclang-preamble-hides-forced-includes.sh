#!/usr/bin/env bash
# Behind a precompiled preamble, clang_getInclusions does not list the file that `-include` names.
#
# Seen with libclang 18.1.1 from PyPI: `-include forced.h`, which includes nested.h, before a text that includes plain.h.
# Parsed alone, the list has forced.h, nested.h and plain.h. Parsed again with PrecompiledPreamble, it has nested.h and
# plain.h. TranslationUnit.get_includes() shows both. The structs of all files are there each time.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q libclang==18.1.1
cd "$folder"
echo '#include "nested.h"' >forced.h
echo 'struct nested { int x; };' >nested.h
echo 'struct plain { int x; };' >plain.h
echo '#include "plain.h"' >unit.c
"$folder/venv/bin/python" - <<'PYTHON'
import os, sys
from clang.cindex import Index

seen = []
for options in (0, 4):
    unit = Index.create().parse("unit.c", ["-I.", "-include", "forced.h"], options=options)
    for _ in range(2):  # the first parse again builds the preamble
        unit.reparse(options=options)
    names = sorted(os.path.basename(str(each.include)) for each in unit.get_includes())
    seen.append((names, sorted(each.spelling for each in unit.cursor.get_children())))
    print(*seen[-1])
structs = ["nested", "plain"]
sys.exit(seen != [(["forced.h", "nested.h", "plain.h"], structs), (["nested.h", "plain.h"], structs)])
PYTHON
