"""Reads files of addresses of objects: `STRUCT ADDRESS [COUNT]` on each line."""

from __future__ import annotations

import re
from io import BytesIO

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.model.storage import PAGE
from layoutlint.model.structs import Source

_LARGEST = 1 << 26
"""The most bytes of a file: three million objects."""
_MOST_STRUCTS = 10_000
_MOST_COUNT = 1 << 40
_LINE = re.compile(rb"(?:struct |union )?(\w{1,256})[ \t]+0x([0-9a-fA-F]{1,16})(?:[ \t]+(\d{1,12}))?")


def read(path: str) -> dict[str, dict[int, int]]:
    """Return how many objects of each struct start at each byte of a page.

    Empty lines and those that begin with `#` are left out. Raises ReadError, with the line of a mistake.
    """
    try:
        data = files.read_all(path, _LARGEST)
    except OSError as error:
        raise ReadError(path, files.error_reason(error)) from None
    starts: dict[str, dict[int, int]] = {}
    for number, text in enumerate(BytesIO(data), start=1):
        line = text.strip()
        if not line or line.startswith(b"#"):
            continue
        found = _LINE.fullmatch(line)
        count = 1 if found is None or found[3] is None else int(found[3])
        if found is None or not 0 < count <= _MOST_COUNT:
            reason = "expected STRUCT ADDRESS [COUNT], such as `ring 0x55d0c3a0e2c0`"
            raise ReadError(Source(path, number), reason)
        own = starts.setdefault(found[1].decode(), {})
        start = int(found[2], 16) % PAGE
        own[start] = own.get(start, 0) + count
        if len(starts) > _MOST_STRUCTS:
            raise ReadError(Source(path, number), f"names more than {_MOST_STRUCTS:,} structs")
    if not starts:
        raise ReadError(path, "has no objects")
    return starts
