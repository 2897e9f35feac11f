"""Readings as the text of snapshots. Lines, paths of the machine and facts of the run are left out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

import msgspec
from msgspec import UNSET, UnsetType

from layoutlint import escapes
from layoutlint.errors import ReadError
from layoutlint.model import possible_alignments
from layoutlint.model.ctype import CType, strip_qualifiers
from layoutlint.model.reading import Chosen, Reading
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Field, Source, Struct, Unstated
from layoutlint.readers.elf import compiler_marks
from layoutlint.readers.snapshot.record import (
    SCHEMA,
    Document,
    FieldRecord,
    OmissionRecord,
    StructRecord,
    reference,
)

FileName = Callable[[str], str]
"""Returns the name of a source file that is the same on every machine."""


def encode(reading: Reading, chosen: Chosen | None, file_name: FileName) -> str:
    """Return the text of a snapshot of a reading, with a newline at the end.

    Structs that are only declared, or have an unreliable layout, are left out. Raises ReadError for names
    that are no text.
    """
    structs = [struct for struct in reading.structs if struct.bit_size is not None and not struct.problem]
    document = Document(
        schema=SCHEMA,
        target=reading.target.name,
        reader=reading.reader,
        compilers=compiler_marks.major_versions(reading.compilers),
        allocator=reading.allocator,
        linux=reading.is_kernel,
        kernel=None if reading.kernel is None else ".".join(map(str, reading.kernel)),
        config=None if reading.config is None else tuple(sorted(reading.config)),
        options=tuple(sorted(reading.options)),
        shuffled=reading.shuffled,
        omissions=tuple(_omissions(reading, chosen)),
        chosen=None if chosen is None else chosen.names,
        containers_of=() if chosen is None else chosen.containers_of,
        types=reading.holds_types,
        may_use=reading.may_use,
    )
    bodies = _Bodies(file_name, chosen)
    for struct in sorted(structs, key=lambda struct: _order(struct, file_name)):
        bodies.add(struct)
    try:
        lines = [*_head_lines(document), *bodies.lines(), *_config_lines(document.config)]
    except UnicodeEncodeError as error:
        raise ReadError(reading.path, f"has a name that is not valid UTF-8: {error.object!a}") from error
    return escapes.json_text("\n".join(lines)) + "\n"


def _order(struct: Struct, file_name: FileName) -> tuple[str, str, bool, str, int]:
    file = file_name(struct.source.file) if struct.source is not None else ""
    return struct.name, struct.aggregate, struct.is_tagged, file, struct.bit_size or 0


def _omissions(reading: Reading, chosen: Chosen | None) -> Iterator[OmissionRecord]:
    """Yield the parts that were not read and that can have chosen structs."""
    for each in reading.omissions:
        names = None if each.structs is None else sorted(each.structs)
        if names is not None and chosen is not None:
            names = [name for name in names if chosen.has_name(name)]
        if not each.is_harmless and names != []:
            private = not each.is_shared
            structs = None if names is None else tuple(names)
            yield OmissionRecord(reason=each.reason, structs=structs, private=private)


class _Body(Record):
    """The fields of one definition, and the struct with them if it is more than the type of fields."""

    record: StructRecord


class _Bodies:
    """The definitions of a snapshot; equal ones are kept once."""

    def __init__(self, file_name: FileName, chosen: Chosen | None) -> None:
        self._file_name = file_name
        self._chosen = chosen
        self._by_name: dict[str, list[_Body]] = defaultdict(list)
        self._references: dict[tuple[int, str], tuple[object, str]] = {}
        """By the identity of a tuple of members, and the name: that tuple, and what fields call it."""

    def add(self, struct: Struct) -> None:
        """Add a struct that rules can judge, unless it is there."""
        name = f"{struct.aggregate} {struct.name}" if struct.is_tagged else struct.name
        record = self._struct(struct, name)
        only_fields = StructRecord(
            name=name, aggregate=struct.aggregate, embedded=True, file=record.file, fields=record.fields
        )
        bodies = self._by_name[name]
        if any(_drop_lines(body.record) == record for body in bodies):
            return
        for body in bodies:
            if _drop_lines(body.record) == only_fields:
                body.record = replace(record, number=body.record.number)
                return
        bodies.append(_Body(replace(record, number=len(bodies) + 1)))

    def lines(self) -> Iterator[str]:
        """Yield the lines of all structs, sorted by name."""
        records = [body.record for bodies in self._by_name.values() for body in bodies]
        records.sort(key=lambda record: (record.name.rpartition(" ")[2], record.name, record.number))
        for position, record in enumerate(records):
            own = list(_lines(record, ""))
            comma = "," if position < len(records) - 1 else ""
            yield from own[:-1]
            yield own[-1] + comma

    def _struct(self, struct: Struct, name: str) -> StructRecord:
        file = None if struct.source is None else self._file_name(struct.source.file)
        fields = self._fields(struct.fields, file)
        how = struct.randomised
        return StructRecord(
            name=name,
            aggregate=struct.aggregate,
            container=self._chosen is not None and not self._chosen.has(struct),
            size=_whole_bytes(struct),
            align=struct.align,
            alignments=possible_alignments.values(_decisive_alignments(struct)),
            unstated=tuple(flag.name.lower() for flag in Unstated if flag in struct.unstated and flag.name),
            file=file,
            typedefs=tuple(sorted(struct.aliases)),
            realigned=struct.realigned_from,
            randomised=how,
            randomisable=struct.is_randomisable,
            annotations=tuple((each.path, each.text) for each in struct.annotations),
            fields=fields,
        )

    def _fields(self, members: tuple[Field, ...], file: str | None) -> tuple[FieldRecord, ...]:
        return tuple([self._field(member, file) for member in members])

    def _field(self, member: Field, file: str | None) -> FieldRecord:
        bits = member.bit_size
        in_bytes = bits is not None and not member.is_bitfield and bits % 8 == 0
        declared = None if member.source is None else self._file_name(member.source.file)
        is_same = declared == file or member.name is None
        own_file: str | UnsetType | None = UNSET if is_same else declared
        reference, inner = self._members(member, file)
        return FieldRecord(
            name=member.name,
            at=member.bit_offset // 8,
            bit=member.bit_offset % 8,
            size=bits // 8 if bits is not None and in_bytes else None,
            bits=None if in_bytes else bits,
            bitfield=in_bytes or bits is None or member.is_bitfield,
            unnamed=member.unnamed_bits or (),
            type=member.type.left,
            after=member.type.right,
            dims=member.dims,
            element=member.flexible_bits,
            flattened=member.is_flattened,
            align=member.align,
            aligned=member.requested_align,
            alignments=possible_alignments.values(member.possible),
            function=member.is_function_pointer,
            underlying=tuple(map(_type_text, member.underlying_types)),
            file=own_file,
            of=reference,
            aggregate=None if reference else member.aggregate,
            fields=inner,
        )

    def _members(self, member: Field, file: str | None) -> tuple[str, tuple[FieldRecord, ...]]:
        """Return what the type of a field is called, or its members if it has no name."""
        if not member.members or member.aggregate is None:
            return "", ()
        name = _type_name(member)
        if name is None:
            return "", self._fields(member.members, file)
        key = id(member.members), name
        if key not in self._references:
            self._references[key] = member.members, self._reference(name, member)
        return self._references[key][1], ()

    def _reference(self, name: str, member: Field) -> str:
        source = next(_sources(member.members), None)
        file = None if source is None else self._file_name(source.file)
        fields = self._fields(member.members, file)
        bodies = self._by_name[name]
        for body in bodies:
            known = body.record
            if (known.aggregate, known.file, known.fields) == (member.aggregate, file, fields):
                return known.reference
        number = len(bodies) + 1
        aggregate = member.aggregate or "struct"
        bodies.append(
            _Body(
                StructRecord(
                    name=name, number=number, aggregate=aggregate, embedded=True, file=file, fields=fields
                )
            )
        )
        return reference(name, number)


def _drop_lines(record: StructRecord) -> StructRecord:
    return replace(record, number=1)


def _type_name(member: Field) -> str | None:
    """Return the name of the type with the members of a field: its tag, else the innermost typedef."""
    spellings = (strip_qualifiers(member.type), *member.underlying_types)
    named = [each.left for each in spellings if not each.is_untagged]
    return named[-1] if named else None


def _sources(members: tuple[Field, ...]) -> Iterator[Source]:
    """Yield where fields are declared, also those of unnamed members."""
    for member in members:
        if member.source is not None:
            yield member.source
        elif member.type.is_untagged:
            yield from _sources(member.members)


def _type_text(ctype: CType) -> str | tuple[str, str]:
    return (ctype.left, ctype.right) if ctype.right else ctype.left


def _whole_bytes(struct: Struct) -> int | None:
    return None if struct.bit_size is None else struct.bit_size // 8


def _decisive_alignments(struct: Struct) -> int:
    """Return the alignments of a struct as their sum; 0 if its fields show them without their lines."""
    if not struct.unstated:
        return struct.possible
    bare = replace(struct, aliases=())
    _, every = possible_alignments.struct_alignments(bare, struct.bit_size or 0)
    plain = replace(bare, fields=tuple(map(_drop_line, struct.fields)), possible=0)
    _, shown = possible_alignments.struct_alignments(plain, struct.bit_size or 0)
    return 0 if every == shown else every


def _drop_line(member: Field) -> Field:
    if member.source is None or member.source.line is None:
        return member
    return replace(member, source=Source(member.source.file))


def _head_lines(document: Document) -> Iterator[str]:
    """Yield the facts on the whole input, one value a line, up to the list of structs."""
    keys = msgspec.to_builtins(replace(document, structs=(), config=None))
    yield "{"
    for key, value in keys.items():
        if isinstance(value, (list, tuple)) and value:
            yield f"{_json(key)}: ["
            yield from _encode_values(value)
            yield "],"
        else:
            yield f"{_json(key)}: {_json(value)},"
    yield '"structs": ['


def _config_lines(config: tuple[str, ...] | None) -> Iterator[str]:
    """Yield the end of a snapshot: a configuration can be longer than all structs."""
    if config is None:
        yield "]}"
        return
    yield "],"
    yield '"config": ['
    yield from _encode_values(config)
    yield "]}"


def _encode_values(values: Iterable[object]) -> Iterator[str]:
    texts = [f"  {_json(value)}" for value in values]
    yield from (f"{text}," for text in texts[:-1])
    yield from texts[-1:]


def _lines(record: StructRecord | FieldRecord, indent: str) -> Iterator[str]:
    """Yield a struct, or a field with members, with each field on a line of its own."""
    head = _json(replace(record, fields=()))
    if not record.fields:
        yield indent + head
        return
    yield f'{indent}{head[:-1]}, "fields": ['
    last = len(record.fields) - 1
    for position, member in enumerate(record.fields):
        own = list(_lines(member, f"{indent}  "))
        yield from own[:-1]
        yield own[-1] + ("," if position < last else "")
    yield f"{indent}]}}"


def _json(value: object) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=0).decode()
