"""Makers of damaged and unsuitable inputs, from as few bytes as it takes."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

from tests.harness.tools import need

BTF_MAGIC = 0xEB9F
INT, PTR, ARRAY, STRUCT, TYPEDEF = 1, 2, 3, 4, 8


def btf_type(name: int, kind: int, size_or_type: int, *words: int, members: int = 0) -> bytes:
    """One record of BTF's type section (struct btf_type, then what its kind adds), little-endian."""
    return struct.pack(f"<3I{len(words)}I", name, kind << 24 | members, size_or_type, *words)


def btf(types: bytes, strings: bytes = b"\0ring\0tail\0", **header: int) -> bytes:
    """A raw BTF blob (struct btf_header, then types and strings); keywords falsify its header."""
    values = {"magic": BTF_MAGIC, "version": 1, "flags": 0, "hdr_len": 24, "type_off": 0, "type_len": len(types),
              "str_off": len(types), "str_len": len(strings), **header}  # fmt: skip
    return struct.pack("<HBBIIIII", *values.values()) + types + strings


def ring_of(type_id: int) -> bytes:
    """BTF's `struct ring { TYPE tail; }` of 8 bytes; the names stand at 1 and 6 of the strings."""
    return btf_type(1, STRUCT, 8, 6, type_id, 0, members=1)


def compile_object(tmp_path: Path, *flags: str, text: str = "struct ring { long head, tail; } r;\n") -> Path:
    """An object file; skips where there is no gcc."""
    need("gcc")
    source = tmp_path / "ring.c"
    source.write_text(text)
    subprocess.run(["gcc", "-c", "-o", "ring.o", *flags, source.name], cwd=tmp_path, check=True)
    return tmp_path / "ring.o"


def patch(path: Path, section: str, at: int, data: bytes) -> Path:
    """Overwrites bytes of a section, counted from its start; skips where there is no readelf."""
    need("readelf")
    listed = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, check=True).stdout
    row = next(line for line in listed.splitlines() if f" {section} " in line)
    start = int(row.split(section)[1].split()[2], 16)
    content = bytearray(path.read_bytes())
    content[start + at : start + at + len(data)] = data
    path.write_bytes(content)
    return path
