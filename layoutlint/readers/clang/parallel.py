"""Many translation units into one Reading: parsed side by side, in a fixed order, each definition once."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from layoutlint.errors import ReadError
from layoutlint.model.declared import Declared
from layoutlint.model.reading import Reading, ReadOptions, Unread
from layoutlint.model.structs import Struct
from layoutlint.model.wanted import Wanted
from layoutlint.readers.clang import libclang, parse
from layoutlint.readers.clang.omissions import omissions
from layoutlint.readers.clang.parse import Parsed, Unit
from layoutlint.readers.processes import confinement, sandbox
from layoutlint.readers.processes.child import HAS_PROCESSES

LIMITS = sandbox.Limits(seconds=120, memory=2 << 30, is_confined=True)
"""Of one unit: all 3,000 headers of Linux in one, with every struct, take 9 s and 310 MB."""
PATIENCE = sandbox.Patience(240)
"""Of the whole run: what is left is not read when two units have not come to an end."""
_OF_DRIVER = (
    "CCC_OVERRIDE_OPTIONS", "CCC_ADD_ARGS", "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH",
    "OBJC_INCLUDE_PATH",
    "OBJCPLUS_INCLUDE_PATH", "COMPILER_PATH", "LIBRARY_PATH", "GCC_EXEC_PREFIX", "QA_OVERRIDE_GCC3_OPTIONS",
    "SDKROOT",
    "LIBCLANG_LOGGING", "LIBCLANG_OBJTRACKING", "LIBCLANG_RESOURCE_USAGE", "SOURCE_DATE_EPOCH",
)  # fmt: skip
"""Variables from which libclang and its driver would take flags, folders or names of files."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the units gave, and those that gave nothing."""

    parsed: tuple[Parsed, ...]
    failed: tuple[Unread, ...]

    @property
    def structs(self) -> tuple[Struct, ...]:
        """Every definition, the first that differs from those before it."""
        return merged(struct for one in self.parsed for struct in one.structs)

    def of_any(self) -> Outcome:
        """The same of units of which any would do: failures count only where nothing was parsed."""
        return Outcome(self.parsed, ()) if self.parsed else self

    def plus(self, more: Outcome) -> Outcome:
        """Both outcomes, in this order."""
        return Outcome(self.parsed + more.parsed, self.failed + more.failed)


def run(units: Sequence[Unit], wanted: Wanted, options: ReadOptions) -> Outcome:
    """Parse the units, each within LIMITS; the result does not depend on the number of jobs.

    Raises ReadError when there is no libclang.
    """
    libclang.library()  # once for all, and before there are processes
    results: dict[int, Parsed | Unread] = {}
    work = partial(_one, wanted=wanted, looks_for_hidden=options.omissions)
    for number, result in sandbox.each(work, units, options.jobs, LIMITS, PATIENCE):
        if isinstance(result, sandbox.Died):
            result = Unread(units[number].origin, f"libclang {result.how}")
        results[number] = result
        options.progress("parsing", len(results), len(units))
    ordered = [results[number] for number in range(len(units))]
    parsed = tuple(result for result in ordered if isinstance(result, Parsed))
    return Outcome(parsed, tuple(result for result in ordered if isinstance(result, Unread)))


def _one(unit: Unit, wanted: Wanted, looks_for_hidden: bool) -> Parsed | Unread:
    if HAS_PROCESSES:
        # It would go on after some crashes, without what it was at: what is left is not what the text says.
        os.putenv("LIBCLANG_DISABLE_CRASH_RECOVERY", "1")
        os.putenv("CLANG_NO_DEFAULT_CONFIG", "1")
        for name in _OF_DRIVER:
            os.unsetenv(name)
        confinement.refuse_calls()
    try:
        return parse.read(unit, wanted, looks_for_hidden)
    except ReadError as error:
        return Unread(error.path, error.reason)


def merged(structs: Iterable[Struct]) -> tuple[Struct, ...]:
    """Definitions that differ in more than where they were read; declarations only of what none defines."""
    found: dict[Struct, Struct] = {}
    for struct in structs:
        key = replace(struct, origin="", aliases=())
        if key in found:
            both = dict.fromkeys(found[key].aliases + struct.aliases)
            found[key] = replace(found[key], aliases=tuple(both))
        else:
            found[key] = struct
    defined = {struct.name for struct in found.values() if struct.bit_size is not None or struct.problem}
    seen: set[str] = set()
    kept = []
    for struct in found.values():
        if struct.bit_size is None and not struct.problem:
            if struct.name in defined or struct.name in seen:
                continue
            seen.add(struct.name)
        kept.append(struct)
    return tuple(kept)


def unread(outcome: Outcome, structs: tuple[Struct, ...], wanted: Wanted) -> tuple[Unread, ...]:
    """Units whose errors may be why something that is wanted was not found."""
    told = {struct.problem for struct in structs}
    lacks = is_lacking(structs, wanted)
    found = list(outcome.failed)
    for one in outcome.parsed:
        errors = [text for text in (one.errors if lacks else one.lost) if ": warning: " not in text]
        if (wanted.everything or not lacks) and told.issuperset(errors):
            continue
        if errors:
            more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
            why = f"{_missing(structs, wanted)}, with errors: {errors[0]}{more}"
            found.append(Unread(one.unit.origin, why))
    return tuple(found)


def is_lacking(structs: tuple[Struct, ...], wanted: Wanted) -> bool:
    """Whether more structs might have been there than were found."""
    return bool(missing(structs, wanted)) or wanted.everything or (bool(wanted.patterns) and not structs)


def missing(structs: Iterable[Struct], wanted: Wanted) -> tuple[str, ...]:
    """The names that are asked for and that no struct with a definition answers to, sorted."""
    defined = (struct for struct in structs if struct.bit_size is not None or struct.problem)
    there = {name for struct in defined for name in (struct.name, *struct.aliases)}
    return tuple(sorted(wanted.names - there))


def _missing(structs: tuple[Struct, ...], wanted: Wanted) -> str:
    names = missing(structs, wanted)
    if not names:
        return "not all of it could be read"
    rest = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"struct {names[0]}{rest} not found"


def reading(
    path: str, outcome: Outcome, wanted: Wanted, notes: Iterable[str] = (), is_configured: bool = False
) -> Reading:
    """The Reading of an input; raises ReadError when no unit could be parsed.

    With `is_configured` what `#if` leaves out is not in the build.
    """
    if not outcome.parsed:
        first = outcome.failed[0]
        raise ReadError(first.origin, first.reason)
    structs = outcome.structs
    return Reading(
        path=path,
        reader="clang",
        target=outcome.parsed[0].target,
        structs=structs,
        unread=unread(outcome, structs, wanted),
        notes=tuple(dict.fromkeys(notes)),
        declared=_declared(outcome.parsed),
        names=frozenset[str]().union(*(one.names for one in outcome.parsed)),
        omissions=tuple(omissions((h for one in outcome.parsed for h in one.hidden), is_configured)),
    )


def _declared(parsed: Iterable[Parsed]) -> frozenset[Declared] | None:
    """What several units declare together; None where it was not looked for."""
    found = [one.declared for one in parsed if one.declared is not None]
    return frozenset[Declared]().union(*found) if found else None
