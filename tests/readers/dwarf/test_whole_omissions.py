"""What is said of units that DWARF does not describe, by tables of names, traits and addresses."""

from __future__ import annotations

import struct
from types import SimpleNamespace

import pytest

from layoutlint.readers import frames
from layoutlint.readers.dwarf import code, omissions
from layoutlint.readers.dwarf.code import UndescribedCode
from layoutlint.readers.dwarf.foreign import ForeignStruct, KnownLayouts
from layoutlint.readers.dwarf.format.constants import attribute, tag
from layoutlint.readers.dwarf.omissions import Omissions, SourceNames, Traits
from layoutlint.readers.elf import source_files
from layoutlint.readers.elf.headers import DYNAMIC_SYMBOLS, SYMBOLS
from layoutlint.readers.elf.source_files import SourceFile, TypedSymbol
from layoutlint.readers.elf.span import Span
from tests.harness.whole import whole_lines


def unit(name: str = "", lack: str = "", local: str = "", missing: int = 0, optimised: str = "") -> Traits:
    structs = [tuple(word.split("@")) if "@" in word else (word, "") for word in local.split()]
    if missing < 0:
        return name, "", lack, [], missing, [], [ForeignStruct(*struct) for struct in structs]
    return name, "", lack, structs, missing, optimised.split(), []


TRAITS = {
    "nothing": [],
    "described": [unit("a.c"), unit("dir/b.c")],
    "lacks": [unit("a.c", "lacks"), unit("b.c", "is old"), unit("c.c", "lacks"), unit("x/d.c", "lacks"), unit("y/d.c", "lacks")],
    "one lacks": [unit("a.c", "lacks"), unit("b.c")],
    "missing types": [unit("a.c", missing=1)],
    "more missing types": [unit("a.c", missing=1000), unit("b.c", missing=234)],
    "a local struct": [unit("a.c", local="s@a.c:3")],
    "local structs": [unit("a.c", local="s@a.c:3 t"), unit("b.c", local="t u@b.c:1 s@a.c:3 v")],
    "three local structs": [unit("a.c", local="c a b")],
    "other languages": [unit("a.cc", "C++", "s@a.h:1 t@a.cc:2", -1), unit("b.rs", "Rust", "r@b.rs:1", -1), unit("b.cc", "C++", "u@a.cc:3 t@a.cc:2 v@c.h:1 w@d.h:1", -1)],
    "another language without structs": [unit("a.cc", "C++", "", -1)],
    "optimised": [unit("<artificial>", optimised="a.c b.c"), unit("c.c", optimised="b.c d.c e.c")],
    "all": [unit("a.c", "lacks", "s@a.c:1", 2, "z.c"), unit("a.cc", "C++", "t@a.cc:1", -1)],
}
SOURCES = [
    SourceNames(), SourceNames(("a.c",)), SourceNames(("a.c", "a.c", "b.c", "c.c", "d.c"), ("crt1.o", "crti.o"), ("x.rs",), "why"), SourceNames((), (), ("x.rs",)), SourceNames(why="why"), SourceNames(others=("x.rs",), why="why"),
]  # fmt: skip
CODE = [None, UndescribedCode((), True), UndescribedCode((), False), UndescribedCode(("f",), True), UndescribedCode(("f", "0x10", "g", "h"), True)]


@pytest.mark.parametrize("case", TRAITS)
def test_omissions_of_units(case, golden_row):
    found = Omissions()
    for traits in TRAITS[case]:
        found.add(traits)
    lines = [f"names {dict(found.names)}"]
    sources = SourceNames(("q.c", "q.c", "a.c") if case == "optimised" else ())
    for places in ((), (("r", "b.rs:1"), ("s", "a.h:1"))):
        known = KnownLayouts(frozenset((*place, "") for place in places))
        lines += [f"places {[place for _, place in sorted(places, key=lambda each: each[1])]}"]
        lines += whole_lines((*found.list_omissions(sources, None), *found.list_foreign(known)))
    golden_row("\n".join(lines))


def test_omissions_of_code(golden_row):
    lines: list[str] = []
    for sources in SOURCES:
        for undescribed in CODE:
            lines += [f"{sources} {undescribed and (*undescribed.names, undescribed.is_known)}", *whole_lines(tuple(Omissions().list_omissions(sources, undescribed)), "  ")]
        lines.append(f"can hide: {sources.can_hide}")
    golden_row("\n".join(lines))


