"""Reading of archives: as folders of modules, or as their only file.

What is unpacked is kept for the process.
"""

from __future__ import annotations

import os
import re
import tempfile
from functools import partial
from typing import IO

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.files import accesses, stored_files
from layoutlint.files.accesses import State
from layoutlint.files.stored_files import StoredFile
from layoutlint.model.reading import DEBUG_DIR, Reading, ReadOptions, Unread
from layoutlint.model.record import Record, replace
from layoutlint.model.wanted import Wanted
from layoutlint.readers import dispatch
from layoutlint.readers.archives import limits, unpack
from layoutlint.readers.archives.formats import Content
from layoutlint.readers.archives.library import MissingLibrary
from layoutlint.readers.archives.locate import Location
from layoutlint.readers.archives.unpack import Member, Unpacked, UnpackRequest
from layoutlint.readers.modules import find, merge
from layoutlint.readers.modules.find import Folder
from layoutlint.workers import sandbox
from layoutlint.workers.sandbox import WorkFailure

_PARTS = re.compile(r"\.dw[op]$|(^|/)\.dwz/")
"""Files that others refer to, and that say too little alone."""
_BUILD_ID = re.compile(r"^(.*?)/?\.build-id/")
_MOST_KEPT = 4 << 30
"""Bytes of contents that stay unpacked when another archive is."""


class _Kept(Record, frozen=True):
    state: State
    store: IO[bytes]
    unpacked: Unpacked


_kept: dict[tuple[str, str], _Kept] = {}


def unpack_archive(location: Location) -> Unpacked:
    """Return the members of an archive, which files are called `ARCHIVE:MEMBER` from now on.

    Raises ReadError if it cannot be unpacked.
    """
    key = os.path.abspath(location.path), location.member
    try:
        state = files.content_state(location.path)
    except OSError as error:
        raise ReadError(location.path, files.error_reason(error)) from error
    kept = _kept.get(key)
    if kept is not None and kept.state == state:
        return kept.unpacked
    _make_room(key)
    try:
        # Without a name, it is gone as soon as no process has it open.
        store = tempfile.TemporaryFile(buffering=0, prefix="layoutlint-")  # noqa: SIM115
    except OSError as error:
        reason = f"there is no place to unpack it: {files.error_reason(error)}"
        raise ReadError(location.path, reason) from error
    result = _unpack(location, store)
    source = None if stored_files.find(location.path) is not None else key[0]
    for member in result.members:
        stored = StoredFile(store, member.offset, member.size, source, state)
        stored_files.add(f"{location.path}:{member.name}", stored)
    _kept[key] = _Kept(state, store, result)
    return result


def _make_room(key: tuple[str, str]) -> None:
    """Forget what is unpacked of an archive, and of the oldest ones beyond a limit."""
    sizes = {other: os.fstat(kept.store.fileno()).st_size for other, kept in _kept.items()}
    for other in list(_kept):
        if other == key or sum(sizes.values()) > _MOST_KEPT:
            stored_files.drop(_kept.pop(other).store)
            del sizes[other]


def _open(path: str) -> IO[bytes]:
    """Open an archive with a descriptor at its start: a file, or a download. Raises OSError."""
    stored = stored_files.find(path)
    if stored is None:
        return files.open_file(path)
    file = os.fdopen(os.dup(stored.store.fileno()), "rb")
    file.seek(stored.offset)
    return file


def _unpack(location: Location, store: IO[bytes]) -> Unpacked:
    """Unpack an archive in a process with limits. Raises ReadError."""
    most = limits.limits()
    bounds = sandbox.WorkLimits(seconds=most.seconds, memory=most.memory)
    try:
        with _open(location.path) as source:
            request = UnpackRequest(location.path, location.member, source.fileno(), store.fileno(), most)
            ((_, result),) = sandbox.run_each(partial(unpack.unpack), [request], 1, bounds)
    except OSError as error:
        raise ReadError(location.path, files.error_reason(error)) from error
    except MissingLibrary as missing:
        accesses.refuse("a library is missing")
        raise ReadError(location.path, f"is an archive, which needs libarchive: {missing}") from missing
    except ReadError:
        accesses.refuse("the disk is full")
        raise
    if isinstance(result, WorkFailure):
        raise ReadError(location.path, f"unpacking it {result.how}")
    return result


def read(location: Location, wanted: Wanted, options: ReadOptions) -> list[Reading | Unread]:
    """Return one Reading for each target of the files in an archive, or why there is none."""
    options.progress(f"unpacking {location.path}", 0, 1)
    try:
        unpacked = unpack_archive(location)
    except ReadError as error:
        return [Unread.of_error(error)]
    names = inputs(location, unpacked.members)
    folders = _debug_folders(location, unpacked.members)
    options = replace(options, debug_dirs=(*folders, *options.debug_dirs))
    if len(names) == 1 and not unpacked.failures:
        return [dispatch.attempt(names[0], wanted, options)]
    if not names:
        return [*unpacked.failures] or [Unread(location.name, "holds only files that belong to other files")]
    return merge.read(Folder(location.name, names, unpacked.failures), wanted, options)


def files_of(location: Location) -> tuple[str, ...]:
    """Return the names of the files in an archive that are read. Raises ReadError."""
    unpacked = unpack_archive(location)
    if unpacked.failures:
        raise ReadError(unpacked.failures[0].origin, unpacked.failures[0].reason)
    return inputs(location, unpacked.members)


def inputs(location: Location, members: tuple[Member, ...]) -> tuple[str, ...]:
    """Return the names of the members that are read: of a kernel's package, the kernel and its modules."""
    chosen = [member for member in members if member.content is not Content.OTHER]
    if any(find.is_module(member.name) for member in chosen):
        has_vmlinux = any(find.is_vmlinux(member.name) for member in chosen)
        chosen = [
            member
            for member in chosen
            if find.is_module(member.name)
            or find.is_vmlinux(member.name)
            or (member.content is Content.KERNEL and not has_vmlinux)
        ]
    whole = [member for member in chosen if not _PARTS.search(member.name)]
    return tuple(sorted(f"{location.path}:{member.name}" for member in whole or chosen))


def _debug_folders(location: Location, members: tuple[Member, ...]) -> tuple[str, ...]:
    """Return the folders of debug files in an archive."""
    matches = map(_BUILD_ID.match, (member.name for member in members))
    tops = dict.fromkeys(match[1] for match in matches if match)
    return tuple(f"{location.path}:/{top}" for top in dict.fromkeys((DEBUG_DIR[1:], *tops)))
