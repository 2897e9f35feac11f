"""Files with a name and a content, but without a place in the file system: members of archives, downloads.

Their contents are in files that have no name, so the system removes them when the last process that has them
open ends, however it ends. Forks of this process have them too.

`ARCHIVE:MEMBER` names a member, and `ARCHIVE:/MEMBER` as well, for searches in the folders of a system.
"""

from __future__ import annotations

import io
import os
from typing import IO, TYPE_CHECKING, NamedTuple

from layoutlint.files.accesses import State

if TYPE_CHECKING:
    from mmap import mmap


class StoredFile(NamedTuple):
    """A content, as a part of a file without a name."""

    store: IO[bytes]
    offset: int
    """A multiple of mmap.ALLOCATIONGRANULARITY, so that it can be mapped."""
    size: int
    """Bytes, at least 1."""
    source: str | None
    """The absolute path of the file that it comes from; None for a download that is not kept."""
    state: State
    """The state of the source when it was read."""

    def map_content(self) -> mmap:
        """Return the content, mapped."""
        import mmap  # few runs have such files

        return mmap.mmap(self.store.fileno(), self.size, access=mmap.ACCESS_READ, offset=self.offset)

    def open_content(self) -> io.BufferedReader:
        """Open the content for reading, with a position of its own also in forks."""
        return io.BufferedReader(_Content(self.map_content()))


class _Content(io.RawIOBase):
    """A mapped content as a file."""

    def __init__(self, mapped: mmap) -> None:
        self._mapped = mapped
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: len(self._mapped)}[whence]
        self._position = max(0, start + offset)
        return self._position

    def tell(self) -> int:
        return self._position

    def readinto(self, buffer: object) -> int:
        with memoryview(buffer) as view:  # type: ignore[arg-type]
            piece = self._mapped[self._position : self._position + len(view)]
            view[: len(piece)] = piece
        self._position += len(piece)
        return len(piece)

    def close(self) -> None:
        self._mapped.close()
        super().close()


_files: dict[str, StoredFile] = {}
_sources: set[str] = set()
"""The archives that these come from."""


def add(name: str, file: StoredFile) -> None:
    """Give a content a name."""
    _files[_key(name)] = file
    if file.source is not None:
        _sources.add(file.source)


def drop(store: IO[bytes]) -> None:
    """Forget all contents of a file without a name, and close it; what is mapped stays until it is closed."""
    for name in [name for name, file in _files.items() if file.store is store]:
        del _files[name]
    _sources.intersection_update({file.source for file in _files.values()})
    store.close()


def find(path: str) -> StoredFile | None:
    """Return the content of a name; None if it has none."""
    return _files.get(_key(path)) if _files else None


def real_path(path: str) -> str:
    """Return the absolute path of a content; a member of an archive has one as below a root: `A:/usr/lib`."""
    archive, colon, member = _key(path).rpartition(":")
    return f"{archive}{colon}/{member}" if colon else member


def system_path(path: str) -> str:
    """Return the absolute path of a file in its system; that of a member begins at its archive's root."""
    absolute = os.path.abspath(path)
    archive, colon, member = absolute.rpartition(":/")
    is_member = bool(colon) and any(f"{archive}:".startswith(f"{source}:") for source in _sources)
    return f"/{member}" if is_member else absolute


def _key(path: str) -> str:
    return os.path.abspath(path).replace(":/", ":")
