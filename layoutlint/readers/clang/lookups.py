"""The files that libclang read and looked for in a unit, for the log of answers (`accesses`).

libclang reports the files that it read. Where it looked in vain follows from its list of include folders,
which it prints, and from the names in `#include` and `__has_include`: a new file at one of these places would
be read instead. Too many places rather than too few are logged.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from layoutlint import files
from layoutlint.files import accesses
from layoutlint.files.accesses import Log
from layoutlint.readers.clang import flags, libclang

if TYPE_CHECKING:
    from layoutlint.readers.clang.parse import Unit

FLAGS = ("-Xclang", "-v")
"""With these, libclang prints its include folders."""
_IGNORED = re.compile(r'^ignoring (?:nonexistent|duplicate) directory "(.*)"$')
_STARTS, _ENDS = '#include "..." search starts here:', "End of search list."
_LISTED = re.compile(r"^ (\S.*)$")
_ENTERED = re.compile(r"^\.+ (.+)$")
_NO_FOLDER = (" (framework directory)", " (headermap)")
_QUOTED = re.compile(rb'include(?:_next)?[ \t]*"([^"\n]+)"')
_UNUSUAL = re.compile(
    rb"#[ \t]*(?:/\*|(?:i[a-z_]*)?[ \t]*\\\r?\n|import\b|include(?:_next)?\b(?![ \t]*[<\"]))"
)
"""Includes whose name a macro gives, and directives that the patterns here may not recognise."""
_PROBED = re.compile(rb"__has_(?:include|include_next)[ \t]*\([ \t]*(?:([<\"])([^>\"\n]+)[>\"])?")
_UNKNOWN = re.compile(
    rb"#[ \t]*embed\b|__has_embed\b|%:[ \t]*i|\?\?=[ \t]*i|#[ \t]*pragma[ \t]+clang[ \t]+module"
)
_MAY_BE_UNKNOWN = (b"embed", b"%:", b"??=", b"clang module", b"clang\tmodule")
"""One of these is in every text with such a directive; searching for them is faster."""
_NOT_FOUND = re.compile(r"^'(.+?)' file not found")
_SYSROOT = re.compile(r"--sysroot=(.*)")
_OTHER_TOOLCHAIN = (
    "--gcc-toolchain", "--gcc-install-dir", "--gcc-triple", "-ivfsoverlay", "-fmodule", "-index-header-map",
)  # fmt: skip
_DISTRIBUTION = ("/etc/os-release", "/etc/lsb-release", "/etc/redhat-release", "/etc/debian_version")
_COMPILERS = ("usr/lib/gcc", "usr/lib/gcc-cross", "usr/lib32/gcc", "usr/lib64/gcc", "etc/env.d/gcc")
"""Where the driver looks for GCC, whose version decides about include folders (clang's Gnu.cpp)."""
_PARENTS = ("usr", "usr/include", "usr/local")
"""Folders that contain include folders for other machines, if there are any."""


class Messages:
    """The standard error stream of libclang, in memory; to be opened before calls are refused."""

    def __init__(self) -> None:
        self._file = os.memfd_create("libclang") if hasattr(os, "memfd_create") else None
        self._start = 0

    @property
    def are_kept(self) -> bool:
        """Whether the system has files in memory for them."""
        return self._file is not None

    def begin_unit(self) -> None:
        """Leave out what was written before: the units of a process share one stream."""
        self._start = 0 if self._file is None else os.lseek(self._file, 0, os.SEEK_END)

    @contextmanager
    def capture(self) -> Iterator[None]:
        """Collect what is written to descriptor 2 in the body of a `with`."""
        if self._file is None:
            yield
            return
        previous = os.dup(2)
        os.dup2(self._file, 2)
        try:
            yield
        finally:
            os.dup2(previous, 2)
            os.close(previous)

    def include_folders(self) -> list[str] | None:
        """Return the include folders, also missing ones, as libclang names them; None if no list is there."""
        lines = self._lines()
        count = lines.count(_STARTS)
        if not count or count != lines.count(_ENDS):
            return None
        ignored = dict.fromkeys(match[1] for match in map(_IGNORED.match, lines) if match)
        lists = list(map(tuple, _lists_between(lines)))
        if any(each != lists[0] for each in lists) or any(name.endswith(_NO_FOLDER) for name in lists[0]):
            return None
        return [*ignored, *lists[0]]


    def entered_files(self) -> list[str] | None:
        """Return the files that libclang names under `-H`, as it entered them; None if in doubt."""
        names = [match[1] for match in map(_ENTERED.match, self._lines()) if match]
        return None if any("\\" in name for name in names) else names

    def _lines(self) -> list[str]:
        if self._file is None:
            return []
        with open(os.dup(self._file), "rb") as file:
            file.seek(self._start)
            return os.fsdecode(file.read()).split("\n")


def _lists_between(lines: list[str]) -> Iterator[Iterator[str]]:
    """Yield the folders of each list; a unit with a preamble is preprocessed twice."""
    start = 0
    while _STARTS in lines[start:]:
        first, end = lines.index(_STARTS, start), lines.index(_ENDS, start)
        yield (match[1] for match in map(_LISTED.match, lines[first:end]) if match)
        start = end + 1


def log_unit(lib: Any, handle: int, unit: Unit, messages: Messages) -> None:
    """Log what libclang read and looked for in a unit."""
    log = accesses.active_log()
    if log is None:
        return
    folders = messages.include_folders()
    if folders is None or any("\n" in word or word.startswith(_OTHER_TOOLCHAIN) for word in unit.flags):
        log.obstacle = log.obstacle or f"{unit.main}: its include folders are unknown"
        return
    _Lookups(lib, handle, unit, folders, log).log()
    _log_driver(unit.flags)
    files.content_state(lib._name if os.sep in lib._name else os.sep)


_entries: dict[str, set[str] | None] = {}
_kinds: dict[str, tuple[str, str]] = {}
"""What `_Lookups` found for earlier units of a process that shares texts: it holds no more if it changed."""


class _Lookups:
    """The lookups of one unit."""

    def __init__(self, lib: Any, handle: int, unit: Unit, folders: list[str], log: Log) -> None:
        self._lib, self._handle, self._unit, self._log = lib, handle, unit, log
        self._folders = list(dict.fromkeys(os.path.join(unit.directory, folder) for folder in folders))
        self._names: set[str] = set()
        """Names that were looked for in all include folders."""
        is_shared = libclang.shares_contents()
        self._entries: dict[str, set[str] | None] = _entries if is_shared else {}
        """The entries of folders; None for those that do not exist."""
        self._kinds: dict[str, tuple[str, str]] = _kinds if is_shared else {}
        """For each path that was looked up, what decides, and its kind."""

    def log(self) -> None:
        """Log everything."""
        texts = dict(self._read_files())
        texts[self._unit.main] = self._main_text()
        for name in flags.headers_in_front(self._unit.flags):
            self._names.add(name)
            self._look_up(os.path.join(self._unit.directory, name))
        missing = self._missing_headers()
        self._names.update(missing)
        open_ended = [path for path, content in texts.items() if self._take_names(path, content) or missing]
        places = {*self._folders, *map(os.path.dirname, open_ended)}
        for place in places:
            for name in self._names:
                self._look_up(name if name.startswith("/") else f"{place}/{name}")

    def _main_text(self) -> bytes:
        if self._unit.text is not None:
            return self._unit.text.encode(errors="surrogateescape")
        return self._content(
            self._unit.main, self._lib.clang_getFile(self._handle, os.fsencode(self._unit.main))
        )

    def _read_files(self) -> Iterator[tuple[str, bytes]]:
        """Yield the path and content of each included file; note the names by which it can be included."""
        visited: set[str] = set()
        for handle in libclang.included_files(self._lib, self._handle):
            name = libclang.file_name(self._lib, handle)
            path = os.path.join(self._unit.directory, name)
            if path not in visited:
                visited.add(path)
                self._names.update(
                    path[len(folder) + 1 :] for folder in self._folders if path.startswith(f"{folder}/")
                )
                yield path, self._content(path, handle)

    def _content(self, path: str, handle: int) -> bytes:
        """Return a file as libclang read it, and log it."""
        content = libclang.contents(self._lib, self._handle, handle)
        try:
            state = accesses.state_of(os.stat(path))
        except OSError:
            self._log.obstacle = f"{path} changed while it was read"
            return content
        known = self._log.contents.get(self._log.absolute(path))
        digest = known[1] if known is not None and known[0] == state else None
        self._log.add_content(self._log.absolute(path), state, digest or _digest(content))
        return content

    def _take_names(self, path: str, content: bytes) -> bool:
        """Log the quoted names of a text beside it; return whether it can include any name."""
        folder = os.path.dirname(path)
        quoted, probed, is_unknown, is_unusual = _directives(content)
        for name in quoted:
            self._look_up(os.path.join(folder, os.fsdecode(name)))
            self._names.add(os.fsdecode(name))
        for quote, name in probed:
            if not name:
                self._log.obstacle = f"{path}: __has_include of a macro"
            self._names.add(os.fsdecode(name))
            if quote == b'"':
                self._look_up(os.path.join(folder, os.fsdecode(name)))
        if is_unknown:
            self._log.obstacle = f"{path}: a directive whose files are not known"
        return is_unusual

    def _missing_headers(self) -> list[str]:
        """Return the names in the errors on missing headers."""
        names = []
        for index in range(self._lib.clang_getNumDiagnostics(self._handle)):
            raw = self._lib.clang_getDiagnostic(self._handle, index)
            message = libclang.text(self._lib, self._lib.clang_getDiagnosticSpelling(raw))
            self._lib.clang_disposeDiagnostic(raw)
            missing = _NOT_FOUND.match(message)
            if missing is not None:
                names.append(missing[1])
            elif "cannot open file" in message or "error opening" in message:
                self._log.obstacle = message
        return names

    def _look_up(self, path: str) -> None:
        """Log the kind of a path, or that its folder does not exist."""
        if path not in self._kinds:
            self._kinds[path] = self._kind(path)
        self._log.add_kind(*self._kinds[path])

    def _kind(self, path: str) -> tuple[str, str]:
        """Return the absolute path that decides, and its kind; each folder is listed once."""
        folder, _, name = path.rpartition("/")
        if folder not in self._entries:
            try:
                self._entries[folder] = set(os.listdir(folder or "/"))
            except OSError:
                self._entries[folder] = None
        entries = self._entries[folder]
        if entries is None:
            return self._log.absolute(folder), accesses.kind_of(folder)
        kind = accesses.kind_of(path) if name in entries or name in ("", ".", "..") else accesses.ABSENT
        return self._log.absolute(path), kind


@lru_cache(maxsize=512)  # units share headers; the texts of these are kept by `libclang.share_contents`
def _directives(content: bytes) -> tuple[frozenset[bytes], tuple[tuple[bytes, bytes], ...], bool, bool]:
    """Return the quoted names that a text includes, those that it probes with their quote, whether it has a
    directive whose files are not known, and whether one can include any name.
    """
    probed = tuple(_PROBED.findall(content)) if b"__has_" in content else ()
    is_unknown = any(word in content for word in _MAY_BE_UNKNOWN) and _UNKNOWN.search(content) is not None
    return frozenset(_QUOTED.findall(content)), probed, is_unknown, _UNUSUAL.search(content) is not None


@lru_cache(maxsize=512)
def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _log_driver(words: tuple[str, ...]) -> None:
    """Log where the driver looks for include folders, unless flags make it use none."""
    if "-nostdinc" in words or "-nostdlibinc" in words:
        return
    roots = {"/"} | {match[1] for match in map(_SYSROOT.match, words) if match}
    roots |= {words[at + 1] for at, word in enumerate(words[:-1]) if word in ("-isysroot", "--sysroot")}
    find = _driver_answers if libclang.shares_contents() else _driver_answers.__wrapped__
    log = accesses.active_log()
    if log is not None:
        log.add(find(frozenset(roots)))


@lru_cache(maxsize=64)
def _driver_answers(roots: frozenset[str]) -> Log:
    """Return what the file system answers about the compilers below some folders."""
    with accesses.log_answers() as log:
        for root in roots:
            for parent in _PARENTS:
                next(files.walk(os.path.join(root, parent)), None)
            for place in _COMPILERS:
                _log_compilers(os.path.join(root, place))
        _log_distribution()
    return log


def _log_distribution() -> None:
    for path in _DISTRIBUTION:
        try:
            files.read_start(path, 1 << 16)
        except OSError:
            continue


def _log_compilers(place: str) -> None:
    """Log the versions of GCC in a folder: TRIPLE/VERSION/crtbegin.o."""
    if not files.is_folder(place):
        return
    for _, triples, _ in files.walk(place):
        for triple in triples:
            for folder, versions, _ in files.walk(os.path.join(place, triple)):
                for version in versions:
                    files.is_file(os.path.join(folder, version, "crtbegin.o"))
                break
        break
