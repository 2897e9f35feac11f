"""Units that begin with the same includes: libclang parses these once, and what follows behind them.

The text that it parses for a unit has the same tokens in the same order. Between the includes and the rest is
an assertion that C allows only where a declaration ends; with an error anywhere, the unit is parsed alone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise, takewhile

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.model.record import Record, replace
from layoutlint.readers.clang import flags, libclang, parse
from layoutlint.readers.clang.parse import Unit

_FEWEST = 3
"""The fewest units for which a beginning is parsed once: that takes as long as parsing it twice."""
_LARGEST = 1 << 27
_SPACE = re.compile(rb"(?:\s++|/\*.*?\*/|//(?!\*)[^\r\n]*+)*+", re.DOTALL)
_INCLUDE = re.compile(
    rb"#[ \t]*+include[ \t]*+(\"[^\"\r\n\\]++\"|<[^>\r\n\\]++>)"
    rb"[ \t]*+(?:/\*(?:[^*\r\n]|\*(?!/))*+\*/[ \t]*+)?(?://(?!\*)[^\r\n]*+)?\r?\n"
)
_JOINED = re.compile(rb"\\[ \t\f\v]*+[\r\n]|\?\?/")
"""Lines that go on: a comment can end where it does not seem to."""
_LINE_END = re.compile(rb"\r\n|\n|\r")
_PATH = re.compile(r"(?:[^\"\\\x00-\x1f\x7f?]|\?(?!\?))+")
"""A path that is the same in quotes."""
_OTHER_TEXT = ("-traditional", "-fpreprocessed", "-fdirectives-only")
"""The beginnings of flags under which a text has other directives or comments."""
_FIRST_LINES = rb"""#pragma GCC poison push_macro pop_macro include_alias
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wbuiltin-macro-redefined"
#define __BASE_FILE__ _Pragma("GCC error \"\"")
#pragma GCC diagnostic pop
"""
"""Errors for whoever uses what differs behind a precompiled text, or in place of another file."""
_NO_IMPORT = b"#pragma GCC poison import\n"
_BOUNDARY = b'#ifdef _Static_assert\n#error\n#endif\n_Static_assert(1, "");\n'


_UNCOUNTED = b'_Static_assert(__COUNTER__ == 0, "");\n'
"""A counter begins anew behind a precompiled text."""


class Beginning(Record, frozen=True):
    """The includes before all else in the text of a unit."""

    includes: tuple[bytes, ...]
    """Each as it is written: `"x.h"`, `<x.h>`."""
    ends: tuple[int, ...]
    """The offset behind the line of each."""


class Rest(Record, frozen=True):
    """What a unit has behind shared includes."""

    unit: Unit
    """The shared includes and the rest as one text, in the place of another file of the same folder."""
    path: str
    """The unit's own file."""
    text: bytes
    """Its text."""
    lines: int
    """How many lines later the rest is in that text."""


