"""Parts of a file that its DWARF does not describe, and structs that are local to functions.

A unit is not described if the symbol table names its C source and no unit of .debug_info has that name, if it
was compiled with line numbers only (`-g1`), or if it refers to types whose type units are missing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final

from layoutlint.model.reading import Omission
from layoutlint.model.record import Record, field, replace
from layoutlint.phrases import first_few
from layoutlint.readers.dwarf.code import UndescribedCode
from layoutlint.readers.dwarf.foreign import ForeignStruct, KnownLayouts
from layoutlint.readers.dwarf.format import forms
from layoutlint.readers.dwarf.format.abbreviations import Plan
from layoutlint.readers.dwarf.format.constants import attribute, tag
from layoutlint.readers.dwarf.format.unit import Unit, Values
from layoutlint.readers.dwarf.scan import find_signature_entries
from layoutlint.readers.dwarf.selection import Local
from layoutlint.readers.elf.source_files import SourceFile
from layoutlint.readers.elf.span import Span

Traits = tuple[str, str, str, list[Local], int, list[str], list[ForeignStruct]]
"""Traits of a unit: its file; the folder of its compilation; why it lacks types, or nothing; its local
structs; how many types that it refers to are missing; sources from which it has functions but no types. For
another language: its file, the folder, the language, -1, and its structs."""
NO_TRAITS: Traits = ("", "", "", [], 0, [], [])

_PRODUCER: Final = attribute("producer")
_CODE: Final = frozenset((attribute("low_pc"), attribute("high_pc"), attribute("ranges")))
_TYPED: Final = frozenset(map(attribute, ("type", "prototyped", "specification", "abstract_origin")))
_PLACE: Final = _CODE | {attribute("location")}
_ORIGINS: Final = frozenset((attribute("specification"), attribute("abstract_origin")))
_LINKED_BY_GCC: Final = "GNU GIMPLE "
_DECL_FILE: Final = attribute("decl_file")
_DECL_LINE: Final = attribute("decl_line")
_FUNCTION, _VARIABLE = tag("subprogram"), tag("variable")
_LEVEL: Final = re.compile(
    r"^-g(?:dwarf(?:-[2-5])?|ctf[0-3]?|(?:gdb|stabs|vms|xcoff|btf)?\+?([0-3])?)$"
)
_REDUCED: Final = "-femit-struct-debug-"

_C: Final = (".c", ".i", "<stdin>")
_OBJECTS: Final = (".o", ".os", ".oS", ".lo")
_ASSEMBLER: Final = (b".S", b".s", b".asm")
_LINK_TIME: Final = "ld-temp.o"
"""The name that clang gives the one unit of a program that was optimised at link time."""
_START_UP: Final = re.compile(
    r"^(?:[gMrS]*crt[1in0]|gcrt1|crt(?:begin|end)[STP]?)\.o$|^(?:crt|offload)stuff\.c$|^cpuinfo\.o$|^(?:crt|grcrt)fastmath\.[co]$"
)
"""Objects of the compiler and of the C library that are linked into every program."""
_FIRST_START_UP: Final = frozenset(("abi-note.c", "init.c", "static-reloc.c", "elf-init.c", "start.c"))
"""Sources of crt1.o in glibc; they count as start-up code only before the compiler's crtbegin.o."""
_COMPILER: Final = "crtstuff.c"
_MOST: Final = 3


