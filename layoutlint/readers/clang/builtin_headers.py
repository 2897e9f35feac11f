"""The builtin headers of a compiler (stddef.h, stdarg.h), which the libclang wheel lacks."""

from __future__ import annotations

import os
import re

from layoutlint import files
from layoutlint.files import accesses
from layoutlint.readers.clang import libclang

_LARGEST = 1 << 18
"""The most bytes of a header that asks what libclang has; the larger ones declare intrinsics only."""
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

_OF_GCC = os.path.join(os.path.dirname(os.path.abspath(__file__)), "of_gcc")


@accesses.remember(1, is_lasting=True)
def flags() -> tuple[str, ...] | None:
    """Return the flags for the system's builtin headers; None if this machine has none.

    Clang's headers are preferred to GCC's; no compiler is run. The newest that are not newer than libclang
    are used: they need what the compiler of their version predefines (`__INT32_C` since clang 20).
    """
    for pattern, is_clang in _PLACES:
        folders = [
            folder for folder in files.expand(pattern) if files.exists(os.path.join(folder, "stddef.h"))
        ]
        if folders:
            folder_used = _nearest(folders) if is_clang else max(folders, key=_version)
            return (
                ("-resource-dir", os.path.dirname(folder_used)) if is_clang else ("-idirafter", folder_used)
            )
    return None


def _nearest(folders: list[str]) -> str:
    """Return the newest folder that is not newer than libclang, else the oldest."""
    own_version = libclang.version(libclang.library())
    fitting = [folder for folder in folders if _version(folder)[:1] <= (own_version,)]
    return max(fitting, key=_version) if fitting else min(folders, key=_version)


def gcc_flags(prefix: str | None, version: tuple[int, ...], path: str | None) -> tuple[str, ...]:
    """Return the flags for the headers that only GCC has (omp.h, quadmath.h); none if they are not found.

    `prefix` is the machine in the name of a cross compiler, `path` its place. The newest folder counts, of
    the compiler's `version` if there is one. The folder itself is not searched: clang's stdatomic.h would
    include GCC's.
    """
    machine = prefix or f"{os.uname().machine}-*linux-gnu"
    roots = ["/usr/lib/gcc", "/usr/lib64/gcc", "/usr/lib/gcc-cross", "/usr/local/lib/gcc"]
    if path is not None:
        roots.insert(0, os.path.join(os.path.dirname(os.path.dirname(files.real_path(path))), "lib/gcc"))
    for root in roots:
        folders = [
            folder
            for folder in files.expand(f"{root}/{machine}/*/include")
            if _version(folder)[: len(version)] == version
        ]
        if folders:
            newest = max(folders, key=_version)
            found = [name for name in ("omp", "quadmath") if files.exists(f"{newest}/{name}.h")]
            paths = (f'-DLAYOUTLINT_GCC_{name.upper()}_H="{newest}/{name}.h"' for name in found)
            return (*paths, "-idirafter", _OF_GCC) if found else ()
    return ()


def include_folder() -> str | None:
    """Return the folder of builtin headers, for a unit with -nostdinc that needs them; else None."""
    words = flags()
    if words is None:
        return None
    return os.path.join(words[1], "include") if words[0] == "-resource-dir" else words[1]


_QUESTION = re.compile(r"__has_(feature|extension|builtin|attribute|c_attribute)\s*\([^()]*\)")

_MOST_ALIGNED = re.compile(r"\n(?=[ \t]*\}[ \t]*max_align_t[ \t]*;)")
_OF_I386 = (
    "\n#if defined __i386__ && !defined _WIN32\n__float128 __max_align_f128 "
    "__attribute__((__aligned__(__alignof__(__float128))));\n#endif\n"
)
"""What `max_align_t` has to gcc (7 and later), and not to clang."""


@accesses.remember(1, is_lasting=True)
def texts_for_gcc() -> tuple[tuple[str, str], ...]:
    """Return clang's headers that ask what libclang has, by path, with its answers, and with gcc's types.

    A GCC that does not define `__has_feature` has headers of its own, which ask nothing.
    """
    folder = include_folder()
    if folder is None:
        return ()
    texts = []
    for path in files.expand(os.path.join(folder, "*.h")):
        if files.status_of(path).st_size > _LARGEST:
            continue
        text = files.read_all(path, _LARGEST).decode(errors="surrogateescape")
        answered = _QUESTION.sub(lambda question: str(int(question[1] != "feature")), text)
        answered = _MOST_ALIGNED.sub(_OF_I386, answered)
        if answered != text:
            texts.append((path, answered))
    return tuple(texts)


def _version(path: str) -> tuple[int, ...]:
    """Return the numbers of the folder above `include`: 16 for `/usr/lib/llvm-16/lib/clang/16/include`."""
    return tuple(int(number) for number in re.findall(r"\d+", os.path.basename(os.path.dirname(path))))
