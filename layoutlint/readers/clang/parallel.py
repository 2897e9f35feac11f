"""Parsing of many translation units into one Reading: in parallel, in a fixed order, each definition once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, partial

from layoutlint.errors import ReadError
from layoutlint.files import accesses
from layoutlint.model.declared import StructDeclaration
from layoutlint.model.reading import Reading, ReadOptions, TreeCopy, Unread
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Struct
from layoutlint.model.task import LIMITS_OF_INPUT, Failure
from layoutlint.model.wanted import Wanted
from layoutlint.readers.clang import directives, kept_units, libclang, parse
from layoutlint.readers.clang.limits import LIMITS, PATIENCE, confine
from layoutlint.readers.clang.lookups import Messages
from layoutlint.readers.clang.omissions import report_hidden
from layoutlint.readers.clang.parse import ParsedUnit, Unit
from layoutlint.workers import sandbox


class UnitResults(Record, frozen=True, dict=True):
    """The results of units, and the units without one."""

    parsed: tuple[ParsedUnit, ...]
    failed: tuple[Unread, ...]

    @cached_property
    def structs(self) -> tuple[Struct, ...]:
        """Every definition that differs from those before it."""
        return distinct_definitions(struct for unit in self.parsed for struct in unit.structs)

    def without_failures(self) -> UnitResults:
        """Return the outcome for alternative units: failures count only if nothing was parsed."""
        return UnitResults(self.parsed, ()) if self.parsed else self

    def plus(self, other: UnitResults) -> UnitResults:
        """Return both outcomes, in this order."""
        return UnitResults(self.parsed + other.parsed, self.failed + other.failed)


def run(units: Sequence[Unit], wanted: Wanted, options: ReadOptions) -> UnitResults:
    """Parse the units, each within LIMITS; the result does not depend on the number of jobs.

    Raises ReadError if there is no libclang.
    """
    libclang.library()  # once, before processes start
    for unit in units[:1]:
        parse.prepare(unit)
    units = with_replaced(units, options)
    kept = kept_units.active() if len(units) == 1 else None
    if kept is None:
        return _run_afresh(units, wanted, options)
    request = kept_units.UnitRequest(units[0], wanted, options.finds_omissions)
    result = kept.read(request)
    if result is not None:
        return UnitResults((result,), ())
    outcome = _run_afresh(units, wanted, options)
    kept.note(request, *outcome.parsed)
    return outcome


def with_replaced(units: Sequence[Unit], options: ReadOptions) -> Sequence[Unit]:
    """Return the units with the texts that are read in place of those of files."""
    return [replace(unit, replaced=options.replaced) for unit in units] if options.replaced else units


def _run_afresh(units: Sequence[Unit], wanted: Wanted, options: ReadOptions) -> UnitResults:
    results: dict[int, ParsedUnit | Unread] = {}
    for number, result in _results(units, wanted, options):
        results[number] = result
        options.progress("parsing", len(results), len(units))
    in_order = [results[number] for number in range(len(units))]
    parsed = tuple(result for result in in_order if isinstance(result, ParsedUnit))
    return UnitResults(parsed, tuple(result for result in in_order if isinstance(result, Unread)))


def _results(
    units: Sequence[Unit], wanted: Wanted, options: ReadOptions
) -> Iterator[tuple[int, ParsedUnit | Unread]]:
    """Yield the result of each unit with its number, from tasks if several units can be."""
    if options.executor is None or len(units) == 1:
        yield from _parse_confined(units, wanted, options)
        return
    from layoutlint.workers import calls

    work = partial(_parse_in_task, wanted=wanted, options=options.of_task)
    for number, result in calls.run_each(options.executor, work, units, _origin, LIMITS_OF_INPUT):
        yield number, calls.unread(units[number].origin, result) if isinstance(result, Failure) else result


def _origin(unit: Unit) -> str:
    return unit.origin


def _parse_in_task(unit: Unit, wanted: Wanted, options: ReadOptions) -> ParsedUnit | Unread:
    libclang.library()
    ((_, result),) = _parse_confined([unit], wanted, options)
    return result


def _parse_confined(
    units: Sequence[Unit], wanted: Wanted, options: ReadOptions
) -> Iterator[tuple[int, ParsedUnit | Unread]]:
    """Parse each unit in a process within LIMITS."""
    work = partial(
        _parse_unit, wanted=wanted, looks_for_hidden=options.finds_omissions, copy=options.copy
    )
    for number, result in sandbox.run_each(work, units, options.jobs, LIMITS, PATIENCE):
        if isinstance(result, sandbox.WorkFailure):
            result = Unread(units[number].origin, f"libclang {result.how}")
        elif isinstance(result, ParsedUnit) and result.searched:
            if len(units) > 1:
                directives.keep(result.searched)
            result = replace(result, searched=())
        yield number, result


def _parse_unit(
    unit: Unit, wanted: Wanted, looks_for_hidden: bool, copy: TreeCopy | None
) -> ParsedUnit | Unread:
    printed = Messages() if accesses.active_log() is not None else None
    confine()
    try:
        return parse.read(unit, wanted, looks_for_hidden, printed, copy)
    except ReadError as error:
        accesses.refuse(error.reason)
        return Unread.of_error(error)
    except libclang.TOO_DEEP:
        accesses.refuse("nested too deeply")
        return Unread(unit.origin, "is nested too deeply")


def distinct_definitions(structs: Iterable[Struct]) -> tuple[Struct, ...]:
    """Return the definitions that differ in more than their origin, and undefined structs."""
    definitions: dict[Struct, Struct] = {}
    for struct in structs:
        key = replace(struct, origin="", aliases=())
        if key in definitions:
            aliases = dict.fromkeys(definitions[key].aliases + struct.aliases)
            definitions[key] = replace(definitions[key], aliases=tuple(aliases))
        else:
            definitions[key] = struct
    defined = {
        struct.name for struct in definitions.values() if struct.bit_size is not None or struct.problem
    }
    declared_names: set[str] = set()
    result = []
    for struct in definitions.values():
        if struct.bit_size is None and not struct.problem:
            if struct.name in defined or struct.name in declared_names:
                continue
            declared_names.add(struct.name)
        result.append(struct)
    return tuple(result)


def units_with_errors(
    outcome: UnitResults, structs: tuple[Struct, ...], wanted: Wanted
) -> tuple[Unread, ...]:
    """Return the units whose errors may be why a requested struct was not found."""
    problems = {struct.problem for struct in structs}
    is_incomplete = is_lacking(structs, wanted)
    failures = list(outcome.failed)
    for parsed in outcome.parsed:
        errors = parsed.without_warnings(parsed.errors if is_incomplete else parsed.possible_losses)
        independent = errors[: errors.index(parsed.cause) + 1] if parsed.cause in errors else errors
        if (wanted.everything or not is_incomplete) and problems.issuperset(independent):
            continue
        if errors:
            rest = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
            why = f"{_missing_text(structs, wanted)}, with errors: {errors[0]}{rest}"
            failures.append(Unread(parsed.unit.origin, why, place=parsed.place_of(errors[0])))
    return tuple(failures)


def is_lacking(structs: tuple[Struct, ...], wanted: Wanted) -> bool:
    """Return whether requested structs may be missing."""
    return (
        bool(missing_names(structs, wanted)) or wanted.everything or (bool(wanted.patterns) and not structs)
    )


def missing_names(structs: Iterable[Struct], wanted: Wanted) -> tuple[str, ...]:
    """Return the requested names, sorted, that no struct with a definition matches."""
    defined = (struct for struct in structs if struct.bit_size is not None or struct.problem)
    names = {name for struct in defined for name in (struct.name, *struct.aliases)}
    return tuple(sorted(wanted.names - names))


def _missing_text(structs: tuple[Struct, ...], wanted: Wanted) -> str:
    names = missing_names(structs, wanted)
    if not names:
        return "not all of it could be read"
    rest = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"struct {names[0]}{rest} not found"


def reading(
    path: str, outcome: UnitResults, wanted: Wanted, notes: Iterable[str] = (), is_configured: bool = False
) -> Reading:
    """Return the Reading of an input; raises ReadError if no unit could be parsed.

    With `is_configured`, structs that `#if` excludes are not in the build.
    """
    if not outcome.parsed:
        first = outcome.failed[0]
        raise ReadError(first.origin, first.reason)
    structs = outcome.structs
    return Reading(
        path=path,
        reader="clang",
        target=outcome.parsed[0].target,
        compiler=outcome.parsed[0].unit.target_compiler,
        structs=structs,
        unread=units_with_errors(outcome, structs, wanted),
        notes=tuple(dict.fromkeys(notes)),
        declared=_merge_declarations(outcome.parsed),
        arrays=_merge_arrays(outcome.parsed),
        variables=tuple(
            {(each.name, each.type): each for unit in outcome.parsed for each in unit.variables}.values()
        ),
        names=frozenset[str]().union(*(parsed.names for parsed in outcome.parsed)),
        omissions=tuple(
            report_hidden((struct for parsed in outcome.parsed for struct in parsed.hidden), is_configured)
        ),
    )


def _merge_arrays(parsed: tuple[ParsedUnit, ...]) -> tuple[Struct, ...]:
    """Return the arrays of several units, each once; declarations only of those that no unit defines."""
    defined = {array.name for unit in parsed for array in unit.arrays if array.name not in unit.externs}
    arrays = (
        array
        for unit in parsed
        for array in unit.arrays
        if not (array.name in unit.externs and array.name in defined)
    )
    return tuple({(array.name, array.source): array for array in arrays}.values())


def _merge_declarations(parsed: Iterable[ParsedUnit]) -> frozenset[StructDeclaration] | None:
    """Return the declarations of several units; None if they were not requested."""
    declarations = [unit.declared for unit in parsed if unit.declared is not None]
    return frozenset[StructDeclaration]().union(*declarations) if declarations else None
