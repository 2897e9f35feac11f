"""Structs in the text of a unit that its parse omits: local to functions, or excluded by `#if`.

Function bodies are not parsed. So the text is searched for definitions, and each is compared with the
declarations that libclang reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, Final

from layoutlint import phrases
from layoutlint.model.reading import Omission
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Field, Struct
from layoutlint.model.wanted import Wanted
from layoutlint.readers.c_tokens import blank_out
from layoutlint.readers.clang import libclang, text_search
from layoutlint.readers.clang.file_names import Places
from layoutlint.readers.clang.libclang import Cursor, Spot

FUNCTION: Final = 8
"""CXCursor_FunctionDecl."""
_MOST: Final = 3
_LINE_END: Final = "\n"
_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_WORD_BEFORE: Final = re.compile(r"(?P<word>[A-Za-z_]\w*+)\s*+(?P<star>\*?)")
_BRACE: Final = re.compile(r"[{}]")
_BODY: Final = re.compile(r"\b(?:struct|union)\b([^;{}()=]{0,400})\{")
_ENDS: Final = re.compile(r"\)\s*;")
"""The end of a declaration; parameters of K&R functions end in semicolons as well, after names."""


class HiddenStruct(Record, frozen=True):
    """One definition in the text of a unit that its parse omits."""

    name: str
    place: str
    is_local: bool
    """Whether it is inside a function; otherwise `#if` excludes it."""
    container: str = ""
    """The struct that may embed it: one with errors, whose text mentions it and whose fields do not, or one
    that is local to a function."""


def find_hidden(
    lib: Any, unit: int, main: int, places: Places, wanted: Wanted, declarations: Iterable[Cursor]
) -> Iterator[HiddenStruct]:
    """Yield the requested structs that a unit hides.

    `main` is the handle of its file, `declarations` are the structs, typedefs and functions at file scope. In
    included files, only structs requested by name are searched in functions.
    """
    by_name = Wanted(wanted.names | wanted.with_containers, tuple(p for p in wanted.patterns if p.strip("*")))
    texts = {main: _definitions(libclang.contents(lib, unit, main), wanted)}
    for file in libclang.included_files(lib, unit):
        texts[file] = _definitions(libclang.contents(lib, unit, file), by_name)
    scope = _Scope(lib, {file for file, definitions in texts.items() if definitions}, tuple(declarations))
    for file in (file for file, definitions in texts.items() if definitions):
        if file != main and all((file, offset) in scope.starts for _, offset in texts[file]):
            continue
        text = blank_out(libclang.contents(lib, unit, file).decode("latin-1"))
        for name, offset in _definitions(text.encode("latin-1"), wanted):
            if (file, offset) in scope.starts:
                continue
            is_local = any(start <= offset < _end(text, start) for start in scope.functions.get(file, ()))
            if is_local or (file == main and name not in scope.names):
                line = text.count("\n", 0, offset) + 1
                yield HiddenStruct(name, f"{places.reported_name(file)}:{line}", is_local)


def find_local_containers(
    lib: Any, unit: int, places: Places, held: dict[str, set[str]], functions: Iterable[Cursor]
) -> Iterator[HiddenStruct]:
    """Yield the structs in functions and their parameters that may embed a struct, by their text.

    `held` are the embedded structs that types are or contain, by the names of the types.
    """
    starts: dict[int, list[int]] = {}
    for cursor in functions:
        spot = Spot(lib, lib.clang_getRangeStart(lib.clang_getCursorExtent(cursor)))
        if spot.file is not None:
            starts.setdefault(spot.file, []).append(spot.offset)
    for file, offsets in starts.items():
        content = libclang.contents(lib, unit, file)
        if not any(name.encode(errors="surrogateescape") in content for name in held):
            continue
        text = blank_out(content.decode("latin-1"))
        for start, end in ((start, _end(text, start)) for start in sorted(offsets)):
            for body in _BODY.finditer(text, start, end):
                types = set(_embedded_types(text[body.end() : _end(text, body.end() - 1)]))
                embedded = set[str]().union(*(held.get(word, ()) for word in types))
                if not embedded:
                    continue
                name = (_WORD.findall(body[1]) or ["a struct without a name"])[-1]
                place = f"{places.reported_name(file)}:{text.count(_LINE_END, 0, body.start()) + 1}"
                yield from (HiddenStruct(each, place, True, name) for each in sorted(embedded))


def _embedded_types(body: str) -> Iterator[str]:
    """Yield the words of a struct's text that can be the types of members which are no pointers."""
    for member in body.split(";"):
        has_several = "," in member
        for word in _WORD_BEFORE.finditer(member):
            if has_several or not word["star"]:
                yield word["word"]


