"""Notes on structs with one object among the variables of a linked program: its address is known."""

from __future__ import annotations

from collections.abc import Iterator

from layoutlint.geometry import placement
from layoutlint.geometry.layout import Layout
from layoutlint.lint.allocation_notes import unplaced_structs
from layoutlint.lint.judged_input import JudgedInput
from layoutlint.lint.options import Options
from layoutlint.model.reading import Reading
from layoutlint.model.record import replace
from layoutlint.model.storage import Storage
from layoutlint.model.structs import Field, Source, Struct
from layoutlint.model.wanted import Wanted
from layoutlint.readers import inputs as readers


def variable_notes(
    inputs: list[JudgedInput], options: Options, failing: frozenset[str]
) -> list[tuple[str, ...]]:
    """Return notes for each input: the placement of a failing struct that one variable of a program shows.

    Objects that a program allocates are not seen in it, so that the placement is offered, and not assumed.
    """
    return [tuple(_notes_on_input(judged, options, failing)) for judged in inputs]


def _notes_on_input(judged: JudgedInput, options: Options, failing: frozenset[str]) -> Iterator[str]:
    reading = judged.reading
    if reading.reader != "dwarf" or reading.is_kernel:
        return
    unplaced = unplaced_structs(judged, failing).values()
    structs = {struct.name: struct for struct in unplaced if struct.name in failing}
    found = _variables(reading, structs, options) if structs else {}
    for name, variables in sorted(found.items()):
        if len(variables) == 1:
            yield from _note(structs[name], variables[0], options.of_input(reading.path))


def _variables(reading: Reading, structs: dict[str, Struct], options: Options) -> dict[str, list[Field]]:
    """Return the variables of some structs, by name, each with its address; empty for an object file."""
    found: dict[str, list[Field]] = {}
    for variable in _read(reading, Wanted(arrays=lambda _: True), options).variables:
        types = {each.left.removeprefix("const ") for each in (variable.type, *variable.underlying_types)}
        for name, struct in structs.items():
            spellings = {f"{struct.aggregate} {name}", *struct.aliases}
            if spellings & types and variable.name:
                found.setdefault(name, []).extend([variable] * (2 if variable.dims else 1))
    names = tuple(str(variable.name) for own in found.values() for variable in own)
    data = _read(reading, Wanted(variables=names, near=1), options).data if names else None
    return found if data and all(each.address is not None for each in data) else {}


def _read(reading: Reading, wanted: Wanted, options: Options) -> Reading:
    readings, _ = readers.read((reading.path,), wanted, options.read)
    return next(iter(readings), replace(reading, variables=(), data=None))


def _note(struct: Struct, variable: Field, options: Options) -> Iterator[str]:
    line_size, min_align = options.line_size, options.min_align
    size = line_size or struct.target.line_size
    address = (variable.bit_offset or 0) // 8
    storage = Storage("static", Source(""), min(address & -address or size, size))
    layout = Layout(struct)
    assumed, narrow = (
        len(placement.placements(layout, line_size, min_align, each).bases) for each in (None, storage)
    )
    if narrow < assumed:
        yield (
            f"{variable.name} is the only variable of {struct.aggregate} {struct.name}, at {address % size} "
            f"modulo {size} in this program: if no other object exists, in other structs or allocated, "
            f'`[struct.{struct.name}]` with `placement = "{storage.spelling}"` would narrow '
            f"{assumed} placements to {narrow}"
        )