def lines_of(*names: str) -> list[Span]:
    text = b"x\0" + b"".join(name.encode() + b"\0" for name in names)
    return [Span(text, 1, len(text))]


FILES = {
    # files of the symbol table (+: with typed symbols), names of units, names in line tables
    "none": None, "empty": ("", "a.c", ""), "all": ("a.c b.c", "a.c b.c", ""), "lacking": ("a.c b.c x.i <stdin> y.rs", "a.c", ""), "twice": ("a.c a.c a.c", "a.c a.c", ""),
    "fewer": ("a.c", "a.c a.c", ""), "others": ("a.cc b.s c.o +d.o +e.os +f.oS +g.lo .c +.o", "", ""), "assembler": ("+a.o +b.o +c.o +d.o", "", "a.S b.s c.asm d.c"),
    "objects of units": ("+a.o +b.o", "a.c b.rs b.S", ""), "link time": ("+ld-temp.o ld-temp.o", "", ""), "prefixed": ("__pi_a.c __pi_b_c.c __pi_x__d.c __e.c _pi_f.c", "a.c b_c.c x__d.c _d.c e.c f.c", ""),
    "start-up": ("crt1.o crti.o crtn.o gcrt1.o Scrt1.o Mcrt1.o rcrt1.o crt2.o crtbegin.o crtendS.o crtstuff.c offloadstuff.c cpuinfo.o crtfastmath.c grcrtfastmath.o xcrt1.o", "", ""),
    "first": ("abi-note.c init.c x.c crtstuff.c init.c start.c crtstuff.c static-reloc.c", "", ""), "no first": ("abi-note.c init.c elf-init.c", "", ""),
    "crtstuff first": ("crtstuff.c init.c", "", ""), "start-up twice": ("crti.o crti.o crtstuff.c crtstuff.c", "", ""), "start-up with units": ("crtstuff.c start.c", "crtstuff.c", ""),
}  # fmt: skip


@pytest.mark.parametrize("case", FILES)
def test_sources_by_their_symbols(case, golden_row):
    found = Omissions()
    if FILES[case] is None:
        golden_row("\n".join(whole_lines(found.sources(None, ()))))
        return
    files, units, lines = FILES[case]
    for name in units.split():
        found.add(unit(f"dir/{name}"))
    table = [SourceFile(word.removeprefix("+"), word.startswith("+")) for word in files.split()]
    golden_row("\n".join(whole_lines(found.sources(table, lines_of(*lines.split())))))


PRODUCERS = [
    # what a compiler records, the level of debug information, whether structs are left out
    ("GNU C17 12.2.0 -g", 2, False), ("GNU C17 12.2.0 -g1", 1, False), ("GNU C17 -g0 -g", 2, False), ("GNU C17 -g3 -g", 3, False), ("GNU C17 -g -g1", 1, False),
    ("GNU C17 -gctf -g0", 0, False), ("GNU C17 -g0 -gctf", 2, False), ("GNU C17 -g1 -gctf2", 2, False), ("GNU C17 -g0 -gbtf", 2, False),
    ("GNU C17 -g1 -gdwarf-4", 2, False), ("GNU C17 -gdwarf-6", None, False), ("GNU C17 -gdwarf", 2, False), ("GNU C17 -ggdb3 -gstabs+1", 1, False), ("GNU C17 -gvms0", 0, False), ("GNU C17 -gxcoff", 2, False),
    ("GNU C17 -O2 -grecord-gcc-switches", None, False), ("clang version 16 -g1", None, False), ("GNUC -g", None, False), ("GNU C17 -g4", None, False), ("", None, False),
    ("GNU C17 -femit-struct-debug-baseonly -g", 2, True), ("GNU C17 -g -femit-struct-debug-detailed=sys -O2", 2, True), ("clang -femit-struct-debug-baseonly", None, False),
]  # fmt: skip


@pytest.mark.parametrize(("producer", "level", "is_reduced"), PRODUCERS)
def test_options_that_compilers_record(producer, level, is_reduced):
    assert omissions._read_options(producer) == (level, is_reduced)


def entry(kind: str, *attributes: str, constants: tuple[str, ...] = ()) -> tuple[SimpleNamespace, dict[int, int], int]:
    return SimpleNamespace(tag=tag(kind), constants={attribute(name): 1 for name in constants}), {attribute(name): 1 for name in attributes}, 0


