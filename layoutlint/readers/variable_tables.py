"""The variables of compiled inputs, from their symbol tables."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.model.reading import ReadOptions, Unread
from layoutlint.model.record import replace
from layoutlint.model.variables import DataSection, Variable, VariableTable
from layoutlint.readers import dispatch
from layoutlint.readers.archives.locate import locate
from layoutlint.readers.elf import debug_files, elf_file
from layoutlint.readers.elf.elf_file import Image
from layoutlint.readers.elf.headers import Section
from layoutlint.readers.elf.symbols import Symbol, read_symbols

_WRITABLE = 1  # SHF_WRITE
_QUIET = re.compile(r"\.(?:rodata|data\.rel\.ro|data\.\.ro_after_init|init|exit|meminit|eh_frame|got)\b")
"""Sections that are written only before the program, or all of a kernel, runs."""
_C_FILE = re.compile(r"\.(?:c|cc|cpp|cxx|C|S|s|m|i|ii)$")
"""Names of units that are sources; link-time optimisation names its own temporary files."""
_SUFFIX = re.compile(r"(?:\.ko)?(?:\.(?:debug|gz|xz|zst))?$")
_NO_ADDRESSES = "states no addresses of variables; give the linked program, module or object"


def read(paths: Iterable[str], options: ReadOptions) -> tuple[list[VariableTable], list[Unread]]:
    """Return the variables of each file of some inputs, and why there are none.

    A folder of kernel modules has a table for each module.
    """
    tables: list[VariableTable] = []
    unread: list[Unread] = []
    for path in paths:
        try:
            files = _files(path, options)
        except ReadError as error:
            unread.append(Unread.of_error(error))
            continue
        for file, label in files:
            try:
                tables.append(replace(_read_file(file, options), label=label))
            except ReadError as error:
                unread.append(Unread.of_error(error))
    return tables, unread


def _files(path: str, options: ReadOptions) -> list[tuple[str, str]]:
    """Return the files of an input, each with the name of its module or file. Raises ReadError."""
    is_text = any(text.path == path for text in options.texts)
    folder = location = None
    if not is_text and files.is_folder(path):
        from layoutlint.readers.modules import find

        folder = find.find(path)
    elif not is_text:
        location = locate(path)
    paths = (path,) if folder is None else folder.files
    if location is not None:
        from layoutlint.readers.archives import read

        paths = read.files_of(location)
    names = (file if location is None else file.rpartition(":")[2] for file in paths)
    return [(file, _SUFFIX.sub("", os.path.basename(name))) for file, name in zip(paths, names, strict=True)]


def _read_file(path: str, options: ReadOptions) -> VariableTable:
    """Return the variables of a file. Raises ReadError if it has no addresses of variables."""
    if any(text.path == path for text in options.texts) or dispatch.sniff(path) != "elf":
        raise ReadError(path, _NO_ADDRESSES)
    with elf_file.open_elf(path) as image:
        symbols, source = read_symbols(image), image
        if symbols is None:
            source = _debug_image(image, options)
            symbols = read_symbols(source)
        if symbols is None:
            raise ReadError(path, "has no symbol table, so the addresses of its variables are not known")
        return _table(path, source, symbols)


def _debug_image(image: Image, options: ReadOptions) -> Image:
    """Return the separate debug file, which keeps the symbol table. Raises ReadError if there is none."""
    try:
        return debug_files.debug_file(image, None, options)
    except ReadError as error:
        reason = "has no symbol table, so the addresses of its variables are not known, and no debug file"
        raise ReadError(image.path, reason) from error


def _table(path: str, image: Image, symbols: list[Symbol]) -> VariableTable:
    objects = [symbol for symbol in symbols if symbol.has_type and symbol.size]
    is_written = [_is_written(header) for header in image.headers]
    names = _section_names(image)
    written = [symbol for symbol in objects if is_written[symbol.section]]
    # The first of the symbols for the same memory names it: a global one, without `__pi_` in front, by name.
    written.sort(key=lambda s: (s.section, s.address, -s.size, s.is_local, s.name[:1] == "_", s.name))
    variables: list[Variable] = []
    previous: tuple[int, int, int] | None = None
    for s in written:
        place = s.section, s.address, s.size
        if place != previous:
            variables.append(Variable(s.name, s.address, s.size, names[s.section], s.is_local, _unit(s)))
        previous = place
    used = sorted({symbol.section for symbol in written}, key=lambda n: (image.headers[n].address, n))
    return VariableTable(
        path,
        path,
        image.target,
        not image.is_relocatable,
        tuple(_section(image.headers[number], names[number]) for number in used),
        tuple(variables),
        _constants((symbol for symbol in objects if not is_written[symbol.section]), names),
    )


def _constants(symbols: Iterable[Symbol], names: list[str]) -> dict[tuple[str, str], str]:
    """Return the sections of variables by name and unit, without those that occur several times."""
    sections: dict[tuple[str, str], str] = {}
    several: set[tuple[str, str]] = set()
    for symbol in symbols:
        key = symbol.name, _unit(symbol)
        if key in sections:
            several.add(key)
        sections[key] = names[symbol.section]
    return {key: section for key, section in sections.items() if key not in several}


def _unit(symbol: Symbol) -> str:
    """Return the source file of a static variable; empty if its symbol states none."""
    return symbol.unit if _C_FILE.search(symbol.unit) else ""


def _section_names(image: Image) -> list[str]:
    """Return the names of all sections; further ones of a name in an object file are numbered."""
    seen: dict[str, int] = {}
    names: list[str] = []
    for header in image.headers:
        number = seen[header.name] = seen.get(header.name, 0) + 1
        names.append(header.name if number == 1 else f"{header.name} ({number})")
    return names


def _section(header: Section, name: str) -> DataSection:
    return DataSection(name, header.address, header.size, max(1, header.align))


def _is_written(header: Section) -> bool:
    """Return whether a program writes to a section while it runs."""
    return bool(header.flags & _WRITABLE) and _QUIET.match(header.name) is None
