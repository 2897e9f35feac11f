"""Digests of files that earlier runs of a survey read, kept in its store.

A digest holds as long as the state of its file is the same: device, inode, size, and both times in
nanoseconds. Nothing can set the time of the last change of an inode, so a file that was written again differs
in it. A file that changed just before it was read proves nothing (git's racy rule), and is read each time.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator

from layoutlint import files
from layoutlint.commands.survey.row_log import RowLog
from layoutlint.files.accesses import State, state_of
from layoutlint.readers.cache.answers import is_proof
from layoutlint.surveys.store import Store
from layoutlint.surveys.tables import DIGESTS

_LARGEST = 1 << 36
"""The most bytes of a file that are read for a digest."""
_PIECE = 1 << 20
_BATCH = 1024
"""The digests that are written to one file."""
_BATCH_SECONDS = 60.0
"""The longest time that they wait: so much is read again after the client is killed."""


def content_digest(path: str) -> str:
    """Return the SHA-256 of a file; raises OSError, also if it is too large."""
    digest = hashlib.sha256()
    for piece in _pieces(path):
        digest.update(piece)
    return digest.hexdigest()


class FileDigests:
    """The digests in a store, and those that are new. Memory grows with the number of files, by 200 bytes."""

    def __init__(self, store: Store) -> None:
        self._known: dict[bytes, tuple[str, str]] = {}
        """The state of a file as text, and its digest, by a digest of its path."""
        for row in store.rows(DIGESTS, ("path", "state", "digest")):
            self._known[bytes.fromhex(row["path"])] = row["state"], row["digest"]
        self._log = RowLog(store, DIGESTS, _BATCH, _BATCH_SECONDS)

    def digest(self, path: str) -> str:
        """Return the SHA-256 of a file, which is read unless its state is known; raises OSError."""
        begun = time.time_ns()
        full_path = os.path.abspath(path)
        key = hashlib.sha256(os.fsencode(full_path)).digest()[:16]
        state = _state(path)
        known_state, digest = self._known.get(key, ("", ""))
        if known_state == _text(state):
            return digest
        digest = content_digest(path)
        if is_proof(full_path, state, begun) and _state(path) == state:
            self._add(key, _text(state), digest)
        return digest

    def _add(self, key: bytes, state: str, digest: str) -> None:
        self._known[key] = state, digest
        self._log.add({"path": key.hex(), "state": state, "digest": digest})

    def flush(self) -> None:
        """Write what is new. Raises UsageError."""
        self._log.flush()


def _state(path: str) -> State:
    return state_of(files.status_of(path))


def _text(state: State) -> str:
    return " ".join(map(str, state))


def _pieces(path: str) -> Iterator[bytes]:
    """Yield the bytes of a file; raises OSError, also if there are too many."""
    left = _LARGEST
    with files.open_file(path, _LARGEST) as file:
        while piece := file.read(_PIECE):
            left -= len(piece)
            if left < 0:  # the size of files in /proc is 0
                raise OSError(f"has more than the {_LARGEST:,} bytes that are read")
            yield piece
