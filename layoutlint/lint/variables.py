"""Variables: rules at their addresses in the symbol table (docs/rules.md), and those to compare."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from fnmatch import translate
from functools import partial
from math import gcd
from typing import TYPE_CHECKING, Protocol, cast

from layoutlint.errors import did_you_mean
from layoutlint.geometry.field_types import Finder
from layoutlint.geometry.layout import Layout, Place, cached_layout
from layoutlint.geometry.placement import Placements, pair_size, placements
from layoutlint.judgement.condition import When, exclusion_reason
from layoutlint.judgement.context import SELECTOR, Access, CannotTell, Context, Owners
from layoutlint.judgement.finding import Finding
from layoutlint.judgement.rule import VARIABLES, Kind, Pack, Rule
from layoutlint.judgement.verdict import Outcome, Verdict, unknown
from layoutlint.kinds.stride import Stride
from layoutlint.model.aligner import LINUX, Aligner
from layoutlint.model.ctype import CType
from layoutlint.model.reading import AllocatedArray, MissingVariable, Reading
from layoutlint.model.record import replace
from layoutlint.model.structs import Field, Struct
from layoutlint.model.wanted import Wanted
from layoutlint.phrases import first_few

if TYPE_CHECKING:
    from layoutlint.comparison.variables import VariableQuery

NEAR = 256
"""How many bytes around a variable are read: the longest line of any target."""
_NO_SYMBOLS = "it has no symbol table, so the addresses of variables are not known"


class VariableKind(Kind, Protocol):
    """A kind whose rules can be about variables."""

    variables: tuple[str, ...]

    @property
    def variable_paths(self) -> tuple[str, ...]:
        """The variables that the rule names, and selectors of variables."""
        ...

    def concerns(self, context: Context) -> bool:
        """Return whether the rule is about a variable of some data."""
        ...


class ArrayKind(VariableKind, Protocol):
    """A kind whose rules on variables are about arrays."""

    @property
    def variable_types(self) -> tuple[str, ...]:
        """The types by which a rule chooses variables; none if it names them."""
        ...


JudgePlacements = Callable[[Rule, Callable[[Context], Verdict], Context], Verdict]


def add_variables(wanted: Wanted, packs: Iterable[Pack]) -> Wanted:
    """Add the variables of packs with rules on variables to what is read."""
    names: set[str] = set()
    near = wanted.near
    in_sources = False
    whens: dict[When, None] = {}
    for pack in packs:
        rules = [rule for rule in pack.rules if rule.struct == VARIABLES]
        whens.update((rule.when, None) for rule in rules if array_types(rule))
        in_sources = in_sources or any(rule.kind.traits.judges_arrays for rule in rules)
        kinds = [rule.kind for rule in rules if not array_types(rule)]
        names.update(path for kind in kinds for path in _variables_of(cast("VariableKind", kind)))
        names.update(access.path for access in pack.variables if kinds)
        near = NEAR if kinds else near
    arrays = partial(_is_any_applicable, tuple(whens)) if in_sources else None
    return replace(wanted, variables=tuple(sorted(names)), near=near, arrays=arrays)


def _is_any_applicable(whens: tuple[When, ...], reading: Reading) -> bool:
    return any(exclusion_reason(when, reading) is None for when in whens)


def array_types(rule: Rule) -> tuple[str, ...]:
    """Return the types by which a rule chooses variables; none if it names them."""
    return cast("ArrayKind", rule.kind).variable_types if rule.kind.traits.judges_arrays else ()


def judge_variables(
    rule: Rule,
    reading: Reading,
    pack: Pack,
    line_size: int | None,
    judge_placements: JudgePlacements,
    aligner: Aligner = LINUX,
    owners: Owners | None = None,
    absent: frozenset[str] | None = None,
) -> Iterator[Finding]:
    """Judge a rule on variables in all data of one input that have such a variable.

    `aligner` is what aligns declarations in the source; `owners` tells which elements threads write.
    `absent` are the variables that no input of the run has; None if this is its only one.
    """
    kind = cast("VariableKind", rule.kind)
    if array_types(rule):
        yield from _judge_arrays(rule, reading, line_size, judge_placements, aligner, owners)
        return
    if rule.shipped and not reading.data:
        return  # the input lacks the variables, as it may lack structs
    if reading.data is None and reading.reader == "clang" and rule.kind.traits.judges_arrays:
        yield from _judge_declared_arrays(rule, reading, line_size, judge_placements, aligner)
        return
    if reading.data is None:
        verdict = replace(unknown(f"{reading.path}: {_NO_SYMBOLS}"), advice="give the linked program")
        yield Finding(rule, None, verdict, reading.path)
        return
    missing = _missing_variables(kind, reading, pack.variables, absent)
    if missing and not rule.shipped:
        yield Finding(rule, None, _missing_verdict(missing, reading.path, absent), reading.path)
    if rule.line_pairs:
        line_size = pair_size(line_size, reading.target)
    if line_size is not None and line_size > NEAR:
        message = (
            f"only {NEAR} bytes around a variable are read, so lines of {line_size} bytes cannot be judged"
        )
        yield Finding(rule, None, unknown(message), reading.path)
        return
    is_judged = False
    for number, data in enumerate(reading.data):
        context = _context(data, pack.variables, line_size, rule.line_pairs, aligner)
        if _concerns(kind, context):
            is_judged = True
            verdict = judge_placements(rule, kind.check, context)
            if reading.least_data:
                least = _context(
                    reading.least_data[number], pack.variables, line_size, rule.line_pairs, aligner
                )
                verdict = _merge_sizes(verdict, judge_placements(rule, kind.check, least), reading.unsized)
            yield Finding(rule, data, verdict, data.origin)
    if not is_judged and not missing and not _is_elsewhere(kind, reading, absent):
        message = f"{reading.path}: it has no variable that the rule is about"
        yield Finding(rule, None, unknown(message, missing_field=True), reading.path)


def _judge_declared_arrays(
    rule: Rule,
    reading: Reading,
    line_size: int | None,
    judge_placements: JudgePlacements,
    aligner: Aligner,
) -> Iterator[Finding]:
    """Judge a rule on named arrays in C sources, whose variables start at any multiple of their alignment."""
    kind = cast("Stride", rule.kind)
    if rule.line_pairs:
        line_size = pair_size(line_size, reading.target)
    contexts = [(data, _context(data, (), line_size, rule.line_pairs, aligner)) for data in reading.arrays]
    for path in kind.variables:
        only = replace(kind, variables=(path,))
        chosen = [each for each in contexts if _concerns(cast("VariableKind", only), each[1])]
        for data, context in chosen:
            verdict = _settle(judge_placements(rule, only.check, context), data)
            yield Finding(rule, data, verdict, data.origin)
        if not chosen:
            names = (data.name for data in reading.arrays)
            message = (
                f"{reading.path}: no variable `{path}` is an array of several elements in these sources"
                + did_you_mean(path, names)
            )
            yield Finding(rule, None, unknown(message, missing_field=True), reading.path)


def _judge_arrays(
    rule: Rule,
    reading: Reading,
    line_size: int | None,
    judge_placements: JudgePlacements,
    aligner: Aligner,
    owners: Owners | None,
) -> Iterator[Finding]:
    """Judge a rule on variables of some types in each array that has them."""
    if rule.line_pairs:
        line_size = pair_size(line_size, reading.target)
    finder, is_judged = Finder(), False
    for data in reading.arrays:
        context = _context(data, (), line_size, rule.line_pairs, aligner)
        context = replace(context, finder=finder, is_one_of_many=True, owners=owners)
        verdict = judge_placements(rule, rule.kind.check, context)
        if not verdict.is_missing_field:
            verdict = _settle(verdict, data)
        if verdict.is_missing_field:  # an array of another type
            continue
        is_judged = True
        yield Finding(rule, data, verdict, data.origin)
    is_per_thread = cast("Stride", rule.kind).per_thread
    behind = owners.pointed_arrays() if is_per_thread and owners is not None else ()
    arrays = behind if is_per_thread else ((array, "") for array in reading.allocated)
    for array, reason in arrays:
        finding = _judge_allocated(rule, array, reading, line_size, finder, judge_placements, aligner)
        if finding is not None:
            is_judged = True
            yield _add_reason(finding, reason)
    if not is_judged and not rule.shipped:
        message = f"{reading.path}: no variable of a known type is an array that the rule is about"
        yield Finding(rule, None, unknown(message, missing_field=True), reading.path)


def _settle(verdict: Verdict, data: Struct) -> Verdict:
    """Return the verdict on an array; unknown if its layout, or an alignment that decides, is."""
    if data.problem is not None:
        return unknown(f"the layout of {data.label} is unreliable: {data.problem}")
    if data.align is None and verdict.outcome is Outcome.AT_RISK:
        return unknown(
            f"the source aligns {data.label} to an expression that is not evaluated; check the object file"
        )
    return verdict


def _add_reason(finding: Finding, reason: str) -> Finding:
    """Return a finding whose message has the code that shows which elements threads write."""
    if not reason:
        return finding
    verdict = finding.verdict
    return replace(finding, verdict=replace(verdict, message=f"{verdict.message}; {reason}"))


def _judge_allocated(
    rule: Rule,
    array: AllocatedArray,
    reading: Reading,
    line_size: int | None,
    finder: Finder,
    judge_placements: JudgePlacements,
    aligner: Aligner,
) -> Finding | None:
    """Judge the elements of an allocated array; None if they are of other types than the rule is about."""
    struct, types = array.struct, array_types(rule)
    chosen: tuple[Place, ...] = ()
    names = struct.name, f"{struct.aggregate} {struct.name}"
    if any(finder.matches(Field(None, CType(name), 0, 0), types) for name in names):
        # The members of a lock mean nothing to readers.
        whole = Field("", CType(struct.name), 0, struct.bit_size, align=struct.align)
        struct = replace(struct, fields=(whole,))
    else:
        chosen = tuple(finder.find_fields(cached_layout(struct), types))
        if not chosen:
            return None
    layout = cached_layout(struct)
    placed = placements(layout, line_size, None, array.storage)
    placed = replace(placed, in_pairs=rule.line_pairs, source_aligner=aligner)
    context = Context(layout, placed, storage=array.storage, finder=finder)
    verdict = judge_placements(rule, lambda placed: Stride().judge_objects(placed, chosen), context)
    # The call is the place to look at, not the definition of the elements.
    return Finding(rule, struct, replace(verdict, evidence=()), reading.path)


def _merge_sizes(largest: Verdict, least: Verdict, unsized: tuple[str, ...]) -> Verdict:
    """Return the verdict for any size of the variables; unknown if their sizes decide.

    `unsized` are variables without a size in the symbol table; empty for an input without symbols.
    """
    if largest.outcome is least.outcome:
        return largest
    outcomes = f"{largest.outcome.value} if each reaches to the next, {least.outcome.value} if they are small"
    if not unsized:
        return unknown(f"the sizes of variables are not known: {outcomes}; check a vmlinux with symbols")
    failing = {place.path for verdict in (largest, least) for place in verdict.evidence if verdict.bases}
    names = first_few(
        tuple(f"`{name}`" for name in unsized if name in failing or failing.isdisjoint(unsized))
    )
    return unknown(f"the symbol table states no size of {names}: {outcomes}; state it (`.size` in assembler)")


def _concerns(kind: VariableKind, context: Context) -> bool:
    """Return whether a rule is about some data; true if that is unknown, as the verdict then is."""
    try:
        return kind.concerns(context)
    except CannotTell:
        return True


def _variables_of(kind: VariableKind) -> tuple[str, ...]:
    """Return the variables that a rule names."""
    return tuple(path for path in kind.variable_paths if not path.startswith(SELECTOR))


def absent_variables(readings: Iterable[Reading]) -> frozenset[str]:
    """Return the requested variables that no input with a symbol table has."""
    missing = [{each.name for each in r.missing_variables} for r in readings if r.data is not None]
    return frozenset(set.intersection(*missing)) if missing else frozenset()


def _missing_variables(
    kind: VariableKind, reading: Reading, declared: tuple[Access, ...], absent: frozenset[str] | None
) -> list[MissingVariable]:
    """Return the variables of a rule that the input lacks; if it names none, those with declared accesses.

    Other object files of the run can have them. That is all right for one without any variable that the rule
    is about; if it has some, nothing compares these with the others.
    """
    names = _names_of(kind, declared)
    if absent is None:
        return [variable for variable in reading.missing_variables if variable.name in names]
    related = names if kind.traits.judges_arrays else names | {access.path for access in declared}
    missing = [variable for variable in reading.missing_variables if variable.name in related]
    has_some = len(missing) < len(related)
    return [
        variable
        for variable in missing
        if (variable.name in names if variable.name in absent or not variable.is_of_object else has_some)
    ]


def _missing_verdict(missing: list[MissingVariable], path: str, absent: frozenset[str] | None) -> Verdict:
    verdict = unknown(f"{path}: no variable is called {', '.join(map(str, missing))}", missing_field=True)
    are_absent = absent is None or all(variable.name in absent for variable in missing)
    return replace(verdict, advice="" if are_absent else "give the linked program, which has all variables")


def _is_elsewhere(kind: VariableKind, reading: Reading, absent: frozenset[str] | None) -> bool:
    """Return whether an object file lacks a variable of a rule that another input has."""
    names = _variables_of(kind)
    return absent is not None and any(
        variable.is_of_object and variable.name not in absent and (variable.name in names or not names)
        for variable in reading.missing_variables
    )


def _names_of(kind: VariableKind, declared: tuple[Access, ...]) -> set[str]:
    """Return the variables of a rule; if it names none, those with declared accesses."""
    return {*_variables_of(kind)} or {access.path for access in declared}


def _context(
    data: Struct, accesses: tuple[Access, ...], line_size: int | None, in_pairs: bool, aligner: Aligner
) -> Context:
    """Return the context of data: at its address or, in an object file, at all bases of its alignment."""
    line = data.target.line_size if line_size is None else line_size
    if data.address is not None:
        placements = Placements(line, (data.address % line,), "at its address in the linked file")
    else:
        align = data.align or 1
        bases = tuple(range(0, line, gcd(align, line)))
        what = "it" if data.label else "the section"
        placements = Placements(line, bases, f"{what} is aligned to {align}, and not linked yet")
    return Context(Layout(data), replace(placements, in_pairs=in_pairs, source_aligner=aligner), accesses)


def variable_query(
    packs: Iterable[Pack], patterns: tuple[str, ...], line_size: int | None = None
) -> VariableQuery:
    """Return what a comparison of variables is about. `patterns` select variables; empty for all.

    `line_size` is in bytes, None for the target's.
    """
    from layoutlint.comparison.variables import VariableQuery  # `check` compares no variables

    paths = add_variables(Wanted(), packs).variables
    named = patterns or tuple(path.partition(".")[0].partition("[")[0] for path in paths)
    selects = _matcher(patterns) if patterns else _accept_all
    return VariableQuery(_matcher(named), selects, line_size, patterns)


def _accept_all(name: str) -> bool:
    return True


def _matcher(patterns: Iterable[str]) -> Callable[[str], bool]:
    """Return whether a name matches one of some names and patterns, as a function."""
    pattern = re.compile("|".join(map(translate, sorted(set(patterns)))) or r"(?!)")
    return lambda name: pattern.match(name) is not None
