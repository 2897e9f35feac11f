"""Results of readers, kept in the cache as JSON, `layoutlint/reading/1` (docs/inputs.md).

Objects have the attributes of their records by name. Decoding is strict: another form raises Malformed.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from typing import Literal

import msgspec

from layoutlint.files import accesses
from layoutlint.model.reading import Reading, ReadOptions, Unread
from layoutlint.model.record import Record
from layoutlint.model.wanted import Wanted
from layoutlint.readers.cache import keys
from layoutlint.readers.cache.memory import Memory

Result = Reading | Unread
_MOST_STRUCTS = 2_000
"""The most structs of debug information that are kept: more take as long to decode as to read again."""
_MOST_STRUCTS_OF_TEXT = 50_000
"""The most structs of C text that are kept; 13,000 of Linux take 6 MB, 1 s to decode, and 30 s to parse."""
_LARGEST = 1 << 28
"""The most bytes of JSON."""


class CacheCounts:
    """How often this process found readings in the cache, and how often it did not."""

    def __init__(self) -> None:
        self.hits = 0
        self.misses = 0

    @property
    def total(self) -> int:
        """The readings that were asked for."""
        return self.hits + self.misses


counts = CacheCounts()


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
    pairs = ((None, result) if isinstance(result, Unread) else (result, None) for result in results)
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


def recall_or_read(
    parts: tuple[object, ...], wanted: Wanted, options: ReadOptions, read: Callable[[], Iterable[Result]]
) -> list[Result]:
    """Return what `read` returns, or what it returned in an earlier run if that would be the same.

    `parts` say what is read, beside the request and the options. Without `options.cache` it is always read.
    """
    if not options.cache:
        return list(read())
    try:
        # Results do not depend on what reads and on how progress is shown.
        memory = Memory(keys.key_of("reading", parts, wanted, options.of_task))
    except (keys.Unknown, OSError):
        return list(read())
    kept = memory.recall()
    if kept is not None:
        try:
            results = decode(kept)
            counts.hits += 1
            return results
        except Malformed:
            pass
    before = counts.total
    with accesses.log_answers() as log:
        results = list(read())
    if counts.total == before:  # else its files were asked for one by one (`build_ids`)
        counts.misses += 1
    if log.obstacle is None and all(map(is_small, results)):
        try:
            memory.keep(log, encode(results))
        except ValueError:  # names that are no UTF-8
            return results
    return results


def is_small(result: Result) -> bool:
    """Return whether a result is worth to be kept: it is faster to decode than to read again."""
    if isinstance(result, Unread):
        return True
    most = _MOST_STRUCTS_OF_TEXT if result.reader == "clang" else _MOST_STRUCTS
    return len(result.structs) <= most