class Shared(Record, frozen=True):
    """Units whose texts begin with the same includes."""

    units: tuple[Unit, ...]
    includes: tuple[bytes, ...]
    is_first: bool = True
    """Whether each unit begins with these includes, in this order; if not, it has some of them anywhere."""

    @property
    def beginning(self) -> Unit:
        """The includes alone, in the place of the first unit's file: precompiled texts must have one."""
        return self._with_text(b"")

    @property
    def probe(self) -> Unit:
        """The same, with an error if they leave something that is not kept when they are precompiled."""
        return self._with_text(_UNCOUNTED)

    def rest_of(self, unit: Unit) -> Rest:
        """Return what follows the includes in one of the units, or all of it if it does not begin with them.

        Raises OSError; ReadError if the includes changed.
        """
        text = files.read_all(unit.main, _LARGEST)
        if not self.is_first:
            return self._rest(unit, text, text, 1)
        own = beginning_of(text)
        count = len(self.includes)
        if own.includes[:count] != self.includes:
            raise ReadError(unit.origin, "changed while it was read")
        before, after = text[: own.ends[count - 1]], text[own.ends[count - 1] :]
        return self._rest(unit, text, after, len(_LINE_END.findall(before)) + 1)

    def with_names(self, text: str) -> Unit:
        """Return the includes with a text behind them."""
        return self._with_text(text.encode())

    def _rest(self, unit: Unit, text: bytes, after: bytes, line: int) -> Rest:
        with_rest = self._with_text(f'#line {line} "{unit.main}"\n'.encode(errors="surrogateescape") + after)
        lines = len(_LINE_END.findall(self._head)) + 2 - line
        return Rest(replace(with_rest, origin=unit.origin), unit.main, text, lines)

    @property
    def _head(self) -> bytes:
        # Fields have that name; of other units, the texts are searched for the directive.
        no_import = _NO_IMPORT * self.is_first
        includes = (b"#include %s\n" % name for name in self.includes)
        return b"".join((_FIRST_LINES, no_import, *includes, _BOUNDARY))

    def _with_text(self, text: bytes) -> Unit:
        return replace(self.units[0], text=(self._head + text).decode(errors="surrogateescape"))


def find(units: Sequence[Unit]) -> Iterator[Shared]:
    """Yield the units that share a beginning; each unit is in at most one."""
    if not libclang.keeps_preambles(libclang.library()):
        return
    found: dict[object, list[tuple[Unit, tuple[bytes, ...]]]] = {}
    for number, group in enumerate(groups(units)):
        for unit in group:
            with suppress(OSError, ReadError):
                includes = _includes_of(unit)
                if includes:
                    found.setdefault((number, includes[0]), []).append((unit, includes))
    for those in found.values():
        if len(those) >= _FEWEST:
            columns = zip(*(includes for _, includes in those), strict=False)
            common = takewhile(lambda column: len(set(column)) == 1, columns)
            yield Shared(tuple(unit for unit, _ in those), tuple(column[0] for column in common))


def groups(units: Sequence[Unit]) -> Iterator[list[Unit]]:
    """Yield the units that one text can stand for: of equal flags, in one folder."""
    found: dict[Unit, list[Unit]] = {}
    for unit in units:
        if _can_share(unit):
            surroundings = replace(unit, main=os.path.dirname(unit.main), origin="")
            found.setdefault(surroundings, []).append(unit)
    yield from found.values()


def _can_share(unit: Unit) -> bool:
    """Return whether a unit can be parsed as a text behind others, in the place of another file."""
    is_own = unit.text is None and not unit.replaced and unit.problem is None and unit.subject is None
    languages = {word for before, word in pairwise(unit.flags) if before == "-x"}
    is_plain = languages <= {"c"} and not any(
        word.startswith(_OTHER_TEXT) or "__BASE_FILE__" in word for word in unit.flags
    )
    is_path = _PATH.fullmatch(unit.main) is not None and os.path.normpath(unit.main) == unit.main
    return is_own and is_plain and is_path and unit.main.endswith(".c")


def _includes_of(unit: Unit) -> tuple[bytes, ...]:
    """Return the includes before all else in a unit; none if it shares none. Raises OSError, ReadError."""
    if flags.headers_in_front(unit.flags):  # before what makes errors of pragmas
        return ()
    parse.refuse_endless(unit)
    return beginning_of(files.read_all(unit.main, _LARGEST)).includes


def beginning_of(text: bytes) -> Beginning:
    """Return the includes before all else in a text."""
    includes: list[bytes] = []
    ends: list[int] = []
    at = 0
    while (space := _SPACE.match(text, at)) and (include := _INCLUDE.match(text, space.end())):
        at = include.end()
        includes.append(include[1])
        ends.append(at)
    is_plain = _JOINED.search(text, 0, at) is None
    return Beginning(tuple(includes), tuple(ends)) if is_plain else Beginning((), ())
