"""Selection of the units of a file and of other files to read: C, each once, and the units that C imports."""

from __future__ import annotations

from collections import Counter, deque
from contextlib import closing, suppress
from itertools import pairwise

from layoutlint.errors import ReadError
from layoutlint.model.randomised import ShufflingEvidence
from layoutlint.model.reading import Omission, ReadOptions
from layoutlint.model.record import replace
from layoutlint.model.structs import Unstated
from layoutlint.model.wanted import Wanted
from layoutlint.readers.dwarf import code, omissions, producers
from layoutlint.readers.dwarf.code import UndescribedCode
from layoutlint.readers.dwarf.format.constants import attribute
from layoutlint.readers.dwarf.format.forms import DAMAGE, DwarfError
from layoutlint.readers.dwarf.format.split import SplitUnits
from layoutlint.readers.dwarf.format.unit import Unit
from layoutlint.readers.dwarf.format.units import SPLIT, Index
from layoutlint.readers.dwarf.omissions import Omissions, SourceNames, Traits
from layoutlint.readers.dwarf.selection import Selection, describe_damage
from layoutlint.readers.dwarf.struct_names import StructNames
from layoutlint.readers.elf import compiler_marks
from layoutlint.readers.elf.elf_file import Image
from layoutlint.readers.elf.source_files import source_files
from layoutlint.workers.child import Lost
from layoutlint.workers.pool import number_for, spread

_IMPORT = attribute("import")
_PARTS = 256
"""Least number of parts of equal size into which the units are divided; each process takes one after
another."""

_FIRST = 64
"""Units that are looked at in advance; in a kernel, the first units include most headers."""

_C, _PARTIAL, _FOREIGN, _SKELETON, _DAMAGED = range(5)
"""Kinds of units."""
_Classification = tuple[int, str, list[int], list[int]]
Sight = tuple[int, str, list[int], list[int], str, Traits]
"""What is known of a unit after a look at it: its kind; its language, file or damage; the positions of
entries to read, and of those that import units; the mode of a randomising compiler, if the unit names one;
its traits."""


