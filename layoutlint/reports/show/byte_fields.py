"""The report of `show --at`: the field at a byte of a struct, and the fields that share its line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from layoutlint.geometry.layout import Layout, Place
from layoutlint.geometry.placement import Placements
from layoutlint.model.structs import Struct
from layoutlint.phrases import quantity
from layoutlint.reports import styled
from layoutlint.reports.show.options import ShowOptions
from layoutlint.reports.show.starts import object_placements
from layoutlint.reports.styled import Line, line, paragraph


def render(structs: tuple[Struct, ...], offsets: tuple[int, ...], options: ShowOptions) -> Iterator[str]:
    """Yield the report on some bytes of each struct; `offsets` count from its start."""
    for number, struct in enumerate(structs):
        lines = _struct(struct, offsets, options)
        text = styled.render_colored(lines) if options.color else styled.render_plain(lines)
        yield ("\n" if number else "") + text


def outside_messages(struct: Struct, offsets: tuple[int, ...]) -> Iterator[str]:
    """Yield a sentence for each offset that is not in a struct."""
    for offset in offsets:
        if struct.problem is None and struct.bit_size is not None and offset * 8 >= struct.bit_size:
            size = quantity(struct.bit_size // 8, "byte")
            yield f"--at {offset}: {struct.aggregate} {struct.name} has {size}"


def _struct(struct: Struct, offsets: tuple[int, ...], options: ShowOptions) -> Iterator[Line]:
    yield line((f"{struct.aggregate} {struct.name}", "bold"), "  ", (str(struct.source or ""), "cyan"))
    if struct.problem is not None:
        yield from paragraph("  layout unreliable: ", struct.problem, options.width, "bold magenta")
    elif struct.bit_size is None:
        yield line("  size ??: declared but not defined")
    else:
        layout = Layout(struct)
        placed = object_placements(layout, options)
        for offset in offsets:
            if offset < layout.size:
                yield from _byte(layout, offset, placed, options.width)


def _byte(layout: Layout, offset: int, placed: Placements, width: int) -> Iterator[Line]:
    at = f"byte {offset} ({offset:#x})"
    fields = list(layout.innermost_fields(offset))
    for place in fields:
        yield from paragraph(f"  {at}: ", f"`{place.path}` at {place.extent}", width)
        declared = place.field.type.declare(place.field.name or "")
        yield line(f"    declared as `{declared}`", (f"  {place.field.source or ''}", "cyan"))
    if not fields:
        yield line(f"  {at}: a hole or padding")
    yield from _fields_on_line(layout, offset, placed, width)


def _fields_on_line(layout: Layout, offset: int, placed: Placements, width: int) -> Iterator[Line]:
    """Yield the fields on the line of a byte, with the number of placements in which they are there."""
    size, total = placed.line_size, len(placed.bases)
    counts: Counter[Place] = Counter()
    for base in placed.bases:
        start = (base + offset) // size * size - base
        counts.update(layout.fields_touching(start, start + size))
    own = [place for place in counts if place.offset <= offset < place.end]
    others = sorted((place for place in counts if place not in own), key=lambda place: place.bit_offset)
    if not others:
        yield line(f"  nothing else is on its line of {size} bytes")
        return
    often = "" if total == 1 else f", in how many of {total} placements"
    yield from paragraph("  ", f"on its line of {size} bytes{often} ({placed.why}):", width)
    yield line(("    offset    size    in  field", "dim"))
    for place in others:
        extent = "??" if place.size is None else str(place.size)
        yield line(f"  {place.offset:>8} {extent:>7} {counts[place]:>5}  {place.path}")
