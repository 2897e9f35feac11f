"""Search for the files that define a struct: one bounded pass over their text, without a parser.

Patterns run on the bytes as they are: on a kernel tree, blanking all files first (`c_tokens`) takes too long.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice

from layoutlint import files
from layoutlint.files.accesses import State
from layoutlint.model.structs import has_annotation_marks
from layoutlint.model.wanted import Wanted

MOST_FILES = 60_000
"""The most files that are searched; Linux v7.2 has 26 thousand headers and 37 thousand sources."""
_VERSION_CONTROL = frozenset((".git", ".hg", ".svn", ".bzr"))
_OTHER_SUFFIXES = (
    ".inc", ".def", ".inl", ".tbl", ".ipp", ".tcc", ".hpp", ".hh", ".hxx", ".h++", ".H", ".cc", ".cpp",
    ".cxx", ".c++", ".C", ".cu", ".cuh", ".m", ".mm", ".i", ".y", ".l", ".h.in", ".c.in", ".inc.in",
)  # fmt: skip
"""Files that are not read as C on their own, and often contain definitions of C structs."""
MOST_BYTES = 4 << 20
"""The most bytes of a file that are searched; larger files are generated register tables."""

# Each pattern begins with a literal, which `re` searches for quickly; the look-behind is its word boundary.
# Spaces and words match in one way only, so that no text takes quadratic time.
_NAME = rb"[A-Za-z_\x80-\xff][\w\x80-\xff]*+"
"""An identifier, which can have letters of any language (C11, annex D)."""
_OPENS = tuple(
    re.compile(
        rb"%s(?<=\b%s)\b"
        rb"(?:\s++(?:__attribute__\s*+\(\(.{0,80}?\)\)|%s(?:\s*+\([^(){};]{0,80}\))?+)){0,4}?"
        rb"\s++(%s)\s*+\{" % (word, word, _NAME, _NAME)
    )
    for word in (b"struct", b"union")
)
"""`struct name {`, also with attributes between (`struct __packed name {`)."""
_MACRO_OPENS = tuple(
    re.compile(rb"%s\w{0,64}+\s*+\(\s*+(%s)\s*+(?:,[^{};]{0,200})?\)\s*+\{" % (word, _NAME))
    for word in (b"struct", b"union")
)
"""Macros that open a definition and take its name first, such as context_lock_struct(rw_semaphore) { of Linux
v7.0."""
# Declarations of names: a typedef up to its body or end, and the names after a body that ends at the margin.
_TYPEDEF = re.compile(rb"typedef(?<=\btypedef)\b([^;{}]{0,400})([;{])")
_CLOSES = re.compile(rb"\}(?<=^\})[ \t]*([^\s;{}=][^;{}=]{0,400});", re.MULTILINE)
_BRACE = re.compile(rb"[{}]")
_DECLARATORS = re.compile(rb"([^;{}]{0,400}+);")
_LONGEST_BODY, _DEEPEST_BODY = 1 << 16, 32
"""The most bytes, and levels of braces, of a body; a longer one is taken for an unclosed brace."""
_NO_NAMES = re.compile(
    rb"/\*.*?\*/|//[^\n]*|\[[^\]]*\]|\b(?:struct|union|enum)\s+\w+"
    rb"|\b\w+\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)",
    re.DOTALL,
)
"""Comments, array bounds, tags, and attributes or macros with arguments."""
_WORD = re.compile(_NAME)
_AGGREGATE = re.compile(rb"\b(?:struct|union)\b")


def names_defined(text: bytes) -> set[str]:
    """Return the tags that a text seems to define, and the typedef names that it seems to declare.

    Returns too many rather than too few: an attribute after a brace counts as a name.
    """
    names = {_decode(name) for opens in (*_OPENS, *_MACRO_OPENS) for name in opens.findall(text)}
    for match in _CLOSES.finditer(text):
        names.update(_names(match[1]))
    for match in _TYPEDEF.finditer(text):
        declarators = match[1] if match[2] == b";" else _declarators_after_body(text, match.end())
        names.update(_names(declarators))
    return names


def definitions_in(text: bytes) -> Iterator[tuple[str, int]]:
    """Yield the name of each struct whose body is in a text, by tag or typedef, and the body's offset.

    Unlike `defined_in`, yields too few rather than too many: macros that open a definition are left out.
    """
    for opens in _OPENS:
        for match in opens.finditer(text):
            yield _decode(match[1]), match.start()
    for match in _TYPEDEF.finditer(text):
        if match[2] == b"{" and _AGGREGATE.search(match[1]):
            for name in _names(_declarators_after_body(text, match.end())):
                yield name, match.start()


def _declarators_after_body(text: bytes, start: int) -> bytes:
    """Return the text between a body, whose `{` ends at `start`, and the semicolon; else empty."""
    depth = 1
    for brace in _BRACE.finditer(text, start, start + _LONGEST_BODY):
        depth += 1 if brace[0] == b"{" else -1
        if depth == 0:
            declarators = _DECLARATORS.match(text, brace.end())
            return declarators[1] if declarators else b""
        if depth > _DEEPEST_BODY:
            break
    return b""


def _decode(name: bytes) -> str:
    return name.decode(errors="surrogateescape")


def _names(declared: bytes) -> Iterator[str]:
    return (_decode(word) for word in _WORD.findall(_NO_NAMES.sub(b" ", declared)))


def names_in_text(text: bytes, wanted: Wanted) -> set[str]:
    """Return the requested names among those that a text seems to define."""
    by_name = not wanted.everything and not wanted.patterns
    # Most files contain none of the names, which is faster to check.
    if by_name and not any(name.encode(errors="surrogateescape") in text for name in wanted.names):
        return set()
    return {name for name in names_defined(text) if wanted.matches(name)}


def files_below(roots: Iterable[str], suffixes: tuple[str, ...]) -> Iterator[str]:
    """Yield files with one of the suffixes below the roots, in a fixed order, without hidden folders."""
    for root in roots:
        for folder, below, names in files.walk(root):
            below[:] = sorted(name for name in below if not name.startswith("."))
            yield from (os.path.join(folder, name) for name in sorted(names) if name.endswith(suffixes))


def skipped_files(root: str, suffixes: tuple[str, ...], unlisted: list[OSError]) -> Iterator[str]:
    """Yield the files below a folder that `files_below` leaves out and that can define C structs.

    These are files with other suffixes of C, and all files in hidden folders and in folders outside of the
    root that links lead to. `unlisted` collects the errors of folders that cannot be listed.
    """
    top, visited = files.real_path(root), set[str]()
    pending = [(root, False)]
    while pending:
        start, is_left_out = pending.pop()
        real_path = files.real_path(start)
        if real_path in visited:
            continue
        visited.add(real_path)
        for folder, below, names in files.walk(start, onerror=unlisted.append):
            links = filter(os.path.islink, (os.path.join(folder, name) for name in below))
            pending += [(link, True) for link in links if not _is_inside(files.real_path(link), top)]
            hidden = [name for name in below if name.startswith(".") and name not in _VERSION_CONTROL]
            pending += [(os.path.join(folder, name), True) for name in hidden]
            below[:] = sorted(name for name in below if not name.startswith("."))
            all_suffixes = _OTHER_SUFFIXES + (suffixes if is_left_out else ())
            yield from (os.path.join(folder, name) for name in sorted(names) if name.endswith(all_suffixes))


def _is_inside(path: str, top: str) -> bool:
    return path == top or path.startswith(f"{top}{os.sep}")


def content(path: str) -> bytes:
    """Return the content of a file; empty if it cannot be read or is too large for a header."""
    try:
        return files.read_start(path, MOST_BYTES)
    except OSError:
        return b""


_SearchedNames = tuple[frozenset[str], frozenset[str]]
_searched_names: dict[State, _SearchedNames] = {}
"""By the state of a file when it was searched: the names searched for, and those that it seems to define."""


def _requested_definitions(path: str, wanted: Wanted) -> Iterable[str]:
    """Return the requested names that a file seems to define.

    A file is read once for each name: the builds of a matrix search the same tree.
    """
    if wanted.everything or wanted.patterns:
        return names_in_text(content(path), wanted)
    try:
        key = files.content_state(path)
    except OSError:
        return ()
    sought, defined = _searched_names.get(key, (frozenset(), frozenset()))
    if not wanted.names <= sought:
        new = names_in_text(content(path), Wanted(wanted.names - sought))
        sought, defined = _searched_names[key] = (
            _union(sought, wanted.names),
            defined.union(new) if new else defined,
        )
    return defined & wanted.names


@lru_cache(maxsize=256)
def _union(names: frozenset[str], more_names: frozenset[str]) -> frozenset[str]:
    """Return the union of two sets, as one object that thousands of files share."""
    return names | more_names


def definitions(paths: Iterable[str], wanted: Wanted, stop_when_found: bool = True) -> dict[str, list[str]]:
    """Return for each requested name the files that define it, in the order given.

    With `stop_when_found` the search ends as soon as every name has a file.
    """
    paths_by_name: dict[str, list[str]] = {}
    missing = set(wanted.names)
    by_name_only = stop_when_found and not wanted.patterns and not wanted.everything
    for count, path in enumerate(paths):
        if count >= MOST_FILES or (by_name_only and not missing):
            break
        for name in sorted(_requested_definitions(path, wanted)):
            paths_by_name.setdefault(name, []).append(path)
            missing.discard(name)
    return paths_by_name


def mentions_annotations(text: bytes) -> bool:
    """Return whether a text can have annotations, in comments or as macros of layoutlint.h."""
    return has_annotation_marks(text) or b"LAYOUTLINT" in text


def annotated_files(paths: Iterable[str]) -> list[str]:
    """Return the files that can have annotations."""
    return [path for path in islice(paths, MOST_FILES) if mentions_annotations(content(path))]


def names(paths: Iterable[str]) -> frozenset[str]:
    """Return all names that files seem to define."""
    return frozenset(definitions(paths, Wanted(everything=True)))
