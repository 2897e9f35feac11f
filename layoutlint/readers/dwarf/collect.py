"""Which units of a file are read, and from which other files: C, once each, and what C imports."""

from __future__ import annotations

from collections import Counter, deque
from contextlib import closing, suppress
from dataclasses import replace
from itertools import pairwise

from layoutlint.errors import ReadError
from layoutlint.model.randomised import Shuffled
from layoutlint.model.reading import Omission, ReadOptions
from layoutlint.model.structs import Unstated
from layoutlint.model.wanted import Wanted
from layoutlint.readers.dwarf import code, omissions, producers
from layoutlint.readers.dwarf.code import Undescribed
from layoutlint.readers.dwarf.format.constants import at
from layoutlint.readers.dwarf.format.forms import DAMAGE, Damaged
from layoutlint.readers.dwarf.format.split import Parts
from layoutlint.readers.dwarf.format.unit import Unit
from layoutlint.readers.dwarf.format.units import SPLIT, Index
from layoutlint.readers.dwarf.omissions import Omissions, Sources, Traits
from layoutlint.readers.dwarf.selection import Selection, said
from layoutlint.readers.dwarf.struct_names import Called
from layoutlint.readers.elf import compiler_marks
from layoutlint.readers.elf.elf_file import Image
from layoutlint.readers.elf.source_files import source_files
from layoutlint.readers.processes.child import Lost
from layoutlint.readers.processes.pool import number_for, spread

_IMPORT = at("import")
_PARTS = 256
"""Into so many parts of equal size the units are divided at least; each process takes one after another."""

_FIRST = 64
"""Units in which typedefs are looked up beforehand; most headers come in the first of a kernel."""

_C, _PARTIAL, _FOREIGN, _SKELETON, _DAMAGED = range(5)
"""What a unit turns out to be."""
_Seen = tuple[int, str, list[int], list[int]]
Sight = tuple[int, str, list[int], list[int], str, Traits]
"""What a unit turns out to be, its language or file or damage, where the entries stand that are to be taken,
and those that import other units; the mode of a compiler that shuffles, where the unit itself names one; what
its types lack."""


