"""Format `text` of `containers`: a line for each place where a struct is embedded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from layoutlint.geometry import placement
from layoutlint.geometry.containers import Array, Container, EmbeddedStruct
from layoutlint.geometry.layout import Layout
from layoutlint.geometry.placement import Placements
from layoutlint.model.structs import Struct
from layoutlint.phrases import first_few, quantity
from layoutlint.reports import container_table, styled
from layoutlint.reports.layout_phrases import defining_files
from layoutlint.reports.show.options import ShowOptions
from layoutlint.reports.styled import Line, line, paragraph

_HOW = (
    "`line` and `byte` are for a container at the start of a {}-byte line; `bases` is the number of places "
    "of a line where the struct can start. For an array, `offset` is that of the first element."
)

_CACHE_TITLES = f"{'cache':<22} stride    in use"


def render(definitions: tuple[EmbeddedStruct, ...], options: ShowOptions) -> Iterator[str]:
    """Yield a table for each definition, with its offset and line in each container."""
    has_several = len({definition.struct.target for definition in definitions}) > 1
    for number, definition in enumerate(definitions):
        lines = _table(definition, options, has_several)
        text = styled.render_colored(lines) if options.color else styled.render_plain(lines)
        yield ("\n" if number else "") + text


def _table(definition: EmbeddedStruct, options: ShowOptions, has_other_targets: bool) -> Iterator[Line]:
    struct = definition.struct
    target = f"  for {struct.target.name}" if has_other_targets else ""
    source = str(struct.source or "")
    yield line((f"{struct.aggregate} {struct.name}", "bold"), "  ", (source, "cyan"), target)
    if struct.files:
        yield from paragraph("  in ", defining_files(struct.files), options.width)
    if struct.problem is not None:
        yield from paragraph("  layout unreliable: ", struct.problem, options.width, "bold magenta")
    size = "??" if struct.bit_size is None or struct.problem else quantity(struct.bit_size // 8, "byte")
    if not definition.containers:
        yield line(f"  {size}; nothing embeds it")
        return
    line_size = options.line_size or struct.target.line_size
    yield line(f"  {size}; {_count_containers(definition.containers)}")
    yield from paragraph("  ", _HOW.format(line_size), options.width)
    yield line()
    width = max(len(_path(container)) for container in definition.containers)
    titles = "" if options.slabs is None else f"{' ' * (width - 9)}  {_CACHE_TITLES}"
    yield line((f"  offset      of    line  byte  bases  container{titles}", "dim"))
    several = _several(definition.containers)
    placements: dict[int, Placements] = {}  # a container can embed the struct many times
    for container in definition.containers:
        if container.struct.problem is not None:
            yield _unplaced_row(container, container.struct.name in several)
            continue
        if container.definition not in placements and container.struct.bit_size is not None:
            layout = Layout(container.struct)
            storage = None if options.slabs is None else options.slabs.complete(container.struct, None)
            placements[container.definition] = placement.placements(
                layout, options.line_size, options.min_align, storage
            )
        outer = placements.get(container.definition)
        cache = "" if options.slabs is None else _cache(outer, width - len(_path(container)))
        yield _row(container, struct, outer, options, cache, container.struct.name in several)


def _count_containers(containers: tuple[Container, ...]) -> str:
    """Return in how many types a struct is embedded, and in how many directly."""
    types = {container.definition for container in containers}
    direct = {container.definition for container in containers if not container.through}
    return f"embedded in {quantity(len(types), 'type')}, in {len(direct):,} of them directly"


def _several(containers: tuple[Container, ...]) -> set[str]:
    """Return the names of containers that have several definitions."""
    names = Counter(
        struct.name
        for struct in {container.definition: container.struct for container in containers}.values()
    )
    return {name for name, number in names.items() if number > 1}


def _row(
    embedding: Container,
    struct: Struct,
    outer: Placements | None,
    options: ShowOptions,
    cache: str,
    has_namesakes: bool,
) -> Line:
    """Return the row of one place; `outer` are its container's placements, None if its size is unknown.

    `cache` is the text of the slab cache.
    """
    container, path = embedding.struct, _path(embedding)
    starts = None if outer is None else placement.embedded_starts(embedding, outer)
    line_size = options.line_size or container.target.line_size
    size = "??" if container.bit_size is None else str(container.bit_size // 8)
    bases = "??" if starts is None else str(len(starts))
    number, byte = divmod(embedding.offset, line_size)
    straddle, is_short = _straddle(embedding, struct, line_size)
    return line(
        f" {embedding.offset:>7} {size:>7} {number:>7}{byte:>6}{bases:>7}  {path}{cache}",
        (straddle, "bold red" if is_short else ""),
        _arrays(embedding),
        *_origin(embedding, has_namesakes),
    )


def _cache(outer: Placements | None, padding: int) -> str:
    """Return the slab cache of a container, the bytes between its objects, and how many are in use."""
    name, stride, in_use = container_table.cache_cells(outer.caches if outer is not None else ())
    return f"{' ' * padding}  {name:<22} {stride:>6} {in_use:>9}"


def _unplaced_row(embedding: Container, has_namesakes: bool) -> Line:
    """Return the row of a place in a container whose layout is unreliable."""
    head = f" {'??':>7} {'??':>7} {'??':>7}{'??':>6}{'??':>7}  {_path(embedding)}"
    problem = (f"  layout unreliable: {embedding.struct.problem}", "bold magenta")
    return line(head, *_origin(embedding, has_namesakes), problem)


def _path(embedding: Container) -> str:
    name = embedding.struct.name
    return f"{name}.{embedding.written}" if embedding.path else f"{name} (unnamed member)"


def _origin(embedding: Container, has_namesakes: bool) -> Iterator[tuple[str, str]]:
    """Yield the structs on the way to an embedded struct, and the files of its container."""
    container = embedding.struct
    yield f"  through {', '.join(embedding.through)}" if embedding.through else "", "dim"
    yield f"  {container.source or container.origin}" if has_namesakes else "", "cyan"
    yield f"  in {first_few(container.files, 2)}" if container.files else "", "cyan"


def _straddle(embedding: Container, struct: Struct, line_size: int) -> tuple[str, bool]:
    """Return the lines of a struct if it is on several, and whether it would fit on one."""
    size = (struct.bit_size or 0) // 8
    touched = placement.touched_lines(0, embedding.offset, embedding.offset + size, line_size)
    if len(touched) < 2:
        return "", False
    if size <= line_size:
        return f"  <-- straddles lines {touched[0]} and {touched[-1]}", True
    return f"  (lines {touched[0]}..{touched[-1]})", False


def _arrays(embedding: Container) -> str:
    """Return the element counts and strides of the arrays on the path; empty for none."""
    if not embedding.arrays:
        return ""
    elements = ", in each of ".join(_elements(array) for array in reversed(embedding.arrays))
    total = "" if len(embedding.arrays) == 1 or not embedding.count else f"{embedding.count:,} in all: "
    return f"  {total}{elements}"


def _elements(array: Array) -> str:
    apart = "?? bytes" if array.bit_stride is None else quantity(array.bit_stride // 8, "byte")
    number = {None: "any number", 0: "none declared"}.get(array.count) or f"{array.count:,}"
    return f"{number}, {apart} apart"
