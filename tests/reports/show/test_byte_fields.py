"""`show --at`: the field at a byte, and who shares its line."""

from __future__ import annotations

import re

import pytest

from layoutlint.geometry.layout import Layout
from layoutlint.geometry.placement import placements
from layoutlint.reports.show import byte_fields
from layoutlint.reports.show.options import ShowOptions
from tests.harness.build import member, struct
from tests.harness.command import run

CODE = """struct in { char c; int v[3]; };
struct big {
    char tag;
    long hot;
    struct in slots[2][2];
    union { int a; float b; };
    unsigned f1:3, f2:7;
    char name[];
};
"""
FIELDS = [
    # the byte, and the fields there (gcc -m64: tag 0, hot 8, slots 16..79, the union 80, bit-fields 84, size 88)
    ("0", ["`tag` at 0..0"]),
    ("3", ["a hole or padding"]),
    ("15", ["`hot` at 8..15"]),
    ("16", ["`slots[0][0].c` at 16..16"]),
    ("17", ["`slots[0][0]` at 16..31"]),
    ("0x24", ["`slots[0][1].v[0]` at 36..39"]),
    ("0X4C", ["`slots[1][1].v[2]` at 76..79"]),
    ("80", ["`a` at 80..83", "`b` at 80..83"]),
    ("84", ["`f1` at bits 672..674", "`f2` at bits 675..681"]),
    ("085", ["`f2` at bits 675..681"]),
    ("86", ["a hole or padding"]),
]


@pytest.fixture(scope="module")
def header(tmp_path_factory):
    path = tmp_path_factory.mktemp("at") / "big.h"
    path.write_text(CODE)
    return path


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("byte", "fields"), FIELDS)
def test_the_field_at_a_byte(byte, fields, header):
    done = run("show", header, "big", "--at", byte, "--", "--target=x86_64-linux-gnu")
    number = int(byte, 16 if byte[:2].lower() == "0x" else 10)
    assert re.findall(rf"^  byte {number} \({number:#x}\): (.*)$", done.stdout, re.M) == fields
    assert done.returncode == 0


MISTAKES = [
    (("--at", "88"), 3, "--at 88: struct big has 88 bytes"),
    (("--at", "0x1000000000000"), 3, "struct big has 88 bytes"),
    (("--at", "f1"), 2, "'f1' is not a number of bytes, such as 52 or 0x34"),
    (("--at", "-4"), 2, "'-4' is not a number of bytes"),
    (("--at", "9" * 40), 2, "is not a number of bytes"),
    (("--at", "4", "--format", "json"), 2, "--at needs STRUCT, and --format text"),
]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("options", "status", "message"), MISTAKES)
def test_offsets_that_are_none(options, status, message, header):
    done = run("show", header, "big", *options)
    assert (done.returncode, message in done.stderr) == (status, True)


@pytest.mark.parametrize("line_size", [32, 64, 128])
@pytest.mark.parametrize("byte", [0, 7, 40, 63, 64, 100])
def test_who_shares_the_line_is_counted_for_each_base(byte, line_size):
    """Against the addresses of all bytes, one by one."""
    of_struct = struct("s", 136, *(member(f"m{start}", start, 8) for start in range(0, 136, 24)))
    bases = placements(Layout(of_struct), line_size).bases
    shares = {}
    for start in range(0, 136, 24):
        own = start <= byte < start + 8
        lines = [{(base + b) // line_size for b in range(start, start + 8)} for base in bases]
        count = sum((base + byte) // line_size in touched for base, touched in zip(bases, lines, strict=True))
        if count and not own:
            shares[f"m{start}"] = count
    rendered = "".join(byte_fields.render((of_struct,), (byte,), ShowOptions(line_size=line_size)))
    rows = re.findall(r"^ +\d+ +8 +(\d+)  (m\d+)$", rendered, re.M)
    assert {name: int(count) for count, name in rows} == shares


def test_alone_on_its_line():
    of_struct = struct("s", 64, member("only", 0, 8), align=64)
    assert "nothing else is on its line of 64 bytes" in "".join(byte_fields.render((of_struct,), (4,), ShowOptions()))
