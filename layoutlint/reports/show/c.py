"""Format `c` of `show`: declarations with offsets and sizes in comments, as pahole prints them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, zip_longest

from layoutlint import escapes
from layoutlint.geometry.layout import Layout
from layoutlint.model.record import Record
from layoutlint.model.structs import Field, Struct
from layoutlint.reports.layout_phrases import defining_files, order
from layoutlint.reports.show.c_members import Block, Member, block, natural, union_block
from layoutlint.reports.show.c_types import declaration
from layoutlint.reports.show.options import ShowOptions

_TYPE_WIDTH = 26
_NAME_WIDTH = 23
_UNION_NAME_WIDTH = 21
_TAB = 8


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


class _Printer(Record):
    """Prints members; keeps track of the current cache line across nested structs."""

    pointer_size: int
    line_size: int
    name_width: int
    line: int = 0

    def open(self, fields: tuple[Field, ...], bit_size: int | None, is_union: bool) -> Block:
        """Return the members between the braces of a struct or union."""
        if is_union:
            return union_block(fields, self.pointer_size)
        return block(fields, bit_size, self.pointer_size)

    def body(self, inside: Block, depth: int, base: int, is_union: bool) -> Iterator[str]:
        """Yield the lines between the braces of a struct at byte `base` of the outermost struct."""
        if is_union:
            yield from self._alternatives(inside, depth, base)
            return
        for member, following in zip_longest(inside.members, inside.members[1:]):
            yield from self._boundary(base + member.start, depth)
            yield from self._member(member, depth, base)
            yield from self._gap_after(member, following, depth)

    def _alternatives(self, inside: Block, depth: int, base: int) -> Iterator[str]:
        """Yield the members of a union, each of which starts on the line of the union."""
        line = self.line
        for member in inside.members:
            yield from self._member(member, depth, base)
            self.line = line

    def _gap_after(self, last: Member, following: Member | None, depth: int) -> Iterator[str]:
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

    def _member(self, member: Member, depth: int, base: int) -> Iterator[str]:
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


def _place(member: Member, base: int) -> str:
    size = "??" if member.size is None else member.size
    if member.bit is not None:
        return f"/* {base + member.start:>5}:{member.bit:>2} {size:>2} */"
    return f"/* {base + member.start:>5} {size:>5} */"


def _remarks(last: Member, following: Member | None) -> Iterator[str]:
    """Yield the remarks on a member's padding, hole and storage unit."""
    if last.padding:
        yield f"XXX last struct has {_bytes(last.padding)} of padding"
    if last.bit_hole:
        yield f"XXX {last.bit_hole} bit{_s(last.bit_hole)} hole, try to pack"
    if last.hole > 0:
        yield f"XXX {_bytes(last.hole)} hole, try to pack"
    if following is not None:
        yield from _unit_sharing(last, following)


def _unit_sharing(last: Member, following: Member) -> list[str]:
    """Return a remark if a bit-field shares its storage unit with a neighbour."""
    if following.bit is not None and (
        following.start < last.start or (following.start == last.start and last.bit is None and last.size)
    ):
        return ["Bitfield combined with previous fields"]
    if last.start < following.start < last.unit_end:
        return ["Bitfield combined with next fields"]
    return []


def _trailer(struct: Struct, inside: Block, line_size: int) -> Iterator[str]:
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


def _sums(members: tuple[Member, ...]) -> Iterator[str]:
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


def _forced_alignments(members: tuple[Member, ...]) -> Iterator[str]:
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
    required = (field.align or 1 if field.is_bitfield else natural(field) for field in struct.fields)
    own = max(required, default=1)
    align = (layout.suggested_align or layout.align).value
    if align > own and not is_packed:
        words += f" __attribute__((__aligned__({align})))"
    return words


def _bytes(number: int) -> str:
    return f"{number} byte{_s(number)}"


def _s(number: int) -> str:
    return "" if number == 1 else "s"
