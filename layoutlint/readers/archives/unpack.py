"""Unpacking of what can be an input into one file without a name, in a process of its own.

Members are recognised by their first bytes. No member becomes a file, so its name, links and devices lead
nowhere. The process may start no program, open no file for writing and use no network (workers).
"""

from __future__ import annotations

import errno
import io
import mmap
import os
import posixpath
import re
from collections.abc import Iterator
from contextlib import suppress

from layoutlint import files
from layoutlint.errors import ReadError, did_you_mean
from layoutlint.model.reading import Unread
from layoutlint.model.record import Record
from layoutlint.readers.archives import formats, library
from layoutlint.readers.archives.formats import Content
from layoutlint.readers.archives.library import Damage, MemberHeader, OpenArchive
from layoutlint.readers.archives.limits import VARIABLE, ArchiveLimits
from layoutlint.readers.elf import packed
from layoutlint.readers.modules import find
from layoutlint.workers import permissions

_MOST_FAILURES = 1000
_GRANULE = mmap.ALLOCATIONGRANULARITY
_MOST_HINTS = 2000
_SHOWN_NAME = 200
_COMPANION = re.compile(r"(.*/)?(config(-[^/]*)?|\.config|System\.map(-[^/]*)?)$")
"""What packages of kernels have beside them, as text (readers/linux)."""
_LARGEST_COMPANION = 1 << 25
_LARGEST_IMAGE = 1 << 28
"""The most bytes of a bootable kernel."""


class Member(Record, frozen=True):
    """A member that was unpacked."""

    name: str
    """Its path in the archive, behind those of the archives around it."""
    offset: int
    size: int
    content: Content


class UnpackRequest(Record, frozen=True):
    """The archive, the members to unpack, and the file for them."""

    path: str
    """The archive, as reports name it."""
    member: str
    """The member that is chosen, or the folder or archive of several; empty for all."""
    source: int
    """The descriptor of the archive."""
    sink: int
    """The descriptor of the file for the contents."""
    limits: ArchiveLimits


class Unpacked(Record, frozen=True):
    """The members of an archive that can be read, and why others cannot."""

    members: tuple[Member, ...]
    failures: tuple[Unread, ...] = ()


class _Stop(Exception):
    """Nothing more is unpacked."""


def unpack(request: UnpackRequest) -> Unpacked:
    """Unpack an archive. Raises library.Missing, and ReadError if a limit or the disk ends it."""
    library.load()
    permissions.refuse_calls()
    unpacker = _Unpacker(request)
    try:
        with library.open_descriptor(request.source) as archive:
            start = os.pread(request.source, formats.RPM_START, 0)
            unpacker.read(archive, "", start, 1)
    except _Stop:
        pass
    except Damage as damage:
        unpacker.fail("", _cause_of_all(damage, os.pread(request.source, formats.RPM_START, 0)))
    except OSError as error:
        is_full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        cause = "there is no space for it" if is_full else files.error_reason(error)
        reason = f"cannot be unpacked: {cause} (TMPDIR names another folder)"
        raise ReadError(request.path, reason) from error
    return unpacker.result()


