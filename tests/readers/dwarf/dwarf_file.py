"""ELF files with DWARF, assembled from tables: what no compiler writes, and what a damaged file holds."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from elftools.dwarf.enums import ENUM_DW_AT, ENUM_DW_FORM, ENUM_DW_TAG


def uleb(number: int) -> bytes:
    """An unsigned LEB128 number."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*out, number))


def sleb(number: int) -> bytes:
    """A signed LEB128 number."""
    out = bytearray()
    while not -0x40 <= number < 0x40:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*out, number & 0x7F))


def elf(sections: dict[str, bytes], machine: int = 62, bits: int = 64, little: bool = True, kind: int = 1) -> bytes:
    """An ELF file (by default an x86-64 object) with these sections; those called .note* are notes."""
    mark = "<" if little else ">"
    names = b"\0" + b"".join(name.encode() + b"\0" for name in (*sections, ".shstrtab"))
    bodies = {**sections, ".shstrtab": names}
    header_size, entry_size = (64, 64) if bits == 64 else (52, 40)
    blob, table = bytearray(header_size), bytearray(entry_size)
    word = "Q" if bits == 64 else "I"
    for name, body in bodies.items():
        section_type = 3 if name == ".shstrtab" else 7 if name.startswith(".note") else 1
        table += struct.pack(
            f"{mark}II{word * 4}II{word * 2}",
            *(names.index(name.encode() + b"\0"), section_type, 0, 0, len(blob), len(body), 0, 0, 1, 0),
        )
        blob += body
    ident = b"\x7fELF" + bytes((2 if bits == 64 else 1, 1 if little else 2, 1)) + bytes(9)
    blob[:header_size] = ident + struct.pack(
        f"{mark}HHI{word * 3}IHHHHHH",
        *(kind, machine, 1, 0, 0, len(blob), 0, header_size, 0, 0, entry_size, len(bodies) + 1, len(bodies)),
    )
    return bytes(blob + table)


@dataclass(slots=True)
class Dwarf:
    """One unit: abbreviations by code, entries as (code, values), in DWARF 4 or 5 and either byte order."""

    abbreviations: dict[int, tuple[str, bool, tuple[str, ...]]]
    """Tag, whether it has children, and attributes as `name:string`; `decl_line:implicit_const=7` has its value."""
    entries: tuple[tuple[object, ...], ...] = ()
    """A code and the values in order (text for strings, bytes for blocks); `(0,)` closes children."""
    version: int = 4
    little: bool = True
    sections: dict[str, bytes] = field(default_factory=dict)

    @property
    def abbrev(self) -> bytes:
        """The abbreviation table."""
        out = bytearray()
        for code, (tag, has_children, attributes) in self.abbreviations.items():
            out += uleb(code) + uleb(number(ENUM_DW_TAG, "DW_TAG_", tag)) + bytes((has_children,))
            for attribute in attributes:
                name, _, form = attribute.partition(":")
                form, _, constant = form.partition("=")
                out += uleb(number(ENUM_DW_AT, "DW_AT_", name)) + uleb(number(ENUM_DW_FORM, "DW_FORM_", form))
                out += sleb(int(constant)) if constant else b""
            out += b"\0\0"
        return bytes(out) + b"\0"

    @property
    def unit(self) -> bytes:
        """The unit with its header."""
        body = b"".join(self._entry(entry) for entry in self.entries)
        if self.version >= 5:
            return self._add_size(struct.pack(f"{self._mark}HBBI", self.version, 1, 8, 0) + body)
        return self._add_size(struct.pack(f"{self._mark}HIB", self.version, 0, 8) + body)

    def file(self, *more: bytes, **sections: bytes) -> bytes:
        """The ELF file; `more` units follow the first, and sections replace or add (`debug_str=...`)."""
        named = {f".{name}": body for name, body in sections.items()}
        made = {".debug_info": self.unit + b"".join(more), ".debug_abbrev": self.abbrev}
        return elf({**made, **self.sections, **named}, little=self.little)

    @property
    def _mark(self) -> str:
        return "<" if self.little else ">"

    def _add_size(self, body: bytes) -> bytes:
        return struct.pack(f"{self._mark}I", len(body)) + body

    def _entry(self, entry: tuple[object, ...]) -> bytes:
        code, *values = entry
        if code not in self.abbreviations:
            return uleb(code)
        forms = [a.partition(":")[2] for a in self.abbreviations[code][2]]
        written = (form for form in forms if form != "flag_present" and "=" not in form)
        return uleb(code) + b"".join(self._value(f, v) for f, v in zip(written, values, strict=True))

    def _value(self, form: str, value: object) -> bytes:
        if isinstance(value, str):
            return value.encode() + b"\0"
        if form in ("exprloc", "block") and isinstance(value, bytes):
            return uleb(len(value)) + value
        if form == "block1" and isinstance(value, bytes):
            return bytes((len(value),)) + value
        if form in ("udata", "sdata"):
            return uleb(value) if form == "udata" else sleb(value)
        letter = {"1": "B", "2": "H", "4": "I", "8": "Q"}.get(form[-1], "I")
        return struct.pack(self._mark + letter, value)


def number(table: dict[str, int], prefix: str, name: str) -> int:
    """The number of a tag, attribute or form, or of `0x...` as it stands."""
    return int(name, 16) if name.startswith("0x") else table[prefix + name]