class Gathering:
    """Reads the units of a file, those that its skeletons stand for, and those that they import."""

    def __init__(
        self, image: Image, wanted: Wanted, options: ReadOptions, unstated: Unstated | None = None
    ) -> None:
        """Raises ReadError when there are no units. `unstated` is known to be left out by the compilers."""
        suffix = "" if image.section(".debug_info") or image.section(".debug_types") else SPLIT
        self._image = image
        self.wanted = wanted
        """With what typedefs among the held names stand for, where that was found at once."""
        self._target = image.target
        self._options = options
        self._index = Index(image, options, suffix)
        self._unstated = self._first_unstated() if unstated is None else unstated
        if wanted.held and not self._index.has_supplement:
            self.wanted = wanted = replace(wanted, held=wanted.held | self._meant(wanted.held))
        self._start()
        if not self._index.units:
            raise ReadError(image.path, next(iter(self.unread), "its .debug_info is empty"))

    def _first_unstated(self) -> Unstated | None:
        """What the first compiler leaves out that a unit names; None where none does."""
        for unit in self._index.units:
            try:
                found = producers.unstated(unit, self._target) if unit.language is None else None
            except DAMAGE:  # which is told when the unit is read
                continue
            finally:
                unit.forget()
            if found is not None:
                return found
        return None

    def _start(self) -> None:
        """Nothing is read so far."""
        self._parts = Parts(self._image, self._options)
        self._has_skeletons = False
        self._skipped: Counter[str] = Counter()
        self._partial: dict[Unit, bool] = {}
        """Units whose language is that of those who import them, and whether that is C."""
        self._waiting: deque[Unit] = deque()
        self.selection: Selection | Called = Selection(
            self.wanted, self._target, self._unstated, self._image.is_kernel
        )
        if self.wanted.names_only:
            self.selection = Called()
        self.unread: list[str] = [*self._index.damaged]
        """Places and reasons."""
        self._omissions = Omissions()
        self.shuffled: Shuffled | None = None
        """What units say of being built by a compiler that shuffles, and the strings of other files."""

    def _meant(self, held: frozenset[str]) -> frozenset[str]:
        """What structs are called for which typedefs among some names stand, as the first units tell."""
        first = Selection(Wanted(held), self._target, producers.ANYTHING)
        for unit in self._index.units[:_FIRST]:
            with suppress(*DAMAGE):  # which is told when the unit is read
                first.take(unit, first.look(unit))
            unit.forget()
            if held <= first.met():
                break
        for unit in self._index.units:
            unit.home = None  # that of the first that refers to it when all are read
        return first.met()

    def read(self) -> None:
        """Reads all units. Raises ReadError where there are only such as other files import."""
        units = self._index.units
        if self._index.has_supplement:
            with suppress(*DAMAGE):  # which is told where something refers to it
                self._hear(self._index.supplement.shuffled)
        size = sum(unit.end - unit.offset for unit in units)
        parts = _parts(units, size)
        if not self._share(parts, size):
            self._visit_all(0, [sight for part in parts for sight in self._sights(part)])
        self._options.progress("reading DWARF", len(units), len(units))
        if len(self._partial) == len(units) and not any(self._partial.values()):
            what = "has partial units only (dwz), which are read with the files that import them"
            raise ReadError(self._image.path, what)
        for part in self._parts.kept if self._has_skeletons else ():
            self.unread += part.damaged
            self._hear(part.shuffled)
            for unit in part.types:
                self._visit(unit, self._look(unit))
        self.unread += self._parts.problems
        while self._waiting:
            unit = self._waiting.popleft()
            self._visit(unit, self._look(unit, is_imported=True))

    def notes(self) -> tuple[str, ...]:
        """What was skipped, as sentences."""
        notes = [f"skipped {_units(count)} in {name}" for name, count in sorted(self._skipped.items())]
        alone = sum(not is_c for is_c in self._partial.values())
        if alone:
            notes.append(f"skipped {_units(alone, 'partial ')} that no unit in C imports")
        return tuple(notes)

    def _share(self, parts: list[tuple[int, int]], size: int) -> bool:
        """Lets several processes look at parts of the units, and visits those that are looked at meanwhile.

        False, and nothing is read, where one process must look at all: there is not enough of them, one died,
        or units take their folder from whoever refers to them first (dwz).
        """
        number = 1 if self._index.has_supplement else number_for(size, self._options.jobs)
        self.selection.prepare(self._index.sections)
        if number == 1:
            return False
        sights: list[Sight] = []
        kinds: set[int] = set()
        visited = 0
        told = spread(lambda number: self._sights(parts[number]), len(parts), number)
        with suppress(Lost), closing(told):
            for seen in told:
                sights += seen
                kinds.update(sight[0] for sight in seen)
                if _PARTIAL in kinds:
                    break
                # What skeletons stand for is looked at behind all that is here, whoever looks at that.
                if _SKELETON not in kinds:
                    self._visit_all(visited, sights)
                    visited = len(sights)
            else:
                self._visit_all(visited, sights)
                return True
        for unit in self._index.units:
            unit.home = None
        self._start()
        return False

    def _sights(self, part: tuple[int, int]) -> list[Sight]:
        """What the units of a part turn out to be."""
        units = self._index.units
        self._options.progress("reading DWARF", part[0], len(units))
        return [self._look(unit) for unit in units[slice(*part)]]

    def _visit_all(self, first: int, sights: list[Sight]) -> None:
        """Visits the units from one on, as far as they have been looked at."""
        for number in range(first, len(sights)):
            self._visit(self._index.units[number], sights[number])

    def _look(self, unit: Unit, is_imported: bool = False) -> Sight:
        """What a unit turns out to be."""
        try:
            by = compiler_marks.of_text(unit.producer)
            unit.local = [] if self._options.omissions else None
            seen = self._seen(unit, is_imported)
            return *seen, by.mode or "" if by else "", self._traits(unit, seen[0])
        except DAMAGE as error:
            reason = said(unit, getattr(error, "position", None), error)
            return _DAMAGED, reason, [], [], "", omissions.NO_TRAITS
        finally:
            unit.local = None
            unit.forget()

    def _seen(self, unit: Unit, is_imported: bool) -> _Seen:
        """What a unit turns out to be. Partial units wait until C imports them. Raises DAMAGE."""
        if unit.is_partial and not is_imported:
            return _PARTIAL, "", [], []
        if unit.language is not None:
            return _FOREIGN, unit.language, [], []
        if (name := unit.split_file) is not None:
            return _SKELETON, name, [], []
        hits = self.selection.look(unit)
        return _C, "", hits, unit.imports[:]

    def _traits(self, unit: Unit, kind: int) -> Traits:
        """Return what is seen of a unit besides its structs. Raises DAMAGE."""
        is_read = kind in (_C, _FOREIGN) and unit.signature is None and not unit.is_partial
        if not (self._options.omissions and is_read and isinstance(self.selection, Selection)):
            return omissions.NO_TRAITS
        if kind == _FOREIGN:
            return unit.name, unit.language or "", self.selection.foreign(unit), -1, []
        missing = omissions.missing_types(unit) if unit.sections.has_signatures else 0
        local, merged = self.selection.local(unit), omissions.optimised(unit)
        return unit.name, omissions.lack(unit), local, missing, merged

    def omissions(self) -> tuple[Omission, ...]:
        """Return what was not looked at. Raises ReadError for a damaged symbol table."""
        if not self._options.omissions or self.unread:
            return ()  # a part that cannot be read fails the run, and may be what seems to be missing
        lines = [self._image.span(name) for name in (".debug_line_str", ".debug_line", ".debug_str")]
        known = self.selection.places() if isinstance(self.selection, Selection) else frozenset[str]()
        sources = self._omissions.sources(source_files(self._image), lines)
        return tuple(self._omissions.found(sources, known, self._undescribed(sources)))

    def _undescribed(self, sources: Sources) -> Undescribed | None:
        """Return the code that no unit describes, None where it tells nothing."""
        # Most of Linux has no unwind tables, and its own assembler often no debug information.
        if self._image.is_kernel or not sources.can_hide:
            return None
        try:
            return code.undescribed(self._image, self._index.units, bool(sources.why))
        except (ReadError, *DAMAGE):
            return code.NOT_KNOWN

    def _visit(self, unit: Unit, sight: Sight) -> None:
        """Takes what was seen of a unit; damage is told."""
        kind, text, hits, imports, mode, traits = sight
        self._omissions.add(traits)
        if mode:
            self._hear(compiler_marks.of_mode(mode))
        try:
            if kind == _PARTIAL:
                self._partial.setdefault(unit, False)
            elif kind == _FOREIGN:
                self._skipped[text] += 1
            elif kind == _SKELETON:
                self._follow(unit, text)
            elif kind == _DAMAGED:
                self.unread.append(text)
            elif hits or imports:
                self._take(unit, hits, imports)
        except DAMAGE as error:
            self.unread.append(said(unit, getattr(error, "position", None), error))
        finally:
            unit.forget()

    def _take(self, unit: Unit, hits: list[int], imports: list[int]) -> None:
        self.unread += self.selection.take(unit, hits)
        for position in imports:
            try:
                self._import(unit, position)
            except DAMAGE as error:
                self.unread.append(said(unit, position, error))

    def _import(self, unit: Unit, position: int) -> None:
        """Lets the unit that an entry imports wait for its turn, unless it has had it."""
        plan, behind = unit.entry(position)
        if plan is None:
            return
        values, _ = unit.read(plan, behind)
        target = unit.reference(plan, values, _IMPORT)
        if target is None:
            return
        other = target[0]
        if (other.is_partial or other.index is not unit.index) and not self._partial.get(other):
            self._partial[other] = True
            self._waiting.append(other)

    def _follow(self, skeleton: Unit, name: str) -> None:
        """Takes the unit that a skeleton stands for, and the type units that stand beside it."""
        self._has_skeletons = True
        packed = self._parts.packed(skeleton)
        if packed is not None:
            self._visit(packed, self._look(packed))
            return
        try:
            with self._parts.opened(skeleton, name) as (unit, index):
                self.unread += index.damaged
                self._hear(index.shuffled)
                for each in (unit, *index.types):
                    self._visit(each, self._look(each))
            self.selection.leave()
        except ReadError as error:
            raise Damaged(error.reason, skeleton.offset) from error

    def _hear(self, found: Shuffled | None) -> None:
        self.shuffled = compiler_marks.either(self.shuffled, found)


def _parts(units: list[Unit], size: int) -> list[tuple[int, int]]:
    """Runs of units, each the first and the one behind the last, of about the same size."""
    least = size // _PARTS
    starts, inside = [0], 0
    for number, unit in enumerate(units):
        if inside > least:
            starts.append(number)
            inside = 0
        inside += unit.end - unit.offset
    return list(pairwise((*starts, len(units))))


def _units(count: int, kind: str = "") -> str:
    return f"{count} {kind}unit{'s' if count > 1 else ''}"
