"""Huge pages for the memory of this process: forking it, which tests do thousands of times, copies one entry of the page
tables for 2 MB instead of 512."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator
from pathlib import Path

_COLLAPSE = 25
"""MADV_COLLAPSE (madvise(2), Linux 6.1); older kernels refuse it."""
_SIZE = 1 << 21


def collapse() -> None:
    """Move what this process has allocated into huge pages, where the system has them."""
    with contextlib.suppress(OSError, AttributeError):
        madvise = ctypes.CDLL(None).madvise
        madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        for begin, end in list(_anonymous()):
            begin, end = -(-begin // _SIZE) * _SIZE, end // _SIZE * _SIZE
            if begin < end:
                madvise(begin, end - begin, _COLLAPSE)


def _anonymous() -> Iterator[tuple[int, int]]:
    """Yield the bounds of writable memory that is of no file (proc_pid_maps(5))."""
    for line in Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines():
        bounds, permissions, _, _, _, *name = line.split(maxsplit=5)
        if permissions == "rw-p" and (not name or name == ["[heap]"]):
            begin, _, end = bounds.partition("-")
            yield int(begin, 16), int(end, 16)