UNTYPED = [
    # an entry, whether gcc and clang leave it without types
    (entry("subprogram", "name"), True, True), (entry("subprogram", "decl_line"), True, False), (entry("subprogram", "prototyped"), False, False), (entry("subprogram", "type"), False, False),
    (entry("subprogram", "specification"), False, False), (entry("subprogram", "abstract_origin"), False, False), (entry("subprogram", constants=("type",)), False, False),
    (entry("variable", "name"), True, False), (entry("variable", "type"), False, False), (entry("structure_type", "name"), False, False), (entry("base_type"), False, False),
]  # fmt: skip


@pytest.mark.parametrize(("child", "by_gcc", "by_clang"), UNTYPED)
def test_entries_without_types(child, by_gcc, by_clang):
    plan, values, _ = child
    assert (omissions._is_untyped(plan, values, True), omissions._is_untyped(plan, values, False)) == (by_gcc, by_clang)


def fake_unit(producer: str, *children: tuple, attributes: tuple[str, ...] = (), is_assembler: bool = False) -> SimpleNamespace:
    root = SimpleNamespace(has_children=bool(children))
    return SimpleNamespace(
        root=(root, {attribute(name): 1 for name in attributes}, 7), is_assembler=is_assembler, text=lambda plan, values, key: producer or None,
        children=lambda plan, end: iter(children if (plan, end) == (root, 7) else ()), path=lambda number: {1: "/x/a.c", 2: "<built-in>", 3: "/y/b.c", None: None}[number],
    )  # fmt: skip


LACKS = [
    # a unit, why it lacks types
    (fake_unit("GNU C -g1"), "compiled with line numbers only (-g1)"), (fake_unit("GNU C -g", entry("variable", "name")), ""), (fake_unit("GNU AS", is_assembler=True), ""),
    (fake_unit("GNU C -g1", is_assembler=True), ""), (fake_unit("GNU C -g -femit-struct-debug-baseonly"), "compiled with -femit-struct-debug-..., which leaves out structs of headers"),
    (fake_unit("clang"), ""), (fake_unit("clang", attributes=("low_pc",)), "compiled with line numbers only (-g1)"), (fake_unit("clang", attributes=("name",)), ""),
    (fake_unit("clang", attributes=("ranges",)), "compiled with line numbers only (-g1)"), (fake_unit("", attributes=("high_pc",)), "compiled with line numbers only (-g1)"),
    (fake_unit("clang", entry("subprogram", "name"), attributes=("low_pc",)), "compiled with line numbers only (-g1)"), (fake_unit("clang", entry("subprogram", "name", "decl_line")), ""),
    (fake_unit("clang", entry("subprogram", "name"), entry("base_type", "name")), ""), (fake_unit("clang", entry("variable", "name")), ""),
    (fake_unit("GNU C17 12.2", entry("variable", "name"), entry("subprogram", "decl_line")), "compiled with line numbers only (-g1)"), (fake_unit("GNU C17 12.2", entry("variable", "type")), ""),
]  # fmt: skip


@pytest.mark.parametrize(("its", "lack"), LACKS)
def test_units_without_types(its, lack):
    assert omissions.describe_lack(its) == lack


def entry_of_file(number: int | None, kind: str, *attributes: str) -> tuple:
    plan, values, end = entry(kind, *attributes)
    return plan, values | ({} if number is None else {attribute("decl_file"): number}), end


OPTIMISED = [
    # the producer, an entry, the sources
    ("GNU GIMPLE 12", entry_of_file(1, "subprogram", "low_pc"), ["a.c"]), ("GNU C 12", entry_of_file(1, "subprogram", "low_pc"), []), ("GNU GIMPLE 12", entry_of_file(2, "subprogram", "low_pc"), []),
    ("GNU GIMPLE 12", entry_of_file(3, "variable", "location"), ["b.c"]), ("GNU GIMPLE 12", entry_of_file(1, "variable", "name"), []), ("GNU GIMPLE 12", entry_of_file(1, "subprogram", "ranges", "abstract_origin"), []),
    ("GNU GIMPLE 12", entry_of_file(1, "variable", "location", "specification"), []), ("GNU GIMPLE 12", entry_of_file(1, "lexical_block", "low_pc"), []), ("GNU GIMPLE 12", entry_of_file(None, "subprogram", "high_pc"), []),
]  # fmt: skip


