"""Recognition of archives, and of members of archives, among the inputs."""

from __future__ import annotations

import posixpath

from layoutlint import files
from layoutlint.model.record import Record
from layoutlint.readers.archives import formats


class Location(Record, frozen=True):
    """An archive, or a part of one."""

    path: str
    member: str = ""
    """A member, or a folder or an archive in it; empty for the whole archive."""

    @property
    def name(self) -> str:
        """How reports call it."""
        return f"{self.path}:{self.member}" if self.member else self.path


def locate(path: str) -> Location | None:
    """Return the archive that an input is or names a member of; None for other inputs."""
    if files.is_file(path):
        return Location(path) if is_archive(path) else None
    if ":" not in path or files.exists(path):
        return None
    at = path.find(":")
    while at > 0:
        archive, member = path[:at], posixpath.normpath(path[at + 1 :].lstrip("/") or ".")
        if member != "." and files.is_file(archive) and is_archive(archive):
            return Location(archive, member)
        at = path.find(":", at + 1)
    return None


def is_archive(path: str) -> bool:
    """Return whether a file is an archive by its content; False for one that cannot be read."""
    try:
        start = files.read_start(path, formats.START)
        if formats.is_compressed(start):
            start = files.read_start(path, formats.COMPRESSED_START)
    except OSError:
        return False
    return formats.is_archive(start)
