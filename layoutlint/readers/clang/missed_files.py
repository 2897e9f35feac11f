"""The files of a folder that define a requested struct, although no text of theirs seems to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.model.reading import Omission, Unread
from layoutlint.model.record import Record, field
from layoutlint.model.structs import Struct
from layoutlint.readers.clang import c_units, unit_listings
from layoutlint.readers.clang.given_files import GivenFiles
from layoutlint.readers.clang.kept_listings import UnitListing
from layoutlint.readers.clang.parse import Unit


class MissedFiles(Record):
    """Lists the structs of a folder's files by libclang; a header that a source includes, through that."""

    given: GivenFiles
    paths: Sequence[str]
    """All files of the folder."""
    seeming: frozenset[str]
    """Those that seem to define a requested struct, which are read anyway."""
    failed: list[Unread] = field(default_factory=list)
    """The files that cannot be parsed."""
    _units: dict[str, Unit] = field(default_factory=dict)
    _listings: dict[str, UnitListing] = field(default_factory=dict)

    def find(self) -> list[str]:
        """Return the files whose requested structs differ from those of the files that are read anyway.

        Of several with the same structs and layouts, it is the first. Raises ReadError without libclang.
        """
        for path in filter(files.is_file, self.paths):  # others are dangling links, or reported as not read
            self._add_unit(path)
        is_first = {path: path in self.seeming or path.endswith(c_units.SOURCES) for path in self._units}
        self._list([path for path, first in is_first.items() if first])
        included = {files.real_path(file) for each in self._listings.values() for file in each.files}
        headers = (path for path, first in is_first.items() if not first)
        self._list([path for path in headers if files.real_path(path) not in included])
        known: set[object] = set(map(files.real_path, self.seeming))
        known |= {each for path in self.seeming for each in self._requests(path)}
        found = []
        for path in sorted(self._listings.keys() - self.seeming):
            new = set(self._requests(path)) - known
            if new:
                found.append(path)
                known |= new
        return found

    def omissions(self, read: Sequence[str], structs: tuple[Struct, ...]) -> Iterator[Omission]:
        """Yield the files that are not `read` and whose errors may hide a requested struct."""
        others = [path for path in self._listings if path not in read]
        listings = ((self._units[path].origin, self._listings[path]) for path in sorted(others))
        yield from unit_listings.hidden_by_errors(listings, self.given.wanted, structs)

    def _add_unit(self, path: str) -> None:
        try:
            self._units[path] = self.given.plain_unit(path)
        except c_units.NotC:
            return
        except ReadError as error:
            if path not in self.seeming:
                self.failed.append(Unread.of_error(error))

    def _list(self, paths: Sequence[str]) -> None:
        listings = unit_listings.list_units([self._units[path] for path in paths], self.given.options)
        for path in paths:
            listing = listings[self._units[path]]
            if isinstance(listing, UnitListing):
                self._listings[path] = listing
            elif path not in self.seeming:
                self.failed.append(listing)

    def _requests(self, path: str) -> Iterator[object]:
        """Yield the requested definitions of a file with its compiler, and its annotated files."""
        if path in self._listings:
            compiler = self._units[path].compiler
            for each in self._listings[path].requests(self.given.wanted):
                yield each if isinstance(each, str) else (each, compiler)
