"""The directives of C files, and the conditions around them, which libclang does not list.

Files that many units include are read once, before the processes start that parse the units.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from ctypes import byref
from functools import cached_property
from typing import Any

from layoutlint import files
from layoutlint.model.record import Record, field
from layoutlint.readers.c_tokens import BLOCK_COMMENT, LINE_COMMENT
from layoutlint.readers.clang import libclang

_COMMENT = re.compile(f"{BLOCK_COMMENT}|{LINE_COMMENT}".encode(), re.DOTALL)
DIRECTIVE = re.compile(rb"^[ \t]*#[ \t]*([a-z_]+)((?:[^\n\\]|\\\r?\n|\\)*)", re.MULTILINE)
_INCLUDE = re.compile(rb"#[ \t]*include(?:_next)?[ \t]*[<\"]([^>\"\n]+)")
_LAYOUT_PRAGMA = re.compile(
    rb"#[ \t]*pragma[ \t]+"
    rb"(?:pack|ms_struct|scalar_storage_order|options|GCC[ \t]+(?:target|optimize|push_options))"
)
_PACKING = re.compile(rb"#[ \t]*define[ \t]+(\w++)(?>[^\n]*?_Pragma)[^\n]*(?:pack|ms_struct|storage_order)")
_ASKS = re.compile(
    rb"(?<!define )(?<!\w)(__has_(?:attribute|builtin|feature|extension|c_attribute|cpp_attribute))"
    rb"[ \t]*\([ \t]*(\w+)"
)
_ASKING_MACRO = re.compile(
    rb"#[ \t]*define[ \t]+(\w+)\(([^()]*)\)(?:[^\n\\]|\\\n)*?(?<!\w)(__has_\w+)[ \t]*\([ \t]*(\w+)"
)
VERSION = re.compile(rb"(?<!\w)__(?:GNUC_(?:MINOR__|PATCHLEVEL__|PREREQ)|VERSION__)(?!\w)")
_DEFINED_TESTS = (b"ifdef", b"ifndef", b"elifdef", b"elifndef")
_TESTS = (b"if", b"elif", *_DEFINED_TESTS)
_RESERVED = re.compile(rb"\b_[A-Z_]\w*", re.ASCII)
ELSE = b"\0"
"""What is between the conditions of `#if` and `#elif`."""
_LARGEST = 1 << 22
"""The most bytes of a file that is kept."""
_MOST = 1 << 26
"""The most bytes of all kept files."""


class Directive(Record, frozen=True):
    """A directive, and the conditions around it."""

    offset: int
    name: bytes
    text: bytes
    """What follows the name, without comments."""
    around: tuple[bytes, ...]
    """The conditions of the groups that it is in, with those of the groups before them."""


class File(Record, dict=True):
    """A C file."""

    name: str
    text: bytes
    _calls: dict[bytes, frozenset[bytes]] = field(default_factory=dict)

    @cached_property
    def includes(self) -> frozenset[bytes]:
        """The names in its `#include`."""
        return frozenset(_INCLUDE.findall(self.text))

    @cached_property
    def pragmas(self) -> tuple[int, ...]:
        """The offsets of pragmas that change layouts."""
        return tuple(found.start() for found in _LAYOUT_PRAGMA.finditer(self.text))

    @cached_property
    def packing(self) -> tuple[bytes, ...]:
        """The macros with these pragmas."""
        return tuple(_PACKING.findall(self.text)) if b"_Pragma" in self.text else ()

    @cached_property
    def asks(self) -> frozenset[tuple[bytes, bytes]]:
        """Its questions such as `__has_attribute(packed)`."""
        return frozenset(_ASKS.findall(self.text)) if b"__has_" in self.text else frozenset()

    @cached_property
    def asking_macros(self) -> tuple[tuple[bytes, bytes, bytes, bytes], ...]:
        """The macros with parameters that ask something: name, parameters, question, its argument."""
        return tuple(_ASKING_MACRO.findall(self.text)) if b"__has_" in self.text else ()

    @cached_property
    def suffixes(self) -> frozenset[str]:
        """The names by which it can be included."""
        parts = self.name.split(os.sep)
        return frozenset(os.sep.join(parts[-count:]) for count in range(1, len(parts)))

    @cached_property
    def version_tests(self) -> frozenset[bytes] | None:
        """The conditions about versions of GCC; None if other text mentions these as well."""
        if not (b"__GNUC_" in self.text or b"__VERSION__" in self.text) or not VERSION.search(self.text):
            return frozenset()
        mentions = {each for each in self.directives if VERSION.search(each.text)}
        tests = frozenset(each.text for each in mentions if each.name in (b"if", b"elif"))
        others = [each for each in mentions if each.name not in (b"if", b"elif")]
        is_plain = VERSION.search(DIRECTIVE.sub(b"", self.comment_free(0, len(self.text))))
        return None if is_plain or not all(map(_defines_test, others)) else tests

    @cached_property
    def reserved(self) -> frozenset[str]:
        """The names in its conditions and macros that C reserves for compilers and libraries; in macros, only
        those that are no keywords by their form.
        """
        tests = b" ".join(each.text for each in self.directives if each.name in _TESTS)
        macros = (each.text.split(None, 1)[1:] for each in self.directives if each.name == b"define")
        values = b" ".join(body for bodies in macros for body in bodies)
        words = {*_RESERVED.findall(tests), *(each for each in _RESERVED.findall(values) if is_value(each))}
        return frozenset(word.decode() for word in words)

    def calls(self, macro: bytes) -> frozenset[bytes]:
        """Return the words with which a macro is called."""
        if macro not in self._calls:
            call = re.compile(rb"\b" + macro + rb"[ \t]*\([ \t]*(\w+)[ \t]*\)")
            self._calls[macro] = frozenset(call.findall(self.text) if macro in self.text else ())
        return self._calls[macro]

    @cached_property
    def directives(self) -> tuple[Directive, ...]:
        """Its directives."""
        return tuple(_directives(self.text))

    @cached_property
    def _offsets(self) -> list[int]:
        return [directive.offset for directive in self.directives]

    @cached_property
    def macros(self) -> dict[bytes, list[Directive]]:
        """Its `#define` and `#undef` by the names of macros."""
        macros: dict[bytes, list[Directive]] = {}
        for directive in self.directives:
            if directive.name in (b"define", b"undef"):
                word = re.match(rb"[ \t]*(\w+)", directive.text)
                if word is not None:
                    macros.setdefault(word[1], []).append(directive)
        return macros

    def conditions_at(self, offset: int) -> tuple[bytes, ...]:
        """Return the conditions around an offset."""
        position = bisect_right(self._offsets, offset)
        if position == 0:
            return ()
        before = self.directives[position - 1]
        return _conditions_after(before)

    def directives_between(self, start: int, end: int) -> tuple[Directive, ...]:
        """Return the directives in a part of the text."""
        return self.directives[bisect_left(self._offsets, start) : bisect_left(self._offsets, end)]

    def comment_free(self, start: int, end: int) -> bytes:
        """Return a part of the text without comments."""
        return _COMMENT.sub(b" ", self.text[start:end])


def is_value(word: bytes) -> bool:
    """Return whether a reserved name can be a macro with a value: `__LP64__`, and not `__seg_gs`."""
    return word.endswith(b"__") or not word.islower()


def _defines_test(directive: Directive) -> bool:
    """Return whether a directive defines the macro that conditions.py knows, or its absence."""
    return directive.name == b"define" and directive.text.split(b"(")[0].strip() == b"__GNUC_PREREQ"


def _conditions_after(directive: Directive) -> tuple[bytes, ...]:
    if directive.name in (b"if", b"ifdef", b"ifndef"):
        return (*directive.around, directive.text)
    if directive.name in (b"elif", b"elifdef", b"elifndef"):
        before = b" ".join(directive.around[-1:])
        return (*directive.around[:-1], b"%s%s%s" % (before, ELSE, directive.text))
    return directive.around[:-1] if directive.name == b"endif" else directive.around


def _directives(text: bytes) -> Iterator[Directive]:
    around: tuple[bytes, ...] = ()
    blank: bytes | None = None
    closed, opened = 0, text.find(b"/*")
    for match in DIRECTIVE.finditer(text):
        start = match.start()
        while 0 <= opened < start:
            closed = text.find(b"*/", opened + 2)
            if closed < 0 or closed > start:
                break
            opened = text.find(b"/*", closed + 2)
        if 0 <= opened < start:
            if blank is None:
                blank = _COMMENT.sub(lambda comment: re.sub(rb"[^\n]", b" ", comment[0]), text)
            if blank[start : match.end()].isspace():
                continue
        rest = match[2]
        if b"/*" in rest or b"//" in rest:
            rest = _without_comments(text, match.start(2), match.end())
        if match[1] in _DEFINED_TESTS:
            rest = b"defined(%s)" % b" ".join(rest.split()[:1])
        directive = Directive(start, match[1], rest, around)
        around = _conditions_after(directive)
        yield directive


def _without_comments(text: bytes, start: int, end: int) -> bytes:
    """Return a directive without comments, with what follows one of several lines."""
    while True:
        line = text[start:end]
        rest = _COMMENT.sub(b" ", line)
        opened = rest.find(b"/*")
        if opened < 0 or end >= len(text):
            return rest
        closed = text.find(b"*/", end)
        stop = text.find(b"\n", closed) if closed >= 0 else -1
        if stop < 0:
            return rest[:opened]
        end = stop


_kept: dict[str, tuple[tuple[int, ...], File]] = {}
"""Files by name, with device, inode and time of change."""
_definers: dict[bytes, list[str]] = {}
"""The names of kept files by the macros that they define."""


def keep(names: Iterable[str]) -> None:
    """Keep files for units that are parsed later, with all that is known of them."""
    size = sum(len(file.text) for _, file in _kept.values())
    for name in names:
        text = content(name) if name not in _kept else b""
        if not text or size + len(text) > _MOST:
            continue
        status = files.status_of(name)
        if not libclang.is_settled(status):
            continue
        size += len(text)
        file = File(name, text)
        _kept[name] = ((status.st_dev, status.st_ino, status.st_mtime_ns // 10**9), file)
        _ = (
            file.suffixes,
            file.version_tests,
            file.includes,
            file.pragmas,
            file.packing,
            file.asks,
            file.asking_macros,
            file.reserved,
        )
        for macro in file.macros:
            _definers.setdefault(macro, []).append(name)


def is_kept(file: File) -> bool:
    """Return whether a file is kept as it is."""
    return file.name in _kept and _kept[file.name][1] is file


def of_unit(lib: Any, unit: int, handle: int, name: str) -> tuple[File, bool]:
    """Return a file as libclang read it, and whether it was kept."""
    kept = _kept.get(name)
    if kept is not None:
        identity = libclang.FileId()
        if not lib.clang_getFileUniqueID(handle, byref(identity)) and tuple(identity.data) == kept[0]:
            return kept[1], True
    return File(name, libclang.contents(lib, unit, handle)), False


def definers(macro: bytes, of_unit: dict[str, File], unkept: list[str]) -> Iterator[File]:
    """Yield the files of a unit that define a macro; `unkept` are those of them that are not kept."""
    for name in _definers.get(macro, ()):
        if name in of_unit and is_kept(of_unit[name]):
            yield of_unit[name]
    for name in unkept:
        if macro in of_unit[name].macros:
            yield of_unit[name]


def content(path: str) -> bytes:
    """Return the text of a file; empty if it cannot be read."""
    try:
        return files.read_all(path, _LARGEST)
    except OSError:
        return b""
