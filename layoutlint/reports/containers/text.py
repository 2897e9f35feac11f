"""Format `text` of `containers`: a line for each place in which a struct is embedded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from layoutlint.geometry import placement
from layoutlint.geometry.containers import Array, Container, Embedded
from layoutlint.geometry.layout import Layout
from layoutlint.geometry.placement import Placements
from layoutlint.model.structs import Struct
from layoutlint.phrases import counted, some_of
from layoutlint.reports import styled
from layoutlint.reports.layout_phrases import found_in
from layoutlint.reports.show.options import ShowOptions
from layoutlint.reports.styled import Line, line, paragraph

_HOW = (
    "`line` and `byte` are those in a container that starts on a line of {}; `bases` says at how many places "
    "of a line it can start, wherever its containers do. Of arrays, the first element's offset is shown."
)


def render(found: tuple[Embedded, ...], options: ShowOptions) -> Iterator[str]:
    """One table per definition: where it stands in its containers, and on which line of each."""
    has_several = len({each.struct.target for each in found}) > 1
    for number, each in enumerate(found):
        lines = _table(each, options, has_several)
        text = styled.colored(lines) if options.color else styled.plain(lines)
        yield ("\n" if number else "") + text


def _table(found: Embedded, options: ShowOptions, has_other_targets: bool) -> Iterator[Line]:
    struct = found.struct
    target = f"  for {struct.target.name}" if has_other_targets else ""
    source = str(struct.source or "")
    yield line((f"{struct.aggregate} {struct.name}", "bold"), "  ", (source, "cyan"), target)
    if struct.files:
        yield from paragraph("  in ", found_in(struct.files), options.width)
    if struct.problem is not None:
        yield from paragraph("  cannot be believed: ", struct.problem, options.width, "bold magenta")
    size = "??" if struct.bit_size is None else counted(struct.bit_size // 8, "byte")
    if not found.containers:
        yield line(f"  {size}; nothing embeds it")
        return
    line_size = options.line_size or struct.target.line_size
    yield line(f"  {size}; {_embedded(found.containers)}")
    yield from paragraph("  ", _HOW.format(line_size), options.width)
    yield line()
    yield line(("  offset      of    line  byte  bases  container", "dim"))
    several = _several(found.containers)
    known: dict[int, Placements] = {}  # a container can have many of the struct
    for way in found.containers:
        if id(way.struct) not in known and way.struct.bit_size is not None:
            layout = Layout(way.struct)
            known[id(way.struct)] = placement.of(layout, options.line_size, options.min_align)
        outer = known.get(id(way.struct))
        yield _row(way, struct, outer, options, way.struct.name in several)


def _embedded(ways: tuple[Container, ...]) -> str:
    """In how many others it is embedded."""
    every = {id(way.struct) for way in ways}
    direct = {id(way.struct) for way in ways if not way.through}
    return f"embedded in {counted(len(every), 'type')}, in {len(direct):,} of them directly"


def _several(ways: tuple[Container, ...]) -> set[str]:
    """Names of containers that several definitions have."""
    names = Counter(struct.name for struct in {id(way.struct): way.struct for way in ways}.values())
    return {name for name, number in names.items() if number > 1}


def _row(
    way: Container, embedded: Struct, outer: Placements | None, options: ShowOptions, is_one_of_several: bool
) -> Line:
    """One place; `outer` are the placements of its container, None where its size is not known."""
    container = way.struct
    starts = None if outer is None else placement.starts_inside(way, outer)
    line_size = options.line_size or container.target.line_size
    size = "??" if container.bit_size is None else str(container.bit_size // 8)
    bases = "??" if starts is None else str(len(starts))
    number, byte = divmod(way.offset, line_size)
    path = f"{container.name}.{way.written}" if way.path else f"{container.name} (unnamed member)"
    straddle, is_short = _straddle(way, embedded, line_size)
    return line(
        f" {way.offset:>7} {size:>7} {number:>7}{byte:>6}{bases:>7}  {path}",
        (straddle, "bold red" if is_short else ""),
        _arrays(way),
        (f"  through {', '.join(way.through)}" if way.through else "", "dim"),
        (f"  {container.source or container.origin}" if is_one_of_several else "", "cyan"),
        (f"  in {some_of(container.files, 2)}" if container.files else "", "cyan"),
        (f"  cannot be believed: {container.problem}" if container.problem else "", "bold magenta"),
    )


def _straddle(way: Container, embedded: Struct, line_size: int) -> tuple[str, bool]:
    """The lines that it touches when these are several, and whether it would fit on one."""
    size = (embedded.bit_size or 0) // 8
    touched = placement.lines(0, way.offset, way.offset + size, line_size)
    if len(touched) < 2:
        return "", False
    if size <= line_size:
        return f"  <-- straddles lines {touched[0]} and {touched[-1]}", True
    return f"  (lines {touched[0]}..{touched[-1]})", False


def _arrays(way: Container) -> str:
    """How many there are, and how far apart; nothing where no array is on the way."""
    if not way.arrays:
        return ""
    elements = ", in each of ".join(_elements(array) for array in reversed(way.arrays))
    total = "" if len(way.arrays) == 1 or not way.count else f"{way.count:,} in all: "
    return f"  {total}{elements}"


def _elements(array: Array) -> str:
    apart = "?? bytes" if array.bit_stride is None else counted(array.bit_stride // 8, "byte")
    number = {None: "any number", 0: "none declared"}.get(array.count) or f"{array.count:,}"
    return f"{number}, {apart} apart"
