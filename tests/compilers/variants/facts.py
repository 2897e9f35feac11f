"""What the compiler itself says of the types of the rich source: constants in objects made by fixtures/variants/probe.h."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from elftools.elf.elffile import ELFFile

TEXT = 640
"""Bytes of `struct fact` before its two numbers."""


@dataclass(frozen=True, slots=True)
class Spot:
    """Where one field stands, in bits; `size` is None where C has no way to ask."""

    offset: int
    size: int | None
    is_bitfield: bool


@dataclass(frozen=True, slots=True)
class Definition:
    """One definition of a struct or union; sizes and alignment in bytes, spots by dotted path."""

    name: str
    size: int
    align: int
    spots: tuple[tuple[str, Spot], ...]

    @property
    def bit_fields(self) -> int:
        """How many of its fields are bit-fields."""
        return sum(spot.is_bitfield for _, spot in self.spots)


def definitions_of(objects: Iterable[Path]) -> tuple[Definition, ...]:
    """The definitions that objects hold constants of, each once."""
    return tuple(dict.fromkeys(found for path in objects for found in _definitions(path)))


def _definitions(path: Path) -> Iterator[Definition]:
    with open(path, "rb") as file:
        elf = ELFFile(file)
        data = dict(_symbols(elf))
        order = "little" if elf.little_endian else "big"
    heads: dict[str, tuple[int, int]] = {}
    spots: dict[str, dict[str, Spot]] = {}
    for symbol, content in data.items():
        kind, _, number = symbol.partition("_")
        if kind == "object":
            continue
        tag, _, field = content[:TEXT].rstrip(b"\0").decode().partition("|")
        first, second = (int.from_bytes(content[at : at + 8], order) for at in (TEXT, TEXT + 8))
        if kind == "struct":
            heads[tag] = first, second
        else:
            spots.setdefault(tag, {})[field.replace("[0]", "")] = (
                _run(data[f"object_{number}"], kind, order) if "bits" in kind
                else Spot(first * 8, None if kind == "tail" else second * 8, False)
            )  # fmt: skip
    for tag, (size, align) in heads.items():
        yield Definition(tag.split()[-1], size, align, tuple(sorted(spots.get(tag, {}).items())))


def _symbols(elf: ELFFile) -> Iterator[tuple[str, bytes]]:
    for symbol in elf.get_section_by_name(".symtab").iter_symbols():
        if symbol.name.startswith(("struct_", "field_", "tail_", "bits_", "otherbits_", "object_")):
            section = elf.get_section(symbol["st_shndx"])
            content = section.data() if section["sh_type"] != "SHT_NOBITS" else bytes(section["sh_size"])
            yield symbol.name, content[symbol["st_value"] :][: symbol["st_size"]]


def _run(content: bytes, kind: str, order: str) -> Spot:
    """Where the one run of set bits is, from the side on which the target, or this struct, lays out bit-fields."""
    from_above = (order == "big") != (kind == "otherbits")
    bits = "".join(f"{byte:08b}"[:: 1 if from_above else -1] for byte in content)
    run = bits.strip("0")
    assert run, "no bit is set"
    assert "0" not in run, "more than one run of bits is set"
    return Spot(bits.index("1"), len(run), True)
