"""What is true of compiled structs: facts that the compiled code holds, and what follows from them at every address."""

from __future__ import annotations

import itertools
import re
import struct
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import gcd
from pathlib import Path

from elftools.elf.elffile import ELFFile

from tools.differential.structs import Held, Record, Spot, Unit

SECONDS = 300
_I386 = 0x14C
_ERROR = re.compile(r"^[^\s:]+\.c:(\d+):(?:\d+:)? (?:fatal )?error", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Compiler:
    """A compiler with the flags that decide of layouts, and those of debug information."""

    name: str
    command: tuple[str, ...]
    flags: tuple[str, ...] = ()
    debug: tuple[str, ...] = ()

    def compile(self, source: Path, into: Path, *more: str) -> str:
        """Compiles a file; what the compiler says where it fails, else nothing."""
        words = (*self.command, "-w", "-c", *self.flags, *more, "-o", str(into), str(source))
        done = subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=SECONDS)
        return done.stderr or f"status {done.returncode}" if done.returncode else ""


@dataclass(slots=True)
class Facts:
    """Size and alignment of one type in bytes, offset and size of its spots in bits."""

    size: int
    align: int
    """`_Alignof`, which gcc limits to the largest alignment of a scalar where no `aligned` raises it."""
    spots: dict[str, tuple[int, int]] = field(default_factory=dict)
    others: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Bit-fields with bits counted in the order that is not the machine's (`scalar_storage_order`)."""
    held: dict[str, tuple[int, tuple[int, ...]]] = field(default_factory=dict)
    """By the path of what it holds: its offset, and the steps of the arrays on the way, in bytes."""
    whole_align: int = 0
    """`__alignof__`."""


_LARGEST = 1 << 16
"""The bytes of a struct that is not held any more: each of its bit-fields takes an object."""


def probe(records: Sequence[Record]) -> Iterator[tuple[str, str]]:
    """Lines of C that hold the facts, each with the name of its record."""
    for n, one in enumerate(records):
        of, words = (
            one.c_name,
            [f"sizeof({one.c_name})", f"_Alignof({one.c_name})", f"__alignof__({one.c_name})"],
        )
        for spot in one.spots:
            if not spot.is_bits:
                words += [f"__builtin_offsetof({of}, {spot.path})", f"sizeof((({of} *)0)->{spot.path})"]
        for held in one.held:
            words.append(f"__builtin_offsetof({of}, {held.path})")
            words += [f"sizeof((({of} *)0)->{path})" for path, _ in held.dims]
        yield f'_Static_assert(sizeof({of}) < {_LARGEST}, "the objects would fill the memory");', one.name
        yield f"const unsigned long long facts_{n}[] = {{ {', '.join(words)} }};", one.name
        for at, spot in enumerate(one.spots):
            if spot.is_bits:
                yield f"{of} bits_{n}_{at} = {{ .{spot.path} = -1 }};", one.name


def facts(
    compiler: Compiler, unit: Unit, folder: Path, also: Compiler | None = None
) -> tuple[dict[str, Facts], frozenset[str]]:
    """The facts of all records that the compiler takes, and the names of those that it, or `also`, does not."""
    without = frozenset[str]()
    for _ in range(12):
        text, owner = unit.text(without)
        records = [one for one in unit.records if one.name not in without]
        lines = text.count("\n")
        for line, name in probe(records):
            text, lines = f"{text}{line}\n", lines + 1
            owner[lines] = name
        path = folder / "probe.c"
        path.write_text(text)
        message = "" if also is None else also.compile(path, folder / "probe.o")
        message = message or compiler.compile(path, folder / "probe.o")
        if not message:
            return _read(folder / "probe.o", records), without
        wrong = {owner[int(line)] for line in _ERROR.findall(message) if int(line) in owner}
        if not wrong:
            raise RuntimeError(f"{compiler.name} {' '.join(compiler.flags)}: {message[:2000]}")
        without = unit.dependents(wrong | without)
    raise RuntimeError(f"{compiler.name}: errors do not end: {message[:2000]}")


def _read(path: Path, records: Sequence[Record]) -> dict[str, Facts]:
    order, data = _elf_data(path) if path.read_bytes()[:4] == b"\x7fELF" else ("little", _coff_data(path))
    return {one.name: _facts(one, n, data, order) for n, one in enumerate(records)}


def _elf_data(path: Path) -> tuple[str, dict[str, bytes]]:
    """The byte order of an object, and the content of its symbols."""
    data: dict[str, bytes] = {}
    with open(path, "rb") as file:
        elf = ELFFile(file)
        contents = cache(lambda number: memoryview(elf.get_section(number).data()))
        for symbol in elf.get_section_by_name(".symtab").iter_symbols():
            if symbol.name.startswith(("facts_", "bits_")) and isinstance(symbol["st_shndx"], int):
                section = elf.get_section(symbol["st_shndx"])
                start = symbol["st_value"]
                data[symbol.name] = (
                    bytes(contents(symbol["st_shndx"])[start : start + symbol["st_size"]])
                    if section["sh_type"] != "SHT_NOBITS" else bytes(symbol["st_size"])
                )  # fmt: skip
        return ("little" if elf.little_endian else "big"), data


