"""Where pahole's listing is wrong: a member whose type is a qualified struct without a tag loses its name.

Linux 6.1 has one such struct on armhf, `imx_pgc_domain` (drivers/soc/imx/gpcv2.c: `const struct { u32 pxx; ... } bits;`).
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from layoutlint.geometry.layout import Layout
from layoutlint.model.reading import ReadOptions
from layoutlint.model.wanted import Wanted
from layoutlint.readers.dispatch import read
from tests.oracles import pahole
from tests.oracles.c_probe import need

SOURCE = """
struct domain {
	long pgc;
	const struct { unsigned pxx; unsigned map; } bits;
	volatile union { short half; int whole; } both;
	const struct { char a; };
	const int voltage;
} *domain;
enum { BITS = __builtin_offsetof(struct domain, bits.map), BOTH = __builtin_offsetof(struct domain, both.half),
       INNER = __builtin_offsetof(struct domain, a) };
char offsets[] = { BITS, BOTH, INNER };
"""


@pytest.mark.parametrize("flags", [(), ("-m32",)])
def test_a_member_that_pahole_does_not_name(tmp_path: Path, flags):
    (tmp_path / "domain.c").write_text(SOURCE)
    path = tmp_path / "domain.o"
    subprocess.run([need("gcc"), *flags, "-g", "-c", "domain.c", "-o", "domain.o"], cwd=tmp_path, check=True)
    expected = _offsets(path)
    readers = {"dwarf": path, "btf": _with_btf(path)}
    for reader, file in readers.items():
        (found,) = read(str(file), Wanted(frozenset({"domain"})), ReadOptions(reader=reader)).structs
        places = [Layout(found).find(name) for name in ("bits.map", "both.half", "a")]
        assert [place and place.bit_offset // 8 for place in places] == expected, reader
    (listed,) = [shape for shape in pahole.list_output(path, "-F", "dwarf") if shape.name == "domain"]
    names = dict(listed.spots)
    if "bits" in names:
        pytest.skip("this pahole names the member")
    assert names["map"].bit_offset // 8 == expected[0]  # as if the member had no name


def _offsets(path: Path) -> list[int]:
    """What the compiler wrote into `offsets`."""
    from elftools.elf.elffile import ELFFile

    with open(path, "rb") as file:
        image = ELFFile(file)
        (symbol,) = image.get_section_by_name(".symtab").get_symbol_by_name("offsets")
        return list(image.get_section(symbol["st_shndx"]).data()[symbol["st_value"] :][: symbol["st_size"]])


def _with_btf(path: Path) -> Path:
    """The same object with the BTF that pahole makes of its DWARF, which has the names."""
    made = path.with_name("btf.o")
    made.write_bytes(path.read_bytes())
    subprocess.run([need("pahole"), "-J", str(made)], check=True)
    return made