class Omissions(Record):
    """Collects the traits of the units of one file."""

    names: Counter[str] = field(default_factory=Counter)
    lacks: dict[str, list[str]] = field(default_factory=dict)
    local: dict[Local, None] = field(default_factory=dict)
    missing_types: int = 0
    optimised: dict[str, None] = field(default_factory=dict)
    """Sources without debug information whose functions link-time optimisation merged with others."""
    foreign: dict[str, dict[ForeignStruct, None]] = field(default_factory=dict)
    """The structs of units in other languages, by language."""

    folders: set[str] = field(default_factory=set)
    """The folders in which units were compiled."""

    def add(self, traits: Traits) -> None:
        """Add the traits of a unit."""
        name, folder, lack, local, missing_types, optimised, foreign = traits
        self.folders.update(filter(None, (folder,)))
        self.optimised.update(dict.fromkeys(optimised))
        if name:
            self.names[name.rpartition("/")[2]] += 1
        if missing_types < 0:
            self.foreign.setdefault(lack, {}).update(dict.fromkeys(foreign))
            return
        if lack:
            self.lacks.setdefault(lack, []).append(name)
        self.local.update(dict.fromkeys(local))
        self.missing_types += missing_types

    def sources(self, files: Sequence[SourceFile] | None, lines: Sequence[Span]) -> SourceNames:
        """Return what the symbols say about sources.

        `files` are those of the symbol table, None without one; `lines` hold the file names of line tables.
        """
        return _classify_sources(files, self.names, lines)

    def list_omissions(
        self, sources: SourceNames, code: UndescribedCode | None
    ) -> Iterator[Omission]:
        """Yield the parts of units in C that were not examined.

        `code` is the code that no unit describes, None if it was not searched for.
        """
        compiled = dict.fromkeys((*sources.compiled, *self.optimised))
        if compiled:
            count = len(sources.compiled) + len(self.optimised.keys() - set(sources.compiled))
            names = first_few(list(compiled), _MOST)
            yield Omission(f"{_count_phrase(count, 'C unit')} without debug information: {names}")
        if sources.start_up:
            names = ", ".join(sources.start_up)
            yield Omission(f"start-up objects without debug information: {names}", is_harmless=True)
        if code is not None:
            yield from _code_omissions(code, sources)
        for lack, units in self.lacks.items():
            yield Omission(f"{_count_phrase(len(units), 'C unit')} {lack}: {first_few(units, _MOST)}")
        if self.missing_types:
            yield Omission(
                f"{_count_phrase(self.missing_types, 'reference')} to types whose type units are missing "
                "(was .debug_types stripped?)"
            )
        if self.local:
            yield _struct_omission(
                sorted(self.local), "local to functions, which layoutlint does not judge", False
            )

    def list_foreign(self, known: KnownLayouts) -> Iterator[Omission]:
        """Yield the structs in units in other languages, unless `known` has the same structs."""
        for language, structs in sorted(self.foreign.items()):
            yield from _foreign_omissions(language, structs, known)


def _foreign_omissions(
    language: str, structs: Iterable[ForeignStruct], known: KnownLayouts
) -> Iterator[Omission]:
    """Yield the structs of units in a language, and their containers, that are not in C units as well."""
    where = f"in units in {language}, which layoutlint does not read"
    unread = {(each.name, each.place) for each in structs if not each.container and not known.has(each)}
    if unread:
        yield _struct_omission(sorted(unread), where, True)
    holders = sorted({(each.container, each.place) for each in structs if each.container})
    if holders:
        names = frozenset(each.name for each in structs if each.container)
        embedded = f"with {first_few(sorted(names), _MOST)} inside"
        yield replace(_struct_omission(holders, f"{embedded}, {where}", True), structs=names)


def merged_omission(structs: list[Local], embedded: frozenset[str]) -> Iterator[Omission]:
    """Yield structs of type units that can embed some structs as variables, which their units do not tell."""
    places = first_few([name for name, _ in structs], _MOST)
    reason = f"type units do not tell whether variables have the type of fields without a name: {places}"
    yield Omission(reason, embedded)


def _struct_omission(structs: list[Local], description: str, is_shared: bool) -> Omission:
    places = [f"{name} at {place}" if place else name for name, place in structs]
    suffix = f" and {len(places) - _MOST:,} more" if len(places) > _MOST else ""
    reason = f"{_count_phrase(len(places), 'struct')} {description}: {', '.join(places[:_MOST])}{suffix}"
    return Omission(reason, frozenset(name for name, _ in structs), is_shared=is_shared)


