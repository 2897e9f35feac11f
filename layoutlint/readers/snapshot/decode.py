"""Snapshots as readings. Every contradiction is an error with line, struct and field."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod

from msgspec import UNSET

from layoutlint.errors import ReadError, did_you_mean
from layoutlint.model.ctype import CType
from layoutlint.model.overlaps import Overlaps
from layoutlint.model.reading import SNAPSHOT_OF, Chosen, Omission, Reading
from layoutlint.model.record import replace
from layoutlint.model.structs import Aggregate, Annotation, Field, Source, Struct, Unstated
from layoutlint.model.target import TARGETS, Target
from layoutlint.readers.snapshot.record import Document, FieldRecord, StructRecord, parse

DEEPEST = 100
"""The most structs that are embedded in each other; C sources have a tenth of it."""


_MOST_PATTERNS = 1_000
"""The most patterns that were asked for: the name of each struct is compared with all of them."""


class _Wrong(Exception):
    """A contradiction, as a sentence without its place."""


def decode(data: bytes, path: str) -> Reading:
    """Return all that a snapshot states; raises ReadError with the line, the struct and the cause."""
    document, lines = parse(data, path)
    target = next((each for each in TARGETS if each.name == document.target), None)
    if target is None:
        hint = did_you_mean(document.target, (each.name for each in TARGETS))
        raise ReadError(path, f"the target {document.target[:80]!r} of the snapshot is not known{hint}")
    try:
        unstated = _decode_unstated(document.unstated)
    except _Wrong as wrong:
        raise ReadError(path, f"the snapshot: {wrong}") from wrong
    chosen = _decode_chosen(document, path)
    structs = tuple(_Structs(lines, path, target, unstated, document.reader == "clang").decode(chosen))
    if chosen is not None:
        chosen = replace(chosen, unrecorded=_unrecorded_names(chosen, structs, (each for _, each in lines)))
    return Reading(
        path,
        SNAPSHOT_OF + document.reader,
        target,
        structs,
        notes=_notes(document, structs),
        config=None if document.config is None else frozenset(document.config),
        options=frozenset(document.options),
        is_kernel=document.linux,
        kernel=None if document.kernel is None else tuple(map(int, document.kernel.split("."))),
        shuffled=document.shuffled,
        omissions=tuple(_omissions(document)),
        compilers=document.compilers,
        allocator=document.allocator,
        chosen=chosen,
        holds_types=document.types,
        may_use=document.may_use,
    )


def _decode_chosen(document: Document, path: str) -> Chosen | None:
    if document.chosen is None:
        return None
    chosen = Chosen(document.chosen, document.containers_of)
    if len(chosen.patterns) > _MOST_PATTERNS:
        raise ReadError(path, f"`chosen` has more than the {_MOST_PATTERNS:,} patterns that are read")
    return chosen


def _notes(document: Document, structs: tuple[Struct, ...]) -> tuple[str, ...]:
    if document.chosen is None:
        return ()
    return (f"a snapshot of chosen structs ({len(structs):,}); it does not say which others its input has",)


def _omissions(document: Document) -> Iterator[Omission]:
    for each in document.omissions:
        structs = None if each.structs is None else frozenset(each.structs)
        yield Omission(each.reason, structs, is_shared=not each.private)


def _unrecorded_names(
    chosen: Chosen, structs: Iterable[Struct], records: Iterable[StructRecord]
) -> frozenset[str]:
    """Return the names that were chosen, and those that patterns chose, without a layout to hold."""
    embedded = (record.name.removeprefix(f"{record.aggregate} ") for record in records if record.embedded)
    names = {*chosen.names, *filter(chosen.has_name, embedded)}.difference(chosen.patterns)
    return frozenset(names.difference(*((struct.name, *struct.aliases) for struct in structs)))


def _refuse_stray(struct: Struct, record: StructRecord, chosen: Chosen | None) -> Struct:
    """Return a struct; raise _Wrong if nothing would hold it although nobody says that it is a container."""
    is_chosen = chosen is None or chosen.has(struct)
    if is_chosen and record.container:
        raise _Wrong("it is chosen, and `container` says that it is not; remove `container`")
    if not is_chosen and not record.container:
        raise _Wrong("`chosen` does not name it; name it there, or remove its record")
    return struct


class _Structs:
    """The structs of a snapshot, with the members of their fields."""

    def __init__(
        self,
        records: list[tuple[int, StructRecord]],
        path: str,
        target: Target,
        unstated: Unstated,
        states_unnamed: bool,
    ) -> None:
        """Take `states_unnamed` for a snapshot of an input that states unnamed bit-fields: C text."""
        self._lines = [line for line, _ in records]
        self._records = [record for _, record in records]
        self._path = path
        self._target = target
        self._unstated = unstated
        self._states_unnamed = states_unnamed
        self._by_reference: dict[str, int] = {}
        self._members: dict[int, tuple[Field, ...]] = {}
        self._open: list[int] = []
        """The structs whose members are being made, outermost first."""
        self._overlaps = Overlaps()

    def decode(self, chosen: Chosen | None) -> Iterator[Struct]:
        """Yield the structs that rules can judge. Raises ReadError, also for one that nobody chose."""
        for number, record in enumerate(self._records):
            if record.reference in self._by_reference:
                raise self._error(number, "another struct of the snapshot has this name and number")
            self._by_reference[record.reference] = number
        for number, record in enumerate(self._records):
            try:
                fields = self._fields_of(number)
                if not record.embedded:
                    yield _refuse_stray(self._struct(record, fields), record, chosen)
            except _Wrong as wrong:
                raise self._error(number, str(wrong)) from wrong

    def _error(self, number: int, reason: str) -> ReadError:
        place = self._open[-1] if self._open else number
        name = self._records[place].reference[:100]
        return ReadError(Source(self._path, self._lines[place]), f"`{name}`: {reason}")

    def _struct(self, record: StructRecord, fields: tuple[Field, ...]) -> Struct:
        bits = None if record.size is None else record.size * 8
        if bits is None:
            raise _Wrong("it has no `size`")
        _refuse_outside(fields, bits)
        overlap = self._overlaps.first_overlap(fields, record.aggregate == "union")
        if overlap is not None:
            raise _Wrong(overlap.removesuffix(" in the debug information"))
        is_tagged = record.name.startswith(f"{record.aggregate} ")
        if not is_tagged and record.name.startswith(("struct ", "union ")):
            raise _Wrong(f"its `aggregate` is {record.aggregate}")
        source = None if record.file is None else Source(record.file)
        return Struct(
            record.name.removeprefix(f"{record.aggregate} ") if is_tagged else record.name,
            record.aggregate,
            bits,
            None if record.align is None else _power_of_two(record.align),
            fields,
            self._target,
            source,
            self._path,
            record.typedefs,
            is_tagged=is_tagged,
            realigned_from=record.realigned,
            randomised=record.randomised,
            is_randomisable=record.randomisable,
            annotations=tuple(Annotation(path, text, source) for path, text in record.annotations),
            unstated=self._unstated | _decode_unstated(record.unstated),
            possible=_sum(record.alignments),
        )

    def _fields_of(self, number: int) -> tuple[Field, ...]:
        known = self._members.get(number)
        if known is not None:
            return known
        if number in self._open:
            raise _Wrong(f"it embeds itself, through `{self._records[self._open[-1]].reference[:100]}`")
        if len(self._open) == DEEPEST:
            raise _Wrong(f"more than {DEEPEST} structs are embedded in each other")
        self._open.append(number)
        record = self._records[number]
        fields = tuple([self._field(each, record.file) for each in record.fields])
        self._open.pop()
        self._members[number] = fields
        return fields

    def _field(self, record: FieldRecord, file: str | None, depth: int = 0) -> Field:
        label = f"field `{(record.name or record.type)[:100]}`"
        members, aggregate = self._type_of(record, file, label, depth)
        if record.size is not None and record.bits is not None:
            raise _Wrong(f"{label} has both `size` and `bits`")
        bits = record.bits if record.size is None else record.size * 8
        own_file = None if record.name is None else file if record.file is UNSET else record.file
        _refuse_members_outside(record, members, bits, label)
        is_bitfield = record.bits is not None and record.bitfield
        return Field(
            record.name,
            CType(record.type, record.after),
            record.at * 8 + record.bit,
            bits,
            is_bitfield,
            aggregate,
            record.dims,
            members,
            None if record.align is None else _power_of_two(record.align),
            None if own_file is None else Source(own_file),
            record.function,
            tuple(CType(each) if isinstance(each, str) else CType(*each) for each in record.underlying),
            _power_of_two(record.aligned) if record.aligned else 0,
            _sum(record.alignments),
            record.flattened,
            record.element,
            unnamed_bits=record.unnamed or (() if is_bitfield and self._states_unnamed else None),
        )

    def _type_of(
        self, record: FieldRecord, file: str | None, label: str, depth: int
    ) -> tuple[tuple[Field, ...], Aggregate | None]:
        """Return the members of the type of a field, and its kind."""
        if not record.of:
            if record.fields and record.aggregate is None:
                raise _Wrong(f"{label} has `fields` and no `aggregate`")
            if depth == DEEPEST:
                raise _Wrong(f"{label} is nested too deeply")
            inner = [self._field(each, file, depth + 1) for each in record.fields]
            return tuple(inner), record.aggregate
        if record.fields:
            raise _Wrong(f"{label} has both `of` and `fields`")
        number = self._by_reference.get(record.of)
        if number is None:
            hint = did_you_mean(record.of[:100], self._by_reference)
            raise _Wrong(f"{label} is of `{record.of[:100]}`, which is not in the snapshot{hint}")
        return self._fields_of(number), self._records[number].aggregate


def _refuse_outside(fields: Iterable[Field], bits: int) -> None:
    """Raise _Wrong for a field that ends behind the bits of its struct."""
    for member in fields:
        if member.bit_offset + (member.bit_size or 0) > bits:
            raise _Wrong(f"`{member.name or member.type}` ends behind the {bits // 8:,} bytes of the struct")


def _refuse_members_outside(
    record: FieldRecord, members: tuple[Field, ...], bits: int | None, label: str
) -> None:
    """Raise _Wrong for a field that is smaller than its members, or no multiple of its elements."""
    lengths = [1 if length is None else length for length in record.dims]
    count = prod(lengths)
    if bits is None or count == 0 or None in record.dims:
        return
    if bits % count:
        raise _Wrong(f"{label} has {bits // 8:,} bytes, and {count:,} elements")
    if any(each.bit_offset + (each.bit_size or 0) > bits // count for each in members):
        raise _Wrong(f"{label} is smaller than its members")


def _power_of_two(number: int) -> int:
    if number & (number - 1):
        raise _Wrong(f"the alignment {number:,} is not a power of two")
    return number


def _sum(alignments: Iterable[int]) -> int:
    return sum({_power_of_two(each) for each in alignments})


def _decode_unstated(words: Iterable[str]) -> Unstated:
    every = {flag.name.lower(): flag for flag in Unstated if flag.name}
    unstated = Unstated.NOTHING
    for word in words:
        if word not in every:
            raise _Wrong(f"`unstated` has {word[:80]!r}{did_you_mean(word[:80], every)}")
        unstated |= every[word]
    return unstated
