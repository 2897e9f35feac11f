"""A struct in one build, with everything that a search for an order needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from layoutlint import files
from layoutlint.errors import UsageError
from layoutlint.geometry.layout import Layout
from layoutlint.geometry.placement import placements
from layoutlint.judgement.context import CannotTell
from layoutlint.judgement.rule import Pack
from layoutlint.lint.options import Options
from layoutlint.lint.subject import InputStruct, Source, find_struct
from layoutlint.model.build import Build
from layoutlint.model.declared import Member
from layoutlint.model.reading import Reading, ReadOptions
from layoutlint.model.record import Record, replace
from layoutlint.model.storage import EMBEDDED
from layoutlint.model.structs import Field, Struct
from layoutlint.model.wanted import Wanted
from layoutlint.randstruct import randomisation
from layoutlint.randstruct.randomisation import DeclaredStruct
from layoutlint.randstruct.variants import Way
from layoutlint.readers import inputs
from layoutlint.readers.clang import members
from layoutlint.suggestion.contention import Measured, measured_contention
from layoutlint.suggestion.orders.arrangement import (
    Arrangement,
    Opened,
    arrange,
    ends_open,
    join_declarations,
)
from layoutlint.suggestion.orders.demands import MOST_LINES
from layoutlint.suggestion.orders.problem import Aim, BuildTask, ContendedPair
from layoutlint.suggestion.orders.taste import KnownMember
from layoutlint.suggestion.rules import Ruled, declared_accesses, declared_paths, rules_of
from layoutlint.suggestion.task import BuildCandidate, task_of
from layoutlint.suggestion.text import Surroundings, declared_together, read_text, surroundings_of

MOST_MEMBERS = 1_000
"""The most members of a struct that is searched: each is tried at each place."""
LARGEST = 1 << 40
"""The most bytes of a struct whose orders are searched: sums of the search are integers of 64 bits."""


class Request(Record, frozen=True):
    """The structs, builds and aims of a search."""

    struct: str
    aims: tuple[Aim, ...] = ("moves", "size", "holes")
    effort: float = 4.0
    """The most work for each aim, in CP-SAT's deterministic time."""
    sources: tuple[str, ...] = ()
    """Files and folders that are searched for uses of the order, besides the input."""
    is_forced: bool = False
    """Whether the order may be one that uses forbid."""
    alternative: int = 0
    """The number of the alternative that is chosen if no order keeps the rules, from 1; 0 for none."""
    most_moves: int = 0
    """The most declarations that may move for the smallest size, or the least contention; 0 for no limit."""
    evidence: tuple[str, ...] = ()
    """The files with saved evidence whose contention is to be least."""


class Refused(Exception):
    """Raised for a struct that cannot be put in another order; the text is the reason."""


class Subject(Record, frozen=True):
    """A struct of one build, as it was read."""

    build: Build | None
    """None without a matrix."""
    path: str
    input_struct: InputStruct
    options: Options


class ArrangedSubject(Record, frozen=True):
    """A struct of one build, with all that its orders are judged by."""

    subject: Subject
    arrangement: Arrangement
    others: tuple[Arrangement, ...]
    """The arrangements of other declarations that the struct can have, with the same units."""
    ruled: tuple[Ruled, ...]
    around: Surroundings
    notes: tuple[str, ...]
    names: tuple[str, ...]
    """The names of the fields; what is the same member in several builds has one name."""
    measured: Measured | None = None
    """The contention that profiles measured; None without evidence."""

    @property
    def taste(self) -> dict[str, KnownMember]:
        """What is known of the members, by their names."""
        accesses = declared_accesses(self.subject.input_struct, self.subject.options)
        known = {}
        for number, name in enumerate(self.names):
            own, outline = accesses.get(name, ()), self.around.outlines.get(number)
            known[name] = KnownMember(own)
            if outline is not None:
                known[name] = KnownMember(own, (outline.first_line, outline.lines), outline.group)
        return known

    def task(self, aims: Sequence[Aim], needs_paths: bool) -> tuple[BuildTask, BuildCandidate]:
        """Return what to search, and who judges it. Raises UsageError if an aim cannot be reached for."""
        task, candidate = task_of(self.arrangement, self.ruled)
        if "lines" in aims:
            task = _with_paths(task, self.subject, needs_paths)
        return replace(task, pairs=self.contended_pairs(self.arrangement.declared)), candidate

    def contended_pairs(self, struct: Struct) -> tuple[ContendedPair, ...]:
        """Return the pairs of fields that contend, at all placements of the struct, which can be changed."""
        if self.measured is None:
            return ()
        options, judged = self.subject.options, self.subject.input_struct.judged
        stated = (pack.select_for(judged.reading).storage(struct) for pack in judged.packs)
        storage = next((each for each in stated if each is not None and each.word != EMBEDDED), None)
        where = placements(Layout(struct), options.line_size, options.min_align, storage)
        return self.measured.contended_pairs(struct, where)


