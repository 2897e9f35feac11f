"""Format `text` of `show`: a table with lines, holes, padding and straddles marked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle

from layoutlint.geometry import placement
from layoutlint.geometry.allocators import LARGEST_CLASS, class_name, kmalloc_class
from layoutlint.geometry.layout import Hole, Layout, Place, flexible_end
from layoutlint.geometry.padding import count_nested_bytes, own_holes, shown_bits
from layoutlint.model.randomised import Chances
from layoutlint.model.record import Record, field
from layoutlint.model.structs import Field, Struct
from layoutlint.phrases import quantity
from layoutlint.reports import allocation_phrases, drawing, styled
from layoutlint.reports.layout_phrases import defining_files, order
from layoutlint.reports.line_map import drawable
from layoutlint.reports.show.options import ShowOptions
from layoutlint.reports.show.starts import object_placements, starts
from layoutlint.reports.styled import Line, Span, line, paragraph

_RULE_LENGTH = 72
_MOST_DRAWINGS, _MOST_DRAWN = 64, 200
"""Places of an object, and lines of each, that are drawn."""


def render(structs: tuple[Struct, ...], options: ShowOptions) -> Iterator[str]:
    """Yield a table for each struct at base 0, with the number of places where its objects can start."""
    for number, struct in enumerate(structs):
        lines = _struct(struct, options)
        text = styled.render_colored(lines) if options.color else styled.render_plain(lines)
        yield ("\n" if number else "") + text


def _struct(struct: Struct, options: ShowOptions) -> Iterator[Line]:
    size = _size(struct, options.line_size or struct.target.line_size)
    head = (f"{struct.aggregate} {struct.name}", "bold")
    yield line(head, f"  {size}" if size else "", (f"  {struct.source}" if struct.source else "", "cyan"))
    if struct.files:
        yield from paragraph("  in ", defining_files(struct.files), options.width)
    if struct.randomised is not None:
        yield from paragraph("  ", order(struct.randomised), options.width)
    if struct.randomised is not None and struct.randomised.chances is not None:
        yield from _chances(struct.randomised.chances, options.line_size or struct.target.line_size, options)
        return
    if struct.problem is not None:
        yield from paragraph("  layout unreliable: ", struct.problem, options.width, "bold magenta")
        return
    if struct.bit_size is None:
        return
    layout = Layout(struct)
    placements = object_placements(layout, options)
    room = _room(layout, placements.line_size, options)
    yield from paragraph("  ", "; ".join((_gaps(layout), *room)), options.width)
    if layout.open_end is None and layout.size:
        for sentence in allocation_phrases.rooms(
            layout, options.storages.get(struct.name, ()), options.min_align
        ):
            yield from paragraph("  ", sentence, options.width)
    where = starts(layout, placements, options)
    yield from paragraph("  ", where + _suggested_alignment(layout, options), options.width)
    yield line()
    indent = "" if options.bases is None else "  "
    yield line((f"{indent}  offset    size  field", "dim"))
    marks = {} if options.bases is None else _marks(drawable(layout, options.expand))
    yield from _FieldTable(layout, placements.line_size, options.expand, marks).rows()
    if options.bases is not None:
        yield from _drawings(layout, placements, marks, options)


def _chances(chances: Chances, line_size: int, options: ShowOptions) -> Iterator[Line]:
    """Yield the share of orders in which each member begins on each line of an object at a line's start."""
    least = "" if chances.smallest == chances.largest else f"{chances.smallest:,} to "
    yield line(f"  {least}{quantity(chances.largest, 'byte')}")
    text = (
        f"shares of {chances.orders:,} orders, drawn as the compiler does, in which a member begins on each "
        f"line of {max(line_size, chances.step)} bytes, for an object at the start of a line (a share "
        "is within 4 points of the true one, with a confidence of 99 %)"
    )
    yield from paragraph("  ", text, options.width)
    shares = [(member, _line_shares(member.starts, chances, line_size)) for member in chances.members]
    used = [
        number for number, column in enumerate(zip(*(own for _, own in shares), strict=True)) if any(column)
    ]
    shown = used[: max(1, (options.width - 40) // 6)]
    yield line()
    numbers = "".join(f"{number:>6}" for number in shown)
    yield line((f"    size{numbers}  member", "dim"))
    for each, own in shares:
        yield line(f"  {each.size:>6}", *(_share(own[number]) for number in shown), f"  {each.name}")
    if len(shown) < len(used):
        left = len(used) - len(shown)
        yield line(f"  {left} further lines do not fit: --width, --html and --format json have them")


def _line_shares(starts: Sequence[int], chances: Chances, line_size: int) -> list[float]:
    """Return the share of orders for each line, from the numbers for each step."""
    per_line = max(1, line_size // chances.step)
    return [sum(starts[at : at + per_line]) / chances.orders for at in range(0, len(starts), per_line)]


def _share(share: float) -> Span:
    """Return a share in percent; nothing for none."""
    text = "" if not share else "<1%" if share < 0.005 else f"{share:.0%}"
    return f"{text:>6}", "bold" if share >= 0.5 else ""


def _marks(places: Sequence[Place]) -> dict[str, str]:
    """Return a letter for each field; after `Z` and `z`, the letters begin again."""
    return {place.path: letter for place, letter in zip(places, cycle(drawing.LETTERS), strict=False)}


def _drawings(
    layout: Layout, placements: placement.Placements, marks: dict[str, str], options: ShowOptions
) -> Iterator[Line]:
    """Yield the lines of an object at each of some bases, a character for each byte."""
    places, size = drawable(layout, options.expand), placements.line_size
    bases = options.bases or placements.bases
    for base in bases[:_MOST_DRAWINGS]:
        yield line()
        legend = " (`-` a hole or padding)" if base == bases[0] else ""
        yield line((f"  an object at byte {base} of a {size}-byte line{legend}:", "bold"))
        yield from drawing.draw(layout, places, base, size, options.width, marks, _MOST_DRAWN)
    if len(bases) > _MOST_DRAWINGS:
        yield line(f"  ... ({len(bases) - _MOST_DRAWINGS} further places are not drawn)")


def _size(struct: Struct, line_size: int) -> str:
    """Return the size in bytes and lines, of a struct that has one."""
    has_chances = struct.randomised is not None and struct.randomised.chances is not None
    if struct.problem is not None or has_chances:
        return ""
    if struct.bit_size is None:
        return "size ??: declared but not defined"
    size = struct.bit_size // 8
    return f"{quantity(size, 'byte')}, {quantity(-(-size // line_size), 'line')} of {line_size}"


def _gaps(layout: Layout) -> str:
    """Return the holes and padding of a struct, with their bytes."""
    whole = [hole.size for hole in layout.holes if hole.is_whole]
    words = [f"{quantity(len(whole), 'hole')}, {quantity(sum(whole), 'byte')}"] if whole else ["no holes"]
    if layout.bit_padding >= 8:
        words.append(f"{quantity(layout.bit_padding // 8, 'byte')} of padding")
    nested = count_nested_bytes(layout)
    if nested:
        words.append(f"{quantity(nested, 'byte')} of padding inside members")
    return "; ".join(words)


def _room(layout: Layout, line_size: int, options: ShowOptions) -> Iterator[str]:
    """Yield how many bytes a struct can grow before it takes another line, or a larger block of kmalloc."""
    if layout.open_end is not None or not layout.size:
        return
    if free := -layout.size % line_size:
        yield f"{quantity(free, 'byte')} free on its last line"
    is_stated = layout.struct.name in options.storages
    if not is_stated and options.is_kernel and layout.size <= LARGEST_CLASS:
        request = placement.allocation_request(layout, options.min_align)
        block = kmalloc_class(request.size, request.smallest_class)
        yield f"{block - layout.size} left in {class_name(block)}"


def _suggested_alignment(layout: Layout, options: ShowOptions) -> str:
    """Return the alignment that gaps suggest, if the one that counts is assumed; else nothing."""
    suggested = None if layout.struct.name in options.stated else layout.suggested_align
    return "" if suggested is None else f"; {suggested.value} is {suggested.basis}"


def _flexible_note(member: Field) -> str:
    """Return a note on a member held by value that ends in a flexible array; empty for others."""
    array = flexible_end(member) if member.name is not None else None
    return "" if array is None else f"  (ends in the flexible array {array.path})"


class _FieldTable(Record):
    """The rows of one struct; keeps track of the holes and line boundaries already printed."""

    layout: Layout
    line_size: int
    expand: bool
    marks: Mapping[str, str] = {}
    """The letters of fields in drawings, by path; empty without drawings."""
    line: int = 0
    holes: list[Hole] = field(default_factory=list)

    def rows(self) -> Iterator[Line]:
        """Yield all rows, each hole before the field that follows it."""
        struct, end = self.layout.struct, self.layout.bit_size - self.layout.bit_padding
        self.holes = [*(own_holes(struct.fields, 0, end) if self.expand else self.layout.holes)][::-1]
        yield from self._members(struct.fields, "", 0, 0, struct.aggregate == "union")
        while self.holes:  # the padding of the last member
            yield from self._gap(self.holes.pop(), "hole")
        if self.layout.bit_padding:
            start = self.layout.bit_size - self.layout.bit_padding
            yield from self._gap(Hole(start, self.layout.bit_padding), "padding")
        yield from self._boundary(self.layout.bit_size - 1)

    def _members(
        self, fields: tuple[Field, ...], prefix: str, base: int, depth: int, is_union: bool
    ) -> Iterator[Line]:
        for member in fields:
            name = f"{prefix}{member.name}" if member.name is not None else ""
            place = Place(name, base + member.bit_offset, member.bit_size, member)
            yield from self._gaps_before(place)
            yield self._row(place, depth)
            is_opened = member.name is None or (self.expand and bool(member.members))
            if is_opened:
                inner = prefix if member.name is None else f"{name}."
                inner_union = member.aggregate == "union"
                pending, bits = len(self.holes), shown_bits(member) if self.expand else 0
                if bits:
                    self.holes += [*own_holes(member.members, place.bit_offset, bits)][::-1]
                yield from self._members(member.members, inner, place.bit_offset, depth + 1, inner_union)
                while len(self.holes) > pending:
                    yield from self._gap(self.holes.pop(), "padding")

    def _gaps_before(self, place: Place) -> Iterator[Line]:
        """Yield the holes and line boundaries before a field."""
        while self.holes and self.holes[-1].bit_offset < place.bit_offset:
            yield from self._gap(self.holes.pop(), "hole")
        yield from self._boundary(place.bit_offset)

    def _boundary(self, bit_offset: int) -> Iterator[Line]:
        """Yield a separator if a byte is on a later line than all rows so far."""
        reached = bit_offset // 8 // self.line_size
        if reached > self.line:
            self.line = reached
            title = f"-- line {reached}, from {reached * self.line_size} "
            yield line("  ", (title.ljust(_RULE_LENGTH, "-"), "blue"))

    def _gap(self, hole: Hole, name: str) -> Iterator[Line]:
        yield from self._boundary(hole.bit_offset)
        indent = "  " if self.marks else ""
        if hole.bit_size % 8 == 0 and hole.bit_offset % 8 == 0:
            yield line((f"{indent}{hole.bit_offset // 8:>8} {hole.bit_size // 8:>7}  ({name})", "yellow"))
        else:
            offset = f"{hole.bit_offset // 8}:{hole.bit_offset % 8}"
            size = quantity(hole.bit_size, "bit")
            yield line((f"{indent}{offset:>8}{'':>8}  ({name} of {size})", "yellow"))

    def _row(self, place: Place, depth: int) -> Line:
        member = place.field
        offset = f"{place.offset}:{place.bit_offset % 8}" if member.is_bitfield else str(place.offset)
        size = "??" if place.size is None else str(place.size)
        name = f"{place.path}:{member.bit_size}" if member.is_bitfield else place.path
        declared = member.type.declare(name) if name else str(member.aggregate or member.type)
        straddle = self._straddle(place)
        return line(
            *self._letter(place),
            f"{offset:>8} {size:>7}  {'  ' * depth}{declared}{_flexible_note(member)}",
            (straddle, "bold red" if straddle else ""),
        )

    def _letter(self, place: Place) -> Iterator[Span]:
        """Yield the letter of a field in drawings."""
        if self.marks:
            letter = self.marks.get(place.path, "") if place.field.name is not None else ""
            yield f"{letter or ' '} ", drawing.style_of(letter)

    def _straddle(self, place: Place) -> str:
        """Return a mark for a field on more than one line; empty for others."""
        if place.bit_size is None or place.field.name is None or place.is_flexible:
            return ""
        touched = placement.field_lines(place, 0, self.line_size)
        if len(touched) < 2:
            return ""
        if place.size is not None and place.size <= self.line_size:
            return f"  <-- straddles lines {touched[0]} and {touched[-1]}"
        return f"  (lines {touched[0]}..{touched[-1]})"
