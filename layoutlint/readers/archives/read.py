"""Reading of archives: as folders of modules, or as their only file."""

from __future__ import annotations

import re

from layoutlint.errors import ReadError
from layoutlint.model.reading import DEBUG_DIR, Reading, ReadOptions, Unread
from layoutlint.model.record import replace
from layoutlint.model.wanted import Wanted
from layoutlint.readers import dispatch
from layoutlint.readers.archives import store
from layoutlint.readers.archives.formats import Content
from layoutlint.readers.archives.locate import Location
from layoutlint.readers.archives.unpack import Member
from layoutlint.readers.modules import find, merge
from layoutlint.readers.modules.find import Folder

_PARTS = re.compile(r"\.dw[op]$|(^|/)\.dwz/")
"""Files that others refer to, and that say too little alone."""
_BUILD_ID = re.compile(r"^(.*?)/?\.build-id/")


def read(location: Location, wanted: Wanted, options: ReadOptions) -> list[Reading | Unread]:
    """Return one Reading for each target of the files in an archive, or why there is none."""
    options.progress(f"unpacking {location.path}", 0, 1)
    try:
        unpacked = store.unpack_archive(location)
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
    unpacked = store.unpack_archive(location)
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