@pytest.mark.parametrize(("producer", "child", "names"), OPTIMISED)
def test_sources_that_were_optimised_at_link_time(producer, child, names):
    assert omissions.find_optimised(fake_unit(producer, child)) == names
    assert omissions.find_optimised(fake_unit(producer, entry_of_file(3, "subprogram", "low_pc"), child, child)) == (sorted({"b.c", *names}) if "GIMPLE" in producer else [])


def section(name: str, address: int, size: int, flags: int = 4) -> SimpleNamespace:
    return SimpleNamespace(name=name, address=address, size=size, flags=flags)


HEADERS = [section(".plt", 0x100, 0x20), section(".text", 0x200, 0x100), section(".data", 0x400, 0x100, 3), section(".init", 0x80, 0x10), section(".empty", 0x1F0, 0), section(".text.hot", 0x300, 0x10)]


def image(relocatable: bool = False, entry_address: int = 0x210) -> SimpleNamespace:
    return SimpleNamespace(headers=HEADERS, is_relocatable=relocatable, entry=entry_address)


PLACES = {0x7F: None, 0x80: ".init", 0x8F: ".init", 0x90: None, 0x100: ".plt", 0x11F: ".plt", 0x120: None, 0x1F0: None, 0x200: ".text", 0x2FF: ".text", 0x300: ".text.hot", 0x30F: ".text.hot", 0x310: None, 0x400: None, 0: None}  # fmt: skip


def test_sections_at_addresses():
    found = code._Sections(image())
    assert {address: (its := found.section_at(address)) and its.name for address in PLACES} == PLACES
    assert (found.starts, found.are_placed) == ([0x80, 0x100, 0x200, 0x300], True)
    assert code._Sections(image(True)).section_at(0x200) is None


@pytest.mark.parametrize(("relocatable", "described"), [(False, "0x200-0x2ff 0x300-0x309"), (True, "0x50-0x5f 0x200-0x2ff 0x300-0x309")])
def test_addresses_that_units_describe(relocatable, described):
    """Ranges that meet are one; those that end before they begin, and those in no section, are none."""
    ranges = [(0x300, 0x304), (0x220, 0x230), (0x200, 0x210), (0x210, 0x220), (0x225, 0x228), (0x230, 0x300), (0x240, 0x240), (0x250, 0x249), (0x303, 0x30A), (0x50, 0x60)]
    found = code._DescribedCode(ranges, code._Sections(image(relocatable)))
    known = [address for address in range(0x400) if address in found]
    expected = [(int(first, 16), int(last, 16)) for first, _, last in (each.partition("-") for each in described.split())]
    assert known == [address for first, last in expected for address in range(first, last + 1)]


OF_UNITS = [
    # an address, sizes of functions, whether a unit can have defined the function
    (0x200, {}, True), (0x210, {}, False), (0x105, {}, False), (0x85, {}, False), (0x300, {}, True), (0x500, {}, False), (0x220, {}, True), (0x21F, {}, False), (0x211, {}, False),
    (0x220, {0x210: 1}, False), (0x220, {0x210: 0x10}, False), (0x220, {0x210: 0x11}, True), (0x220, {0x210: 0x10, 0x220: 8}, False), (0x220, {0x210: 0x10, 0x220: 9}, True),
    (0x22F, {0x210: 0x10}, False), (0x230, {0x210: 0x10}, True), (0x30F, {0x210: 0xFF}, False), (0x20F, {0x210: 0}, True),
]  # fmt: skip


@pytest.mark.parametrize(("address", "sizes", "is_of_unit"), OF_UNITS)
def test_functions_that_units_can_have(address, sizes, is_of_unit, monkeypatch):
    monkeypatch.setattr(frames, "sizes", lambda image: sizes)
    assert code._is_of_unit(image(), code._Sections(image()), address) is is_of_unit
    assert code._is_of_unit(image(True), code._Sections(image(True)), address)


def test_a_function_far_behind_the_start(monkeypatch):
    monkeypatch.setattr(frames, "sizes", lambda image: {0x200: 0xFF, 0x201: 0x100})
    assert [code._is_of_unit(image(entry_address=start), code._Sections(image()), 0x2FF + more) for start, more in ((0x200, 0), (0x201, 0), (0x1FF, 0), (0x200, 1))] == [False, True, True, True]


