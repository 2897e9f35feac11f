"""The target of a raw BTF blob, which names none: from its byte order, its `long`, and where it stands."""

from __future__ import annotations

import os
from functools import lru_cache

from layoutlint.model.target import TARGETS, Target, target_named
from layoutlint.readers.btf import blob
from layoutlint.readers.btf.blob import Blob

_LONG = ("long int", "long unsigned int", "long", "unsigned long")
_INTS = frozenset((blob.INT,))
_RUNNING = "/sys/kernel/btf/"

# What uname(2) calls a machine, where that is not the name of its TARGETS row.
_UNAME = {
    "armv6l": "arm", "armv7l": "arm", "armv8l": "arm", "i486": "i386", "i586": "i386", "i686": "i386",
    "ppc": "powerpc", "ppc64": "powerpc64", "ppc64le": "powerpc64le",
}  # fmt: skip


def of(path: str, source: Blob, asked: str | None = None) -> tuple[Target, tuple[str, ...]]:
    """The target, the one that is asked for where it fits, and what had to be assumed. Raises Damaged."""
    pointer, notes = _pointer_size(source.base or source)
    if asked is not None and _fits(target_named(asked), pointer, source.little_endian):
        return target_named(asked), notes
    if os.path.realpath(path).startswith(_RUNNING):
        running = _running(pointer, source.little_endian)
        if running is not None:
            return running, notes
    name = f"unknown{pointer * 8}-{'le' if source.little_endian else 'be'}"
    target = target_named(name)
    assumed = f"raw BTF names no machine: assuming cache lines of {target.line_size} bytes (`--line-size`)"
    return target, (*notes, assumed)


@lru_cache(maxsize=2)
def _pointer_size(whole: Blob) -> tuple[int, tuple[str, ...]]:
    """Bytes of a `long`, which on Linux is as long as a pointer."""
    for record in whole.named(_INTS, _LONG):
        if record.value in (4, 8):
            return record.value, ()
    return 8, ("it has no `long`: assuming pointers of 8 bytes",)


def _fits(target: Target, pointer_size: int, little_endian: bool) -> bool:
    return (target.pointer_size, target.little_endian) == (pointer_size, little_endian)


def _running(pointer_size: int, little_endian: bool) -> Target | None:
    """The running machine's row of TARGETS, when it agrees with what is known."""
    name = os.uname().machine
    rows = (target for target in TARGETS if target.name == _UNAME.get(name, name))
    return next((target for target in rows if _fits(target, pointer_size, little_endian)), None)
