"""Units of files that an editor changes, parsed ahead: what a file includes is not parsed again.

A process keeps a unit with a precompiled preamble: all that libclang reads before the first declaration of
the file. Its results are used only if it gave those of a new parse once, and while all that comes before that
declaration is the same: flags, other texts of the editor, and the files that libclang read or looked for.
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator
from contextlib import suppress
from functools import partial
from typing import Any

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.files import accesses
from layoutlint.model.record import Record, field, replace
from layoutlint.model.structs import has_annotation_marks
from layoutlint.model.wanted import Wanted
from layoutlint.readers.cache import answers
from layoutlint.readers.cache.answers import Answers
from layoutlint.readers.clang import libclang, limits, pack_pragmas, parse, preamble
from layoutlint.readers.clang.lookups import Messages
from layoutlint.readers.clang.parse import ParsedUnit, Unit
from layoutlint.workers.child import HAS_PROCESSES
from layoutlint.workers.sandbox import WorkFailure
from layoutlint.workers.service import Ended, Service

_MOST = 2
"""The most units that are kept; one of linux/fs.h takes 110 MB, of which 40 MB are shared."""
_PREAMBLE = re.compile(
    rb"(?:\xef\xbb\xbf)?(?:\s|\\\r?\n|//(?:\\\r?\n|[^\n])*|/\*.*?(?:\*/|\Z)"
    rb"|(?:\#|%:|\?\?=)(?:/\*.*?(?:\*/|\Z)|\\\r?\n|[^\n])*)*",
    re.DOTALL,
)
"""Space, comments and directives: at least all that clang's Lexer::ComputePreamble takes."""
_INCLUDES = re.compile(rb"(?:\#|%:|\?\?=)(?:\s|/\*(?:[^*]|\*(?!/)){0,1000}+\*/)*+(?:include|import)")
_POSITION_WORDS = ("include_next", "__BASE_FILE__", "__INCLUDE_LEVEL__", "system_header")
_PRAGMA_ONCE = re.compile(r"pragma\s+once")
"""What means something else in the file of a unit than in a file that it includes."""


class UnitRequest(Record, frozen=True):
    """A unit to read, and what is requested of it."""

    unit: Unit
    wanted: Wanted
    looks_for_hidden: bool

    @property
    def surroundings(self) -> tuple[object, ...]:
        """All but the text that decides about the unit, and is known here."""
        return replace(self.unit, text=None), os.getcwd()

    @property
    def content(self) -> bytes:
        """The text as libclang reads it."""
        return (self.unit.text or "").encode(errors="surrogateescape")

    @property
    def preamble(self) -> bytes:
        """The text up to the first declaration."""
        match = _PREAMBLE.match(self.content)
        return b"" if match is None else match[0]

    @property
    def may_be_annotated(self) -> bool:
        """Return whether the text mentions annotations, or includes files after its first declaration."""
        rest = self.content[len(self.preamble) :].replace(b"\\\n", b"").replace(b"\\\r\n", b"")
        return has_annotation_marks(self.content) or _INCLUDES.search(rest) is not None


class _First(Record, frozen=True):
    """The first answer of a process."""

    result: ParsedUnit
    answers: Answers | None
    """What the file system answered; None if the result may differ although it answers the same."""


class _KeptUnit(Record):
    """A unit in a process of its own."""

    request: UnitRequest
    """What was read first."""
    expected: ParsedUnit
    """What a new parse returned for that."""
    service: Service
    answers: Answers | None = None
    """What the file system answered, once the first result is known to be the expected one."""

    def is_for(self, request: UnitRequest) -> bool:
        """Return whether the unit is that of a request, except for the text after the first declaration."""
        return _is_alike(self.request, request)


def _is_alike(first: UnitRequest, second: UnitRequest) -> bool:
    return first.surroundings == second.surroundings and first.preamble == second.preamble


class KeptUnits(Record):
    """The units of the files that were changed last."""

    _units: list[_KeptUnit] = field(default_factory=list)
    """The one that was used last at the end."""
    _noted: tuple[UnitRequest, ParsedUnit] | None = None
    """The last change that had to be parsed anew."""
    _texts: dict[str, int] = field(default_factory=dict)
    """The hash of the last text of each file."""
    _hopeless: UnitRequest | None = None
    """The last request whose unit cannot be kept."""

    def read(self, request: UnitRequest) -> ParsedUnit | None:
        """Return the result for a unit; None if no kept unit is certain to give that of a new parse."""
        own = _editable(request)
        if own is None:
            return None
        kept = next((unit for unit in self._units if unit.is_for(own)), None)
        if kept is None or not self._is_verified(kept):
            return None
        result = kept.service.ask(own)
        if result is None or isinstance(result, Ended):
            self._drop(kept)
        if not isinstance(result, ParsedUnit) or result.cause is not None or result.dependent:
            return None  # the remedy for a cause depends on files that are not in the unit
        self._units.remove(kept)
        self._units.append(kept)
        self._texts[own.unit.main] = hash(own.unit.text)
        return _replace_unit(result, request)

    def _is_verified(self, kept: _KeptUnit) -> bool:
        """Return whether a unit gave the expected result, and the file system answers as it did then."""
        if kept.answers is None:
            if not kept.service.has_answer():
                return False
            first = kept.service.answer()
            if isinstance(first, _First) and _is_same(first.result, kept.expected):
                kept.answers = first.answers
            if kept.answers is None:
                self._hopeless = kept.request
        if kept.answers is None or not answers.Check(kept.answers).holds():
            self._drop(kept)
            return False
        return True

    def _drop(self, kept: _KeptUnit) -> None:
        self._units.remove(kept)
        kept.service.end()

    def end(self) -> None:
        """End the processes."""
        for unit in tuple(self._units):
            self._drop(unit)

    def note(self, request: UnitRequest, *parsed: ParsedUnit) -> None:
        """Note the result of a new parse; `prepare` keeps the unit if its own text was changed."""
        own = _editable(request)
        if own is None or self._texts.get(own.unit.main) == hash(own.unit.text) or not parsed:
            return
        self._texts[own.unit.main] = hash(own.unit.text)
        is_hopeless = self._hopeless is not None and _is_alike(self._hopeless, own)
        self._noted = None if is_hopeless or parsed[0].errors or parsed[0].dependent else (own, parsed[0])

    def prepare(self) -> None:
        """Begin to parse the unit that was noted last, for its next request."""
        if self._noted is None:
            return
        (request, expected), self._noted = self._noted, None
        if any(unit.is_for(request) for unit in self._units):
            return
        for unit in [unit for unit in self._units if unit.request.unit.main == request.unit.main]:
            self._drop(unit)
        while len(self._units) >= _MOST:
            self._drop(self._units[0])
        with suppress(OSError):  # no process can be started: the next request is parsed anew
            service = Service(partial(_serve, request), limits.LIMITS)
            self._units.append(_KeptUnit(request, expected, service))


