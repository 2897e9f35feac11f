"""Readings as JSON, `layoutlint/reading/1`: layouts of structs and what else an input states (docs/cache.md).

Objects have the attributes of their records by name. Decoding is strict: another form raises Malformed.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import Literal

import msgspec

from layoutlint.model.reading import Reading, Unread
from layoutlint.model.record import Record

Result = Reading | Unread
_LARGEST = 1 << 28
"""The most bytes of JSON."""


class _Result(Record, frozen=True, forbid_unknown_fields=True):
    """A reading, or why there is none."""

    reading: Reading | None
    unread: Unread | None


class _Document(Record, frozen=True, forbid_unknown_fields=True):
    schema: Literal["layoutlint/reading/1"]
    results: tuple[_Result, ...]


class Malformed(ValueError):
    """Bytes that are no encoded readings."""


def encode(results: Iterable[Result]) -> bytes:
    """Return results of reading as compressed JSON. Raises ValueError for names that are no UTF-8."""
    pairs = ((None, each) if isinstance(each, Unread) else (each, None) for each in results)
    document = _Document("layoutlint/reading/1", tuple(_Result(*pair) for pair in pairs))
    return zlib.compress(msgspec.json.encode(document), 1)


def decode(data: bytes) -> list[Result]:
    """Return the results that were encoded; raises Malformed."""
    try:
        stream = zlib.decompressobj()
        text = stream.decompress(data, _LARGEST)
        if not stream.eof or stream.unused_data:
            raise Malformed("truncated, or too long")
        document = msgspec.json.decode(text, type=_Document)
    except (zlib.error, msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise Malformed(str(error)) from error
    return [_decode_result(result) for result in document.results]


def _decode_result(result: _Result) -> Result:
    """Return the reading or the failure; raises Malformed for both or none."""
    only = result.reading or result.unread
    if only is None or (result.reading is not None and result.unread is not None):
        raise Malformed("neither a reading nor a failure")
    return only
