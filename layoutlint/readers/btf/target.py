"""The target of a raw BTF blob, which states none: from its byte order, its `long`, and its path."""

from __future__ import annotations

import os
from functools import lru_cache

from layoutlint import files
from layoutlint.model.target import TARGETS, UNAMES, Target, target_named
from layoutlint.readers.btf import blob
from layoutlint.readers.btf.blob import Blob

_LONG = ("long int", "long unsigned int", "long", "unsigned long")
_INTS = frozenset((blob.INT,))
_RUNNING = "/sys/kernel/btf/"


def choose_target(path: str, source: Blob, requested: str | None = None) -> tuple[Target, tuple[str, ...]]:
    """Return the target, the requested one if it fits, and notes on assumptions. Raises Damaged."""
    pointer, notes = _pointer_size(source.base or source)
    if requested is not None and _fits(target_named(requested), pointer, source.little_endian):
        return target_named(requested), notes
    if files.real_path(path).startswith(_RUNNING):
        running = _running_machine(pointer, source.little_endian)
        if running is not None:
            return running, notes
    name = f"unknown{pointer * 8}-{'le' if source.little_endian else 'be'}"
    target = target_named(name)
    assumption = f"raw BTF names no machine: assuming cache lines of {target.line_size} bytes (`--line-size`)"
    return target, (*notes, assumption)


@lru_cache(maxsize=2)
def _pointer_size(whole: Blob) -> tuple[int, tuple[str, ...]]:
    """Return the bytes of a `long`, which on Linux has the size of a pointer, and notes."""
    for record in whole.records_named(_INTS, _LONG):
        if record.value in (4, 8):
            return record.value, ()
    return 8, ("it has no `long`: assuming pointers of 8 bytes",)


def _fits(target: Target, pointer_size: int, little_endian: bool) -> bool:
    return (target.pointer_size, target.little_endian) == (pointer_size, little_endian)


def _running_machine(pointer_size: int, little_endian: bool) -> Target | None:
    """Return the running machine's row of TARGETS, if it agrees with the blob."""
    name = os.uname().machine
    rows = (target for target in TARGETS if target.name == UNAMES.get(name, name))
    return next((target for target in rows if _fits(target, pointer_size, little_endian)), None)
