"""Which units of a file are read, and from which other files: C, once each, and what C imports."""

from __future__ import annotations

from collections import Counter, deque

from layoutlint.errors import ReadError
from layoutlint.model import ReadOptions, Wanted
from layoutlint.readers.dwarf.forms import Damaged
from layoutlint.readers.dwarf.index import SPLIT, Index
from layoutlint.readers.dwarf.names import at
from layoutlint.readers.dwarf.select import DAMAGE, Selection, said
from layoutlint.readers.dwarf.split import Parts
from layoutlint.readers.dwarf.unit import Unit
from layoutlint.readers.elf import Image

_PROGRESS_EVERY = 32
_IMPORT = at("import")


class Gathering:
    """Reads the units of a file, those that its skeletons stand for, and those that they import."""

    def __init__(self, image: Image, wanted: Wanted, options: ReadOptions) -> None:
        """Raises ReadError when there are no units."""
        suffix = "" if image.section(".debug_info") or image.section(".debug_types") else SPLIT
        self._path = image.path
        self._options = options
        self._index = Index(image, options, suffix)
        self._parts = Parts(image, options)
        self._has_skeletons = False
        self._skipped: Counter[str] = Counter()
        self._partial: dict[Unit, bool] = {}
        """Units whose language is that of those who import them, and whether that is C."""
        self._waiting: deque[Unit] = deque()
        self.selection = Selection(wanted, image.target)
        self.unread: list[str] = [*self._index.damaged]
        """Places and reasons."""
        if not self._index.units:
            raise ReadError(image.path, next(iter(self.unread), "its .debug_info is empty"))

    def read(self) -> None:
        """Reads all units. Raises ReadError where there are only such as other files import."""
        units = self._index.units
        for number, unit in enumerate(units):
            if number % _PROGRESS_EVERY == 0:
                self._options.progress("reading DWARF", number, len(units))
            self._visit(unit)
        self._options.progress("reading DWARF", len(units), len(units))
        if len(self._partial) == len(units) and not any(self._partial.values()):
            what = "has partial units only (dwz), which are read with the files that import them"
            raise ReadError(self._path, what)
        for part in self._parts.kept if self._has_skeletons else ():
            self.unread += part.damaged
            for unit in part.types:
                self._visit(unit)
        self.unread += self._parts.problems
        while self._waiting:
            self._visit(self._waiting.popleft(), is_imported=True)

    def notes(self) -> tuple[str, ...]:
        """What was skipped, as sentences."""
        notes = [f"skipped {_units(count)} in {name}" for name, count in sorted(self._skipped.items())]
        alone = sum(not is_c for is_c in self._partial.values())
        if alone:
            notes.append(f"skipped {_units(alone, 'partial ')} that no unit in C imports")
        return tuple(notes)

    def _visit(self, unit: Unit, is_imported: bool = False) -> None:
        """Takes a unit that is to be read; damage is told. Partial units wait until C imports them."""
        try:
            if unit.is_partial and not is_imported:
                self._partial.setdefault(unit, False)
            elif unit.language is not None:
                self._skipped[unit.language] += 1
            elif (name := unit.split_file) is not None:
                self._follow(unit, name)
            else:
                self._take(unit)
        except DAMAGE as error:
            self.unread.append(said(unit, getattr(error, "position", None), error))
        finally:
            unit.forget()

    def _take(self, unit: Unit) -> None:
        self.unread += self.selection.take(unit)
        for position in unit.imports:
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
            self._visit(packed)
            return
        try:
            with self._parts.opened(skeleton, name) as (unit, index):
                self.unread += index.damaged
                for each in (unit, *index.types):
                    self._visit(each)
            self.selection.leave()
        except ReadError as error:
            raise Damaged(error.reason, skeleton.offset) from error


def _units(count: int, kind: str = "") -> str:
    return f"{count} {kind}unit{'s' if count > 1 else ''}"
