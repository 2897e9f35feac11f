"""C source for other machines than this one: clang's target names, and the headers for them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from layoutlint import files
from layoutlint.readers.clang import flags

_TRIPLES = {
    "x86_64": "x86_64-linux-gnu", "i386": "i386-linux-gnu", "aarch64": "aarch64-linux-gnu",
    "aarch64_be": "aarch64_be-linux-gnu", "arm": "arm-linux-gnueabihf", "armeb": "armeb-linux-gnueabihf",
    "powerpc64le": "powerpc64le-linux-gnu", "powerpc64": "powerpc64-linux-gnu",
    "powerpc": "powerpc-linux-gnu", "s390x": "s390x-linux-gnu", "riscv64": "riscv64-linux-gnu",
    "riscv32": "riscv32-linux-gnu", "mips64": "mips64-linux-gnuabi64",
    "mips64el": "mips64el-linux-gnuabi64", "mips": "mips-linux-gnu", "mipsel": "mipsel-linux-gnu",
    "loongarch64": "loongarch64-linux-gnu", "sparc64": "sparc64-linux-gnu",
}  # fmt: skip
NAMES = tuple(_TRIPLES)
"""The rows of TARGETS for which C source can be read."""
_VENDORS = ("unknown", "pc", "none", "redhat", "suse", "ibm", "apple")
_SAYS_WHICH = re.compile(r"-nostd(?:lib)?inc|--sysroot.*|-isysroot.*|-isystem.*|-ffreestanding")
"""Flags that already state where the C library's headers are, or that there are none."""


def target_flags(name: str | None) -> tuple[str, ...]:
    """Return the flags that make clang compile for a machine of TARGETS; none for None."""
    return () if name is None else (f"--target={_TRIPLES[name]}",)


def stated_triple(words: Iterable[str]) -> str | None:
    """Return the last triple that flags name; None if they leave the target to clang."""
    triple, previous = None, ""
    for word in words:
        if word.startswith("--target="):
            triple = word.partition("=")[2]
        elif previous == "-target":
            triple = word
        previous = word
    return triple


def lacks_library(words: tuple[str, ...]) -> bool:
    """Return whether flags compile for another machine, without C library headers for it on this one."""
    if any(_SAYS_WHICH.fullmatch(word) for word in words):
        return False
    triple = stated_triple(words)
    if triple is None or "linux" not in triple:
        return False
    own_machine = flags.architecture(os.uname().machine, 64)
    if flags.architecture(triple, 64) == own_machine and "x32" not in triple:
        return False
    multiarch = "-".join(part for part in triple.split("-") if part not in _VENDORS)
    places = (f"/usr/include/{multiarch}/bits", f"/usr/{multiarch}/include", f"/usr/{triple}/include")
    return not any(map(files.is_folder, places))


_OWN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "freestanding")
ALONE = ("-ffreestanding", "-nostdlibinc", "-isystem", _OWN)
"""With these, clang's own headers (stdint.h, stddef.h, limits.h) are complete without a C library, and the C
library of this machine, which is for another target, is not used."""


NOTE = (
    "no C library for its machine was found: only the compiler's own headers, such as stdint.h, are known "
    "(`-ffreestanding`); `--sysroot` names others"
)
"""The note for users if `ALONE` was added."""
