"""What an input declares by a name that was taken for a struct: a function, an enum and the like."""

from __future__ import annotations

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.model.reading import ReadOptions
from layoutlint.readers import dispatch


def what_is(path: str, name: str, options: ReadOptions) -> str | None:
    """Return what an input declares by a name, to end a message; None if nothing is found.

    It never raises: the run that misses the struct has reported what cannot be read.
    """
    if not name.isidentifier():
        return None
    try:
        return _what_is(path, name, options)
    except (ReadError, OSError):
        return None


def _what_is(path: str, name: str, options: ReadOptions) -> str | None:
    given = next((each.text for each in options.texts if each.path == path), None)
    if given is not None:
        from layoutlint.readers.clang.declared_things import what_is

        return what_is(name, given)
    reader = dispatch.sniff(path) if files.exists(path) else ""
    if reader == "clang":
        from layoutlint.readers.clang.declared_things import what_is_around

        return what_is_around(path, name)
    if reader == "btf":
        from layoutlint.readers import btf

        return btf.what_is(path, name, options)
    return _what_is_in_elf(path, name, options) if reader == "elf" else None


def _what_is_in_elf(path: str, name: str, options: ReadOptions) -> str | None:
    from layoutlint.readers import btf
    from layoutlint.readers.dwarf import declared_names
    from layoutlint.readers.elf import debug_files, elf_file

    with elf_file.open_elf(path) as image:
        if image.debug_information is None:
            image = debug_files.debug_file(image, None, options)
        readers = (options.reader,) if options.reader else ("dwarf", "btf")
        meaning = None
        if "dwarf" in readers and image.has("dwarf"):  # BTF of kernels has few variables
            meaning = declared_names.what_is(image, name, options)
        if meaning is None and "btf" in readers and image.has("btf"):
            meaning = btf.what_is_in_elf(image, name, options)
        return meaning