def read_subject(
    path: str,
    name: str,
    packs: tuple[Pack, ...],
    kernel_packs: tuple[Pack, ...],
    options: Options,
    build: Build | None = None,
) -> Subject:
    """Return the struct of an input. Raises ReadError if the input states too little."""
    options = replace(options, read=replace(options.read, with_marks=True))
    sampled = replace(options, read=replace(options.read, is_sampled=True))
    input_struct = find_struct(Source("", path), name, packs, kernel_packs, sampled)
    return Subject(build, path, input_struct, options)


def arrangements(subject: Subject, opens: bool, splits: bool) -> list[Arrangement]:
    """Return the units of the struct, for each declaration that it can have, the likeliest first.

    If it `opens`, members of structs without a name are units, too, where they can stand in any order. If it
    `splits`, so are those of one declaration.

    Raises Refused and CannotLayOut.
    """
    struct, reading = subject.input_struct.struct, subject.input_struct.judged.reading
    if struct.aggregate == "union":
        raise Refused("it is a union, whose members all begin at 0")
    is_random = struct.randomised is not None and struct.randomised.is_own
    if is_random or subject.input_struct.judged.surroundings.shape(struct) is not None:
        raise Refused("the build puts its fields into a random order, so the declared one decides nothing")
    if len(struct.fields) > MOST_MEMBERS:
        raise Refused(f"it has {len(struct.fields)} members, and at most {MOST_MEMBERS} are searched")
    if not struct.fields:
        raise Refused("it has no members")
    if (struct.bit_size or 0) > 8 * LARGEST:
        raise Refused(f"it has more than the {LARGEST:,} bytes of which orders are searched")
    context = _read_embedded(subject, struct)
    declared_struct = _with_pragma(subject, randomisation.declared_struct(reading, context, struct))
    arrangements = list(arrange_declared(declared_struct, struct, opens))
    declared = arrangements[0].lay_out(range(len(arrangements[0].units)))
    if [(f.name, f.bit_offset) for f in declared.fields] != [(f.name, f.bit_offset) for f in struct.fields]:
        raise Refused("its offsets are not those that its members give in their declared order")
    if splits:
        return arrangements
    together = declared_together(subject.input_struct, arrangements[0].struct, subject.options)
    return [join_declarations(each, together) for each in arrangements]


def _read_embedded(subject: Subject, struct: Struct) -> list[Reading]:
    """Return what is known of the structs that a struct embeds.

    In a kernel tree its own header defines them, or includes what does; in a project with a compilation
    database, the unit that it comes from. The whole input is searched if that fails.
    """
    names, options = randomisation.embedded_names((struct,)), subject.options.read
    if not names:
        return []
    roots = members.kernel_roots(subject.path, options) if files.is_folder(subject.path) else ()
    header = members.source_path(subject.path, struct, options) if roots else None
    if header is not None:
        build = (f"O={roots[1]}",) if len(roots) > 1 else ()
        own = replace(options, flags=(*options.flags, *build))
        readings, unread = inputs.read((header,), Wanted(names), own)
        if not unread:
            return readings
    path, own = unit_of(subject)
    if path != subject.path:
        readings, unread = inputs.read((path,), Wanted(names), own)
        structs = [each for reading in readings for each in reading.structs]
        if not unread and names <= {name for each in structs for name in (each.name, *each.aliases)}:
            return readings
    return inputs.read((subject.path,), Wanted(names), options)[0]


def unit_of(subject: Subject) -> tuple[str, ReadOptions]:
    """Return the path and the options of the one unit that the struct was read from.

    Units of a database all have the same struct. For other inputs, the input itself.
    """
    options, database = subject.options.read, subject.input_struct.judged.reading.compile_commands
    origin = subject.input_struct.struct.origin
    if database is None or not files.is_file(origin):
        return subject.path, options
    return origin, replace(options, compile_commands=database)


def _with_pragma(subject: Subject, declared: DeclaredStruct) -> DeclaredStruct:
    """Return a struct with the declarations that the `#pragma pack` of its text leaves.

    All of them, if they are under one, or the text cannot be read.
    """
    input_struct = subject.input_struct
    if len(declared.pragmas) == 1 or input_struct.judged.reading.reader != "clang":
        return declared
    try:
        file, text = read_text(input_struct, subject.options)
        path, own = unit_of(subject)
        argument = members.find_pragma(path, input_struct.struct, file, text, own)
    except members.CannotMove:
        return declared
    return declared.with_pragma(argument)