_kept: KeptUnits | None = None


def active() -> KeptUnits | None:
    """Return the units of this process; None if it keeps none."""
    return None if accesses.active_log() is not None else _kept


def keep() -> KeptUnits:
    """Keep units in this process from now on, if the system and libclang can; return them."""
    global _kept
    units = KeptUnits()
    if HAS_PROCESSES and libclang.keeps_preambles(libclang.library()):
        _kept = units
    return units


def _editable(request: UnitRequest) -> UnitRequest | None:
    """Return a request as that of the file which the editor changes; None if that has no unit of its own."""
    unit = request.unit
    is_special = request.looks_for_hidden or request.wanted.names_only or request.wanted.arrays is not None
    if unit.subject is not None or unit.with_marks or unit.doubts or unit.shuffling_option or is_special:
        return None
    given = (text.encode(errors="surrogateescape") for _, text in unit.texts)
    if unit.is_gcc and any(map(pack_pragmas.may_align, given)):
        return None  # each parse can need another text
    main = unit.header or unit.main
    real = files.real_path(main)
    texts = [given.text for given in unit.replaced if given.path == real]
    if unit.text is not None and unit.header is None:
        texts.append(unit.text)
    if len(texts) != 1 or (unit.header and _depends_on_position(texts[0])):
        return None
    others = tuple(given for given in unit.replaced if given.path != real)
    own = replace(unit, main=main, text=texts[0], replaced=others, header=None)
    # Conditions on builds decide before a unit is read.
    return replace(request, unit=own, wanted=replace(request.wanted, unless=()))


def _depends_on_position(text: str) -> bool:
    return any(word in text for word in _POSITION_WORDS) or _PRAGMA_ONCE.search(text) is not None


def _is_same(first: ParsedUnit, second: ParsedUnit) -> bool:
    """Return whether results are the same; where in the unit's file an error is depends on that file."""
    same = {"unit": second.unit, "error_origins": second.error_origins, "searched": second.searched}
    return replace(first, **same) == second and [
        (origin.file, origin.text) for origin in first.error_origins
    ] == [(origin.file, origin.text) for origin in second.error_origins]


def _replace_unit(result: ParsedUnit, request: UnitRequest) -> ParsedUnit:
    """Return a result as that of the unit of a request."""
    result = replace(result, searched=())
    if request.unit.header is None:
        return replace(result, unit=request.unit)
    origins = tuple(replace(each, directive=min(each.directive, 0)) for each in result.error_origins)
    return replace(result, unit=request.unit, error_origins=origins)


def _serve(request: UnitRequest) -> Generator[_First | ParsedUnit | WorkFailure | None, UnitRequest, None]:
    """Read a unit, and then the same with other texts of its file."""
    printed = Messages()
    limits.confine()
    lib = libclang.library()
    options = libclang.PREFERRED_OPTIONS | libclang.PREAMBLE_OPTIONS
    with accesses.log_answers() as log, parse.parse_unit(lib, request.unit, printed, options) as handle:
        unit = _ServedUnit(lib, handle, request, printed)
        is_same = unit.preamble is not None and unit.read(request) == unit.first
        request = yield _First(unit.first, answers.settle(log) if is_same else None)
        while True:
            request = yield unit.read(request)


class _ServedUnit:
    """A unit that is parsed again and again."""

    def __init__(self, lib: Any, handle: int, request: UnitRequest, printed: Messages) -> None:
        self._lib, self._handle, self._wanted = lib, handle, request.wanted
        unit, wanted = request.unit, request.wanted
        self.first = parse.read_handle(lib, handle, unit, wanted, False, printed)
        """The first result, from all declarations."""
        texts = libclang.keep_contents(lib, handle, unit.main)
        definitions = parse.definitions_in(lib, handle, unit, wanted)
        is_annotated = any(map(has_annotation_marks, texts))
        self.preamble = preamble.read(definitions, wanted, len(request.preamble), is_annotated)

    def read(self, request: UnitRequest) -> ParsedUnit | WorkFailure | None:
        """Return the result for another text; None if other structs of its headers are requested."""
        before, wanted = self.preamble, request.wanted
        is_other = replace(wanted, names=self._wanted.names) != self._wanted
        if before is None or is_other or not before.serves(wanted):
            return None
        is_annotated = before.is_annotated or request.may_be_annotated
        before = replace(before, is_annotated=is_annotated)
        try:
            parse.reparse(self._lib, self._handle, request.unit)
            return parse.read_handle(self._lib, self._handle, request.unit, wanted, False, None, before)
        except ReadError as error:
            return WorkFailure(error.reason)