class Collector:
    """Reads the units of a file, those of its skeletons, and those that they import."""

    def __init__(
        self, image: Image, wanted: Wanted, options: ReadOptions, unstated: Unstated | None = None
    ) -> None:
        """Find the units of a file. Raises ReadError without any.

        `unstated` is what the compilers are known to leave out.
        """
        suffix = "" if image.section(".debug_info") or image.section(".debug_types") else SPLIT
        self._image = image
        self.wanted = wanted
        """Includes the structs of typedefs among the held names, if they were found in advance."""
        self._target = image.target
        self._options = options
        self._index = Index(image, options, suffix)
        self._unstated = self._first_unstated() if unstated is None else unstated
        if wanted.with_containers and not self._index.has_supplement:
            self.wanted = wanted = replace(
                wanted, with_containers=wanted.with_containers | self._struct_names(wanted.with_containers)
            )
        self._reset()
        if not self._index.units:
            raise ReadError(image.path, next(iter(self.unread), "its .debug_info is empty"))

    def _first_unstated(self) -> Unstated | None:
        """Return what the compiler of the first unit that names one leaves out; None without such a unit."""
        for unit in self._index.units:
            try:
                unstated = producers.find_unstated(unit, self._target) if unit.language is None else None
            except DAMAGE:  # reported when the unit is read
                continue
            finally:
                unit.forget()
            if unstated is not None:
                return unstated
        return None

    def _reset(self) -> None:
        """Reset everything that was read."""
        self._split_units = SplitUnits(self._image, self._options)
        self._has_skeletons = False
        self._skipped: Counter[str] = Counter()
        self._partial: dict[Unit, bool] = {}
        """Partial units, which have the language of the units that import them, and whether that is C."""
        self._waiting: deque[Unit] = deque()
        self.selection: Selection | StructNames = Selection(
            self.wanted, self._target, self._unstated, self._image.is_kernel
        )
        if self.wanted.names_only:
            self.selection = StructNames()
        self.unread: list[str] = [*self._index.damaged]
        """Positions and reasons."""
        self._omissions = Omissions()
        self.shuffled: ShufflingEvidence | None = None
        """The marks of a randomising compiler in the units, and in the strings of other files."""

    def _struct_names(self, names: frozenset[str]) -> frozenset[str]:
        """Return the names of the structs to which typedefs among some names refer, in the first units."""
        first = Selection(Wanted(names), self._target, producers.ANYTHING)
        for unit in self._index.units[:_FIRST]:
            with suppress(*DAMAGE):  # reported when the unit is read
                first.read_entries(unit, first.find_entries(unit))
            unit.forget()
            if names <= first.all_names():
                break
        for unit in self._index.units:
            unit.home = None  # set by the first reference when all units are read
        return first.all_names()

    def read(self) -> None:
        """Read all units. Raises ReadError if the file has only partial units."""
        units = self._index.units
        if self._index.has_supplement:
            with suppress(*DAMAGE):  # reported with the first reference to it
                self._add_mark(self._index.supplement.shuffling_evidence)
        size = sum(unit.end - unit.offset for unit in units)
        parts = _divide(units, size)
        if not self._look_in_parallel(parts, size):
            self._visit_all(0, [sight for part in parts for sight in self._look_at_part(part)])
        self._options.progress("reading DWARF", len(units), len(units))
        if len(self._partial) == len(units) and not any(self._partial.values()):
            reason = "has partial units only (dwz), which are read with the files that import them"
            raise ReadError(self._image.path, reason)
        for index in self._split_units.open_indexes if self._has_skeletons else ():
            self.unread += index.damaged
            self._add_mark(index.shuffling_evidence)
            for unit in index.types:
                self._visit(unit, self._look_at(unit))
        self.unread += self._split_units.problems
        while self._waiting:
            unit = self._waiting.popleft()
            self._visit(unit, self._look_at(unit, is_imported=True))

    def close(self) -> None:
        """Drop the units, whose tables (140 MB of a kernel) would wait for the garbage collector."""
        self._index.close()

    def notes(self) -> tuple[str, ...]:
        """Return notes on the skipped units, as sentences."""
        notes = [f"skipped {_units(count)} in {name}" for name, count in sorted(self._skipped.items())]
        unimported = sum(not is_c for is_c in self._partial.values())
        if unimported:
            notes.append(f"skipped {_units(unimported, 'partial ')} that no unit in C imports")
        return tuple(notes)

    def _look_in_parallel(self, parts: list[tuple[int, int]], size: int) -> bool:
        """Look at the units in several processes, and visit those whose turn has come meanwhile.

        Returns False, with nothing read, if one process must look at all units: there are too few, a process
        died, or units take their folder from the first unit that refers to them (dwz).
        """
        number = 1 if self._index.has_supplement else number_for(size, self._options.jobs)
        self.selection.prepare(self._index.sections)
        if number == 1:
            return False
        # Forks know the types of the units that were looked at before, and send no entries of them.
        ahead = next((index for index, part in enumerate(parts) if part[1] >= _FIRST), 0)
        sights = [sight for part in parts[:ahead] for sight in self._look_at_part(part)]
        kinds = {sight[0] for sight in sights}
        visited = 0
        results = spread(
            lambda number: self._look_at_part(parts[ahead + number]), len(parts) - ahead, number
        )
        with suppress(Lost), closing(results):
            for part_sights in results:
                sights += part_sights
                kinds.update(sight[0] for sight in part_sights)
                if _PARTIAL in kinds:
                    break
                # The units of skeletons are looked at after all units of this file, as one process does it.
                if _SKELETON not in kinds:
                    self._visit_all(visited, sights)
                    visited = len(sights)
            else:
                self._visit_all(visited, sights)
                return True
        for unit in self._index.units:
            unit.home = None
        self._reset()
        return False

    def _look_at_part(self, part: tuple[int, int]) -> list[Sight]:
        """Look at the units of a part."""
        units = self._index.units
        self._options.progress("reading DWARF", part[0], len(units))
        return [self._look_at(unit) for unit in units[slice(*part)]]

    def _visit_all(self, first: int, sights: list[Sight]) -> None:
        """Visit the units from `first` on that have been looked at."""
        for number in range(first, len(sights)):
            self._visit(self._index.units[number], sights[number])

    def _look_at(self, unit: Unit, is_imported: bool = False) -> Sight:
        """Look at a unit: find out its kind, and which of its entries to read."""
        try:
            mark = compiler_marks.text_evidence(unit.producer)
            finds_local = self._options.finds_omissions or bool(self.wanted.embedded)
            unit.local = [] if finds_local else None
            classification = self._classify(unit, is_imported)
            return (
                *classification,
                mark.mode or "" if mark else "",
                self._find_traits(unit, classification[0]),
            )
        except DAMAGE as error:
            reason = describe_damage(unit, getattr(error, "position", None), error)
            return _DAMAGED, reason, [], [], "", omissions.NO_TRAITS
        finally:
            unit.local = None
            unit.forget()

    def _classify(self, unit: Unit, is_imported: bool) -> _Classification:
        """Return the kind of a unit. Partial units wait until C imports them. Raises DAMAGE."""
        if unit.is_partial and not is_imported:
            return _PARTIAL, "", [], []
        if unit.language is not None:
            return _FOREIGN, unit.language, [], []
        if (name := unit.split_file) is not None:
            return _SKELETON, name, [], []
        hits = self.selection.find_entries(unit)
        return _C, "", hits, unit.imports[:]

    def _find_traits(self, unit: Unit, kind: int) -> Traits:
        """Return the traits of a unit, besides its structs. Raises DAMAGE."""
        is_read = (kind == _C and unit.signature is None) or kind == _FOREIGN
        is_read = is_read and not unit.is_partial
        if not (self._options.finds_omissions and is_read and isinstance(self.selection, Selection)):
            return omissions.NO_TRAITS
        if kind == _FOREIGN:
            language = unit.language or ""
            return unit.name, unit.comp_dir, language, [], -1, [], self.selection.foreign(unit)
        missing_count = omissions.missing_types(unit) if unit.sections.has_signatures else 0
        local, merged = self.selection.local(unit), omissions.find_optimised(unit)
        return unit.name, unit.comp_dir, omissions.describe_lack(unit), local, missing_count, merged, []

    @property
    def folders(self) -> frozenset[str]:
        """The folders in which the compiler ran, as units state them."""
        return frozenset(self._omissions.folders)

    def omissions(self) -> tuple[Omission, ...]:
        """Return the parts that were not examined. Raises ReadError for a damaged symbol table."""
        if not self._options.finds_omissions or self.unread:
            return ()  # an unreadable part fails the run, and may be the part that seems to be missing
        lines = [self._image.span(name) for name in (".debug_line_str", ".debug_line", ".debug_str")]
        sources = self._omissions.sources(source_files(self._image), lines)
        if sources.silent and self._describes_all():
            sources = sources.without_silent()
        own = tuple(self._omissions.list_omissions(sources, self._find_undescribed_code(sources)))
        return own + self._merged_omissions() + self.foreign_omissions()

    def _merged_omissions(self) -> tuple[Omission, ...]:
        """Return the containers that can be types of variables, or of fields only."""
        merged = self.selection.merged_containers() if isinstance(self.selection, Selection) else []
        names = self.wanted.names_embedded(self.selection.structs()) if merged else frozenset[str]()
        return tuple(omissions.merged_omission(merged, names)) if merged else ()

    def foreign_omissions(self) -> tuple[Omission, ...]:
        """Return the structs in units in other languages that differ from those in C."""
        selection = self.selection
        if not isinstance(selection, Selection) or not self._skipped:
            return ()
        return tuple(self._omissions.list_foreign(selection.layouts()))

    def _describes_all(self) -> bool:
        """Return whether units describe all code and data of a program or an object file."""
        if self._image.is_kernel:
            return False
        try:
            if self._image.is_relocatable:
                return not code.has_undescribed_data(self._image, self._index.units)
            found = code.find_undescribed(self._image, self._index.units, by_symbols=True)
            is_all_code = found.is_known and not found.names
            return is_all_code and not code.has_undescribed_data(self._image, self._index.units)
        except (ReadError, *DAMAGE):
            return False

    def _find_undescribed_code(self, sources: SourceNames) -> UndescribedCode | None:
        """Return the code that no unit describes; None if it proves nothing."""
        # Most of Linux has no unwind tables, and its own assembler often no debug information.
        if self._image.is_kernel or not sources.can_hide:
            return None
        try:
            return code.find_undescribed(self._image, self._index.units, bool(sources.why))
        except (ReadError, *DAMAGE):
            return code.NOT_KNOWN

    def _visit(self, unit: Unit, sight: Sight) -> None:
        """Read a unit after a look at it, and record damage."""
        kind, text, hits, imports, mode, traits = sight
        self._omissions.add(traits)
        if mode:
            self._add_mark(compiler_marks.mode_evidence(mode))
        try:
            if kind == _PARTIAL:
                self._partial.setdefault(unit, False)
            elif kind == _FOREIGN:
                self._skipped[text] += 1
            elif kind == _SKELETON:
                self._visit_split_unit(unit, text)
            elif kind == _DAMAGED:
                self.unread.append(text)
            elif hits or imports:
                self._read_structs(unit, hits, imports)
        except DAMAGE as error:
            self.unread.append(describe_damage(unit, getattr(error, "position", None), error))
        finally:
            unit.forget()

    def _read_structs(self, unit: Unit, hits: list[int], imports: list[int]) -> None:
        self.unread += self.selection.read_entries(unit, hits)
        for position in imports:
            try:
                self._queue_import(unit, position)
            except DAMAGE as error:
                self.unread.append(describe_damage(unit, position, error))

    def _queue_import(self, unit: Unit, position: int) -> None:
        """Queue the unit that an entry imports, unless it was read or queued before."""
        plan, start = unit.entry(position)
        if plan is None:
            return
        values, _ = unit.read(plan, start)
        target = unit.reference(plan, values, _IMPORT)
        if target is None:
            return
        imported = target[0]
        if (imported.is_partial or imported.index is not unit.index) and not self._partial.get(imported):
            self._partial[imported] = True
            self._waiting.append(imported)

    def _visit_split_unit(self, skeleton: Unit, name: str) -> None:
        """Visit the unit of a skeleton, and the type units in the same file."""
        self._has_skeletons = True
        open_unit = self._split_units.find_open(skeleton)
        if open_unit is not None:
            self._visit(open_unit, self._look_at(open_unit))
            return
        try:
            with self._split_units.open_file(skeleton, name) as (unit, index):
                self.unread += index.damaged
                self._add_mark(index.shuffling_evidence)
                for split_unit in (unit, *index.types):
                    self._visit(split_unit, self._look_at(split_unit))
            self.selection.forget_places()
        except ReadError as error:
            raise DwarfError(error.reason, skeleton.offset) from error

    def _add_mark(self, mark: ShufflingEvidence | None) -> None:
        self.shuffled = compiler_marks.merge(self.shuffled, mark)


def _divide(units: list[Unit], size: int) -> list[tuple[int, int]]:
    """Return runs of units of about the same size: the first of each, and the one after its last."""
    least = size // _PARTS
    starts, part_size = [0], 0
    for number, unit in enumerate(units):
        if part_size > least:
            starts.append(number)
            part_size = 0
        part_size += unit.end - unit.offset
    return list(pairwise((*starts, len(units))))


def _units(count: int, kind: str = "") -> str:
    return f"{count} {kind}unit{'s' if count > 1 else ''}"