class SourceNames(Record, frozen=True):
    """The sources of a file, by its symbols."""

    compiled: tuple[str, ...] = ()
    """C units without debug information; several units of one object repeat its name."""
    start_up: tuple[str, ...] = ()
    """Objects that are linked into every program."""
    others: tuple[str, ...] = ()
    """Units of other languages, also without debug information."""
    why: str = ""
    """Why symbols do not name all sources; empty if they do."""
    silent: tuple[str, ...] = ()
    """The compiled ones without a local function or object, which can be empty after `#ifdef`."""

    @property
    def can_hide(self) -> bool:
        """Whether code without debug information implies C units that symbols do not name.

        Units in other languages that symbols name explain such code as well, but not if symbols miss some
        sources.
        """
        return not self.compiled and bool(self.why or not self.others)

    def without_silent(self) -> SourceNames:
        """Return the sources without silent ones, which are known to be empty."""
        left = Counter(self.compiled) - Counter(self.silent)
        return replace(self, compiled=tuple(left.elements()), silent=())


def _classify_sources(
    files: Sequence[SourceFile] | None, names: Counter[str], lines: Sequence[Span]
) -> SourceNames:
    if files is None:
        return SourceNames(why="without a symbol table")
    units = _Units(names)
    names_in_order = [file.name for file in files]
    first = names_in_order.index(_COMPILER) if _COMPILER in names_in_order else 0
    start_up, compiled, silent, other_sources = [], [], [], []
    for number, file in enumerate(files):
        if units.take(file.name):
            continue
        if _START_UP.match(file.name) or (number < first and file.name in _FIRST_START_UP):
            start_up.append(file.name)
        elif _is_compiled(file, lines):
            compiled.append(file.name)
            silent += [] if file.has_typed_symbols else [file.name]
        elif file.name and not file.name.endswith(_OBJECTS):
            other_sources.append(file.name)
    why = "" if units.are_all_named else "its symbol table does not name all sources"
    starting = tuple(dict.fromkeys(start_up))
    return SourceNames(tuple(compiled), starting, tuple(other_sources), why, tuple(silent))


def _code_omissions(code: UndescribedCode, sources: SourceNames) -> Iterator[Omission]:
    """Yield the omissions besides the units, in code about which symbols say nothing."""
    if not code.is_known:
        if sources.why:
            yield Omission(f"{sources.why}, nor unwind tables all functions: {_NOT_KNOWN}")
        return
    if code.names:
        count = _count_phrase(len(code.names), "function")
        yield Omission(f"{count} without debug information: {first_few(code.names, _MOST)}")
    if sources.why:
        yield Omission(f"{sources.why}: {_NOT_SEEN}", is_harmless=True)


_NOT_SEEN = "units without debug information that have data only are not seen"
_NOT_KNOWN = "it is not known whether there are units without debug information"


class _Units:
    """The units of the DWARF that no symbol has named so far, by the names of their files."""

    def __init__(self, names: Counter[str]) -> None:
        self._remaining = Counter(names)
        self._stems: dict[str, list[str]] = {}
        for name in names:
            self._stems.setdefault(name.rpartition(".")[0], []).append(name)

    @property
    def are_all_named(self) -> bool:
        """Whether symbols named all units."""
        return not any(self._remaining.values())

    def take(self, name: str) -> bool:
        """Remove the unit that a symbol names; return whether there was one."""
        for candidate in self._candidates(name):
            if self._remaining[candidate]:
                self._remaining[candidate] -= 1
                return True
        return False

    def _candidates(self, name: str) -> Iterator[str]:
        yield name
        if name.endswith(_OBJECTS):  # the linker's name for an object without a symbol (assembler)
            yield from self._stems.get(name.rpartition(".")[0], ())
        # `objcopy --prefix-symbols` renames these symbols too: __pi_idreg-override.c of Linux.
        position = name.find("_", 2) if name.startswith("__") else -1
        while position >= 0:
            yield name[position + 1 :]
            position = name.find("_", position + 1)