class _Unpacker:
    """The state of unpacking one archive, with the archives in it."""

    def __init__(self, request: UnpackRequest) -> None:
        self._request = request
        self._limits = request.limits
        size = os.fstat(request.source).st_size
        by_ratio = max(self._limits.free_content, self._limits.ratio * size)
        self._most, self._is_by_ratio = min((self._limits.content, False), (by_ratio, True))
        self._seen = self._count = self._end = 0
        self._members: list[Member] = []
        self._failures: list[Unread] = []
        self._numbers: dict[str, int] = {}
        self._hints: list[str] = []
        self._misfits: list[str] = []
        """Members that are called like modules, and are no ELF files: texts in Korean have such names too."""
        self._foreign: dict[str, list[str]] = {}
        """Members that are compiled, or called like objects, in formats that are not read; by the reason."""
        self._refusal: str | None = None
        """Why the chosen member is no input, if it was there."""

    def result(self) -> Unpacked:
        """Return what was unpacked; a chosen member that was not found is a failure."""
        has_modules = any(find.is_module(member.name) for member in self._members)
        if has_modules:
            with suppress(_Stop):
                for name in self._misfits:
                    self.fail(name, find.NOT_COMPILED)
        for reason, names in self._foreign.items():
            self._add_foreign(reason, [n for n in names if not has_modules or find.is_module(n)])
        if not self._members and not self._failures:
            self._fail_without_members()
        return Unpacked(tuple(self._members), tuple(self._failures))

    def _add_foreign(self, reason: str, names: list[str]) -> None:
        """Record the members of a format that is not read: a static library can have thousands of them."""
        if len(names) > 1:
            self._failures.append(Unread(self._request.path, reason, tuple(names)))
        elif names:
            self._failures.append(Unread(f"{self._request.path}:{names[0]}", reason))

    def _fail_without_members(self) -> None:
        member = self._request.member
        if member:
            absence = f"the archive has no such member{did_you_mean(member, self._hints)}"
            self.fail(member, self._refusal or absence)
        else:
            reason = "is an archive without ELF files and BTF (C sources: unpack it, and give the folder)"
            self._failures.append(Unread(self._request.path, reason, lacks_debug_information=True))

    def fail(self, name: str, reason: str) -> None:
        """Record why a member cannot be read; an empty name is the archive. Raises _Stop after too many."""
        origin = f"{self._request.path}:{name}" if name else self._request.path
        self._failures.append(Unread(origin, reason))
        if len(self._failures) >= _MOST_FAILURES:
            self._failures.append(Unread(self._request.path, "has too many members that cannot be read"))
            raise _Stop

    def read(self, archive: OpenArchive, prefix: str, start: bytes, depth: int) -> None:
        """Unpack what can be an input; `prefix` is the archive in the outermost one, with a colon.

        `start` are its first bytes: of a Debian package only the files that it installs are read. Raises
        _Stop and OSError.
        """
        has_data, is_package = False, start.startswith(formats.DEB)
        for entry in self._entries(archive, prefix, start):
            self._count += 1
            if self._count > self._limits.members:
                self.fail("", f"has more than {self._limits.members:,} members")
                raise _Stop
            name = self._path(entry, prefix)
            try:
                if name is not None and not is_package:
                    self._visit(archive, name, depth)
                elif name is not None and name.removeprefix(prefix).startswith("data.tar"):
                    has_data = True
                    self._unpack_nested(archive, name, prefix, self._piece(archive), depth)
                while self._piece(archive):  # the rest of it
                    pass
            except Damage as damage:
                if damage.is_end:
                    self._fail_rest(prefix, entry, damage)
                    return
                self.fail(name or prefix.rstrip(":"), _cause(damage))
        if is_package and not has_data:
            self.fail(prefix.rstrip(":"), "is a Debian package without data.tar; it is truncated")

    def _entries(self, archive: OpenArchive, prefix: str, start: bytes) -> Iterator[MemberHeader]:
        """Yield the members; headers that cannot be read are failures, and may end the archive."""
        last: MemberHeader | None = None
        while True:
            try:
                for entry in archive.entries():
                    last = entry
                    yield entry
                return
            except Damage as damage:
                if last is None:
                    self.fail(prefix.rstrip(":"), _cause_of_all(damage, start))
                else:
                    self._fail_rest(prefix, last, damage)
                if damage.is_end:
                    return

    def _fail_rest(self, prefix: str, last: MemberHeader, damage: Damage) -> None:
        """Record that the rest of an archive cannot be read."""
        place = f"in or after {os.fsdecode(last.name)[:_SHOWN_NAME]}"
        self.fail(prefix.rstrip(":"), f"is damaged or truncated {place}: {damage.reason}")

    def _path(self, entry: MemberHeader, prefix: str) -> str | None:
        """Return the name of a member that may be read; None for others."""
        if not entry.is_file:
            if entry.link and _plain(entry.name) == self._request.member.removeprefix(prefix):
                self._refusal = f"is a link to {os.fsdecode(entry.link)}; links are not followed"
            return None
        plain = _plain(entry.name)
        if not plain and entry.name:  # the index of a static library (ar(5))
            return None
        if reason := self._fault(entry.name, plain):
            self.fail(f"{prefix}{plain[:_SHOWN_NAME]}", f"is not read: {reason}")
            return None
        name = f"{prefix}{plain}"
        number = self._numbers[name] = self._numbers.get(name, 0) + 1
        return name if number == 1 else f"{name} ({number})"

    def _fault(self, name: bytes, plain: str) -> str | None:
        """Return why a member with this name is not read; None if it is."""
        if not name:
            return "it has no name that can be decoded"
        if len(name) > self._limits.name:
            return f"its name has more than {self._limits.name:,} bytes"
        return "its name leads out of the archive" if f"{plain}/".startswith("../") else None

    def _visit(self, archive: OpenArchive, name: str, depth: int) -> None:
        """Unpack a member if it can be an input, or what is in it if it is an archive."""
        is_chosen, leads_to_chosen = self._is_chosen(name), self._request.member.startswith(f"{name}:")
        if not is_chosen and not leads_to_chosen:
            if len(self._hints) < _MOST_HINTS:
                self._hints.append(name)
            return
        start = self._piece(archive)
        content = formats.content_of(start)
        if content is Content.ARCHIVE:
            self._unpack_nested(archive, name, f"{name}:", start, depth)
        elif is_chosen and (content is not Content.OTHER or _COMPANION.match(name)):
            self._keep(archive, name, content, start)
            if name == self._request.member:
                raise _Stop
        elif is_chosen and (reason := formats.refusal(name, start)):
            self._foreign.setdefault(reason, []).append(name)
        elif name == self._request.member:
            self._refusal = "is neither an ELF file nor BTF"
        elif is_chosen and find.is_module(name) and len(self._misfits) < _MOST_FAILURES:
            self._misfits.append(name)

    def _is_chosen(self, name: str) -> bool:
        chosen = self._request.member
        return not chosen or name == chosen or name.startswith((f"{chosen}/", f"{chosen}:"))

    def _unpack_nested(self, archive: OpenArchive, name: str, prefix: str, start: bytes, depth: int) -> None:
        """Unpack an archive in another one; what it holds is called `prefix` and its name."""
        if depth >= self._limits.depth:
            self.fail(name, f"is not read: archives are read up to {self._limits.depth} deep in each other")
            return
        if formats.is_rpm(start):  # the headers before its payload can be long
            start = self._longer(archive, start, formats.RPM_START)
        pieces = [start]

        def read_next() -> bytes:
            return pieces.pop() if pieces else self._piece(archive)

        try:
            with library.open_stream(read_next) as nested:
                self.read(nested, prefix, start, depth + 1)
        except Damage as damage:
            self.fail(name, _cause_of_all(damage, start))

    def _keep(self, archive: OpenArchive, name: str, content: Content, start: bytes) -> None:
        """Write a member to the file of contents. Raises Damage, OSError and _Stop."""
        if len(self._members) >= self._limits.kept:
            self.fail("", f"has more than {self._limits.kept:,} files to read")
            raise _Stop
        pieces = self._pieces(archive, start)
        if content is Content.OTHER:
            pieces = iter((_whole(pieces, _LARGEST_COMPANION),))
        elif content is Content.KERNEL:
            pieces = self._kernel(name, _whole(pieces, _LARGEST_IMAGE))
        size = 0
        for piece in pieces:
            _write(self._request.sink, self._end + size, piece)
            size += len(piece)
        if size:
            self._members.append(Member(name, self._end, size, content))
            self._end += -(-size // _GRANULE) * _GRANULE

    def _kernel(self, name: str, image: bytes) -> Iterator[bytes]:
        """Yield the ELF file in a bootable kernel."""
        try:
            with packed.unpack(name, io.BytesIO(image), len(image)) as content:
                yield content[:]
        except ReadError as error:
            self.fail(name, error.reason)

    def _longer(self, archive: OpenArchive, start: bytes, most: int) -> bytes:
        """Return the first bytes of a member, about `most`, of which the first piece was read."""
        pieces, size = [start], len(start)
        while size < most and (piece := self._piece(archive)):
            pieces.append(piece)
            size += len(piece)
        return b"".join(pieces)

    def _pieces(self, archive: OpenArchive, start: bytes) -> Iterator[bytes]:
        yield start
        while piece := self._piece(archive):
            yield piece

    def _piece(self, archive: OpenArchive) -> bytes:
        """Return the next bytes of a member. Raises _Stop once there are too many."""
        piece = archive.read()
        self._seen += len(piece)
        if self._seen > self._most:
            cause = " that small" if self._is_by_ratio else ""
            reason = f"unpacks to more than {self._most:,} bytes, which is the limit for an archive{cause}"
            self.fail("", f"{reason} ({VARIABLE}=SIZE raises it)")
            raise _Stop
        return bytes(piece)


def _cause_of_all(damage: Damage, start: bytes) -> str:
    """Return why nothing of an archive that starts like this can be read."""
    if formats.is_rpm(start) and library.payload_start(start).startswith(formats.RPM_LARGE):
        return "is an RPM package with a payload of the format 07070X (RPM 6), which is not supported"
    return f"is damaged or truncated: {damage.reason}"


def _cause(damage: Damage) -> str:
    if "assphrase" in damage.reason or "ncrypt" in damage.reason:
        return f"is encrypted ({damage.reason})"
    return f"cannot be unpacked: {damage.reason}"


def _plain(name: bytes) -> str:
    """Return the name of a member as a path without `.`, `//` and a slash in front; empty for none."""
    path = posixpath.normpath(os.fsdecode(name).lstrip("/") or ".")
    return "" if path == "." else path


def _whole(pieces: Iterator[bytes], most: int) -> bytes:
    """Return all bytes, none if there are more than `most`."""
    content = b"".join(pieces)
    return content if len(content) <= most else b""


def _write(descriptor: int, offset: int, data: bytes) -> None:
    with memoryview(data) as view:
        written = 0
        while written < len(view):
            written += os.pwrite(descriptor, view[written:], offset + written)
