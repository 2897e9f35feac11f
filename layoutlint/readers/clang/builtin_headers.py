"""The headers that a compiler brings along (stddef.h, stdarg.h), which the libclang wheel lacks."""

from __future__ import annotations

import glob
import os
import re
from functools import cache

from layoutlint.readers.clang import libclang

_PLACES = (
    # (pattern, whether it is clang's: then all of its resource folder can be used)
    ("/usr/lib/llvm-*/lib/clang/*/include", True),
    ("/usr/lib*/clang/*/include", True),
    ("/usr/local/lib/clang/*/include", True),
    ("/opt/homebrew/opt/llvm/lib/clang/*/include", True),
    ("/usr/lib/gcc/*/*/include", False),
    ("/usr/lib64/gcc/*/*/include", False),
    ("/usr/local/lib/gcc/*/*/include", False),
)


@cache
def flags() -> tuple[str, ...] | None:
    """Flags that make the system's builtin headers known; None when there are none on this machine.

    Clang's own come first, then GCC's; no compiler is run. The newest are taken that are not newer than
    libclang: they use what the compiler of their version predefines (`__INT32_C` since clang 20).
    """
    for pattern, is_clang in _PLACES:
        having = [at for at in glob.glob(pattern) if os.path.exists(os.path.join(at, "stddef.h"))]
        if having:
            chosen = _nearest(having) if is_clang else max(having, key=_version)
            return ("-resource-dir", os.path.dirname(chosen)) if is_clang else ("-idirafter", chosen)
    return None


def _nearest(folders: list[str]) -> str:
    """The newest that is not newer than libclang, else the oldest."""
    own = libclang.version(libclang.library())
    fitting = [folder for folder in folders if _version(folder)[:1] <= (own,)]
    return max(fitting, key=_version) if fitting else min(folders, key=_version)


def include_folder() -> str | None:
    """The folder itself, for a unit that is compiled with -nostdinc and names its builtin headers."""
    found = flags()
    if found is None:
        return None
    return os.path.join(found[1], "include") if found[0] == "-resource-dir" else found[1]


def _version(path: str) -> tuple[int, ...]:
    """The numbers of the folder above `include`: `/usr/lib/llvm-16/lib/clang/16/include` is of 16."""
    return tuple(int(number) for number in re.findall(r"\d+", os.path.basename(os.path.dirname(path))))
