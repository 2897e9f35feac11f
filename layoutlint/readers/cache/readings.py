"""Results of readers, kept in the cache."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from layoutlint.files import accesses
from layoutlint.model.reading import Reading, ReadOptions, Unread
from layoutlint.model.wanted import Wanted
from layoutlint.readers.cache import keys, record
from layoutlint.readers.cache.memory import Memory

Result = Reading | Unread
_MOST_STRUCTS = 2_000
"""The most structs of debug information that are kept: more take as long to decode as to read again."""
_MOST_STRUCTS_OF_TEXT = 50_000
"""The most structs of C text that are kept; 13,000 of Linux take 6 MB, 1 s to decode, and 30 s to parse."""


class Counts:
    """How often this process found readings in the cache, and how often it did not."""

    def __init__(self) -> None:
        self.hits = 0
        self.misses = 0

    @property
    def total(self) -> int:
        """The readings that were asked for."""
        return self.hits + self.misses


counts = Counts()


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
            results = record.decode(kept)
            counts.hits += 1
            return results
        except record.Malformed:
            pass
    before = counts.total
    with accesses.log_answers() as log:
        results = list(read())
    if counts.total == before:  # else its files were asked for one by one (`build_ids`)
        counts.misses += 1
    if log.obstacle is None and all(map(is_small, results)):
        try:
            memory.keep(log, record.encode(results))
        except ValueError:  # names that are no UTF-8
            return results
    return results


def is_small(result: Result) -> bool:
    """Return whether a result is worth to be kept: it is faster to decode than to read again."""
    if isinstance(result, Unread):
        return True
    most = _MOST_STRUCTS_OF_TEXT if result.reader == "clang" else _MOST_STRUCTS
    return len(result.structs) <= most
