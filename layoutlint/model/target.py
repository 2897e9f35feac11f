"""The machines that code is compiled for, and their other names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from layoutlint.model.json_object import one_of
from layoutlint.model.record import Record
from layoutlint.phrases import name_hint


class Target(Record, frozen=True):
    """Facts that depend on the machine; `line_size` and `min_align` are defaults."""

    name: str
    pointer_size: int
    little_endian: bool
    line_size: int
    """Bytes in a cache line."""
    min_align: int
    """The smallest alignment of an allocated object, in bytes."""
    max_align: int
    """The largest natural alignment of a scalar inside a struct, in bytes (4 on i386)."""
    kmalloc_align: int = 8
    """What every block of the kernel's kmalloc is aligned to, in bytes (ARCH_KMALLOC_MINALIGN)."""
    slab_align: int = 8
    """What every object of a slab cache is aligned to, in bytes (ARCH_SLAB_MINALIGN)."""
    malloc_align: int = 16
    """What every block of the C library's malloc is aligned to, in bytes (MALLOC_ALIGNMENT)."""


def _target(
    name: str, pointer: int, endian: str, line: int, min_align: int, max_align: int,
    *, kmalloc: int = 8, slab: int = 8, malloc: int = 16,
) -> Target:  # fmt: skip
    return Target(name, pointer, endian == "little", line, min_align, max_align, kmalloc, slab, malloc)


# Line sizes: L1_CACHE_SHIFT in Linux v7.2, arch/*/include/asm/cache.h; the smallest alignment of an object is
# that of `unsigned long long`, as include/linux/slab.h has it.
# Scalar alignment: the psABI of each architecture.
# kmalloc: ARCH_KMALLOC_MINALIGN, there and in include/linux/slab.h: ARCH_DMA_MINALIGN on arm, a line (64 on
# ARMv7), and on loongarch; 8 on arm64 and riscv since v6.5 (128 and 64 before), and on mips and powerpc where
# DMA is coherent (else 128, and a line). The smaller one allows more placements; --min-align says the other.
# slab: ARCH_SLAB_MINALIGN, likewise; 16 on arm64 with KASAN's tags, which is a build for debugging.
# malloc: MALLOC_ALIGNMENT of glibc 2.26 and later, sysdeps/{generic,i386}/malloc-alignment.h: 16 on i386,
# else twice a pointer, or the alignment of `long double` where that is larger.
TARGETS: tuple[Target, ...] = (
    _target("x86_64", 8, "little", 64, 8, 16),
    _target("x32", 4, "little", 64, 8, 16),  # x86-64 with pointers of 32 bits (-mx32)
    _target("i386", 4, "little", 64, 8, 4),
    _target("aarch64", 8, "little", 64, 8, 16),
    _target("aarch64_be", 8, "big", 64, 8, 16),
    _target("arm", 4, "little", 64, 8, 8, kmalloc=64, malloc=8),
    _target("armeb", 4, "big", 64, 8, 8, kmalloc=64, malloc=8),
    _target("powerpc64le", 8, "little", 128, 8, 16),
    _target("powerpc64", 8, "big", 128, 8, 16),
    _target("powerpc", 4, "big", 32, 8, 16),
    _target("s390x", 8, "big", 256, 8, 8),
    _target("riscv64", 8, "little", 64, 8, 16),
    _target("riscv32", 4, "little", 64, 8, 16),
    _target("mips64", 8, "big", 32, 8, 16),
    _target("mips64el", 8, "little", 32, 8, 16),
    _target("mips", 4, "big", 32, 8, 8, malloc=8),
    _target("mipsel", 4, "little", 32, 8, 8, malloc=8),
    _target("loongarch64", 8, "little", 64, 8, 16, kmalloc=16),
    _target("sparc64", 8, "big", 64, 8, 16),
    # A raw BTF blob names no machine: only its byte order and the size of `long` are known.
    _target("unknown64-le", 8, "little", 64, 8, 16),
    _target("unknown64-be", 8, "big", 64, 8, 16),
    _target("unknown32-le", 4, "little", 64, 8, 8, malloc=8),
    _target("unknown32-be", 4, "big", 64, 8, 8, malloc=8),
)

TargetName = Annotated[str, one_of(*(target.name for target in TARGETS))]


def target_named(name: str) -> Target:
    """Return the row of TARGETS with that name; raises KeyError if there is none."""
    return {target.name: target for target in TARGETS}[name]


TRIPLES = {
    "amd64": "x86_64", "x64": "x86_64", "arm64": "aarch64", "arm64_be": "aarch64_be", "armebv7": "armeb",
    "ppc64le": "powerpc64le", "ppc64": "powerpc64", "ppc": "powerpc", "sparcv9": "sparc64",
    "systemz": "s390x",
}  # fmt: skip
"""Architectures of target triples whose name in TARGETS differs."""
UNAMES = {
    "armv6l": "arm", "armv7l": "arm", "armv8l": "arm", "i486": "i386", "i586": "i386", "i686": "i386",
    "ppc": "powerpc", "ppc64": "powerpc64", "ppc64le": "powerpc64le",
}  # fmt: skip
"""Machines of uname(2) whose name in TARGETS differs."""
# Folders below arch/ of Linux, architectures of Debian (dpkg-architecture -L), and usual spellings.
_ELSEWHERE = {
    "x86": ("x86_64", "i386"), "x86-64": ("x86_64",), "x86_32": ("i386",), "ia32": ("i386",),
    "i486": ("i386",), "i586": ("i386",), "i686": ("i386",), "armhf": ("arm",), "armel": ("arm",),
    "armv7": ("arm",), "armv7l": ("arm",), "armv8": ("aarch64",), "ppc64el": ("powerpc64le",),
    "s390": ("s390x",), "riscv": ("riscv64", "riscv32"), "loong64": ("loongarch64",),
    "loongarch": ("loongarch64",), "sparc": ("sparc64",),
}  # fmt: skip


def target_hint(name: str, names: Iterable[str]) -> str:
    """Return a hint for an unknown machine name: its name in TARGETS if known, else the nearest name."""
    choices = tuple(names)
    targets = [TRIPLES[name]] if name in TRIPLES else _ELSEWHERE.get(name, ())
    matches = [f"`{target}`" for target in targets if target in choices]
    return f" (it is called {' or '.join(matches)} here)" if matches else name_hint(name, choices)