def find_lost_members(damaged: Iterable[Struct], wanted: Wanted) -> Iterator[HiddenStruct]:
    """Yield the structs whose containers are requested, for each struct with an error in its own text.

    libclang drops fields that it cannot parse, so such a struct can embed any that its fields do not show.
    """
    for struct in damaged:
        shown = embedded_words(struct.fields) | {struct.name, *struct.aliases}
        for name in sorted(wanted.with_containers - shown):
            yield HiddenStruct(name, str(struct.source or struct.origin), False, struct.name)


def embedded_words(fields: Iterable[Field]) -> set[str]:
    """Return the words of the types of fields that are structs or unions, at any depth."""
    words = set[str]()
    for member in fields:
        if member.aggregate is not None:
            words.update(_WORD.findall(str(member.type)))
            words |= embedded_words(member.members)
    return words


class _Scope(Record, dict=True):
    """The declarations at file scope; their offsets in some files."""

    lib: Any
    files: set[int]
    declarations: tuple[Cursor, ...]

    @cached_property
    def starts(self) -> set[tuple[int | None, int]]:
        """The files and offsets at which structs and typedefs start."""
        return {(spot.file, spot.offset) for spot in map(self._start, self._types) if spot.file in self.files}

    @cached_property
    def names(self) -> set[str]:
        """The names of all structs and typedefs."""
        return {libclang.spelling(self.lib, cursor) for cursor in self._types}

    @cached_property
    def functions(self) -> dict[int | None, list[int]]:
        """The offsets at which functions start, by file."""
        starts: dict[int | None, list[int]] = {}
        for cursor in self.declarations:
            if cursor.kind == FUNCTION:
                spot = self._start(cursor)
                starts.setdefault(spot.file, []).append(spot.offset)
        return starts

    @cached_property
    def _types(self) -> list[Cursor]:
        types = (cursor for cursor in self.declarations if cursor.kind != FUNCTION)
        return [cursor for cursor in types if self.lib.clang_isCursorDefinition(cursor)]

    def _start(self, cursor: Cursor) -> Spot:
        return Spot(self.lib, self.lib.clang_getRangeStart(self.lib.clang_getCursorExtent(cursor)))


def _end(text: str, start: int) -> int:
    """Return the end of the body of a function declared at `start`; `start` if it has none.

    The text has no comments and strings.
    """
    opening = text.find("{", start)
    if opening < 0 or _ENDS.search(text, start, opening):
        return start
    depth = 0
    for brace in _BRACE.finditer(text, opening):
        depth += 1 if brace[0] == "{" else -1
        if depth <= 0:
            return brace.end()
    return len(text)


def _definitions(text: bytes, wanted: Wanted) -> list[tuple[str, int]]:
    """Return the requested structs that a text defines, with the offset of each definition."""
    return [(name, offset) for name, offset in text_search.definitions_in(text) if wanted.matches(name)]


def report_hidden(hidden_structs: Iterable[HiddenStruct], is_configured: bool) -> Iterator[Omission]:
    """Yield the structs that units hide; with a known configuration, without those that `#if` excludes."""
    unique = sorted(set(hidden_structs), key=lambda struct: (struct.name, struct.place))
    local = [struct for struct in unique if struct.is_local and not struct.container]
    if local:
        noun = "struct" if len(local) == 1 else "structs"
        reason = f"{len(local):,} {noun} local to functions, which layoutlint does not judge"
        yield Omission(
            f"{reason}: {_list_places(local)}", frozenset(struct.name for struct in local), is_shared=False
        )
    for is_local, cause, causes in (
        (False, "with errors", "with errors"),
        (True, "local to a function", "local to functions"),
    ):
        lost = [struct for struct in unique if struct.container and struct.is_local is is_local]
        if not lost:
            continue
        holders = list(dict.fromkeys(replace(struct, name=struct.container) for struct in lost))
        what = f"a struct {cause}" if len(holders) == 1 else f"{len(holders):,} structs {causes}"
        names = frozenset(struct.name for struct in lost)
        yield Omission(f"{what} may embed {_first_few(names)}: {_list_places(holders)}", names)
    left_out = [] if is_configured else [s for s in unique if not s.is_local and not s.container]
    if left_out:
        noun = "struct that `#if` leaves" if len(left_out) == 1 else "structs that `#if` leaves"
        remedy = "pass the flags of the build, such as `-- -DNAME`"
        reason = f"{len(left_out):,} {noun} out: {_list_places(left_out)}; {remedy}"
        yield Omission(reason, frozenset(struct.name for struct in left_out))


def _first_few(names: frozenset[str]) -> str:
    return phrases.first_few(sorted(names), _MOST)


def _list_places(structs: list[HiddenStruct]) -> str:
    rest = f" and {len(structs) - _MOST:,} more" if len(structs) > _MOST else ""
    return ", ".join(f"{struct.name} at {struct.place}" for struct in structs[:_MOST]) + rest
