"""Signs that BTF has structs of other languages: pahole converts all units, and BTF names no languages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from layoutlint.errors import ReadError
from layoutlint.model.reading import Omission, ReadOptions
from layoutlint.model.record import replace
from layoutlint.model.wanted import Wanted
from layoutlint.readers.btf import blob
from layoutlint.readers.btf.blob import Blob

if TYPE_CHECKING:
    from layoutlint.readers.elf.elf_file import Image

_NAMED: Final = frozenset((blob.STRUCT, blob.UNION, blob.ENUM, blob.ENUM64, blob.TYPEDEF))
_NOT_C: Final = re.compile(r"::|[<>{}()&]")
"""What names of C do not have: of templates, namespaces, closures, tuples and references."""
_NOT_C_BYTES: Final = re.compile(_NOT_C.pattern.encode())
_RUST: Final = re.compile(r"_R[A-Z]|_ZN.*17h[0-9a-f]{16}E")
_CPP: Final = re.compile(r"_Z[A-Z0-9]")
_SUFFIXES: Final = {
    **dict.fromkeys(("cc", "cpp", "cxx", "C", "c++"), "C++"),
    **dict.fromkeys(("rs", "rcgu"), "Rust"),
}
_SHOWN_AS_C: Final = "BTF shows structs of other languages as those of C"


def find(
    sources: tuple[Blob, ...], image: Image | None, wanted: Wanted, options: ReadOptions
) -> tuple[tuple[Omission, ...], tuple[str, ...]]:
    """Return what may be structs of other languages, and instead of it notes if nothing is judged.

    `image` is the file with the blobs; None for a raw one. Linux leaves other languages out of its BTF
    (scripts/Makefile.btf), so there only names count. Raises Damaged.
    """
    omissions = [omission for source in sources for omission in _by_names(source)][:1]
    if image is not None and not image.is_kernel:
        omissions += _by_dwarf(image, wanted, options) if image.has_dwarf else _by_symbols(image)
    if options.finds_omissions:
        return tuple(omissions), ()
    return (), tuple(omission.reason for omission in omissions)


def _by_names(source: Blob) -> Iterator[Omission]:
    if not source.has_text(_NOT_C_BYTES):  # most blobs have a hundred thousand names
        return
    names = (source.text(name, type_id) for type_id, name in source.own_types(_NAMED) if name)
    name = next(filter(_NOT_C.search, names), None)
    if name is not None:
        yield Omission(f"{_SHOWN_AS_C}, and this may have some: C has no names like `{name}`")


def _by_dwarf(image: Image, wanted: Wanted, options: ReadOptions) -> Iterator[Omission]:
    """Yield the structs of units that are not in C, as the DWARF of the same file has them."""
    from layoutlint.readers import dwarf

    try:
        languages = dwarf.other_languages(image, options)
        found = dwarf.foreign_omissions(image, wanted, options) if languages else ()
    except ReadError:
        return  # its BTF may be whole
    if not options.finds_omissions and languages:
        yield Omission(f"{_SHOWN_AS_C}: its DWARF has units in {', '.join(languages)}")
    elif options.finds_omissions:
        yield from (replace(each, reason=f"{_SHOWN_AS_C}: {each.reason}") for each in found)


def _by_symbols(image: Image) -> Iterator[Omission]:
    from layoutlint.readers.elf import source_files, symbols

    for file in source_files.source_files(image) or ():
        words = file.name.split(".")[1:]
        if language := next((_SUFFIXES[word] for word in words if word in _SUFFIXES), None):
            yield Omission(f"{_SHOWN_AS_C}: its symbols name a source in {language}, {file.name}")
            return
    functions = (function.name for function in source_files.functions(image))
    variables = (symbol.name for symbol in symbols.read_symbols(image) or ())
    for name in (name for names in (functions, variables) for name in names):
        if language := "Rust" if _RUST.match(name) else "C++" if _CPP.match(name) else None:
            yield Omission(f"{_SHOWN_AS_C}: its symbols are of {language}, such as {name}")
            return
