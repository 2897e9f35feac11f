"""Format `c` of `show`: held against what pahole prints, character by character."""

from __future__ import annotations

import re
import subprocess

import pytest

from layoutlint.model.ctype import CType, add_qualifier, function_of, pointer_to
from layoutlint.model.record import replace
from layoutlint.model.structs import Field
from layoutlint.reports import SHOW_FORMATS
from layoutlint.reports.show.c import declaration
from layoutlint.reports.show.options import ShowOptions
from tests.harness.build import member, struct
from tests.harness.tools import need
from tests.reports.show.compiled import FIXTURES, compile_object, structs

LISTING = (FIXTURES / "show" / "layouts.pahole").read_text(encoding="utf-8")
BLOCKS = {
    match[2]: match[0] for match in re.finditer(r"(?ms)^(struct|union) (\w+) \{\n.*?^\}[^\n]*\n", LISTING)
}


def list_rows(*of, **options):
    return "".join(SHOW_FORMATS["c"](of, ShowOptions(**options)))


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return structs(compile_object(FIXTURES / "show" / "layouts.c", tmp_path_factory.mktemp("show")))


@pytest.mark.parametrize("name", BLOCKS)
def test_like_pahole(found, name):
    assert list_rows(found[name]) == BLOCKS[name]


def test_the_whole_listing(found):
    assert list_rows(*(found[name] for name in BLOCKS)) == LISTING


def test_the_listing_is_pahole_s(tmp_path):
    need("pahole")
    version = subprocess.run(["pahole", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    if version != "v1.24":
        pytest.skip(f"the listing is pahole v1.24's; {version} is installed")
    path = compile_object(FIXTURES / "show" / "layouts.c", tmp_path)
    assert subprocess.run(["pahole", str(path)], capture_output=True, text=True, check=True).stdout == LISTING


@pytest.mark.parametrize("when", ["before", "after"])
def test_the_printed_listings_of_pcpu_chunk(tmp_path, when):
    """The mail of 2023-06-13 prints both; blanks are as the archive left them, and attributes it does not show."""
    printed = (FIXTURES / "upstream_fixes" / f"pcpu_chunk-{when}.pahole").read_text(encoding="utf-8")
    path = compile_object(FIXTURES / "upstream_fixes" / f"pcpu_chunk-{when}.c", tmp_path)
    text = re.sub(r" __attribute__\(\(__aligned__\(64\)\)\)", "", list_rows(structs(path)["pcpu_chunk"]))
    # In the kernel `bool` is a typedef; in the fixture it is the macro of <stdbool.h>.
    text = text.replace("\t/* forced alignments: 1 */\n", "").replace("_Bool", "bool")
    assert [line.split() for line in text.splitlines()] == [line.split() for line in printed.strip().splitlines()]


CHAR, VOID = CType("char"), CType("void")
DECLARATIONS = [
    # type, the two columns
    (pointer_to(pointer_to(CType("struct obj_cgroup"))), ("struct obj_cgroup * *", "x")),
    (pointer_to(add_qualifier(CHAR, "const")), ("const char  *", "x")),
    (pointer_to(add_qualifier(pointer_to(add_qualifier(CHAR, "const")), "const")), ("const char  * const *", "x")),
    (pointer_to(function_of(VOID, ("struct page *", "int"))), ("void", "(*x)(struct page *, int)")),
    (pointer_to(function_of(pointer_to(CHAR), ("const char *",))), ("char *", "(*x)(const char  *)")),
    # pahole 1.24 prints these two as `const void (*x)()` and `int (*x)()[4]`, which are other types.
    (add_qualifier(pointer_to(function_of(VOID, ())), "const"), ("void", "(* const x)()")),
    (CType("int (*", "[4])()"), ("int", "(*x[4])()")),
]


@pytest.mark.parametrize(("of_type", "columns"), DECLARATIONS, ids=[str(case[0]) for case in DECLARATIONS])
def test_declaration(of_type, columns):
    assert declaration(of_type, "x") == columns


def test_an_incomplete_struct_has_no_size():
    assert list_rows(replace(struct("later", 0), bit_size=None)) == (
        "struct later; /* size: ??, declared but not defined */\n"
    )


def test_an_unknown_size_is_not_zero():
    field = Field("odd", CType("odd_t"), 0, None)
    assert "/*     0    ?? */" in list_rows(struct("s", 8, field, member("b", 0, 8)))


def test_a_layout_that_cannot_be_believed_says_so():
    text = list_rows(replace(struct("s", 8, member("a", 0, 8)), problem="s.h:3: unknown type */ name"))
    assert text == "struct s; /* size: ??, layout unreliable: s.h:3: unknown type * / name */\n"


def test_another_line_size():
    text = list_rows(struct("s", 48, member("a", 0, 32), member("b", 32, 8), member("c", 40, 8)), line_size=32)
    assert "\t/* --- cacheline 1 boundary (32 bytes) --- */\n" in text
    assert "/* size: 48, cachelines: 2, members: 3 */" in text
