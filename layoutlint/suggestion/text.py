"""The orders that the text of a struct and the sources that use it allow."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.lint.options import Options
from layoutlint.lint.subject import InputStruct
from layoutlint.model.flows import Flows
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Source, Struct
from layoutlint.phrases import first_few
from layoutlint.readers.clang import members
from layoutlint.sources import order_uses
from layoutlint.sources.bodies import flows as bodies_flows
from layoutlint.suggestion.orders.arrangement import Arrangement
from layoutlint.suggestion.orders.limits import Limit, padding_limits, paddings, text_limits, use_limits
from layoutlint.suggestion.orders.result import Refusal

_LARGEST = 1 << 26
"""The most bytes of a file that defines a struct."""


class Surroundings(Record, frozen=True):
    """The restrictions on orders by the sources at hand."""

    search: order_uses.Search
    file: str
    """The file that defines the struct; empty if it is not C text."""
    restrictions: tuple[members.Restriction, ...]
    paddings: tuple[int, ...]
    """The fields that keep others apart, and past which nothing moves."""
    limits: tuple[Limit, ...]
    """What all of these leave of the orders."""
    notes: tuple[str, ...]
    users: tuple[str, ...] = ()
    """The C sources that name the struct, if they can be parsed."""
    outlines: Mapping[int, members.Outline] = MappingProxyType({})
    """The fields in the text of the struct, by their numbers; empty if it is not known."""

    def refusals(self, order: list[int], struct: Struct) -> Iterator[Refusal]:
        """Yield what the text forbids in an order of the fields."""
        for at in self.paddings:
            if set(order[: order.index(at)]) != set(range(at)):
                place = struct.fields[at].source or struct.source or Source(self.file)
                reason = "padding keeps the members before and behind it on different lines"
                yield Refusal("padding", reason, place.file, place.line)
        for restriction in self.restrictions:
            try:
                restriction.refuse(order)
            except members.CannotMove as error:
                yield Refusal("text", error.reason, self.file, error.line)


def surroundings_of(
    input_struct: InputStruct,
    arrangement: Arrangement,
    sources: tuple[str, ...],
    keeps_padding: bool,
    options: Options,
) -> Surroundings:
    """Return what the text of the struct and its uses leave of the orders.

    Raises ReadError for sources that have different definitions of it.
    """
    struct, path = arrangement.struct, input_struct.source.path
    is_source = input_struct.judged.reading.reader == "clang"
    roots = members.kernel_roots(path, options.read) if is_source else ()
    own = (roots or (path,)) if is_source else ()
    file, restrictions, outlines = "", tuple[members.Restriction, ...](), dict[int, members.Outline]()
    notes: list[str] = []
    if is_source:
        try:
            path_of_text, text = read_text(input_struct, options)
            own = own if roots else (*own, path_of_text)
            file = shown_path(struct, path_of_text)
            restrictions, outlines = members.restrictions(text, struct), members.outlines(text, struct)
            notes += _configuration_notes(
                options.build is not None, file, members.conditional_lines(text, struct)
            )
        except members.CannotMove as error:
            notes.append(f"the text of the struct cannot be changed: {error}")
    paths = tuple(dict.fromkeys((*sources, *map(os.path.normpath, own))))
    users, names, others = order_uses.sources_that_name(struct, paths)
    build = (f"O={roots[1]}",) if len(roots) > 1 else ()
    flows = _read_flows(users, names, others, options, build)
    if flows is not None and len(flows.definitions) > 1:
        several = f"{len(flows.definitions)} different definitions of struct {struct.name}"
        raise ReadError(path, f"has {several}; give an input with one")
    search = order_uses.find_order_uses(
        struct, paths, options.read.jobs, options.read.progress, flows, arrangement.groups_of_fields
    )
    pads = paddings(arrangement, options.line_size or struct.target.line_size) if keeps_padding else ()
    limits = (
        *text_limits(arrangement, restrictions),
        *use_limits(arrangement, search.uses),
        *padding_limits(arrangement, pads),
    )
    fields = tuple(at for number in pads for at in arrangement.units[number].fields)
    return Surroundings(search, file, restrictions, fields, limits, tuple(notes), users, outlines)


def declared_together(
    input_struct: InputStruct, struct: Struct, options: Options
) -> tuple[tuple[int, ...], ...]:
    """Return the fields of each declaration that declares several; none if there is no text."""
    if input_struct.judged.reading.reader != "clang":
        return ()
    try:
        restrictions = members.restrictions(read_text(input_struct, options)[1], struct)
    except members.CannotMove:
        return ()
    return tuple(each.fields for each in restrictions if each.kind == "unit" and len(each.fields) > 1)


def _read_flows(
    users: tuple[str, ...],
    names: tuple[str, ...],
    others: tuple[str, ...],
    options: Options,
    build: tuple[str, ...],
) -> Flows | None:
    """Return where the addresses of a struct go in C sources; None if none names it, or libclang cannot.

    `build` is the flag that names the build folder of a kernel, if it is not that of its sources.
    """
    if not users:
        return None
    try:
        read = replace(options.read, cache=False, flags=(*options.read.flags, *build))
        return bodies_flows.read(users, names, read, others)
    except ReadError:
        return None


def _configuration_notes(is_matrix: bool, file: str, lines: tuple[int, ...]) -> Iterator[str]:
    if lines:
        judged = "the configurations of the matrix" if is_matrix else "this configuration"
        places = first_few([str(line) for line in lines])
        yield f"judged in {judged} only; others have other members at `#if`: {file}, line {places}"


def read_text(input_struct: InputStruct, options: Options) -> tuple[str, str]:
    """Return the path and the text of the file that defines the struct, with the changes before it.

    Raises CannotMove.
    """
    file = members.source_path(input_struct.source.path, input_struct.struct, options.read)
    if file is None:
        raise members.CannotMove("the file that defines the struct was not found")
    real_path = files.real_path(file)
    for given in options.read.replaced:
        if files.real_path(given.path) == real_path:
            return file, given.text
    try:
        return file, files.read_all(file, _LARGEST).decode("utf-8", "surrogateescape")
    except OSError as error:
        raise members.CannotMove(f"{file} cannot be read: {files.error_reason(error)}") from error


def shown_path(struct: Struct, file: str) -> str:
    """Return the path of a file as a patch names it: from the root of the sources, or where the run is."""
    name = "" if struct.source is None else struct.source.file
    if name and not os.path.isabs(name) and not name.startswith(".."):
        return os.path.normpath(name)
    path = os.path.relpath(file)
    return path if not path.startswith("..") else os.path.abspath(file).lstrip("/")
