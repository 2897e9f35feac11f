"""Format `c` of `show`: declarations with places in comments, which read like pahole's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, zip_longest

from layoutlint import escapes
from layoutlint.geometry.layout import Layout
from layoutlint.model.structs import Field, Struct
from layoutlint.reports.layout_phrases import found_in, order
from layoutlint.reports.show.c_members import Block, Member, block, natural, unholed
from layoutlint.reports.show.c_types import declaration
from layoutlint.reports.show.options import ShowOptions

_TYPE_WIDTH = 26
_NAME_WIDTH = 23
_UNION_NAME_WIDTH = 21
_TAB = 8


def render(structs: tuple[Struct, ...], options: ShowOptions) -> Iterator[str]:
    """One declaration per struct; those of anonymous types are written out where they stand."""
    for struct in structs:
        yield escapes.lines(_struct(struct, options))


def _struct(struct: Struct, options: ShowOptions) -> Iterator[str]:
    if struct.files:
        yield f"/* in {found_in(struct.files).replace('*/', '* /')} */"
    if struct.randomised is not None:
        yield f"/* {order(struct.randomised)} */"
    if struct.problem is not None:
        yield f"/* cannot be believed: {struct.problem.replace('*/', '* /')} */"
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


@dataclass(slots=True)
class _Printer:
    """Prints members; remembers the cache line that was reached, over all depths."""

    pointer_size: int
    line_size: int
    name_width: int
    line: int = 0

    def open(self, fields: tuple[Field, ...], bit_size: int | None, is_union: bool) -> Block:
        """What stands between the braces of a struct or union."""
        if is_union:
            return unholed(fields, self.pointer_size)
        return block(fields, bit_size, self.pointer_size)

    def body(self, inside: Block, depth: int, base: int, is_union: bool) -> Iterator[str]:
        """The lines between the braces of something that starts at byte `base` of the outermost struct."""
        if is_union:
            yield from self._alternatives(inside, depth, base)
            return
        for member, following in zip_longest(inside.members, inside.members[1:]):
            yield from self._boundary(base + member.start, depth)
            yield from self._member(member, depth, base)
            yield from self._between(member, following, depth)

    def _alternatives(self, inside: Block, depth: int, base: int) -> Iterator[str]:
        """The members of a union, each of which starts on the line on which the union does."""
        line = self.line
        for member in inside.members:
            yield from self._member(member, depth, base)
            self.line = line

    def _between(self, last: Member, following: Member | None, depth: int) -> Iterator[str]:
        """What is said behind a member: padding inside it, and the hole and units up to the next one."""
        remarks = list(_remarks(last, following))
        tabs = "\t" * depth
        if remarks:
            yield ""
            yield from (f"{tabs}/* {remark} */" for remark in remarks)
        if following is None:
            # The figures of the outermost struct bring their own blank line.
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
        """A remark where a member is the first that starts on another line than all before it."""
        reached = offset // self.line_size
        if reached > self.line:
            self.line = reached
            start = reached * self.line_size
            ago = f" was {_bytes(offset - start)} ago" if offset > start else ""
            yield "\t" * depth + f"/* --- cacheline {reached} boundary ({start} bytes){ago} --- */"

    def _member(self, member: Member, depth: int, base: int) -> Iterator[str]:
        field, tabs, width = member.field, "\t" * depth, self._width(depth)
        forced = f" __attribute__((__aligned__({member.forced})))" if member.forced else ""
        if field.aggregate and field.type.left.endswith("{...}"):
            yield f"{tabs}{field.type.left.replace('{...}', '{')}"
            is_union = field.aggregate == "union"
            inside = self.open(field.members, None if field.dims else field.bit_size, is_union)
            yield from self.body(inside, depth + 1, base + member.start, is_union)
            name = f" {field.name}{field.type.right}" if field.name is not None else ""
            text = f"}}{name}{forced};"
            # pahole sets the place of an array of such structs right behind it.
            width = 0 if field.dims else width
        else:
            declared = declaration(field.type, field.name or "")
            bits = f":{member.bits}" if member.bit is not None else ""
            text = f"{declared.type:<{self._type_width(depth)}} {declared.name}{bits}{forced};"
        yield f"{tabs}{text:<{width}} {_place(member, base)}"

    def _type_width(self, depth: int) -> int:
        # pahole gives the shrinking width to printf, where a negative one means its amount.
        return abs(_TYPE_WIDTH - _TAB * (depth - 1))

    def _width(self, depth: int) -> int:
        return max(_TYPE_WIDTH - _TAB * (depth - 1) + self.name_width - 1, 0)


def _place(member: Member, base: int) -> str:
    size = "??" if member.size is None else member.size
    if member.bit is not None:
        return f"/* {base + member.start:>5}:{member.bit:>2} {size:>2} */"
    return f"/* {base + member.start:>5} {size:>5} */"


def _remarks(last: Member, following: Member | None) -> Iterator[str]:
    """What stands behind a member before the next one."""
    if last.padding:
        yield f"XXX last struct has {_bytes(last.padding)} of padding"
    if last.bit_hole:
        yield f"XXX {last.bit_hole} bit{_s(last.bit_hole)} hole, try to pack"
    if last.hole > 0:
        yield f"XXX {_bytes(last.hole)} hole, try to pack"
    if following is not None:
        yield from _combined(last, following)


def _combined(last: Member, following: Member) -> list[str]:
    """Whether the storage unit of a bit-field is also that of its neighbour."""
    if following.bit is not None and (
        following.start < last.start or (following.start == last.start and last.bit is None and last.size)
    ):
        return ["Bitfield combined with previous fields"]
    if last.start < following.start < last.unit_end:
        return ["Bitfield combined with next fields"]
    return []


def _trailer(struct: Struct, inside: Block, line_size: int) -> Iterator[str]:
    """The figures at the end of a struct."""
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
    yield from _forced(inside.members)
    if size % line_size:
        yield f"\t/* last cacheline: {size % line_size} bytes */"


def _sums(members: tuple[Member, ...]) -> Iterator[str]:
    """How many bytes and bits fields and holes take, where there are holes."""
    holes = [member.hole for member in members if member.hole > 0]
    bit_holes = [member.bit_hole for member in members if member.bit_hole]
    if not holes and not bit_holes:
        return
    held = sum(member.size or 0 for member in members if member.bit is None)
    bits = sum(member.bits or 0 for member in members)
    if held:
        said = f", holes: {len(holes)}, sum holes: {sum(holes)}" if holes else ""
        yield f"sum members: {held}{said}"
    if bits:
        said = f", bit holes: {len(bit_holes)}, sum bit holes: {sum(bit_holes)} bits" if bit_holes else ""
        yield f"sum bitfield members: {bits} bits{said or f' ({bits // 8} bytes)'}"


def _forced(members: tuple[Member, ...]) -> Iterator[str]:
    count = sum(member.forced is not None for member in members)
    if not count:
        return
    before = [last.hole for last, member in pairwise(members) if member.forced and last.hole]
    holes = f", forced holes: {len(before)}, sum forced holes: {sum(before)}" if before else ""
    yield f"\t/* forced alignments: {count}{holes} */"


def _attributes(struct: Struct) -> str:
    """What the layout shows of the struct's own attributes."""
    layout = Layout(struct)
    largest = max((field.align or 1 for field in struct.fields if not field.is_bitfield), default=1)
    words = ""
    is_packed = any(
        field.bit_offset % ((field.align or 1) * 8) for field in struct.fields if not field.is_bitfield
    )
    if is_packed or layout.size % largest:
        words += " __attribute__((__packed__))"
    asked = (field.align or 1 if field.is_bitfield else natural(field) for field in struct.fields)
    own = max(asked, default=1)
    align = (layout.suggested_align or layout.align).value
    if align > own and not is_packed:
        words += f" __attribute__((__aligned__({align})))"
    return words


def _bytes(number: int) -> str:
    return f"{number} byte{_s(number)}"


def _s(number: int) -> str:
    return "" if number == 1 else "s"
