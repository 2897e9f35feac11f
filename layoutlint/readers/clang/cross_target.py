"""C source for other machines than this one: clang's target names, and the headers for them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from layoutlint import files
from layoutlint.model.record import Record
from layoutlint.readers.clang import flags

if TYPE_CHECKING:
    from layoutlint.readers.clang.build_compiler import Compiler

_TRIPLES = {
    "x86_64": "x86_64-linux-gnu", "x32": "x86_64-linux-gnux32", "i386": "i386-linux-gnu",
    "aarch64": "aarch64-linux-gnu", "aarch64_be": "aarch64_be-linux-gnu", "arm": "arm-linux-gnueabihf",
    "armeb": "armeb-linux-gnueabihf",
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


class Library(Record, frozen=True):
    """The headers of a unit's C library."""

    first: tuple[str, ...] = ()
    """Flags before those of the unit."""
    last: tuple[str, ...] = ()
    """Flags behind those of the unit."""
    problem: str | None = None
    """Why they may be others than the build's."""


_PARTS = ("include", "sysroot/usr/include", "libc/usr/include")
"""Where cross compilers of GNU, crosstool-NG and Arm have their C library headers."""
_SMALL = ("newlib-nano", "nano")
"""The folders of newlib's small variant: Arm's and Debian's."""
_STATED = re.compile(r"-nostd(?:lib)?inc|--sysroot.*|-isysroot.*")
_SMALL_PROBLEM = (
    "compiled with --specs=nano.specs, and the folder newlib-nano of its headers was not found: "
    "add it with `-I DIR`"
)


def find_library(words: tuple[str, ...], compiler: Compiler | None, has_small_library: bool) -> Library:
    """Find the C library headers of the machine that flags name, without running a compiler.

    `has_small_library` is whether the build has newlib's small variant.
    """
    is_stated = any(map(_STATED.fullmatch, words))
    folder = None if is_stated or (compiler and compiler.family == "clang") else _folder(words, compiler)
    given = [*words, *(word[2:] for word in words if word.startswith("-I"))]
    if not has_small_library or any(os.path.basename(word.rstrip("/")) in _SMALL for word in given):
        small: tuple[str, ...] = ()
        problem = None
    else:
        places = [place for base in (folder, *given) if base for place in _small_places(base)]
        small = next((("-isystem", place) for place in places if files.exists(f"{place}/newlib.h")), ())
        has_other = folder is not None or any(map(_SAYS_WHICH.fullmatch, words))
        problem = _SMALL_PROBLEM if has_other and not small else None
    if folder is not None:
        return Library(small, ("-nostdlibinc", "-isystem", folder), problem)
    return Library(small, ALONE if lacks_library(words) else (), problem)


def _small_places(folder: str) -> Iterator[str]:
    return (os.path.join(folder, name) for name in _SMALL)


def _folder(words: tuple[str, ...], compiler: Compiler | None) -> str | None:
    """Return the folder of a cross compiler's C library headers; None if it is not found."""
    prefix = compiler.prefix if compiler is not None else stated_triple(words)
    if prefix is None:
        return None
    places = [f"/usr/lib/{prefix}/include"]
    if compiler is not None and compiler.path is not None:
        root = os.path.dirname(os.path.dirname(files.real_path(compiler.path)))
        places = [*(os.path.join(root, prefix, part) for part in _PARTS), *places]
    if prefix == "arm-none-eabi":
        places.append("/usr/include/newlib")  # Debian's
    return next((place for place in places if files.exists(f"{place}/stdio.h")), None)


_OWN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "freestanding")
ALONE = ("-ffreestanding", "-nostdlibinc", "-isystem", _OWN)
"""With these, clang's own headers (stdint.h, stddef.h, limits.h) are complete without a C library, and the C
library of this machine, which is for another target, is not used."""


NOTE = (
    "no C library for its machine was found: only the compiler's own headers, such as stdint.h, are known "
    "(`-ffreestanding`); `--sysroot` names others"
)
"""The note for users if `ALONE` was added."""
