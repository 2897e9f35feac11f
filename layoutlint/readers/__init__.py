"""One module per kind of input, each turning a foreign library's objects into Structs and nothing else."""

from __future__ import annotations

from pathlib import Path

from layoutlint.errors import ReadError
from layoutlint.model import Reading, ReadOptions, Wanted

_BTF_MAGIC = (b"\x9f\xeb", b"\xeb\x9f")
_SNIFFED = 4096


def sniff(path: str) -> str:
    """Which reader an input needs, told by its content: `elf`, `btf` or `clang`.

    Raises ReadError for what no reader takes.
    """
    try:
        if Path(path).is_dir():
            return "clang"
        if Path(path).exists() and not Path(path).is_file():
            raise ReadError(path, "is a pipe or a device; readers need a file that they can read twice")
        with open(path, "rb") as file:
            head = file.read(_SNIFFED)
    except OSError as error:
        raise ReadError(path, (error.strerror or str(error)).lower()) from error
    if not head:
        raise ReadError(path, "the file is empty")
    if head.startswith(b"\x7fELF"):
        return "elf"
    if head.startswith(_BTF_MAGIC):
        return "btf"
    if b"\0" in head:
        raise ReadError(path, f"neither ELF, BTF nor C text (it starts with the bytes {head[:4].hex(' ')})")
    return "clang"


def read(path: str, wanted: Wanted, options: ReadOptions) -> Reading:
    """The wanted structs of one input.

    Raises ReadError when nothing of it can be read or believed; smaller failures are in the Reading.
    """
    what = sniff(path)
    if what == "clang":
        from layoutlint.readers import clang

        return clang.read(path, wanted, options)
    if what == "btf":
        from layoutlint.readers import btf

        return btf.read(path, wanted, options)
    return _read_elf(path, wanted, options)


def _read_elf(path: str, wanted: Wanted, options: ReadOptions) -> Reading:
    from layoutlint.readers import elf

    with elf.opened(path) as image:
        has = {"dwarf": image.has_dwarf, "btf": image.has_btf}
        choice = options.reader or next((name for name in has if has[name]), None)
        if choice is None or not has.get(choice):
            missing = choice.upper() if choice else "debug information (neither DWARF nor BTF)"
            raise ReadError(path, f"has no {missing}; build it with `-g`, or give its vmlinux or debug file")
        if choice == "dwarf":
            from layoutlint.readers import dwarf

            return dwarf.read_elf(image, wanted, options)
        from layoutlint.readers import btf

        return btf.read_elf(image, wanted, options)
