"""Units behind the headers that they share, which libclang parses once for all that mean the same there."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from time import monotonic, process_time
from typing import Any, TypeVar

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.files import accesses
from layoutlint.model.record import Record, field, replace
from layoutlint.readers.clang import (
    libclang,
    limits,
    lookups,
    parse,
    parsed_listings,
    shared_beginnings,
    shared_headers,
)
from layoutlint.readers.clang.lookups import Messages
from layoutlint.readers.clang.parse import Unit
from layoutlint.readers.clang.shared_beginnings import Rest, Shared
from layoutlint.readers.clang.shared_headers import ParsedHeaders
from layoutlint.sources.bodies import trees, unit
from layoutlint.workers import sandbox
from layoutlint.workers.child import Child

_ENTERED = "-H"
"""With this flag, libclang prints each file that it enters."""
_OPTIONS = unit.OPTIONS | libclang.PREAMBLE_OPTIONS | shared_headers.RECORD_OPTION
_SECONDS = limits.LIMITS.seconds / 2
_ROUNDS = (shared_headers.find,) * 3
"""What remains shares other headers, or the same in another order."""
_LEAST_PART = 8
"""If fewer than one in so many units is the same behind headers, no other headers are tried."""
_TRIED = 6
"""So many units are tried; then others only while that has taken less time than it saved."""
_TRIED_ALIKE = 2
"""If so many units that include the same first differ behind the headers, no more of them are tried."""
_FEWEST, _MANY, _MOST = 6, 16, 64
"""The units that one process reads behind the headers that they share; fewer than so many are not spread."""
_R = TypeVar("_R")


def run_each(
    alone: Callable[[Unit], _R],
    behind: Callable[[Shared], list[tuple[Unit, _R]]],
    units: Sequence[Unit],
    jobs: int,
    on_step: Callable[[], object],
) -> Iterator[tuple[Unit, _R | sandbox.WorkFailure]]:
    """Yield the results of units: first of those that share headers, then of all that remain.

    `behind` returns those that it has, and may add one of the headers as a unit of their own. `on_step` is
    called when a unit has been read.
    """
    patience = sandbox.Patience(600)
    pending = dict.fromkeys(units)
    hopeless = None
    for find in (*_ROUNDS, shared_beginnings.find):
        if find is hopeless:
            continue
        before = len(pending)
        batches = list(_batches(find(tuple(pending)), jobs))
        for _, found in sandbox.run_each(behind, batches, jobs, limits.LIMITS, patience, on_step):
            for each, result in () if isinstance(found, sandbox.WorkFailure) else found:
                pending.pop(each, None)
                yield each, result
        if (before - len(pending)) * _LEAST_PART < before:
            hopeless = find
    rest = list(pending)
    for position, result_alone in sandbox.run_each(alone, rest, jobs, limits.LIMITS, patience):
        on_step()
        yield rest[position], result_alone


def _batches(groups: Iterable[Shared], jobs: int) -> Iterator[Shared]:
    """Yield parts of groups of units, each for a process."""
    for shared in groups:
        parts = max(1, min(jobs, len(shared.units) // _MANY), -(-len(shared.units) // _MOST))
        size = -(-len(shared.units) // parts)
        for start in range(0, len(shared.units) if len(shared.units) >= _FEWEST else 0, size):
            yield replace(shared, units=shared.units[start : start + size])


def begin_process() -> Messages | None:
    """Prepare this process for units that share headers; None if that is not possible in it."""
    if not Child.is_current:
        return None
    stream = Messages()
    limits.confine()
    if not stream.are_kept:
        return None
    libclang.share_contents()
    return stream


class Parsed(Record, frozen=True):
    """A unit that was parsed behind shared headers, and means what it means alone."""

    own: Unit
    unit: Unit
    """The same in the place of the file that libclang parsed."""
    rest: Rest
    main: int
    """libclang's handle of that file."""
    shared: frozenset[str]
    """The shared files that the unit includes."""
    entered: Sequence[int]
    """The handles of the files that were read behind these."""
    log: accesses.Log | None


