"""C text for other machines than this one: what clang calls them, and which headers there are for them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

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
"""The rows of TARGETS for which C text can be read."""
_VENDORS = ("unknown", "pc", "none", "redhat", "suse", "ibm", "apple")
_SAYS_WHICH = re.compile(r"-nostd(?:lib)?inc|--sysroot.*|-isysroot.*|-isystem.*|-ffreestanding")
"""Flags with which somebody has already decided where the C library's headers are, or that there are none."""


def target_flags(name: str | None) -> tuple[str, ...]:
    """What makes clang compile for a machine of TARGETS; nothing for None."""
    return () if name is None else (f"--target={_TRIPLES[name]}",)


def stated(words: Iterable[str]) -> str | None:
    """The triple that flags name, the last one; None when they leave the machine to clang."""
    found, before = None, ""
    for word in words:
        if word.startswith("--target="):
            found = word.partition("=")[2]
        elif before == "-target":
            found = word
        before = word
    return found


def lacks_library(kept: tuple[str, ...]) -> bool:
    """Whether flags compile for another machine, and this one has no C library's headers for it."""
    if any(_SAYS_WHICH.fullmatch(word) for word in kept):
        return False
    triple = stated(kept)
    if triple is None or "linux" not in triple:
        return False
    here = flags.architecture(os.uname().machine, 64)
    if flags.architecture(triple, 64) == here and "x32" not in triple:
        return False
    multiarch = "-".join(part for part in triple.split("-") if part not in _VENDORS)
    places = (f"/usr/include/{multiarch}/bits", f"/usr/{multiarch}/include", f"/usr/{triple}/include")
    return not any(map(os.path.isdir, places))


_OWN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "freestanding")
ALONE = ("-ffreestanding", "-nostdlibinc", "-isystem", _OWN)
"""Clang's own headers (stdint.h, stddef.h, limits.h) are whole by themselves then, and this machine's C
library, which is for another one, is not looked at."""


NOTE = (
    "no C library for its machine was found here: the compiler's own headers alone are known, such as "
    "stdint.h (`-ffreestanding`); `--sysroot` names others"
)
"""What a user must know where `ALONE` was added."""
