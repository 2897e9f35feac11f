"""Variables of the input that samples touched: addresses from the symbol table, types from DWARF."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

from layoutlint.commands.evidence.code_types import bare_name
from layoutlint.commands.evidence.lines import LineResult, ObjectType, place_by_address
from layoutlint.errors import ReadError, UsageError
from layoutlint.geometry.layout import Place
from layoutlint.judgement.evidence import UnplacedLine, sharing_of
from layoutlint.model.reading import ReadOptions, Unread
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Source
from layoutlint.model.wanted import Wanted
from layoutlint.readers import dispatch, inputs
from layoutlint.readers.elf import debug_files, elf_file, load_address
from layoutlint.readers.elf.elf_file import Image
from layoutlint.readers.elf.symbols import Symbol, read_symbols
from layoutlint.readers.profiles.records import LineBlock, Profile

_NEAR = 1
"""Bytes around the touched variables of which the variables are read too; the least that is not none."""
_MOST_BIASES = 1_000


class Object(Record, frozen=True):
    """An object in memory: a variable, an element of one, or a struct in it."""

    path: str
    address: int
    """In the memory of the profiled program."""
    names: tuple[str, ...]
    """Those of its type, without `struct`."""
    size: int


class Variables(Record, frozen=True):
    """The variables of an input in the memory of one profile."""

    biases: tuple[int, ...] = ()
    """What is added to the addresses of the input; several if processes have it at different ones."""
    spans: tuple[tuple[int, int], ...] = ()
    """First and last byte of each touched variable in the input, in ascending order."""
    areas: tuple[ObjectType, ...] = ()
    """The data with the touched variables, as the input places it."""

    def find(self, address: int) -> int | None:
        """Return the address in the input of a byte of a variable; None for another byte."""
        for bias in self.biases:
            place = bisect_right(self.spans, (address - bias, 1 << 64)) - 1
            if place >= 0 and address - bias <= self.spans[place][1]:
                return address - bias
        return None

    def objects(self, address: int) -> Iterator[Object]:
        """Yield the objects with members that an address is in, outer ones first."""
        own = self.find(address)
        if own is None:
            return
        for area in self.areas:
            start = area.struct.address or 0
            for place in area.layout.objects_at(own - start):
                object_start = address - own + start + place.offset
                yield Object(place.path, object_start, _type_names(place), (place.bit_size or 0) // 8)

    def areas_at(self, address: int) -> Iterator[tuple[ObjectType, int]]:
        """Yield the data that a byte of a variable is in, and where that begins in memory."""
        own = self.find(address)
        for area in self.areas if own is not None else ():
            start = area.struct.address or 0
            if own is not None and start <= own < start + area.layout.size:
                yield area, address - own + start


def _type_names(place: Place) -> tuple[str, ...]:
    types = (place.field.type, *place.field.underlying_types)
    return tuple(dict.fromkeys(bare_name(each) for each in types))


def find_variables(
    profile: Profile, path: str, bases: Sequence[tuple[str, int]], options: ReadOptions, notes: list[str]
) -> Variables:
    """Return the variables of an input that the samples of a profile touched.

    `bases` are addresses of symbols. Notes get the reason if the addresses of the input are not known. Raises
    ReadError for an input that cannot be read, and for a mapping of another build.
    """
    samples = profile.samples
    if samples is None or any(text.path == path for text in options.texts) or dispatch.sniff(path) != "elf":
        return Variables()
    with elf_file.open_elf(path) as image:
        symbols = _symbols(image, options)
        if symbols is None or image.is_relocatable:
            why = "is not linked" if image.is_relocatable else "has no symbol table"
            notes.append(f"{path} {why}, so that no address is known to be in one of its variables")
            return Variables()
        biases = _biases(image, profile, bases)
    if not biases:
        notes.append(
            f"{profile.path}: it is not known where {path} was loaded; print samples with "
            "--show-mmap-events, or state an address with --base-of"
        )
        return Variables()
    touched = _variables_at(samples.addresses(), symbols, biases)
    if not touched:
        return Variables(biases)
    # a dot of a name (`count.3`) would begin a member, and `?` stands for any sign
    names = {symbol.name.replace(".", "?") for symbol in touched}
    wanted = Wanted(variables=tuple(sorted(names)), near=_NEAR)
    (reading,) = inputs.read_each((path,), wanted, options)
    if isinstance(reading, Unread):
        raise ReadError(path, reading.reason)
    spans = sorted((symbol.address, symbol.end - 1) for symbol in touched)
    areas = tuple(ObjectType(area, reading.is_kernel) for area in reading.data or ())
    return Variables(biases, tuple(spans), areas)


def _symbols(image: Image, options: ReadOptions) -> list[Symbol] | None:
    """Return the variables of a file, or of its debug file; None if neither has a symbol table."""
    symbols = read_symbols(image)
    if symbols is None:
        try:
            symbols = read_symbols(debug_files.debug_file(image, None, options))
        except ReadError:
            return None
    return symbols if symbols is None else [each for each in symbols if each.has_type and each.size]


def _biases(image: Image, profile: Profile, bases: Sequence[tuple[str, int]]) -> tuple[int, ...]:
    """Return what is added to the addresses of a file in memory; none if it is not known."""
    assert profile.samples is not None
    stated = {load_address.bias_by_symbol(image, symbol, address) for symbol, address in bases}
    if len(stated) > 1:
        names = ", ".join(symbol for symbol, _ in bases)
        raise UsageError(f"the addresses of {names} are not those of one build at one place", "--base-of")
    name = image.path.rpartition("/")[2]
    mappings = profile.samples.mappings
    mapped = load_address.biases_by_mappings(image, name, profile.path, mappings)
    if stated:
        (bias,) = stated
        line = next(iter(mapped.values()), 0)
        if mapped and bias not in mapped:
            raise ReadError(Source(profile.path, line), f"contradicts --base-of: {image.path} is elsewhere")
        if bias and load_address.is_fixed(image):
            raise UsageError(f"{image.path} is only loaded where its symbols say", "--base-of")
        return (bias,)
    if not mapped and load_address.is_fixed(image):
        return (0,)
    if len(mapped) > _MOST_BIASES:
        raise ReadError(profile.path, f"{image.path} is at {len(mapped):,} addresses; print one process")
    return tuple(mapped)


def _variables_at(
    addresses: Iterable[int], symbols: Sequence[Symbol], biases: tuple[int, ...]
) -> set[Symbol]:
    """Return the variables with some addresses; of several that begin at one byte the largest."""
    largest: dict[int, Symbol] = {}
    for symbol in symbols:
        if symbol.address not in largest or symbol.size > largest[symbol.address].size:
            largest[symbol.address] = symbol
    starts = sorted(largest)
    touched: set[Symbol] = set()
    for address in addresses:
        for bias in biases:
            place = bisect_right(starts, address - bias) - 1
            if place >= 0 and address - bias < largest[starts[place]].end:
                touched.add(largest[starts[place]])
    return touched


def place_objects(
    profile: Profile,
    line_size: int,
    variables: Variables,
    kinds: Sequence[ObjectType],
    names: frozenset[str],
    result: LineResult,
    names_only: bool,
) -> tuple[LineBlock, ...]:
    """Place the lines with variables; return all others.

    A line is one of each struct in it: of the outermost one of a variable, and of those with some names. If
    its accesses are in several variables, or in one without members, it is also one of the data around them.
    `names_only` says that only structs with these names are wanted.
    """
    others: list[LineBlock] = []
    for block in profile.blocks:
        addresses = [block.address + touch.offset for touch in block.touches]
        exact = [address for address in addresses if variables.find(address) is not None]
        if not exact:
            others.append(block)
            continue
        one = replace(profile, blocks=(block,))
        objects = _objects_on_line(exact, variables, names)
        is_whole = is_placed = False
        for each, inside in objects.items():
            kind = _kind_of(each, kinds)
            if kind is not None:
                touches = tuple(t for t in block.touches if block.address + t.offset in inside)
                own = replace(profile, blocks=(replace(block, touches=touches),))
                place_by_address(own, line_size, kind, (each.address,), result, each.path)
                is_placed, is_whole = True, is_whole or len(inside) == len(addresses)
        if names_only and not is_placed:
            name = next((found.path for at in exact for found in variables.objects(at)), "")
            reason = f"the variable `{name}` is there" if name else "another variable is there"
            line = UnplacedLine(profile.path, block.line, block.address, block.counts, reason)
            result.unplaced.append(replace(line, sharing=sharing_of(block.touches)))
        elif not is_whole and not names_only:
            areas = dict.fromkeys(area for address in exact for area in variables.areas_at(address))
            for area, start in areas:
                place_by_address(one, line_size, area, (start,), result)
    return tuple(others)


def _objects_on_line(
    addresses: Iterable[int], variables: Variables, names: frozenset[str]
) -> dict[Object, set[int]]:
    """Return the objects that are reported, each with the addresses in it."""
    objects: dict[Object, set[int]] = {}
    for address in addresses:
        for number, each in enumerate(variables.objects(address)):
            if number == 0 or not names.isdisjoint(each.names):
                objects.setdefault(each, set()).add(address)
    return objects


def _kind_of(each: Object, kinds: Sequence[ObjectType]) -> ObjectType | None:
    """Return the struct of an object; None if the input has none, or several, of its name and size.

    A variable is larger than its struct if this ends with a flexible array.
    """
    named = [kind for kind in kinds if any(kind.struct.matches(name) for name in each.names)]
    fitting = [
        kind
        for kind in named
        if kind.layout.size == each.size
        or (kind.layout.size < each.size and kind.layout.open_end is not None)
    ]
    return fitting[0] if len(fitting) == 1 else None


def type_names(profile: Profile, variables: Variables) -> frozenset[str]:
    """Return the names of the structs in which the samples of a profile are."""
    samples = profile.samples
    addresses = samples.addresses() if samples is not None and variables.areas else []
    return frozenset(
        name
        for address in addresses
        for each in variables.objects(address)
        for name in each.names
    )
