"""The identity of an input, independent of its name: the digest of its content."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.model.record import Record, replace
from layoutlint.readers import dispatch
from layoutlint.readers.archives.locate import locate
from layoutlint.readers.modules import find

State = tuple[int, int]
"""Size and time of the last change, in bytes and nanoseconds."""
Digest = Callable[[str], str]
"""Returns the SHA-256 of a file; raises OSError."""
_BUILD_ID = re.compile(r"build-id:[0-9a-fA-F]{8,}")


class Identity(Record, frozen=True):
    """The content of an input."""

    digest: str
    """Of the content; of the name if only reading it tells what belongs to it."""
    size: int | None
    """Bytes; None if they are not known."""
    state: State | None
    """The state of `file`; None for another input."""
    is_whole: bool
    """Whether nothing else decides what is read, so that rows of an earlier run are the same."""
    file: str | None = None
    """The file with this content, or the archive with this member; None for another input."""


def identify(name: str, digest: Digest, by_build_id: bool = False) -> Identity:
    """Return the identity of an input; `by_build_id` takes the build id of ELF files that state one.

    A file that cannot be read has that of its name: its task says why.
    """
    if _BUILD_ID.fullmatch(name):
        return Identity(_digest_of_text(name.lower()), None, None, True)
    try:
        if files.is_folder(name):
            return _folder_identity(name, digest, by_build_id)
        if not files.exists(name):
            return _member_identity(name, digest)
        return _file_identity(name, digest, by_build_id)
    except OSError:
        return _name_identity(name)


def state_of(name: str) -> State | None:
    """Return the state of a file; None if it is gone."""
    try:
        status = files.status_of(name)
    except (OSError, ValueError):
        return None
    return status.st_size, status.st_mtime_ns


def _member_identity(name: str, digest: Digest) -> Identity:
    """Return the identity of a member of an archive; that of its name if there is no such archive."""
    location = locate(name)
    if location is None:
        return _name_identity(name)
    archive = _file_identity(location.path, digest, by_build_id=False)
    of_member = _digest_of_text(f"member {archive.digest} {location.member}")
    return replace(archive, digest=of_member, is_whole=True)


def _name_identity(name: str) -> Identity:
    return Identity(_digest_of_text(f"name {name}"), None, None, False)


def _file_identity(name: str, digest: Digest, by_build_id: bool) -> Identity:
    reader = _reader(name)
    state = state_of(name)
    size = None if state is None else state[0]
    if by_build_id and reader == "elf":
        build_id = _build_id(name)
        if build_id is not None:
            return Identity(_digest_of_text(f"build-id {build_id}"), size, state, True, name)
    return Identity(digest(name), size, state, reader != "clang", name)


def _reader(name: str) -> str | None:
    """Return the reader that a file needs; None if that takes more than its first bytes."""
    try:
        return dispatch.sniff(name)
    except ReadError:
        return None


def _build_id(name: str) -> str | None:
    """Return the build id of a file with the sizes of its sections; None for another file."""
    from layoutlint.readers.elf import elf_file

    try:
        with elf_file.open_elf(name) as image:
            return image.identity
    except ReadError:
        return None


def _folder_identity(name: str, digest: Digest, by_build_id: bool) -> Identity:
    """Return the identity of a folder of modules; that of its name for C sources."""
    folder = find.find(name)
    if folder is None or folder.unread:
        return _name_identity(name)
    of_folder, size = hashlib.sha256(b"folder\n"), 0
    for path in folder.files:
        content = _file_identity(path, digest, by_build_id)
        line = f"{os.path.relpath(path, name)}\0{content.digest}\n"
        of_folder.update(line.encode(errors="surrogateescape"))
        size += content.size or 0
    return Identity(of_folder.hexdigest(), size, None, True)


def _digest_of_text(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()
