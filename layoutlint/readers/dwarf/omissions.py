"""Parts of a file that its DWARF does not describe, and structs that are local to functions.

A unit is not described if the symbol table names its C source and no unit of .debug_info has that name, if it
was compiled with line numbers only (`-g1`), or if it refers to types whose type units are gone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from layoutlint.model.reading import Omission
from layoutlint.phrases import some_of
from layoutlint.readers.dwarf.code import Undescribed
from layoutlint.readers.dwarf.format import forms
from layoutlint.readers.dwarf.format.abbreviations import Plan
from layoutlint.readers.dwarf.format.constants import at, tag
from layoutlint.readers.dwarf.format.unit import Unit, Values
from layoutlint.readers.dwarf.scan import signed
from layoutlint.readers.dwarf.selection import Local
from layoutlint.readers.elf.source_files import SourceFile
from layoutlint.readers.elf.span import Span

Traits = tuple[str, str, list[Local], int, list[str]]
"""What is seen of a unit: its file, why it lacks types (or nothing), its local structs, how many types that
it refers to are missing, and sources of which it has functions and no types. Of one in another language its
file, the language, its structs, and -1."""
NO_TRAITS: Traits = ("", "", [], 0, [])

_PRODUCER: Final = at("producer")
_CODE: Final = frozenset((at("low_pc"), at("high_pc"), at("ranges")))
_TYPED: Final = frozenset((at("type"), at("prototyped"), at("specification"), at("abstract_origin")))
_PLACE: Final = _CODE | {at("location")}
_ORIGINS: Final = frozenset((at("specification"), at("abstract_origin")))
_LINKED_BY_GCC: Final = "GNU GIMPLE "
_DECL_FILE: Final = at("decl_file")
_DECL_LINE: Final = at("decl_line")
_FUNCTION, _VARIABLE = tag("subprogram"), tag("variable")
_LEVEL: Final = re.compile(r"^-g(?:dwarf(?:-[2-5])?|(?:gdb|stabs|vms|xcoff)?\+?([0-3])?)$")
_REDUCED: Final = "-femit-struct-debug-"

_C: Final = (".c", ".i", "<stdin>")
_OBJECTS: Final = (".o", ".os", ".oS", ".lo")
_ASSEMBLER: Final = (b".S", b".s", b".asm")
_LINK_TIME: Final = "ld-temp.o"
"""What clang calls the one unit of a program that it optimised when it was linked."""
_START_UP: Final = re.compile(
    r"^(?:[gMrS]*crt[1in0]|gcrt1|crt(?:begin|end)[STP]?)\.o$|^(?:crt|offload)stuff\.c$|^cpuinfo\.o$|^(?:crt|grcrt)fastmath\.[co]$"
)
"""Objects of the compiler and of the C library that every program is linked with."""
_FIRST_START_UP: Final = frozenset(("abi-note.c", "init.c", "static-reloc.c", "elf-init.c", "start.c"))
"""Sources of crt1.o in glibc, which count as such in front of the compiler's crtbegin.o only."""
_COMPILER: Final = "crtstuff.c"
_MOST: Final = 3


@dataclass(slots=True)
class Omissions:
    """Gathers what is seen of the units of one file."""

    names: Counter[str] = field(default_factory=Counter)
    lacks: dict[str, list[str]] = field(default_factory=dict)
    local: dict[Local, None] = field(default_factory=dict)
    missing_types: int = 0
    optimised: dict[str, None] = field(default_factory=dict)
    """Sources without debug information whose functions link-time optimisation merged with others."""
    foreign: dict[str, dict[Local, None]] = field(default_factory=dict)
    """The structs of units in other languages, by language."""

    def add(self, traits: Traits) -> None:
        """Take what was seen of a unit."""
        name, lack, local, missing, optimised = traits
        self.optimised.update(dict.fromkeys(optimised))
        if name:
            self.names[name.rpartition("/")[2]] += 1
        if missing < 0:
            self.foreign.setdefault(lack, {}).update(dict.fromkeys(local))
            return
        if lack:
            self.lacks.setdefault(lack, []).append(name)
        self.local.update(dict.fromkeys(local))
        self.missing_types += missing

    def sources(self, files: Sequence[SourceFile] | None, lines: Sequence[Span]) -> Sources:
        """Return what symbols say of sources.

        `files` are those of the symbol table, None without one; `lines` have the file names of line tables.
        """
        return _sources(files, self.names, lines)

    def found(self, sources: Sources, known: frozenset[str], code: Undescribed | None) -> Iterator[Omission]:
        """Yield what was not looked at.

        `known` are the places of structs that were read: in other languages these are the same. `code` is
        what no unit describes, None where it was not looked for.
        """
        compiled = dict.fromkeys((*sources.compiled, *self.optimised))
        if compiled:
            count = len(sources.compiled) or len(compiled)
            listed = some_of(list(compiled), _MOST)
            yield Omission(f"{_counted(count, 'C unit')} without debug information: {listed}")
        if sources.start_up:
            listed = ", ".join(sources.start_up)
            yield Omission(f"start-up objects without debug information: {listed}", is_harmless=True)
        if code is not None:
            yield from _undescribed(code, sources)
        for lack, units in self.lacks.items():
            yield Omission(f"{_counted(len(units), 'C unit')} {lack}: {some_of(units, _MOST)}")
        if self.missing_types:
            yield Omission(
                f"{_counted(self.missing_types, 'reference')} to types whose type units are missing "
                "(was .debug_types stripped?)"
            )
        if self.local:
            yield _structs(sorted(self.local), "local to functions, which layoutlint does not judge", False)
        for language, structs in sorted(self.foreign.items()):
            if others := sorted(each for each in structs if each[1] not in known):
                yield _structs(others, f"in units in {language}, which layoutlint does not read", True)