def _is_compiled(file: SourceFile, lines: Sequence[Span]) -> bool:
    """Return whether a unit was compiled from C.

    A unit without a symbol for its source is assembler, or a compiled object that lost the symbol: that has
    symbols with types, and no line table names an assembler source for it.
    """
    if file.name.endswith(_OBJECTS):
        is_code = file.has_typed_symbols and file.name != _LINK_TIME
        return is_code and not _is_assembler(file, lines)  # in this order: line tables are long
    return file.name.endswith(_C)


def _is_assembler(file: SourceFile, lines: Sequence[Span]) -> bool:
    stem = file.name.rpartition(".")[0].encode(errors="replace")
    sources = [stem + suffix + b"\0" for suffix in _ASSEMBLER]
    return any(span.find(source) >= 0 for span in lines for source in sources)


def _count_phrase(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def missing_types(unit: Unit) -> int:
    """Return how many types that a unit refers to by signature have no type unit. Raises DAMAGE."""
    plan, _, end = unit.root
    if not plan.has_children:
        return 0
    missing = set()
    for position in find_signature_entries(unit, end):
        entry, start = unit.entry(position)
        if entry is None:
            continue
        values, _ = unit.read(entry, start)
        missing |= {values[key] for key, form in entry.forms.items() if form == forms.REF_SIG8}
    return sum(not unit.index.has_type(number) for number in missing if isinstance(number, int))


def describe_lack(unit: Unit) -> str:
    """Return why a C unit lacks types, as the end of a sentence; empty if it has them. Raises DAMAGE."""
    plan, values, end = unit.root
    if unit.is_assembler:
        return ""
    producer = unit.text(plan, values, _PRODUCER) or ""
    level, is_reduced = _read_options(producer)
    if is_reduced:
        return f"compiled with {_REDUCED}..., which leaves out structs of headers"
    if level is not None:
        return ("compiled with -g0, which leaves out all types", _LINES_ONLY, "", "")[level]
    if _CODE.isdisjoint(values) and not plan.has_children:
        return ""
    has_types = any(
        not _is_untyped(child, attributes, "GNU" in producer)
        for child, attributes, _ in unit.children(plan, end)
    )
    return "" if has_types else _LINES_ONLY


_LINES_ONLY = "compiled with line numbers only (-g1)"


def find_optimised(unit: Unit) -> list[str]:
    """Return the sources without debug information of a unit that gcc created at link time. Raises DAMAGE.

    A source compiled with `-g` is described by a unit of its own, to which this one refers.
    """
    plan, values, end = unit.root
    producer = unit.text(plan, values, _PRODUCER) or ""
    if not producer.startswith(_LINKED_BY_GCC):
        return []
    paths = {
        unit.path(attributes.get(_DECL_FILE, child.constants.get(_DECL_FILE)))
        for child, attributes, _ in unit.children(plan, end)
        if child.tag in (_FUNCTION, _VARIABLE)
        and _ORIGINS.isdisjoint(attributes)
        and not _PLACE.isdisjoint(attributes)
    }
    names = {path.rpartition("/")[2] for path in paths if path}
    return sorted(name for name in names if not name.startswith("<"))


@lru_cache(1 << 10)
def _read_options(producer: str) -> tuple[int | None, bool]:
    """Return the level of debug information that gcc recorded, if any, and whether structs are left out."""
    level: int | None = None
    is_reduced = False
    for word in producer.split() if producer.startswith("GNU ") else ():
        is_reduced = is_reduced or word.startswith(_REDUCED)
        match = _LEVEL.match(word)
        if match is not None:
            # `-g`, `-gdwarf-N` and `-gctf` raise a lower level to 2; a number sets it.
            level = int(match[1]) if match[1] else max(level or 0, 2)
    return level, is_reduced


def _is_untyped(plan: Plan, values: Values, is_gcc: bool) -> bool:
    """Return whether an entry is the rest of a function or variable that compilers leave without types."""
    if not _TYPED.isdisjoint(values) or not _TYPED.isdisjoint(plan.constants):
        return False
    if plan.tag == _FUNCTION:
        return is_gcc or _DECL_LINE not in values
    return is_gcc and plan.tag == _VARIABLE
