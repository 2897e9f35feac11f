"""Which files define a struct, found in their text: one pass over the files, bounded, and no parser."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from functools import lru_cache

from layoutlint import files as bounded
from layoutlint.model.wanted import Wanted

MOST_FILES = 60_000
"""Files searched at most; Linux v7.2 has 26 thousand headers and 37 thousand sources."""
_OF_VERSIONS = frozenset((".git", ".hg", ".svn", ".bzr"))
_OTHER_SUFFIXES = (
    ".inc", ".def", ".inl", ".tbl", ".ipp", ".tcc", ".hpp", ".hh", ".hxx", ".h++", ".H", ".cc", ".cpp",
    ".cxx", ".c++", ".C", ".cu", ".cuh", ".m", ".mm", ".i", ".y", ".l", ".h.in", ".c.in", ".inc.in",
)  # fmt: skip
"""Files that are not read as C of their own, and often have definitions of C structs."""
MOST_BYTES = 4 << 20
"""Larger files are generated register tables, which define no struct of interest."""

# `struct name {`, also with attributes between (`struct __packed name {`), and macros that open a definition
# and take its name first, such as context_lock_struct(rw_semaphore) { of Linux v7.0.
# Spaces and words match in one way only: else a strange text takes the square of its length.
_OPENS = re.compile(
    rb"\b(?:struct|union)\b"
    rb"(?:\s++(?:__attribute__\s*+\(\(.{0,80}?\)\)|[A-Za-z_]\w*+(?:\s*+\([^(){};]{0,80}\))?+)){0,4}?"
    rb"\s++([A-Za-z_]\w*+)\s*+\{"
    rb"|\b(?>\w*?(?:struct|union))\w*+\s*+\(\s*+([A-Za-z_]\w*+)\s*+(?:,[^{};]{0,200})?\)\s*+\{"
)
# Declarations of names: a typedef up to its body or end, and what stands behind a body at the margin.
_TYPEDEF = re.compile(rb"\btypedef\b([^;{}]{0,400})([;{])")
_CLOSES = re.compile(rb"^\}[ \t]*([^\s;{}=][^;{}=]{0,400});", re.MULTILINE)
_BRACE = re.compile(rb"[{}]")
_DECLARATORS = re.compile(rb"([^;{}]{0,400});")
_LONGEST_BODY, _DEEPEST_BODY = 1 << 16, 32
"""Bytes, and braces inside one another; what exceeds them is taken for a brace that never closes."""
_NO_NAMES = re.compile(
    rb"/\*.*?\*/|//[^\n]*|\[[^\]]*\]|\b(?:struct|union|enum)\s+\w+"
    rb"|\b\w+\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)",
    re.DOTALL,
)
"""Comments, array bounds, tags, and attributes or macros with arguments."""
_WORD = re.compile(rb"[A-Za-z_]\w*")
_AGGREGATE = re.compile(rb"\b(?:struct|union)\b")


def defined_in(text: bytes) -> set[str]:
    """The tags that a text seems to define, and the typedef names that it seems to declare.

    Rather too many than too few: the name of an attribute behind a brace is among them.
    """
    found = {(match[1] or match[2]).decode() for match in _OPENS.finditer(text)}
    for match in _CLOSES.finditer(text):
        found.update(_names(match[1]))
    for match in _TYPEDEF.finditer(text):
        declared = match[1] if match[2] == b";" else _behind(text, match.end())
        found.update(_names(declared))
    return found


def definitions_in(text: bytes) -> Iterator[tuple[str, int]]:
    """Yield the name of each struct whose body stands in a text, by tag or typedef, and where it starts.

    Unlike `defined_in` rather too few than too many: macros that open a definition are left out.
    """
    for match in _OPENS.finditer(text):
        if match[1]:
            yield match[1].decode(), match.start()
    for match in _TYPEDEF.finditer(text):
        if match[2] == b"{" and _AGGREGATE.search(match[1]):
            for name in _names(_behind(text, match.end())):
                yield name, match.start()


def _behind(text: bytes, start: int) -> bytes:
    """What stands between a body, whose `{` ends at `start`, and the semicolon; empty when there is none."""
    depth = 1
    for brace in _BRACE.finditer(text, start, start + _LONGEST_BODY):
        depth += 1 if brace[0] == b"{" else -1
        if depth == 0:
            declared = _DECLARATORS.match(text, brace.end())
            return declared[1] if declared else b""
        if depth > _DEEPEST_BODY:
            break
    return b""


def _names(declared: bytes) -> Iterator[str]:
    return (word.decode() for word in _WORD.findall(_NO_NAMES.sub(b" ", declared)))


def wanted_in(text: bytes, wanted: Wanted) -> set[str]:
    """The wanted names among those that a text seems to define."""
    by_name = not wanted.everything and not wanted.patterns
    # Most files hold none of the names at all, which is faster to see.
    if by_name and not any(name.encode(errors="surrogateescape") in text for name in wanted.names):
        return set()
    return {name for name in defined_in(text) if wanted.matches(name)}


def files(roots: Iterable[str], suffixes: tuple[str, ...]) -> Iterator[str]:
    """Files with one of the suffixes below the roots, in a fixed order; hidden folders are left out."""
    for root in roots:
        for folder, below, names in os.walk(root):
            below[:] = sorted(name for name in below if not name.startswith("."))
            yield from (os.path.join(folder, name) for name in sorted(names) if name.endswith(suffixes))


def others(root: str, suffixes: tuple[str, ...], unlisted: list[OSError]) -> Iterator[str]:
    """Yield the files below a folder that `files` leaves out, and that can have definitions of C structs.

    These are files with other suffixes of C, and whatever stands in hidden folders and in folders that links
    lead to, outside of the root. `unlisted` takes the errors of folders that cannot be listed.
    """
    top, seen = os.path.realpath(root), set[str]()
    todo = [(root, False)]
    while todo:
        start, is_left_out = todo.pop()
        real = os.path.realpath(start)
        if real in seen:
            continue
        seen.add(real)
        for folder, below, names in os.walk(start, onerror=unlisted.append):
            links = filter(os.path.islink, (os.path.join(folder, name) for name in below))
            todo += [(link, True) for link in links if not _is_inside(os.path.realpath(link), top)]
            hidden = [name for name in below if name.startswith(".") and name not in _OF_VERSIONS]
            todo += [(os.path.join(folder, name), True) for name in hidden]
            below[:] = sorted(name for name in below if not name.startswith("."))
            known = _OTHER_SUFFIXES + (suffixes if is_left_out else ())
            yield from (os.path.join(folder, name) for name in sorted(names) if name.endswith(known))


def _is_inside(path: str, top: str) -> bool:
    return path == top or path.startswith(f"{top}{os.sep}")


def content(path: str) -> bytes:
    """The bytes of a file; empty when it cannot be read or is too large to be a header."""
    try:
        return bounded.start(path, MOST_BYTES)
    except OSError:
        return b""


_Told = tuple[frozenset[str], frozenset[str]]
_told: dict[tuple[int, int, int, int], _Told] = {}
"""By what a file was when it was searched: for which names, and those of them that it seems to define."""


def _defined(path: str, wanted: Wanted) -> Iterable[str]:
    """The wanted names that a file seems to define.

    A file is read once for each name: the builds of a matrix search the same tree.
    """
    if wanted.everything or wanted.patterns:
        return wanted_in(content(path), wanted)
    try:
        seen = os.stat(path)
    except OSError:
        return ()
    key = seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns
    sought, found = _told.get(key, (frozenset(), frozenset()))
    if not wanted.names <= sought:
        new = wanted_in(content(path), Wanted(wanted.names - sought))
        sought, found = _told[key] = _both(sought, wanted.names), found.union(new) if new else found
    return found & wanted.names


@lru_cache(maxsize=256)
def _both(one: frozenset[str], other: frozenset[str]) -> frozenset[str]:
    """All names of two sets, as one object for the thousands of files of which it is true."""
    return one | other


def definitions(paths: Iterable[str], wanted: Wanted, stop_when_found: bool = True) -> dict[str, list[str]]:
    """For each wanted name that is defined in one of the files, the files, in the order given.

    With `stop_when_found` the search ends as soon as every name has a file.
    """
    found: dict[str, list[str]] = {}
    missing = set(wanted.names)
    by_name_only = stop_when_found and not wanted.patterns and not wanted.everything
    for count, path in enumerate(paths):
        if count >= MOST_FILES or (by_name_only and not missing):
            break
        for name in sorted(_defined(path, wanted)):
            found.setdefault(name, []).append(path)
            missing.discard(name)
    return found


def names(paths: Iterable[str]) -> frozenset[str]:
    """All names that files seem to define."""
    return frozenset(definitions(paths, Wanted(everything=True)))


def is_wanted(name: str, wanted: Wanted) -> bool:
    """Whether a name is asked for by itself and not only by a pattern."""
    return name in wanted.names or any(fnmatchcase(name, pattern) for pattern in wanted.patterns)
