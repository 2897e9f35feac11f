"""Units whose text begins with the same includes: listed behind a precompiled text as when each is parsed alone."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from layoutlint.model.reading import ReadOptions
from layoutlint.model.record import replace
from layoutlint.readers.clang import libclang, shared_beginnings, unit_listings
from layoutlint.readers.clang.lookups import Messages
from layoutlint.readers.clang.parse import Unit
from layoutlint.workers import pool
from layoutlint.workers.child import HAS_PROCESSES

pytestmark = pytest.mark.skipif(
    not HAS_PROCESSES or not hasattr(os, "memfd_create"), reason="needs fork and memfd_create"
)

BEGINNINGS = {
    "one": (b'#include "a.h"\nint x;\n', ['"a.h"']),
    "several, with comments and empty lines": (
        b"/* (c)\n * x */\n// y\n\n#include <a.h>\n  #  include \"b.h\" /* why */\n#include <c.h> // z\nint x;\n", ["<a.h>", '"b.h"', "<c.h>"],
    ),
    "ends of lines of Windows": (b'#include "a.h"\r\n#include "b.h"\r\nint x;', ['"a.h"', '"b.h"']),
    "a definition before": (b'#define A\n#include "a.h"\n', []),
    "a condition before": (b'#if 1\n#include "a.h"\n#endif\n', []),
    "a definition between": (b'#include "a.h"\n#define A\n#include "b.h"\n', ['"a.h"']),
    "a comment that goes on behind one": (b'#include "a.h" /* a */ /*/\n#include "b.h"\n/* x */\n', []),
    "a macro as name": (b"#include NAME\n", []),
    "more words": (b'#include "a.h" x\n', []),
    "no end of the line": (b'#include "a.h"', []),
    "a comment whose end is joined": (b'/* *\\\n/ int x; /* */\n#include "a.h"\n', []),
    "a comment that goes on": (b'// x \\\n#include "b.h"\n#include "a.h"\n', []),
    "a comment that goes on by a trigraph": (b'// x ??/\n#include "b.h"\n#include "a.h"\n', []),
    "what is a comment only to later C": (b'//* */ 2\n#include "a.h"\n', []),
    "a digraph": (b'%:include "a.h"\n', []),
    "a mark of the order of bytes": (b'\xef\xbb\xbf#include "a.h"\n', []),
    "nothing": (b"", []),
}  # fmt: skip


@pytest.mark.parametrize("name", BEGINNINGS)
def test_beginnings(name: str) -> None:
    text, includes = BEGINNINGS[name]
    found = shared_beginnings.beginning_of(text)
    assert [each.decode() for each in found.includes] == includes
    assert all(text[:end].endswith(b"\n") for end in found.ends)


PLAIN = "struct in_header { char c; long l; };\n"
RINGS = "struct ring_{0} {{ int a; struct in_header h; }};\n"
FORMS: dict[str, tuple[str, str, int]] = {
    "plain": (PLAIN, RINGS, 3),
    "typedefs of the header's structs": (PLAIN, "typedef struct in_header renamed_{0}; typedef struct in_header aligned_{0} __attribute__((aligned(64)));\n", 3),
    "structs in structs": ("struct outer { struct inner { int x; union { int y; struct { char z; }; }; } i, j; struct { int k; }; };\n", "struct ring_{0} {{ struct outer o; struct deep_{0} {{ struct inner i; }} d[2]; }};\n", 3),
    "a typedef whose struct comes later": ("typedef struct late late_t, *late_pointer;\n", "struct late {{ char c[{0} + 1]; }};\n", 3),
    "the same, aligned": ("typedef struct late late_t __attribute__((aligned(64)));\n", "struct late {{ char c[{0} + 1]; }};\n", 3),
    "packed from now on": (f"#pragma pack(1)\n{PLAIN}", RINGS, 3),
    "packed, pushed": ("#pragma pack(push, 2)\n", RINGS.replace("struct in_header", "long") + "#pragma pack(pop)\nstruct after_{0} {{ char c; long l; }};\n", 3),
    "a predefined macro is gone": ("#undef __linux__\n#undef __CHAR_BIT__\n#define __SIZEOF_INT__ 77\n", "#ifndef __linux__\nstruct ring_{0} {{ char c[__SIZEOF_INT__]; }};\n#endif\n", 3),
    "lines": (f"{PLAIN}#define PASTE(a, b) a##b\n#define NAME(line) PASTE(ring_, line)\n", "struct NAME(__LINE__) {{ int a; }};\n\nstruct NAME(__LINE__) {{ int a; }};\n", 3),
    "a counter that is used behind": (PLAIN, "struct ring_{0} {{ int a; }};\nint x[__COUNTER__ + 1];\n", 3),
    "a counter": ("#define PASTE(a, b) a##b\n#define NAME(n) PASTE(ring_, n)\nstruct NAME(__COUNTER__) { int x; };\n", "struct NAME(__COUNTER__) {{ int a; }};\n", 0),
    "the name of the file": (PLAIN, "struct ring_{0} {{ char path[sizeof(__FILE__)]; }};\nenum {{ LEVEL = __INCLUDE_LEVEL__ }};\n#if __INCLUDE_LEVEL__\nstruct below {{ int x; }};\n#endif\n", 3),
    "includes behind": (PLAIN, "#include \"more.h\"\nstruct ring_{0} {{ struct more m; }};\n", 3),
    "the header again": ("#pragma once\n" + PLAIN, "#include \"first.h\"\n#include \"../{folder}/first.h\"\n" + RINGS, 3),
    "annotations": (PLAIN, "struct ring_{0} {{\n\tint a; /* layoutlint: hot-read */\n}};\n", 3),
    "attributes behind the brace": (PLAIN, "struct ring_{0} {{ char c; struct {{ char d; long m; }} __attribute__((packed)) n; long l; }} __attribute__((packed));\n_Static_assert(sizeof(struct ring_{0}) == 18, \"\");\ntypedef struct {{ struct ring_{0} r; int i; }} __attribute__((aligned(64))) outer_{0};\n", 3),
    "names that are no ASCII words": (PLAIN, "int x[sizeof(struct ring$_{0} {{ long l; }})];\nint y[sizeof(struct ring\u00e9_{0} {{ long l; }})];\n", 3),
    "a namesake in the header's parameters": (PLAIN + "void f(struct ring { int z; } *r);\n", "int x[sizeof(struct ring {{ long l; char c[{0} + 1]; }})];\n", 3),
    "a namesake in parameters": ("struct ring { long l; };\n", "extern void (*f)(struct ring {{ char c[{0} + 1]; }} *p);\n", 3),
    "a typedef of the header with the name of a hidden tag": ("typedef struct late ring_t;\n", "typedef struct late late;\nint x[sizeof(struct late {{ char c[{0} + 1]; }})];\n", 3),
    "a struct without a tag whose typedef is a tag of the header": ("typedef struct late late_t;\n", "typedef struct {{ char c[{0} + 1]; }} late;\n", 3),
    # Not certain to be the same: parsed alone.
    "a specifier at the end of the source": (PLAIN, "struct ring_{0} {{ int a; }};\ntypedef", 0),
    "the first unit's file by #import": (PLAIN, "#if {0}\n#import \"u0.c\"\n#endif\nstruct ring_{0} {{ int a; }};\n", 1),
    "the path of the unit, in joined words": (PLAIN + "#define JOIN(a, b) a##b\nstruct path { char c[sizeof(JOIN(__BASE_, FILE__))]; };\n", RINGS, 0),
    "the path of the unit, behind": (PLAIN, "struct path {{ char c[sizeof(__BASE_FILE__)]; }};\n", 0),
    "a macro that is kept for later": ("#pragma push_macro(\"ring_0\")\n#define ring_0 other\n", "#pragma pop_macro(\"ring_0\")\nstruct ring_{0} {{ int a; }};\n", 0),
    "the same, in joined words": ("#define ring_0 ring_0\n#define S(x) #x\n#define P(x) _Pragma(S(x))\n#define Q(a, b) P(a##b(\"ring_0\"))\nQ(push_, macro)\n#undef ring_0\n#define ring_0 other\n", "Q(pop_, macro)\nstruct ring_{0} {{ int a; }};\n", 0),
    "a specifier at the end": (PLAIN + "typedef", "\nstruct {{ int a; }} ring_{0};\n", 0),
    "an attribute at the end": (PLAIN + "__attribute__((packed))", "\nstruct ring_{0} {{ char c; long l; }};\n", 0),
    "an attribute of C23 at the end": (PLAIN + "[[gnu::packed]]", "\nstruct ring_{0} {{ char c; long l; }};\n", 0),
    "a tag at the end": (PLAIN + "struct ring", "\n{{ int a; }};\n", 0),
    "a brace at the end": (PLAIN + "struct ring {", "\nint a; }};\n", 0),
    "a function's brace at the end": (PLAIN + "static void f(void) {", "\n}} struct ring_{0} {{ int a; }};\n", 0),
    "the assertion is a macro": ("#define _Static_assert(x, y)\ntypedef", "\nstruct {{ int a; }} ring_{0};\n", 0),
    "a comment at the end": (PLAIN + "/*", "\n*/ struct ring_{0} {{ int a; }};\n", 0),
    "the path of the unit": (PLAIN + "struct path { char c[sizeof(__BASE_FILE__)]; };\n", RINGS, 0),
    "a struct in an attribute": (PLAIN, "int x __attribute__((aligned(sizeof(struct hidden_{0} {{ long l; }}))));\n", 3),
    "a struct in a size": (PLAIN, "int x[sizeof(struct hidden_{0} {{ long l; }})];\n", 3),
    "a struct in a parameter": (PLAIN, "void f(struct hidden_{0} {{ long l; }} *p);\n", 3),
    "a struct in joined words": (PLAIN + "#define JOIN(a, b) a##b\n", "int x[sizeof(JOIN(str, uct) JOIN(hidden_, {0}) {{ long l; }})];\n", 3),
    "an error": (PLAIN, "struct ring_{0} {{ unknown_t u; }};\n", 0),
    "an error in the header": (PLAIN + "unknown_t u;\n", RINGS, 0),
    "itself": (PLAIN, "#ifndef AGAIN\n#define AGAIN\nstruct first_{0} {{ int a; }};\n#include __FILE__\n#else\nstruct second_{0} {{ int a; }};\n#endif\n", 0),
    "the file of the first unit": (PLAIN, "#ifndef AGAIN\n#define AGAIN\n#if {0}\n#include \"u0.c\"\n#endif\nstruct ring_{0} {{ int a; }};\n#endif\n", 1),
    "the same from the header": ("#ifndef AGAIN\n#define AGAIN\n#include \"u0.c\"\n#endif\n" + PLAIN, RINGS, 0),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_rests_are_listed_as_alone(form: str, tmp_path: Path) -> None:
    header, rest, count = FORMS[form]
    texts = {f"u{number}.c": '/* unit */\n#include "first.h"\n' + rest.format(number, folder=tmp_path.name) for number in range(3)}
    units = write(tmp_path, {"first.h": header, "more.h": "struct more { struct in_header h; int m; };\n", **texts})
    check(units, count)


def test_the_first_unit_by_another_name(tmp_path: Path) -> None:
    rest = '#ifndef A\n#define A\n#include "link.c"\n#endif\nstruct ring_{0} {{ int a; }};\n'
    units = write(tmp_path, {"first.h": PLAIN, **{f"u{number}.c": f"/* unit */\n{rest.format(number)}" for number in range(3)}})
    (tmp_path / "link.c").symlink_to("u0.c")
    check(units, 0)


def test_annotations_before_the_includes(tmp_path: Path) -> None:
    text = "/* struct ring_{0}.a: layoutlint: hot-read */\n/* unit */\nstruct ring_{0} {{ int a; }};\n"
    check(write(tmp_path, {f"u{number}.c": text.format(number) for number in range(3)}), 3)


@pytest.mark.parametrize("name", ["u??=", "./u", 'u"'])
def test_paths_that_are_not_the_same_in_a_line_directive(name: str, tmp_path: Path) -> None:
    units = write(tmp_path, {f"u{number}.c": '#include "large.h"\n' for number in range(3)})
    assert len(list(shared_beginnings.find(units))) == 1
    other = [replace(each, main=str(tmp_path) + f"/{name}{number}.c") for number, each in enumerate(units)]
    for each in other:
        Path(each.main).write_text('#include "large.h"\n')
    assert not list(shared_beginnings.find(other))


def test_a_header_that_flags_include_can_leave_what_is_not_kept(tmp_path: Path) -> None:
    """An alias of an include, before what makes an error of the word."""
    texts = {f"u{number}.c": f'#include "large.h"\n#include "a.h"\nint x{number};\n' for number in range(3)}
    more = {"a.h": "struct from_a { int a; };\n", "b.h": "struct from_b { int b; };\n", "alias.h": '#pragma include_alias("a.h", "b.h")\n'}
    units = write(tmp_path, {**texts, **more})
    assert len(list(shared_beginnings.find(units))) == 1
    flags = ("-fms-extensions", "-include", str(tmp_path / "alias.h"))
    assert not list(shared_beginnings.find([replace(each, flags=(*each.flags, *flags)) for each in units]))


@pytest.mark.parametrize("is_compiled", [True, False])
def test_a_unit_is_parsed_alone_if_its_first_part_does_not_end(is_compiled: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not is_compiled:
        monkeypatch.setattr(libclang, "native", None)
    monkeypatch.setattr(shared_beginnings, "_BOUNDARY", b"struct layoutlint_boundary;\n")
    check(write(tmp_path, {f"u{number}.c": f"/* unit */\nstruct ring_{number} {{ int a; }};\n" for number in range(3)}), 0)


def check(units: Sequence[Unit], count: int) -> None:
    """Check that so many units are listed behind a shared beginning, as when each is parsed alone."""
    shared = pool.run_in_child(listings_behind, units)
    alone = {unit: unit_listings.list_units([unit], ReadOptions(jobs=1))[unit] for unit in shared}
    assert shared == alone
    assert len(shared) == count


def listings_behind(units: Sequence[Unit]) -> dict[Unit, object]:
    stream = Messages()
    found = shared_beginnings.find(units)
    return {unit: listing for each in found for unit, (listing, _) in unit_listings.list_together(each, stream, False).items()}


def write(folder: Path, texts: Mapping[str, str]) -> list[Unit]:
    """Write files, with a large header that all sources include first; return the units of the sources."""
    (folder / "large.h").write_text("#pragma once\nstruct large { int a; };\n" + f"/* {'long ' * 21_000}*/\n")
    for name, text in texts.items():
        (folder / name).write_text(text.replace('/* unit */\n', '/* unit */\n#include "large.h"\n'))
    flags = ("-x", "c", "-std=gnu2x", "-ffreestanding")
    return [
        Unit(str(folder / name), flags, str(folder), (str(folder),), name) for name in texts if name.endswith(".c")
    ]
