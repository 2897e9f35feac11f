"""Format `c` of `show`: declarations with offsets and sizes in comments, as pahole prints them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise, zip_longest
from typing import NamedTuple

from layoutlint import escapes
from layoutlint.geometry.layout import Layout
from layoutlint.model.ctype import CType
from layoutlint.model.record import Record
from layoutlint.model.structs import Field, Struct
from layoutlint.reports.layout_phrases import defining_files, order
from layoutlint.reports.show.options import ShowOptions

_TYPE_WIDTH = 26
_NAME_WIDTH = 23
_UNION_NAME_WIDTH = 21
_TAB = 8
_ADJACENT_STARS = re.compile(r"\*(?=\*)")
_QUALIFIED_POINTEE = re.compile(r"\b((?:const|volatile) (?!\*)[\w ]*\w) (?=[*(])")
_QUALIFIED_PARAMETER = re.compile(r"\b((?:const|volatile) [\w ]*\w)(?=[,)])")
_NUMBERED = re.compile(r"(?:^|\D)(8|16|32|64)(?:_t)?$")
_LONGEST = 4096
"""Characters of a type that is respaced; only damaged inputs have longer ones."""
# Bytes in the storage unit of a bit-field, by the spelling of its type (System V psABI).
_UNITS = {
    "char": 1, "signed char": 1, "unsigned char": 1, "_Bool": 1, "bool": 1, "u_char": 1,
    "short int": 2, "short unsigned int": 2, "u_short": 2, "ushort": 2,
    "int": 4, "unsigned int": 4, "uint": 4, "u_int": 4,
    "long int": 8, "long unsigned int": 8, "long long int": 8, "long long unsigned int": 8, "ulong": 8,
}  # fmt: skip


def render(structs: tuple[Struct, ...], options: ShowOptions) -> Iterator[str]:
    """Yield a declaration for each struct; anonymous types are printed inside it."""
    for struct in structs:
        yield escapes.lines(_struct(struct, options))


def _struct(struct: Struct, options: ShowOptions) -> Iterator[str]:
    if struct.files:
        yield f"/* in {defining_files(struct.files).replace('*/', '* /')} */"
    if struct.randomised is not None:
        yield f"/* {order(struct.randomised)} */"
    if struct.problem is not None:
        problem = struct.problem.replace("*/", "* /")
        yield f"{struct.aggregate} {struct.name}; /* size: ??, layout unreliable: {problem} */"
        return
    if struct.bit_size is None:
        yield f"{struct.aggregate} {struct.name}; /* size: ??, declared but not defined */"
        return
    is_union = struct.aggregate == "union"
    line_size = options.line_size or struct.target.line_size
    printer = _Printer(struct.target.pointer_size, line_size, _UNION_NAME_WIDTH if is_union else _NAME_WIDTH)
    inside = printer.open(struct.fields, struct.bit_size, is_union)
    yield f"{struct.aggregate} {struct.name} {{"
    yield from printer.body(inside, 1, 0, is_union)
    if not is_union:
        yield from _trailer(struct, inside, line_size)
    yield f"}}{_attributes(struct)};"


class _Member(Record):
    """A member, and the offset of its first byte (for a bit-field, of its storage unit) in its struct."""

    field: Field
    start: int
    size: int | None
    """Bytes in the member or its storage unit; None if unknown."""
    bit: int | None = None
    """Bits from the start of the storage unit; None if it is no bit-field."""
    hole: int = 0
    """Bytes after it that no member covers."""
    bit_hole: int = 0
    """Bits of its storage unit after it that no member covers."""
    padding: int = 0
    """Bytes of padding at the end of its struct type."""
    unit_end: int = 0
    """End (exclusive) of the storage unit that is open after it, in bytes; 0 if it is no bit-field."""
    forced: int | None = None
    """Its alignment in bytes if larger than that of its type; else None."""

    @property
    def bits(self) -> int | None:
        """The width of a bit-field in bits; None for other members."""
        return None if self.bit is None else self.field.bit_size


class _Block(Record, frozen=True):
    """The members between the braces of a struct or union, and its padding."""

    members: tuple[_Member, ...]
    padding: int = 0
    bit_padding: int = 0


def _block(fields: tuple[Field, ...], bit_size: int | None, pointer_size: int) -> _Block:
    """Return the members of a struct of `bit_size` bits, with the holes between them."""
    members = tuple(_member(field, pointer_size) for field in fields)
    if bit_size is None:
        return _Block(members)
    walk = _MemberWalk()
    last: _Member | None = None
    for member in members:
        hole, bit_hole = walk.step(member)
        if last is not None:
            last.hole, last.bit_hole = hole, bit_hole
        last = member
    bit_padding = walk.finish(bit_size)
    return _Block(members, bit_size // 8 - walk.covered // 8, bit_padding)


def _union_block(fields: tuple[Field, ...], pointer_size: int) -> _Block:
    """Return the members of a union."""
    return _Block(tuple(_member(field, pointer_size) for field in fields))


def _natural(field: Field) -> int:
    """Return the natural alignment of a member's type in bytes, without `aligned` attributes."""
    if field.is_bitfield:
        return 1
    if field.aggregate is not None:
        return max((_natural(inner) for inner in field.members), default=1)
    size = _element_size(field)
    if not size or field.align is None:
        return field.align or 1
    return min(field.align, size & -size)


