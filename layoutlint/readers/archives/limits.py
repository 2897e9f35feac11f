"""How much of an archive is unpacked."""

from __future__ import annotations

import os
import re

from layoutlint.errors import UsageError
from layoutlint.model.record import Record

VARIABLE = "LAYOUTLINT_UNPACK_LIMIT"
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_DEFAULT = 16 << 30
"""Three times the largest debug package of a kernel of Debian."""
_SIZE = re.compile(r"([0-9]{1,18})([KMGT]?)")


class ArchiveLimits(Record, frozen=True):
    """Limits of one archive with all archives in it."""

    content: int = _DEFAULT
    """Bytes of all members together, also of those that are not kept."""
    free_content: int = 1 << 30
    ratio: int = 100
    """Members may have `free_content` bytes, or so many times the bytes of the archive. Debug information
    shrinks to a sixth."""
    members: int = 500_000
    """A source tree of Linux has a sixth of that."""
    kept: int = 65_536
    """Files to read."""
    depth: int = 4
    """Archives in each other: a package in a tarball has a tarball with a static library."""
    name: int = 4096
    """Bytes of a name: PATH_MAX of Linux."""
    seconds: int = 3600
    memory: int = 3 << 30
    """Bytes that unpacking may take."""


def limits() -> ArchiveLimits:
    """Return the limits of this run, by the environment. Raises UsageError for a value that is no size."""
    text = os.environ.get(VARIABLE)
    if not text:
        return ArchiveLimits()
    match = _SIZE.fullmatch(text.strip().upper())
    if match is None or not int(match[1]):
        raise UsageError(f"{text!r} is not a number of bytes, such as 40G", VARIABLE)
    return ArchiveLimits(content=int(match[1]) * _UNITS[match[2]], ratio=1 << 40)
