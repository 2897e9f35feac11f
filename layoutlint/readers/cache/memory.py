"""Results that are kept under a key as long as the answers of the file system hold."""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection, Mapping
from contextlib import closing

from layoutlint.files import accesses
from layoutlint.readers.cache import answers, folder

_LENGTH = 4
_MOST_BYTES = 1 << 28
"""The most bytes of answers."""
_DAMAGE = (
    ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError, OverflowError, zlib.error,
)  # fmt: skip
"""What content of another form raises; checksums make it improbable."""


class Memory:
    """The place of one result in the cache.

    The folder of the cache is open only while it is used: a run can have thousands of results.
    """

    def __init__(self, key: str) -> None:
        self._key = key

    def recall(self) -> bytes | None:
        """Return the result that is kept, if all that it depends on is the same; an active log gets that."""
        return self._recall(self._read())

    def _recall(self, content: bytes | None) -> bytes | None:
        if content is None:
            return None
        try:
            end = _LENGTH + int.from_bytes(content[:_LENGTH], "little")
            kept = json.loads(_decompress(content[_LENGTH:end]))
            check = answers.Check(kept)
            if not check.holds():
                return None
            log = accesses.active_log()
            if log is not None:
                answers.log_answers(kept, log)
        except _DAMAGE:
            return None
        if check.is_renewed:
            self.keep_settled(kept, content[end:])
        return content[end:]

    def keep(self, log: accesses.Log, result: bytes) -> None:
        """Keep a result that comes from the answers in a log, if nothing else decided about it."""
        settled = answers.settle(log)
        if settled is not None:
            self.keep_settled(settled, result)

    def keep_settled(self, settled: answers.Answers, result: bytes) -> None:
        """Keep a result that depends on some answers."""
        keep_several({self._key: (settled, result)})

    def _read(self) -> bytes | None:
        opened = folder.open_folder(create=False)
        if opened is None:
            return None
        with closing(opened):
            return opened.read(self._key)


def recall_several(keys: Collection[str]) -> dict[str, bytes]:
    """Return the results that are kept under some keys, and that `recall` would return."""
    opened = folder.open_folder(create=False) if keys else None
    if opened is None:
        return {}
    with closing(opened):
        results = {key: Memory(key)._recall(opened.read(key)) for key in keys}
    return {key: result for key, result in results.items() if result is not None}


def keep_several(results: Mapping[str, tuple[answers.Answers, bytes]]) -> None:
    """Keep results, by their keys, each with the answers that it depends on."""
    opened = folder.open_folder(create=True) if results else None
    if opened is not None:
        with closing(opened):
            for number, (key, (settled, result)) in enumerate(results.items(), 1):
                encoded = zlib.compress(json.dumps(settled, separators=(",", ":")).encode(), 1)
                content = len(encoded).to_bytes(_LENGTH, "little") + encoded + result
                opened.write(key, content, is_last=number == len(results))


def _decompress(data: bytes) -> bytes:
    """Return what was compressed; raises zlib.error, and ValueError if it is too long."""
    stream = zlib.decompressobj()
    content = stream.decompress(data, _MOST_BYTES)
    if not stream.eof:
        raise ValueError("too long")
    return content
