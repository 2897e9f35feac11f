"""The structs of an input that another order of their members makes smaller: read, search, count."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from layoutlint.commands.suggest import candidates, packing
from layoutlint.commands.suggest.candidates import Candidate, NestedWaste, Smaller
from layoutlint.commands.suggest.packing import Packing, Unit
from layoutlint.geometry import layout
from layoutlint.geometry.allocators import class_name, kmalloc_class, malloc_chunk
from layoutlint.geometry.layout import Layout
from layoutlint.lint.struct_listing import StructListing, list_structs
from layoutlint.model.reading import ReadOptions
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Field, Source, Struct
from layoutlint.model.wanted import Wanted
from layoutlint.randstruct.c_abi import CannotLayOut
from layoutlint.readers import inputs
from layoutlint.sources import order_uses
from layoutlint.suggestion.orders.result import Refusal


class SmallerListing(Record, frozen=True):
    """The result of a run, with what the user should know about how the input was read."""

    result: Smaller
    listing: StructListing
    """Without structs."""


def find_smaller(
    path: str, patterns: tuple[str, ...], line_size: int | None, min_align: int | None, options: ReadOptions
) -> SmallerListing:
    """Return the structs of an input that could be smaller; those that match names or patterns, if given.

    `line_size` and `min_align` (of allocators) are in bytes; None for the target's. Raises ReadError.
    """
    listing = list_structs(path, patterns, options)
    structs = [struct for struct in listing.structs if struct.bit_size is not None and not struct.problem]
    held = candidates.holders(structs)
    sizes = {struct.name: (struct.bit_size or 0) // 8 for struct in structs}
    search = _Search(listing.is_kernel, line_size, min_align)
    found = {(each.name, each.order, each.size): each for each in search.run(structs)}
    result = Smaller(path, search.searched, tuple(found.values()), tuple(search.not_searched))
    listing = replace(listing, structs=())
    del structs, search
    layout.forget()
    return SmallerListing(_with_counts(result, held, sizes, options), listing)


class _Search:
    """The search of one input."""

    def __init__(self, is_kernel: bool, line_size: int | None, min_align: int | None) -> None:
        self._is_kernel, self._line_size, self._min_align = is_kernel, line_size, min_align
        self._nested: NestedWaste | None = None
        self.searched = 0
        self.not_searched: dict[Refusal, None] = {}

    def run(self, structs: Iterable[Struct]) -> Iterator[Candidate]:
        """Yield the structs that could be smaller, in the given order."""
        for struct in structs:
            if struct.aggregate == "struct" and len(struct.fields) > 0:
                line = self._line_size or struct.target.line_size
                self._nested = self._nested or NestedWaste(line)
                yield from self._search(struct, line, self._nested)

    def _search(self, struct: Struct, line: int, nested: NestedWaste) -> Iterator[Candidate]:
        try:
            units = packing.units_of(struct, line)
        except CannotLayOut as error:
            if sum(field.bit_size or 0 for field in struct.fields) + 8 <= (struct.bit_size or 0):
                place = struct.source or Source(struct.origin)
                refusal = Refusal("struct", str(error), place.file, place.line, (struct.name,))
                self.not_searched[refusal] = None
            return
        self.searched += 1
        found = packing.pack(units, packing.align_of(struct, units))
        is_smaller = found.size * 8 < (struct.bit_size or 0)
        if is_smaller or any(each.bytes_saved for each in nested.list_waste(struct, is_whole=False)):
            waste = tuple(nested.list_waste(struct))
            yield replace(self._candidate(struct, units, found, line), nested=waste)

    def _candidate(self, struct: Struct, units: tuple[Unit, ...], found: Packing, line: int) -> Candidate:
        names = order_uses.member_names(struct)
        size = (struct.bit_size or 0) // 8
        holes, padding = packing.gaps(units, struct.bit_size or 0)
        order = tuple(names[at] for number in found.order for at in units[number].fields)
        return Candidate(
            name=struct.name,
            is_tagged=struct.is_tagged,
            source=struct.source,
            origin=struct.origin,
            size=size,
            least=found.size,
            bound=found.bound,
            align=packing.align_of(struct, units) // 8,
            largest_align=max(Layout(struct).alignments),
            order=order,
            moves=candidates.moves_of(struct, units, found),
            is_fewest=found.is_fewest,
            holes=tuple(holes),
            padding=padding,
            nested=(),
            lines=(-(-size // line), -(-found.size // line)),
            blocks=(self._block(struct, size), self._block(struct, found.size)),
            aligned=tuple(
                name
                for name, field in zip(names, struct.fields, strict=True)
                if field.requested_align >= line and field.bit_offset
            ),
            refusals=tuple(_refusals(struct, units, found)),
        )

    def _block(self, struct: Struct, size: int) -> str:
        """Return the block that the allocator gives an object of some bytes."""
        if self._is_kernel:
            return class_name(kmalloc_class(size, max(8, self._min_align or struct.target.kmalloc_align)))
        return f"malloc-{malloc_chunk(size, struct.target)}"


def _refusals(struct: Struct, units: tuple[Unit, ...], found: Packing) -> Iterator[Refusal]:
    """Yield the facts of a struct that forbid the order found; without one, those that forbid any."""
    if struct.randomised is not None or struct.declared_order:
        place = struct.source or Source(struct.origin)
        yield Refusal("randomised", "the build puts its members into a random order", place.file, place.line)
    fields = [struct.fields[at] for number in found.order for at in units[number].fields]
    names = order_uses.member_names(struct)
    new_names = [names[at] for number in found.order for at in units[number].fields]
    old = {name: field.bit_offset for name, field in zip(names, struct.fields, strict=True)}
    new = dict(zip(new_names, _offsets(fields, units, found), strict=True))
    sizes = (struct.bit_size, found.size * 8)
    for use in order_uses.facts_of(struct):
        is_any = not found.moves and use.scope == "all" and not use.is_note
        if is_any or order_uses.forbids(use, names, new_names, old, new, sizes):
            yield Refusal(use.kind, use.text, use.file, use.line, use.members)


def _offsets(fields: list[Field], units: tuple[Unit, ...], found: Packing) -> Iterator[int]:
    """Yield the offset in bits of each field in the order found."""
    end = 0
    for number in found.order:
        unit = units[number]
        if not unit.run:
            end = unit.advance(end)
            yield end - unit.bits
        for bits in unit.run:
            end = Unit(0, 1, (), (bits,)).advance(end)
            yield end - bits.bits


def _with_counts(
    result: Smaller, held: candidates.Holders, sizes: Mapping[str, int], options: ReadOptions
) -> Smaller:
    """Return the candidates with the objects in arrays and variables, the most bytes first.

    `sizes` has the bytes of structs and unions by name.
    """
    names = [each.name for each in result.candidates]
    holding = candidates.with_holders(names, held)
    variables = _variables(result.input, frozenset(map(sizes.__getitem__, holding & sizes.keys())), options)
    counts = None if variables is None else candidates.count_objects(variables, held, names)
    arrays = candidates.arrays_of(names, held)
    counted = [
        replace(each, arrays=arrays[each.name], objects=None if counts is None else counts[each.name])
        for each in result.candidates
    ]
    counted.sort(key=lambda each: (-each.bytes_saved - each.nested_bytes, each.name, str(each.source or "")))
    return replace(result, candidates=tuple(counted))


def _variables(path: str, sizes: frozenset[int], options: ReadOptions) -> list[Field] | None:
    """Return the variables of an input with some sizes in bytes, each once; None if it shows none.

    They are read after the structs: the largest inputs then take no more memory than either.
    """
    if not sizes - {0}:
        return None
    readings, _ = inputs.read((path,), Wanted(counted=sizes - {0}), options)
    places = {
        (number, variable.bit_offset, variable.bit_size): variable
        for number, reading in enumerate(readings)
        for variable in reading.variables
    }
    return list(places.values()) or None
