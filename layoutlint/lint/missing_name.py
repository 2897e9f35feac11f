"""The end of a message on a struct that was named, and that no input has."""

from __future__ import annotations

from collections.abc import Iterable

from layoutlint.errors import struct_hint
from layoutlint.model.reading import ReadOptions
from layoutlint.readers import declared_names, inputs

_MOST_INPUTS = 4
"""The most inputs in which the name is searched: of a kernel, a search takes half a second."""


def missing_name_hint(
    name: str, paths: tuple[str, ...], options: ReadOptions, known: Iterable[str] | None = None
) -> str:
    """Return what a name is in some inputs, if it is no struct; else the nearest names of structs.

    `known` has the names of their structs, if these are known already. A struct whose name differs in case
    comes first.
    """
    names = frozenset(inputs.names(paths, options) if known is None else known) - {name}
    if not any(each.casefold() == name.casefold() for each in names):
        things = (declared_names.what_is(path, name, options) for path in paths[:_MOST_INPUTS])
        thing = next((thing for thing in things if thing is not None), None)
        if thing is not None:
            return f": `{name}` is {thing}"
    return struct_hint(name, names)
