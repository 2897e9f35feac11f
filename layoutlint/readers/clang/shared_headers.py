"""Units that include many of the same headers: libclang parses these once, before each unit that they do not
change.

A unit is parsed behind headers that it may include in another order, or not at all. It counts only if there
is no error, and if each text that it reads means the same as in the unit alone (`include_order`).
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from layoutlint import files
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import has_annotation_marks
from layoutlint.readers.clang import diagnostics, flags, include_order, libclang, shared_beginnings
from layoutlint.readers.clang.file_names import Places
from layoutlint.readers.clang.include_order import IncludedText, Order, UnitOrder, UnknownIncludes
from layoutlint.readers.clang.parse import Unit
from layoutlint.readers.clang.shared_beginnings import Rest, Shared

RECORD_OPTION = 0x1
"""CXTranslationUnit_DetailedPreprocessingRecord."""
_FEWEST = 3
"""The fewest units that share headers, and that include one of these."""
_PART, _MANY = 2, 25
"""A header is shared if one in so many units includes it, or so many units."""
_SMALLEST = 100_000
"""The fewest bytes of headers that are parsed once for several units."""
_LARGEST = 1 << 27
_DIRECTIVE = re.compile(
    rb"^[ \t]*+#[ \t]*+(?:(if)\w*+|(endif)\b|include[ \t]*+(\"[^\"\r\n\\]++\"|<[^>\r\n\\]++>))", re.MULTILINE
)
_NAME = re.compile(rb"[<\"]([^<>\"]++)[>\"]")
_UNUSUAL = (b"push_macro", b"pop_macro", b"__BASE_FILE__", b"include_alias", b"GCC poison")
"""What differs behind a precompiled text, or in place of another file."""


def find(units: Sequence[Unit]) -> Iterator[Shared]:
    """Yield the units that share headers, and these; each unit is in at most one."""
    if libclang.native is None or not libclang.keeps_preambles(libclang.library()):
        return  # finding out what they read would take longer
    for group in shared_beginnings.groups(units):
        if len(group) >= _FEWEST:
            includes = _common_includes(group)
            has_others = bool(flags.headers_in_front(group[0].flags))
            if includes and (has_others or not _begin_with(group, includes)):
                yield Shared(tuple(group), includes, is_first=False)


def _begin_with(group: Sequence[Unit], includes: tuple[bytes, ...]) -> bool:
    """Return whether several units begin with the same includes, so that nothing has to be shown."""
    found = set[tuple[bytes, ...]]()
    for unit in group:
        with suppress(OSError):
            text = files.read_all(unit.main, _LARGEST)
            found.add(shared_beginnings.beginning_of(text).includes[: len(includes)])
    return len(found) == 1 and set(*found) == set(includes)


def _common_includes(group: Sequence[Unit]) -> tuple[bytes, ...]:
    """Return what several units include, and what is read once; that first which they include early."""
    ranks: dict[bytes, list[float]] = {}
    for unit in group:
        names = _includes_of(unit)
        for at, name in enumerate(names):
            ranks.setdefault(name, []).append(at / len(names))
    least = max(_FEWEST, min(len(group) // _PART, _MANY))
    common = (name for name, some in ranks.items() if len(some) >= least and _is_read_once(name, group[0]))
    return tuple(sorted(common, key=lambda name: sum(ranks[name]) / len(ranks[name])))


def _is_read_once(name: bytes, unit: Unit) -> bool:
    """Return whether a header keeps itself from being read again, if it is in a folder that flags name."""
    folders = [word[2:] for word in unit.flags if word.startswith("-I")]
    if name.startswith(b'"'):
        folders.insert(0, os.path.dirname(unit.main))
    for folder in folders:
        with suppress(OSError):
            path = os.path.join(unit.directory, folder, os.fsdecode(name[1:-1]))
            return include_order.guard_of(files.read_all(path, _LARGEST)) is not None
    return True


def first_include(unit: Unit) -> bytes | None:
    """Return what a unit includes first under no condition; None if it includes nothing."""
    return next(iter(_includes_of(unit)), None)


def _includes_of(unit: Unit) -> tuple[bytes, ...]:
    """Return what a unit includes under no condition, each once."""
    depth, result = 0, dict[bytes, None]()
    with suppress(OSError):
        for begins, ends, name in _DIRECTIVE.findall(files.read_all(unit.main, _LARGEST)):
            depth += bool(begins) - bool(ends)
            if name and not depth:
                result[name] = None
    return tuple(result)


class ParsedHeaders(Record):
    """The headers that units share, as libclang has read them."""

    order: Order | None
    """Their order, if units do not begin with them."""
    always: tuple[str, ...]
    """Those that flags include."""
    texts: dict[str, bytes]
    """The texts of all files that they lead to."""
    guarded: frozenset[str]
    """Those that are not read again."""
    is_annotated: bool
    own: dict[tuple[Any, ...], IncludedText]
    """What other texts do with macros, by what they include and leave out."""


def read_headers(lib: Any, handle: int, shared: Shared) -> ParsedHeaders | None:
    """Return the headers of a parsed beginning; None if they are not to be shared."""
    main = lib.clang_getFile(handle, os.fsencode(shared.beginning.main))
    if has_errors(lib, handle, shared.beginning):
        return None
    texts: dict[str, bytes] = {}
    guarded = set[str]()
    in_front = [lib.clang_getFile(handle, os.fsencode(name)) for name in _in_front(shared.beginning)]
    if not all(in_front):
        return None
    libclang.set_included_files(handle, (*in_front, *libclang.included_files(lib, handle)))
    for file in libclang.included_files(lib, handle):  # libclang itself lists none in front of a preamble
        if file != main:
            name = libclang.file_name(lib, file)
            texts[name] = libclang.contents(lib, handle, file)
            if lib.clang_isFileMultipleIncludeGuarded(handle, file):
                guarded.add(name)
    is_small = sum(map(len, texts.values())) < _SMALLEST
    has_sources = any(name.endswith(".c") for name in texts)  # what they have is that of each unit
    if is_small or has_sources or any(word in text for text in texts.values() for word in _UNUSUAL):
        return None
    always = tuple(libclang.file_name(lib, file) for file in in_front)
    try:
        order = None if shared.is_first else _order_of(lib, handle, main, texts, always, guarded)
    except UnknownIncludes:
        return None
    is_annotated = any(map(has_annotation_marks, texts.values()))
    return ParsedHeaders(order, always, texts, frozenset(guarded), is_annotated, {})


def has_errors(lib: Any, handle: int, unit: Unit) -> bool:
    """Return whether there is an error in a parsed unit that can concern its structs."""
    places = Places(lib, unit.directory, unit.roots, {})
    found = diagnostics.read_diagnostics(lib, handle, places, None, unit.is_gcc)
    return any(not each.is_warning for each in found)


def _in_front(unit: Unit) -> Iterator[str]:
    """Yield the paths of the files that flags include."""
    for name in flags.headers_in_front(unit.flags):
        yield os.path.join(unit.directory, name)


def _order_of(
    lib: Any, handle: int, main: int, texts: dict[str, bytes], always: tuple[str, ...], guarded: set[str]
) -> Order:
    """Return the order of what a beginning includes, behind what flags include. Raises Unknown."""
    entered: dict[str | None, list[tuple[int, str]]] = {}
    entries = Counter[str]()
    first = list(always)
    for file, spot in libclang.inclusions(lib, handle):
        name = libclang.file_name(lib, file)
        entries[name] += 1
        if spot.file == main:
            first.append(name)
        if spot.file is not None:
            entered.setdefault(libclang.file_name(lib, spot.file), []).append((spot.offset, name))
    several = {name for name, count in entries.items() if count > 1}
    guards = {name: include_order.guard_of(texts[name]) for name in several & guarded}
    repeated = frozenset(several - guarded)
    whole = repeated.union(name for name, guard in guards.items() if guard is None)
    """Of these it is not known what is left out each time."""
    skipped: dict[str, list[tuple[int, int]]] = {}
    for file, start, end in libclang.native.skipped_ranges(handle):
        name = libclang.file_name(lib, file) if file else ""
        if name in texts and start != guards.get(name):  # a guard leaves out what was read before
            skipped.setdefault(name, []).append((start, end))
    finder = _Targets(texts, entered)
    finder.add(libclang.file_name(lib, main), include_order.read_pieces(libclang.contents(lib, handle, main)))
    read: dict[str, IncludedText] = {}
    for name, text in texts.items():
        active = text if name in whole else include_order.left_out(text, skipped.get(name, ()))
        read[name] = include_order.read_pieces(active)
        finder.add(name, read[name])
    for name, found in read.items():
        read[name] = replace(found, targets=finder.targets_of(name, found, name in whole))
    names_by_file = libclang.native.file_scope_names(lib.clang_getTranslationUnitCursor(handle))
    declared = {
        libclang.file_name(lib, file): set(map(str.encode, names))
        for file, names in names_by_file.items()
        if file
    }
    order = Order(tuple(dict.fromkeys(first)), read, repeated, declared)
    order.prepare()
    return order


class _Targets:
    """Finds the files that texts include, also where these are not read again."""

    def __init__(self, texts: dict[str, bytes], entered: dict[str | None, list[tuple[int, str]]]) -> None:
        self._texts, self._entered = texts, entered
        self._by_name: dict[bytes, set[str]] = {}
        """The files that were read by what texts name."""

    def add(self, name: str, text: IncludedText) -> None:
        """Note what a text includes that was read there. Raises Unknown."""
        for at, target in self._entered_at(name, text).items():
            named = _NAME.match(text.includes[at][1])
            if named is not None:
                self._by_name.setdefault(named[1], set()).add(target)

    def _entered_at(self, name: str, text: IncludedText) -> dict[int, str]:
        """Return the files that were read, by the number of the include."""
        starts = [start for start, _ in text.includes]
        found = {
            bisect_right(starts, offset) - 1: target for offset, target in self._entered.get(name, ())
        }
        if -1 in found:
            raise UnknownIncludes
        return found

    def targets_of(self, name: str, text: IncludedText, is_repeated: bool) -> tuple[str | None, ...]:
        """Return the files that a text includes. Raises Unknown."""
        entered = self._entered_at(name, text)
        targets = tuple(
            entered.get(at) or self._resolve(name, spelled) for at, (_, spelled) in enumerate(text.includes)
        )
        if None in targets and not is_repeated:
            raise UnknownIncludes
        return targets

    def _resolve(self, includer: str, spelled: bytes) -> str | None:
        """Return the file that a text names; None if that is not certain."""
        named = _NAME.match(spelled)
        if named is None:
            return None
        beside = os.path.normpath(os.path.join(os.path.dirname(includer), os.fsdecode(named[1])))
        if spelled[:1] == b'"' and beside in self._texts:
            return beside
        found = self._by_name.get(named[1])
        if found is None:  # flags include it
            end = os.sep + os.fsdecode(named[1])
            found = {name for name in self._texts if name.endswith(end)}
        return next(iter(found)) if len(found) == 1 else None


def means_the_same(
    lib: Any, handle: int, headers: ParsedHeaders, rest: Rest, entered: Sequence[int]
) -> frozenset[str] | None:
    """Return the shared files that a unit includes, if it means the same when it is parsed alone.

    It was parsed behind the headers with a record of directives; `entered` are the files that it read. None
    if it is not certain.
    """
    if headers.order is None:
        return frozenset(headers.texts)
    main = lib.clang_getFile(handle, os.fsencode(rest.unit.main))
    own = _OwnTexts(lib, handle, headers, UnitOrder(headers.order), main, Counter(entered))
    try:
        for name in headers.always:
            own.order.include(name)
        own.read(libclang.native.inclusion_directives(lib.clang_getTranslationUnitCursor(handle)))
        return frozenset(own.order.visited) if headers.order.keeps_meaning(own.order) else None
    except UnknownIncludes:
        return None


class _OwnTexts:
    """Reads the texts of a unit that are not among the shared headers, in the order of the unit alone."""

    def __init__(
        self,
        lib: Any,
        handle: int,
        headers: ParsedHeaders,
        order: UnitOrder,
        main: int,
        entered: Counter[int],
    ) -> None:
        self._lib, self._handle, self._headers = lib, handle, headers
        self.order, self._main, self._entered = order, main, entered
        self._including: set[int] = set()
        self._skipped: dict[int, list[tuple[int, int]]] = {}
        self._texts: dict[int, IncludedText] = {}
        self._open: list[tuple[int, int]] = []
        """The files that are being read, and how many of their pieces were."""

    def read(self, directives: Iterable[tuple[int, int, int]]) -> None:
        """Read everything. Raises Unknown."""
        every = list(directives)
        self._including = {file for file, _, _ in every}
        for file, start, end in libclang.native.skipped_ranges(self._handle):
            self._skipped.setdefault(file, []).append((start, end))
        self._open.append((self._main, 0))
        for file, offset, target in every:
            self._go_to(file)
            self._take_until(bisect_right([start for start, _ in self._text(file).includes], offset))
            if not target:
                raise UnknownIncludes
            name = libclang.file_name(self._lib, target)
            if name in self._headers.texts and (target not in self._entered or name in self._headers.guarded):
                self.order.include(name)
            elif target in self._entered and target not in self._including:
                self._open.append((target, 0))
                self._close()
        while self._open:
            self._close()

    def _go_to(self, file: int) -> None:
        """Go on in a file that was left, or begin one."""
        if not file:
            raise UnknownIncludes
        is_open = any(file == each for each, _ in self._open)
        while is_open and self._open[-1][0] != file:
            self._close()
        if not is_open:
            self._open.append((file, 0))

    def _close(self) -> None:
        self._take_until(len(self._text(self._open[-1][0]).pieces))
        self._open.pop()

    def _take_until(self, end: int) -> None:
        file, done = self._open[-1]
        for piece in self._text(file).pieces[done:end]:
            self.order.take(piece)
        self._open[-1] = file, max(done, end)

    def _text(self, file: int) -> IncludedText:
        if file not in self._texts:
            name = libclang.file_name(self._lib, file)
            # What is left out differs each time that a file is read.
            is_once = self._entered[file] <= 1 and name not in self._headers.texts
            skipped = tuple(self._skipped.get(file, ())) if is_once else ()
            known = self._headers.own.get((name, skipped)) if file != self._main else None
            if known is None:
                content = libclang.contents(self._lib, self._handle, file)
                known = include_order.read_pieces(include_order.left_out(content, skipped))
                if file != self._main:
                    self._headers.own[name, skipped] = known
            self._texts[file] = known
            self.order.add(known)
        return self._texts[file]