def _structs(structs: list[Local], what: str, is_shared: bool) -> Omission:
    places = [f"{name} at {place}" if place else name for name, place in structs]
    more = f" and {len(places) - _MOST:,} more" if len(places) > _MOST else ""
    reason = f"{_counted(len(places), 'struct')} {what}: {', '.join(places[:_MOST])}{more}"
    return Omission(reason, frozenset(name for name, _ in structs), is_shared=is_shared)


@dataclass(frozen=True, slots=True)
class Sources:
    """What symbols say of the sources of a file."""

    compiled: tuple[str, ...] = ()
    """C units without debug information; an object that has several has the same name more than once."""
    start_up: tuple[str, ...] = ()
    """Objects that every program is linked with."""
    others: tuple[str, ...] = ()
    """What was made of other languages, and has no debug information either."""
    why: str = ""
    """Why symbols do not name all sources; empty where they do."""

    @property
    def can_hide(self) -> bool:
        """Whether code without debug information tells of C units that symbols do not name.

        What symbols name in other languages explains it as well; where they miss some, that is no excuse.
        """
        return not self.compiled and bool(self.why or not self.others)


def _sources(files: Sequence[SourceFile] | None, names: Counter[str], lines: Sequence[Span]) -> Sources:
    if files is None:
        return Sources(why="without a symbol table")
    left = _Units(names)
    names_in_order = [file.name for file in files]
    first = names_in_order.index(_COMPILER) if _COMPILER in names_in_order else 0
    start_up, compiled, others = [], [], []
    for number, file in enumerate(files):
        if left.take(file.name):
            continue
        if _START_UP.match(file.name) or (number < first and file.name in _FIRST_START_UP):
            start_up.append(file.name)
        elif _is_compiled(file, lines):
            compiled.append(file.name)
        elif file.name and not file.name.endswith(_OBJECTS):
            others.append(file.name)
    why = "" if left.are_taken else "its symbol table does not name all sources"
    return Sources(tuple(compiled), tuple(dict.fromkeys(start_up)), tuple(others), why)


def _undescribed(code: Undescribed, sources: Sources) -> Iterator[Omission]:
    """Yield what there is besides the units where symbols cannot tell."""
    if not code.is_known:
        if sources.why:
            yield Omission(f"{sources.why}, nor unwind tables all functions: {_NOT_KNOWN}")
        return
    if code.names:
        count = _counted(len(code.names), "function")
        yield Omission(f"{count} without debug information: {some_of(code.names, _MOST)}")
    if sources.why:
        yield Omission(f"{sources.why}: {_NOT_SEEN}", is_harmless=True)


_NOT_SEEN = "units without debug information that have data only are not seen"
_NOT_KNOWN = "it is not known whether there are units without debug information"


class _Units:
    """The units of the DWARF that no symbol has named so far, by the names of their files."""

    def __init__(self, names: Counter[str]) -> None:
        self._left = Counter(names)
        self._stems: dict[str, list[str]] = {}
        for name in names:
            self._stems.setdefault(name.rpartition(".")[0], []).append(name)

    @property
    def are_taken(self) -> bool:
        """Whether symbols named all units."""
        return not any(self._left.values())

    def take(self, name: str) -> bool:
        """Take the unit that a symbol names; whether there is one."""
        for known in self._meant(name):
            if self._left[known]:
                self._left[known] -= 1
                return True
        return False

    def _meant(self, name: str) -> Iterator[str]:
        yield name
        if name.endswith(_OBJECTS):  # the linker's name for an object whose unit has no symbol: assemblers
            yield from self._stems.get(name.rpartition(".")[0], ())
        # `objcopy --prefix-symbols` renames these symbols too: __pi_idreg-override.c of Linux.
        at = name.find("_", 2) if name.startswith("__") else -1
        while at >= 0:
            yield name[at + 1 :]
            at = name.find("_", at + 1)