def _element_size(field: Field) -> int:
    """Return the bytes in a member, or in one element of an array; 0 if unknown."""
    size = (field.bit_size or 0) // 8
    for count in field.dims:
        if not count:
            return 0
        size //= count
    return size


class _Declaration(NamedTuple):
    """A declaration in two columns: the type, and the declarator without the semicolon."""

    type: str
    name: str


def declaration(kind: CType, name: str) -> _Declaration:
    """Declare `name` with a type: `void` and `(*name)(int)` for a pointer to a function."""
    prefix, after = _add_blanks(kind.left), _add_blanks(kind.right)
    paren = prefix.rfind("(*")
    if paren < 0:
        return _Declaration(prefix, name + after)
    glue = "" if prefix.endswith(("*", "(")) else " "
    return _Declaration(prefix[:paren].rstrip(), f"{prefix[paren:]}{glue}{name}{after}")


def _add_blanks(text: str) -> str:
    """Return a type with pahole's blanks: one between stars, and one more after a qualified name."""
    if len(text) > _LONGEST:
        return text
    text = _QUALIFIED_POINTEE.sub(r"\1  ", _ADJACENT_STARS.sub("* ", text))
    return _QUALIFIED_PARAMETER.sub(r"\1 ", text)


def _unit_size(member: Field, pointer_size: int) -> int:
    """Return the bytes in the storage unit of a bit-field.

    Inputs do not state it: it is taken from the spelling of the type, or else is the smallest unit that
    holds the field.
    """
    name = member.type.left.removeprefix("const ").removeprefix("volatile ")
    if name.startswith("enum "):
        return 4
    if name in _UNITS:
        return pointer_size if name in ("long int", "long unsigned int", "ulong") else _UNITS[name]
    numbered = _NUMBERED.search(name)
    if numbered is not None:
        return int(numbered[1]) // 8
    return _smallest_unit(member)


def _smallest_unit(member: Field) -> int:
    size = 1
    first, last = member.bit_offset, member.bit_offset + max(member.bit_size or 1, 1) - 1
    while size < 8 and first // (size * 8) != last // (size * 8):
        size *= 2
    return size