class Attempts(Record):
    """Which units are worth to be tried behind headers: those that others like them were the same behind."""

    seconds: float
    """The processor time in which the headers were parsed, which each unit saves that is the same."""
    _results: dict[bytes | None, list[bool]] = field(default_factory=dict)
    _tried: int = 0
    _balance: float = 0
    """The seconds saved by all that was tried."""

    def are_worth_it(self, first: bytes | None) -> bool:
        """Return whether a unit is worth it that includes `first` first."""
        alike = self._results.get(first, [])
        may_be_same = any(alike) or len(alike) < _TRIED_ALIKE
        return may_be_same and (self._tried < _TRIED or self._balance > 0)

    def note(self, first: bytes | None, is_same: bool, seconds: float) -> None:
        """Note the result of such a unit, and how long it took to find out."""
        self._results.setdefault(first, []).append(is_same)
        self._tried += 1
        self._balance += self.seconds * is_same - seconds


class SharedParse:
    """Headers that were parsed for units."""

    def __init__(
        self, handle: int, shared: Shared, headers: ParsedHeaders, stream: Messages,
        before: accesses.Log | None, seconds: float,
    ) -> None:  # fmt: skip
        """`before` is what the file system answered about the headers, if that is logged; `seconds` is the
        processor time in which they were parsed.
        """
        self.lib, self.handle, self.shared, self.headers = trees.library(), handle, shared, headers
        self.stream, self._before, self._seconds = stream, before, seconds

    def units(self) -> Iterator[Parsed]:
        """Yield the units that are certain to be the same as when they are parsed alone.

        Each is parsed until the next one is asked for. Raises ReadError, OSError.
        """
        end, attempts = monotonic() + _SECONDS, Attempts(self._seconds)
        for own in self.shared.units:
            if monotonic() > end:
                return  # the others are parsed alone: the whole process has no more time than one of them
            first = shared_headers.first_include(own)
            if not attempts.are_worth_it(first):
                continue
            self.stream.begin_unit()
            with parsed_listings.logging(None if self._before is None else self.stream) as log:
                begin = process_time()
                parsed = self._parse(own, log)
                attempts.note(first, parsed is not None, process_time() - begin)
                if parsed is None:
                    continue
                libclang.move(parsed.main, parsed.rest.path, parsed.rest.lines)
                try:
                    yield parsed
                finally:
                    libclang.move(0, "", 0)

    def _parse(self, own: Unit, log: accesses.Log | None) -> Parsed | None:
        """Parse a unit; return None if it may differ."""
        lib, handle = self.lib, self.handle
        try:
            rest = self.shared.rest_of(own)
        except OSError:
            return None
        parse.reparse(lib, handle, rest.unit, self.stream)
        entered = self._entered_files(rest)
        if entered is None or shared_headers.has_errors(lib, handle, rest.unit):
            return None
        libclang.set_included_files(handle, entered)
        shared = shared_headers.means_the_same(lib, handle, self.headers, rest, entered)
        if shared is None:
            return None
        lookups.log_unit(lib, handle, rest.unit, self.stream)
        if log is not None and self._before is not None:
            log.add(self._before)
        main = lib.clang_getFile(handle, os.fsencode(rest.unit.main))
        return Parsed(own, replace(own, main=rest.unit.main), rest, main, shared, entered, log)

    def _entered_files(self, rest: Rest) -> list[int] | None:
        """Return the files that were read behind the headers; None if it is not certain which."""
        names = self.stream.entered_files()
        found = [self.lib.clang_getFile(self.handle, os.fsencode(name)) for name in names or ()]
        if names is None or not all(found):
            return None
        paths = {files.real_path(os.path.join(rest.unit.directory, name)) for name in names}
        mains = {files.real_path(rest.path), files.real_path(rest.unit.main)}
        return found if paths.isdisjoint(mains) else None


@contextmanager
def parse_headers(shared: Shared, stream: Messages, is_logged: bool = False) -> Iterator[SharedParse]:
    """Parse the headers that units share. Raises ReadError if they are not to be shared."""
    lib: Any = trees.library()
    beginning = replace(shared.beginning, flags=(*shared.beginning.flags, _ENTERED))
    stream.begin_unit()
    begin = process_time()
    with parse.parse_unit(lib, beginning, stream, _OPTIONS) as handle:
        seconds = process_time() - begin
        headers = shared_headers.read_headers(lib, handle, shared)
        if headers is None:
            raise ReadError(beginning.origin, "has headers that differ between units")
        with accesses.log_answers() if is_logged else nullcontext() as log:
            lookups.log_unit(lib, handle, beginning, stream)
        yield SharedParse(handle, shared, headers, stream, log, seconds)
