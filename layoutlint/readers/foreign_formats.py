"""Compiled files of formats that no reader supports, recognised by their first bytes."""

from __future__ import annotations

_HINT = "layoutlint reads ELF files: give the C sources, or compile them for Linux with `-g`"
_MACH_O = f"is a Mach-O file, as macOS has; {_HINT}"
_BITCODE = (
    "is LLVM bitcode, as `clang -flto` writes it; give the linked program, or compile it with "
    "`-g` and without `-flto`"
)
_COFF = f"is a COFF object, as Windows has; {_HINT}"
_BY_START = {
    b"MZ": f"is a Windows program; {_HINT}",
    **dict.fromkeys(
        (b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe", b"\xfe\xed\xfa\xcf", b"\xfe\xed\xfa\xce"), _MACH_O
    ),
    b"\0asm": f"is WebAssembly; {_HINT}",
    b"BC\xc0\xde": _BITCODE,
    b"\xde\xc0\x17\x0b": _BITCODE,  # a wrapper around it, as clang writes for macOS
}
NOT_COMPILED = "is named like an object file, and is neither an ELF file nor BTF"
_FAT = (b"\xca\xfe\xba\xbe", b"\xca\xfe\xba\xbf")
_MOST_OF_FAT = 40
"""Files of Java begin like Mach-O files for several machines; the version there is at least 45."""
_MACHINES_OF_COFF = frozenset(
    (0x14C, 0x162, 0x166, 0x1A2, 0x1C0, 0x1C2, 0x1C4, 0x1F0, 0x200, 0x6232, 0x6264, 0x8664, 0xA641, 0xAA64)
)
"""IMAGE_FILE_MACHINE_* (PE format of Microsoft)."""
_FIRST_SECTION = 20
_ANONYMOUS = b"\0\0\xff\xff"
"""How objects of COFF begin that have more than 65,279 sections, or that the linker compiles."""


def refusal(start: bytes) -> str | None:
    """Return which compiled format a file that starts like this has, and the remedy; None for other files."""
    if b"\0" not in start:  # a text
        return None
    reason = next((text for magic, text in _BY_START.items() if start.startswith(magic)), None)
    if reason is None and start.startswith(_FAT) and 0 < int.from_bytes(start[4:8]) < _MOST_OF_FAT:
        return _MACH_O
    return _COFF if reason is None and _is_coff(start) else reason


def refusal_of_named(name: str, start: bytes) -> str | None:
    """Return what `refusal` does; also a reason for other files that are named like objects."""
    is_named = name.endswith((".o", ".obj")) and (not start or b"\0" in start)
    return refusal(start) or (NOT_COMPILED if is_named else None)


def _is_coff(start: bytes) -> bool:
    """Return whether a file is an object of COFF: it has no mark but its machine."""
    if start.startswith(_ANONYMOUS):
        return int.from_bytes(start[6:8], "little") in _MACHINES_OF_COFF
    machine, sections, optional_header = (
        int.from_bytes(start[at : at + 2], "little") for at in (0, 2, 16)
    )
    name = start[_FIRST_SECTION : _FIRST_SECTION + 8].rstrip(b"\0")
    is_object = machine in _MACHINES_OF_COFF and sections > 0 and not optional_header
    return is_object and name.isascii() and name.decode().isprintable() and bool(name)