def _is_compiled(file: SourceFile, lines: Sequence[Span]) -> bool:
    """Whether a unit was made of C.

    What has no symbol for its source is assembler, or a compiled object that lost it: that has symbols with
    types, and no line table names an assembler source for it.
    """
    if file.name.endswith(_OBJECTS):
        is_code = file.has_typed_symbols and file.name != _LINK_TIME
        return is_code and not _is_assembler(file, lines)  # in this order: line tables are long
    return file.name.endswith(_C)


def _is_assembler(file: SourceFile, lines: Sequence[Span]) -> bool:
    stem = file.name.rpartition(".")[0].encode(errors="replace")
    sources = [stem + suffix + b"\0" for suffix in _ASSEMBLER]
    return any(span.find(source) >= 0 for span in lines for source in sources)


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def missing_types(unit: Unit) -> int:
    """Return how many types that a unit refers to by signature have no type unit. Raises DAMAGE."""
    plan, _, behind = unit.root
    if not plan.has_children:
        return 0
    missing = set()
    for position in signed(unit, behind):
        entry, start = unit.entry(position)
        if entry is None:
            continue
        values, _ = unit.read(entry, start)
        missing |= {values[n] for n, form in entry.forms.items() if form == forms.REF_SIG8}
    return sum(not unit.index.has_type(number) for number in missing if isinstance(number, int))


def lack(unit: Unit) -> str:
    """Return why a unit in C lacks types, as the end of a sentence, or nothing. Raises DAMAGE."""
    plan, values, behind = unit.root
    if unit.is_assembler:
        return ""
    producer = unit.text(plan, values, _PRODUCER) or ""
    level, is_reduced = _options(producer)
    if is_reduced:
        return f"compiled with {_REDUCED}..., which leaves out structs of headers"
    if level is not None:
        return _LINES_ONLY if level == 1 else ""
    if _CODE.isdisjoint(values) and not plan.has_children:
        return ""
    has_types = any(
        not _is_untyped(child, attributes, "GNU" in producer)
        for child, attributes, _ in unit.children(plan, behind)
    )
    return "" if has_types else _LINES_ONLY


_LINES_ONLY = "compiled with line numbers only (-g1)"


def optimised(unit: Unit) -> list[str]:
    """Return the sources without debug information of a unit that gcc made when it linked. Raises DAMAGE.

    What was compiled with `-g` has its description in a unit of its own, to which this one refers.
    """
    plan, values, behind = unit.root
    producer = unit.text(plan, values, _PRODUCER) or ""
    if not producer.startswith(_LINKED_BY_GCC):
        return []
    found = {
        unit.path(attributes.get(_DECL_FILE, child.constants.get(_DECL_FILE)))
        for child, attributes, _ in unit.children(plan, behind)
        if child.tag in (_FUNCTION, _VARIABLE)
        and _ORIGINS.isdisjoint(attributes)
        and not _PLACE.isdisjoint(attributes)
    }
    names = {path.rpartition("/")[2] for path in found if path}
    return sorted(name for name in names if not name.startswith("<"))


@lru_cache(1 << 10)
def _options(producer: str) -> tuple[int | None, bool]:
    """Return the level of debug information that gcc recorded, if any, and whether structs are left out."""
    level: int | None = None
    is_reduced = False
    for word in producer.split() if producer.startswith("GNU ") else ():
        is_reduced = is_reduced or word.startswith(_REDUCED)
        found = _LEVEL.match(word)
        if found is not None:
            # `-g` and `-gdwarf-N` raise the level to 2 where it is lower; a number sets it.
            level = int(found[1]) if found[1] else max(level or 0, 2)
    return level, is_reduced


def _is_untyped(plan: Plan, values: Values, is_gcc: bool) -> bool:
    """Whether an entry of a unit is what compilers leave of a function or variable without types."""
    if not _TYPED.isdisjoint(values) or not _TYPED.isdisjoint(plan.constants):
        return False
    if plan.tag == _FUNCTION:
        return is_gcc or _DECL_LINE not in values
    return is_gcc and plan.tag == _VARIABLE