def arrange_declared(declared: DeclaredStruct, struct: Struct, opens: bool) -> Iterator[Arrangement]:
    """Yield the arrangement of each declaration: of the struct, and of what it `opens` in it."""
    opened = _find_openable(declared, declared.ways[0]) if opens else {}
    if len(arrange(struct, declared.ways[0], opened=opened).struct.fields) > MOST_MEMBERS:
        opened = {}
    count = max((len(each.ways) for each in _structs_to_open(declared, opened)), default=1)
    for way in declared.ways:
        for number in range(count):
            yield arrange(struct, way, opened=_with_ways(declared, opened, number))


def _find_openable(declared: DeclaredStruct, way: Way) -> dict[int, Opened]:
    """Return the structs without a name whose members can stand in any order, by their likeliest
    declarations.
    """
    return {
        position: Opened(inner.ways[0], _find_openable(inner, inner.ways[0]))
        for position, inner in declared.inner.items()
        if _can_open(declared.fields[position], inner, way.members[way.fields.index(position)], way)
        and not _is_beside_unnamed(way, way.fields.index(position))
    }


def _is_beside_unnamed(way: Way, member: int) -> bool:
    """Return whether a bit-field without a name is behind a member, or is all before it: both move as one."""
    before, behind = way.fields[:member], way.fields[member + 1 : member + 2]
    return None in behind or (bool(before) and not any(at is not None for at in before))


def _structs_to_open(declared: DeclaredStruct, opened: Mapping[int, Opened]) -> Iterator[DeclaredStruct]:
    for position, each in opened.items():
        yield declared.inner[position]
        yield from _structs_to_open(declared.inner[position], each.inner)


def _with_ways(declared: DeclaredStruct, opened: Mapping[int, Opened], number: int) -> dict[int, Opened]:
    """Return opened structs by another of their declarations; by the last one if they have fewer."""
    return {
        position: Opened(
            declared.inner[position].ways[: number + 1][-1],
            _with_ways(declared.inner[position], each.inner, number),
        )
        for position, each in opened.items()
    }


def _can_open(field: Field, inner: DeclaredStruct, member: Member, way: Way) -> bool:
    """Return whether orders of a struct's members are laid out as its declaration shows: it is not packed.

    Arrays without a length mark places, or must stay last.
    """
    own = inner.ways[0]
    layout = own.lay_out(range(len(own.members)))
    if way.rules.pragma or own.rules.pragma or member.is_packed:
        return False
    if any(each.is_packed for each in own.members) or any(each.is_flexible for each in field.members):
        return False
    is_same = layout.bit_size == field.bit_size and member.align == layout.align
    return len(field.members) > 1 and is_same and not member.requested_align and not ends_open(field)


def arranged_subject(
    subject: Subject,
    arrangement: Arrangement,
    others: Sequence[Arrangement],
    names: tuple[str, ...],
    request: Request,
) -> ArrangedSubject:
    """Return a struct with its rules, and what its text and its uses leave of the orders."""
    ruled, notes = rules_of(subject.input_struct, subject.options)
    keeps_padding = request.aims[0] != "moves"
    around = surroundings_of(
        subject.input_struct, arrangement, request.sources, keeps_padding, subject.options
    )
    measured = None
    if request.evidence:
        measured = measured_contention(request.evidence, subject.input_struct.struct)
        notes = (*notes, *measured.doubts)
    return ArrangedSubject(
        subject, arrangement, tuple(others), tuple(ruled), around, (*notes, *around.notes), names, measured
    )


def _with_paths(task: BuildTask, subject: Subject, needs_paths: bool) -> BuildTask:
    """Return a task with the fields whose lines count. Raises UsageError if they are needed and missing."""
    input_struct, options = subject.input_struct, subject.options
    try:
        paths = declared_paths(input_struct, options)
    except CannotTell as error:
        if not needs_paths:
            return task
        raise UsageError(f"--optimize lines counts the lines of declared accesses: {error}") from None
    where = placements(Layout(input_struct.struct), options.line_size, options.min_align)
    if (input_struct.struct.bit_size or 0) // 8 > MOST_LINES * where.line_size:
        raise UsageError(f"--optimize lines is for structs of at most {MOST_LINES:,} lines")
    return replace(task, paths=paths, bases=where.bases, line=where.line_size)