NAMES = ["main", "f", "__libc_csu_init", "_start", "_init", "_Exit", "_initialise", "register_tm_clones", "deregister_tm_clones", "frame_dummy", "frame_dummy2", "call_weak_fn", "_sub_I_65535_0.0", "atexit", "stat", "lstat64", "statx", "at_quick_exit"]


@pytest.mark.parametrize("by_symbols", [True, False])
@pytest.mark.parametrize("relocatable", [True, False])
@pytest.mark.parametrize("starts", [(), (0x201,), (0x201, 0x240, 0x250, 0x105), (0x240, 0x700)])
@pytest.mark.parametrize("ranges", [(), ((0x200, 0x204),)])
def test_undescribed_code(by_symbols, relocatable, starts, ranges, monkeypatch, golden_row):
    named = [TypedSymbol(name, 0x240 + 4 * number, number % 3) for number, name in enumerate(NAMES)]
    monkeypatch.setattr(code, "functions", lambda image: iter(named))
    monkeypatch.setattr(code, "_ranges", lambda image, units: iter(ranges))
    monkeypatch.setattr(frames, "starts", lambda image: starts)
    monkeypatch.setattr(frames, "sizes", lambda image: {})
    golden_row("\n".join(whole_lines(code.find_undescribed(image(relocatable), (), by_symbols))))


def test_names_of_functions_of_libraries(monkeypatch):
    monkeypatch.setattr(code, "functions", lambda image: iter([TypedSymbol(name, number, 1) for number, name in enumerate(NAMES)]))
    assert list(code._function_names(image(), [*range(len(NAMES)), 0x99])) == ["main", "f", "_initialise", "frame_dummy2", "statx", "0x99"]


SYMBOL_TABLES = [(64, "<"), (64, ">"), (32, "<"), (32, ">")]


def symbol(bits: int, order: str, name: int, info: int, number: int = 1, address: int = 0x10, size: int = 3) -> bytes:
    return struct.pack(f"{order}IBxHQQ", name, info, number, address, size) if bits == 64 else struct.pack(f"{order}IIIBxH", name, address, size, info, number)


@pytest.mark.parametrize(("bits", "order"), SYMBOL_TABLES)
def test_files_and_functions_of_symbol_tables(bits, order):
    strings = b"\0/x/a.c\0b.c\0f\0" + b"n" * 5000 + b"\0"
    names = {"a": 1, "b": 8, "f": 12, "n": 14}
    entries = [(0, 0), (names["f"], 1), (names["a"], 4), (names["f"], 3), (names["b"], 4), (names["f"], 2), (names["a"], 4), (names["f"], 1), (names["n"], 4), (names["b"], 4), (0, 0x12), (names["f"], 0x12, 0), (names["f"], 0x22, 3), (names["f"], 0x22, 9)]
    content = b"".join(symbol(bits, order, *each) for each in entries)
    local = 10
    headers = [SimpleNamespace(type=0, size=1, link=0, info=0), SimpleNamespace(type=SYMBOLS, size=0, link=2, info=0), SimpleNamespace(type=3, size=1, link=0, info=0),
               SimpleNamespace(type=SYMBOLS, size=len(content), link=2, info=local)]  # fmt: skip
    contents = {id(headers[3]): content, id(headers[2]): strings}
    made = SimpleNamespace(bits=bits, little_endian=order == "<", headers=headers, raw=lambda header: memoryview(contents[id(header)]))
    long = "n" * 4096
    assert source_files.source_files(made) == tuple(SourceFile(name, typed) for name, typed in (("a.c", False), ("b.c", True), ("a.c", True), (long, False), ("b.c", False)))
    assert list(source_files.functions(made)) == [TypedSymbol("f", 0x10, 3), TypedSymbol("", 0x10, 3), TypedSymbol("f", 0x10, 3)]
    contents[id(headers[3])] = content[:-1]
    assert len(list(source_files.functions(made))) == 3
    headers[3].type = DYNAMIC_SYMBOLS
    assert (source_files.source_files(made), len(list(source_files.functions(made)))) == (None, 3)
    headers[3].link = 4
    assert list(source_files.functions(made)) == []
    headers[3].type = 5
    assert list(source_files.functions(made)) == []
