#!/usr/bin/env bash
# gcc drops the `aligned` of a typedef in arrays of it, if the typedef is also `volatile`; clang rejects the array.
#
# Seen with gcc 12.2 and ziglang 0.13.0 from PyPI (clang 18.1.6). `typedef int T __attribute__((aligned(16)));
# T m[3];` is an error to both: the alignment is greater than the element's size. With `typedef volatile int T ...`
# gcc takes it, and the array is aligned to 4, though a single member `T y` is aligned to 16. clang still says that
# the size "isn't a multiple of its alignment".
set -euo pipefail
command -v gcc >/dev/null || { echo "no gcc"; exit 1; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q ziglang==0.13.0
cat > "$folder/volatile.c" <<'C'
typedef volatile int T __attribute__((aligned(16)));
struct s { char a; T m[3]; };
struct t { char a; T y; };
_Static_assert(__builtin_offsetof(struct s, m) == 4, "");
_Static_assert(__builtin_offsetof(struct t, y) == 16, "");
C
sed 's/volatile //' "$folder/volatile.c" > "$folder/plain.c"
cd "$folder"
gcc --version | head -1
gcc -fsyntax-only volatile.c && echo "gcc takes the array of volatile elements"
gcc -fsyntax-only plain.c 2> gcc.txt && exit 1
grep -m1 "greater than element size" gcc.txt
venv/bin/python -m ziglang cc -fsyntax-only volatile.c 2> clang.txt && exit 1
grep -m1 "isn't a multiple of its alignment" clang.txt
