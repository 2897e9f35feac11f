"""The end of a message on a struct that was named, and that no input has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from layoutlint.errors import struct_hint
from layoutlint.model.paths import is_pattern
from layoutlint.model.reading import ReadOptions
from layoutlint.model.structs import Struct
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


def unmatched_globs(
    globs: Iterable[str], structs: Iterable[Struct], paths: tuple[str, ...], options: ReadOptions
) -> Iterator[tuple[str, str]]:
    """Yield the names and patterns that no defined struct of some inputs has, each with a sentence."""
    structs = tuple(structs)
    defined = [struct for struct in structs if struct.bit_size is not None or struct.problem]
    missing = [glob for glob in globs if not any(struct.matches(glob) for struct in defined)]
    known = inputs.names(paths, options) if missing else frozenset[str]()
    for glob in missing:
        if is_pattern(glob):
            yield glob, f"no struct matches {glob}"
        elif any(struct.matches(glob) for struct in structs):
            yield glob, f"struct {glob} is declared but not defined"
        else:
            yield glob, f"no struct {glob}{missing_name_hint(glob, paths, options, known)}"