def _member(field: Field, pointer_size: int) -> _Member:
    if field.is_bitfield:
        size = _unit_size(field, pointer_size)
        start = field.bit_offset // (size * 8) * size
        return _Member(field, start, size, field.bit_offset - start * 8)
    size_known = None if field.bit_size is None else field.bit_size // 8
    member = _Member(field, field.bit_offset // 8, size_known)
    if field.aggregate == "struct" and not field.dims and field.bit_size:
        member.padding = _block(field.members, field.bit_size, pointer_size).padding
    if field.align is not None and field.align > _natural(field):
        member.forced = field.align
    return member


class _MemberWalk(Record):
    """A pass over the members in declared order; `covered` is the end (exclusive) of the bits so far."""

    covered: int = 0
    unit_end: int | None = None
    """End (exclusive) of the open storage unit of bit-fields, in bits; None if none is open."""
    unit_bits: int = 0

    def step(self, member: _Member) -> tuple[int, int]:
        """Return the whole bytes and the bits between the covered bits and a member."""
        start = member.field.bit_offset
        bits = self._leave_unit(start)
        if member.bit is None:
            hole = start // 8 - self.covered // 8
            self.covered = start + (member.field.bit_size or 0)
            self.unit_end, self.unit_bits = None, 0
            return hole, bits
        hole, unit_start = 0, member.start * 8
        if self.covered < unit_start <= start:
            hole = member.start - self.covered // 8
            self.covered = unit_start
        bits += start - self.covered
        self.covered = start + (member.field.bit_size or 0)
        self._enter_unit(member)
        return hole, bits

    def _leave_unit(self, start: int) -> int:
        """Close the storage unit at `start`; return its unused bits, which count as covered now."""
        if self.unit_end is None:
            return 0
        end = min(self.unit_end, start)
        rest, self.covered = end - self.covered, end
        return rest

    def _enter_unit(self, member: _Member) -> None:
        """Open a storage unit for a bit-field, or widen the open one."""
        bits = (member.size or 0) * 8
        if self.unit_end is None or self.covered > self.unit_end or bits > self.unit_bits:
            self.unit_bits, self.unit_end = bits, member.start * 8 + bits
            if self.covered > self.unit_end:
                self.unit_end += bits
        member.unit_end = self.unit_end // 8

    def finish(self, bit_size: int) -> int:
        """Return the unused bits of the last storage unit at the end of the struct."""
        return self._leave_unit(bit_size)


class _Printer(Record):
    """Prints members; keeps track of the current cache line across nested structs."""

    pointer_size: int
    line_size: int
    name_width: int
    line: int = 0

    def open(self, fields: tuple[Field, ...], bit_size: int | None, is_union: bool) -> _Block:
        """Return the members between the braces of a struct or union."""
        if is_union:
            return _union_block(fields, self.pointer_size)
        return _block(fields, bit_size, self.pointer_size)

    def body(self, inside: _Block, depth: int, base: int, is_union: bool) -> Iterator[str]:
        """Yield the lines between the braces of a struct at byte `base` of the outermost struct."""
        if is_union:
            yield from self._alternatives(inside, depth, base)
            return
        for member, following in zip_longest(inside.members, inside.members[1:]):
            yield from self._boundary(base + member.start, depth)
            yield from self._member(member, depth, base)
            yield from self._gap_after(member, following, depth)

    def _alternatives(self, inside: _Block, depth: int, base: int) -> Iterator[str]:
        """Yield the members of a union, each of which starts on the line of the union."""
        line = self.line
        for member in inside.members:
            yield from self._member(member, depth, base)
            self.line = line

    def _gap_after(self, last: _Member, following: _Member | None, depth: int) -> Iterator[str]:
        """Yield the remarks after a member: its padding, and the hole and unnamed bits after it."""
        remarks = list(_remarks(last, following))
        tabs = "\t" * depth
        if remarks:
            yield ""
            yield from (f"{tabs}/* {remark} */" for remark in remarks)
        if following is None:
            # The totals of the outermost struct start with a blank line.
            return
        unnamed = f"{tabs}{declaration(following.field.type, '').type:<{self._type_width(depth)}} "
        if last.bit_hole and following.bit:
            yield f"{unnamed}:{last.bit_hole};"
        if remarks:
            yield ""
        if last.bit_hole and following.bit == 0:
            yield f"{tabs}/* Force alignment to the next boundary: */"
            yield f"{unnamed}:0;"
            yield ""

    def _boundary(self, offset: int, depth: int) -> Iterator[str]:
        """Yield a remark if a member starts on a later cache line than all members so far."""
        reached = offset // self.line_size
        if reached > self.line:
            self.line = reached
            start = reached * self.line_size
            ago = f" was {_bytes(offset - start)} ago" if offset > start else ""
            yield "\t" * depth + f"/* --- cacheline {reached} boundary ({start} bytes){ago} --- */"

    def _member(self, member: _Member, depth: int, base: int) -> Iterator[str]:
        field, tabs, width = member.field, "\t" * depth, self._width(depth)
        forced = f" __attribute__((__aligned__({member.forced})))" if member.forced else ""
        if field.aggregate and field.type.is_untagged:
            yield f"{tabs}{field.type.head}"
            is_union = field.aggregate == "union"
            inside = self.open(field.members, None if field.dims else field.bit_size, is_union)
            yield from self.body(inside, depth + 1, base + member.start, is_union)
            name = f" {field.name}{field.type.right}" if field.name is not None else ""
            text = f"}}{name}{forced};"
            # pahole does not align the comment of an array of such structs.
            width = 0 if field.dims else width
        else:
            declared = declaration(field.type, field.name or "")
            bits = f":{member.bits}" if member.bit is not None else ""
            text = f"{declared.type:<{self._type_width(depth)}} {declared.name}{bits}{forced};"
        yield f"{tabs}{text:<{width}} {_place(member, base)}"

    def _type_width(self, depth: int) -> int:
        # pahole passes the width to printf, which takes the absolute value of a negative one.
        return abs(_TYPE_WIDTH - _TAB * (depth - 1))

    def _width(self, depth: int) -> int:
        return max(_TYPE_WIDTH - _TAB * (depth - 1) + self.name_width - 1, 0)


def _place(member: _Member, base: int) -> str:
    size = "??" if member.size is None else member.size
    if member.bit is not None:
        return f"/* {base + member.start:>5}:{member.bit:>2} {size:>2} */"
    return f"/* {base + member.start:>5} {size:>5} */"


def _remarks(last: _Member, following: _Member | None) -> Iterator[str]:
    """Yield the remarks on a member's padding, hole and storage unit."""
    if last.padding:
        yield f"XXX last struct has {_bytes(last.padding)} of padding"
    if last.bit_hole:
        yield f"XXX {last.bit_hole} bit{_s(last.bit_hole)} hole, try to pack"
    if last.hole > 0:
        yield f"XXX {_bytes(last.hole)} hole, try to pack"
    if following is not None:
        yield from _unit_sharing(last, following)


def _unit_sharing(last: _Member, following: _Member) -> list[str]:
    """Return a remark if a bit-field shares its storage unit with a neighbour."""
    if following.bit is not None and (
        following.start < last.start or (following.start == last.start and last.bit is None and last.size)
    ):
        return ["Bitfield combined with previous fields"]
    if last.start < following.start < last.unit_end:
        return ["Bitfield combined with next fields"]
    return []


def _trailer(struct: Struct, inside: _Block, line_size: int) -> Iterator[str]:
    """Yield the totals at the end of a struct."""
    size = (struct.bit_size or 0) // 8
    yield ""
    yield f"\t/* size: {size}, cachelines: {-(-size // line_size)}, members: {len(inside.members)} */"
    yield from (f"\t/* {remark} */" for remark in _sums(inside.members))
    if inside.padding:
        yield f"\t/* padding: {inside.padding} */"
    padded = [member.padding for member in inside.members if member.padding]
    if padded:
        yield f"\t/* paddings: {len(padded)}, sum paddings: {sum(padded)} */"
    if inside.bit_padding:
        yield f"\t/* bit_padding: {inside.bit_padding} bits */"
    yield from _forced_alignments(inside.members)
    if size % line_size:
        yield f"\t/* last cacheline: {size % line_size} bytes */"


def _sums(members: tuple[_Member, ...]) -> Iterator[str]:
    """Yield the bytes and bits of fields and holes, if there are holes."""
    holes = [member.hole for member in members if member.hole > 0]
    bit_holes = [member.bit_hole for member in members if member.bit_hole]
    if not holes and not bit_holes:
        return
    bytes_held = sum(member.size or 0 for member in members if member.bit is None)
    bits = sum(member.bits or 0 for member in members)
    if bytes_held:
        hole_words = f", holes: {len(holes)}, sum holes: {sum(holes)}" if holes else ""
        yield f"sum members: {bytes_held}{hole_words}"
    if bits:
        hole_words = (
            f", bit holes: {len(bit_holes)}, sum bit holes: {sum(bit_holes)} bits" if bit_holes else ""
        )
        yield f"sum bitfield members: {bits} bits{hole_words or f' ({bits // 8} bytes)'}"


def _forced_alignments(members: tuple[_Member, ...]) -> Iterator[str]:
    count = sum(member.forced is not None for member in members)
    if not count:
        return
    gaps = [last.hole for last, member in pairwise(members) if member.forced and last.hole]
    holes = f", forced holes: {len(gaps)}, sum forced holes: {sum(gaps)}" if gaps else ""
    yield f"\t/* forced alignments: {count}{holes} */"


def _attributes(struct: Struct) -> str:
    """Return the attributes of a struct that its layout implies."""
    layout = Layout(struct)
    largest = max((field.align or 1 for field in struct.fields if not field.is_bitfield), default=1)
    words = ""
    is_packed = any(
        field.bit_offset % ((field.align or 1) * 8) for field in struct.fields if not field.is_bitfield
    )
    if is_packed or layout.size % largest:
        words += " __attribute__((__packed__))"
    required = (field.align or 1 if field.is_bitfield else _natural(field) for field in struct.fields)
    own = max(required, default=1)
    align = (layout.suggested_align or layout.align).value
    if align > own and not is_packed:
        words += f" __attribute__((__aligned__({align})))"
    return words


def _bytes(number: int) -> str:
    return f"{number} byte{_s(number)}"


def _s(number: int) -> str:
    return "" if number == 1 else "s"