def _coff_data(path: Path) -> dict[str, bytes]:
    """The content of each symbol of an object for Windows up to the end of its section: no sizes are stated."""
    content = path.read_bytes()
    machine, count, _, symbols, number, optional, _ = struct.unpack_from("<HHIIIHH", content)
    sections = [struct.unpack_from("<IIIIIIHHI", content, 28 + optional + 40 * n) for n in range(count)]
    strings, data, n = symbols + 18 * number, dict[str, bytes](), 0
    while n < number:
        at = symbols + 18 * n
        short, value, section, _, _, more = struct.unpack_from("<8sIhHBB", content, at)
        n += 1 + more
        if section > 0:
            name = short.rstrip(b"\0")
            if short[:4] == bytes(4):
                start = strings + int.from_bytes(short[4:], "little")
                name = content[start : content.index(b"\0", start)]
            _, _, size, place, *_ = sections[section - 1]
            text = name.decode().removeprefix("_" if machine == _I386 else "")
            data[text] = content[place + value : place + size] if place else bytes(size - value)
    return data


_OTHER = {"big": "little", "little": "big"}


def _facts(one: Record, n: int, data: dict[str, bytes], order: str) -> Facts:
    content = data[f"facts_{n}"]
    numbers = iter([int.from_bytes(content[at : at + 8], order) for at in range(0, len(content), 8)])  # type: ignore[arg-type]
    found = Facts(next(numbers), next(numbers))
    found.whole_align = next(numbers)
    for at, spot in enumerate(one.spots):
        if not spot.is_bits:
            found.spots[spot.path] = (next(numbers) * 8, next(numbers) * 8)
            continue
        for counted, spots in ((order, found.spots), (_OTHER[order], found.others)):
            bits = _run(data[f"bits_{n}_{at}"][: found.size], counted)
            # Clang 19 and 22 with -m32 write the padding of a `_BitInt(72)` over the bit-field behind it, which is
            # then shorter in the data than it is declared: the program itself is wrong.
            if bits is not None and bits[1] == spot.bits:
                spots[spot.path] = bits
    for held in one.held:
        found.held[held.path] = (next(numbers), tuple(next(numbers) for _ in held.dims))
    return found


def _run(content: bytes, order: str) -> tuple[int, int] | None:
    """Where the one run of set bits is; None where there is none, or more than one."""
    bits = "".join(f"{byte:08b}"[:: 1 if order == "big" else -1] for byte in content)
    run = bits.strip("0")
    return (bits.index("1"), len(run)) if run and "0" not in run else None


@dataclass(frozen=True, slots=True)
class Stand:
    """Where objects of a struct start: a step from 0 on, and how far behind that each of a row of them stands."""

    step: int
    behind: tuple[int, ...] = (0,)


def bases(stands: Sequence[Stand], line: int) -> set[int]:
    """Every base modulo the line."""
    return {(start + more) % line for one in stands for start in _starts(one, line) for more in one.behind}


def _starts(one: Stand, line: int) -> range:
    return range(0, line, gcd(one.step, line))


@dataclass(frozen=True, slots=True)
class Bytes:
    """First byte of a field and one past its last; `bit` is its first bit."""

    start: int
    end: int
    bit: int

    @classmethod
    def from_bits(cls, bit_offset: int, bit_size: int) -> Bytes:
        return cls(bit_offset // 8, (bit_offset + bit_size + 7) // 8, bit_offset)

    def lines(self, base: int, line: int) -> range:
        return range((base + self.start) // line, (base + self.end - 1) // line + 1)


def straddles(of: Bytes, stands: Sequence[Stand], line: int) -> set[int]:
    """The bases at which a field lies on more than one line."""
    return {base for base in bases(stands, line) if len(of.lines(base, line)) > 1}


def bases_inside(of: Bytes, stands: Sequence[Stand], line: int) -> set[int]:
    """The bases at which a field does not begin a line."""
    return {base for base in bases(stands, line) if (base * 8 + of.bit) % (line * 8)}


def sharing_bases(a: Bytes, b: Bytes, stands: Sequence[Stand], line: int) -> set[int]:
    """The bases of objects of which a field shares a line with another of the same, or of the next in a row."""
    found: set[int] = set()
    for one in stands:
        for start in _starts(one, line):
            objects = [start + more for more in one.behind]
            for at in objects:
                if _meet(a, at, b, at, line):
                    found.add(at % line)
            for at, following in itertools.pairwise(objects):
                if _meet(a, at, b, following, line) or _meet(b, at, a, following, line):
                    found |= {at % line, following % line}
    return found


def _meet(a: Bytes, at: int, b: Bytes, there: int, line: int) -> bool:
    ours, theirs = a.lines(at, line), b.lines(there, line)
    return ours.start < theirs.stop and theirs.start < ours.stop


def ways(
    name: str, unit: Unit, known: dict[str, Facts]
) -> Iterator[tuple[Record, int, tuple[tuple[int, int], ...]]]:
    """Each way into a struct: the container, the offset, and the (number, step) of arrays, outermost first."""
    by_type = {one.c_name: one for one in unit.records}
    for one in unit.records:
        if one.name in known and one.of == "":
            for offset, arrays in _ways(one.c_name, name, unit, known, by_type, 0):
                yield one, offset, arrays


def _ways(
    of: str, name: str, unit: Unit, known: dict[str, Facts], by_type: dict[str, Record], depth: int
) -> Iterator[tuple[int, tuple[tuple[int, int], ...]]]:
    record = by_type[of]
    for held in record.held:
        place = known[record.name].held[held.path]
        steps = tuple((count or 0, step) for (_, count), step in zip(held.dims, place[1], strict=True))
        if by_type[held.inner].name == name:
            yield place[0], steps
        if depth < 12:
            for offset, arrays in _ways(held.inner, name, unit, known, by_type, depth + 1):
                yield place[0] + offset, (*steps, *arrays)


def spread(arrays: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    """How far behind the first each element stands, in order."""
    behind = [0]
    for count, step in arrays:
        behind = [before + at * step for before in behind for at in range(count)]
    return tuple(behind)


__all__ = ["Bytes", "Compiler", "Facts", "Held", "Spot", "Stand", "bases", "facts", "spread", "ways"]
