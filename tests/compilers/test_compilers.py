"""Readers against compilers: random structs, and what the compiled code itself says of their sizes, offsets and bits."""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from layoutlint.geometry.layout import Layout
from layoutlint.model.reading import Reading, ReadOptions
from layoutlint.model.structs import Struct
from layoutlint.model.wanted import Wanted
from layoutlint.readers.dispatch import read
from tests.oracles import agreement, pahole
from tests.oracles.c_probe import Facts, ask, ask_object, compile_c, need
from tests.oracles.c_structs import INT128, CStruct, leaves, programs, settle, source

EXAMPLES = int(os.environ.get("LAYOUTLINT_EXAMPLES", "6"))
"""Programs per test, of about six structs each; more find more."""
NOT_IN_PAHOLE = frozenset({"_Complex float", "_Atomic int"})
"""What pahole 1.24 neither lists nor writes as BTF."""
PROFILE = settings(
    max_examples=EXAMPLES, deadline=None, derandomize="LAYOUTLINT_EXAMPLES" not in os.environ, database=None,
    phases=[Phase.explicit, Phase.generate],  # each compilation takes long, and a difference names its field
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large],
)  # fmt: skip


def differences(
    structs: tuple[CStruct, ...], reading: Reading, facts: dict[str, Facts], loses_full: bool = False,
    hides_atomics: bool = False,
) -> Iterator[str]:  # fmt: skip
    """Everything in which a reading differs from the facts, a line each.

    `loses_full`: the input shows a bit-field as wide as its type as an ordinary field, at the byte where it starts; with a gap
    behind it, its size is not known.
    `hides_atomics`: structs look the same where they are atomic, and with clang larger, and so do arrays whose
    elements a typedef aligns to more than their size (tests/model/test_alignment.py): with room behind it, the size of
    neither is known.
    """
    read_structs = {struct.name: struct for struct in reading.structs}
    for struct in structs:
        got = read_structs.get(struct.name)
        if got is None or got.bit_size is None or got.problem is not None:
            yield f"{struct.tag}: not read ({got and got.problem})"
        else:
            yield from _different(struct, got, facts[struct.name], loses_full, hides_atomics)


def _different(struct: CStruct, got: Struct, facts: Facts, loses_full: bool, hides_atomics: bool) -> Iterator[str]:
    layout = Layout(got)
    if layout.size != facts.size:
        yield f"{struct.tag}: size {layout.size}, compiled {facts.size}"
    if facts.align not in layout.alignments:
        yield f"{struct.tag}: alignments {layout.alignments}, compiled {facts.align}"
    if got.aggregate != struct.aggregate:
        yield f"{struct.tag}: read as {got.aggregate}"
    places = {place.path: place for place in layout.walk_fields()}
    wanted = {leaf.path: leaf for leaf in leaves(struct.members)}
    if list(places) != list(wanted):
        yield f"{struct.tag}: fields {list(places)}, written {list(wanted)}"
    for path in places.keys() & facts.spots.keys():
        place, (offset, length) = places[path], facts.spots[path]
        lost = loses_full and wanted[path].is_bitfield and not place.field.is_bitfield
        if place.bit_offset != (offset // 8 * 8 if lost else offset):
            yield f"{struct.tag}.{path}: at bit {place.bit_offset}, compiled {offset}"
        if place.field.is_bitfield != wanted[path].is_bitfield and not (lost and place.bit_size in (None, 8, 16, 32, 64, 128)):
            yield f"{struct.tag}.{path}: read as {'a' if place.field.is_bitfield else 'no'} bit-field"
        is_open = place.bit_size is None and (loses_full or hides_atomics)
        if length is not None and place.bit_size != length and not is_open:
            yield f"{struct.tag}.{path}: {place.bit_size} bits, compiled {length}"


def names(structs: tuple[CStruct, ...]) -> Wanted:
    return Wanted(names=frozenset(struct.name for struct in structs))


def agree(
    structs: tuple[CStruct, ...], path: Path, facts: dict[str, Facts], *flags: str,
    reader: str | None = None, loses_full: bool = False, hides_atomics: bool = False,
) -> None:  # fmt: skip
    reading = read(str(path), names(structs), ReadOptions(flags=flags, reader=reader))
    assert not reading.unread
    found = list(differences(structs, reading, facts, loses_full, hides_atomics))
    assert found == [], "\n".join([*found, *(s.define() for s in structs if any(f" {s.name}" in line for line in found))])


@pytest.mark.one_in(2)
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@PROFILE
@given(structs=programs())
def test_dwarf_says_what_the_program_says(compiler, tmp_path, structs):
    facts = ask(compiler, structs, tmp_path)
    for version in (2, 3, 4, 5):
        built = compile_c(compiler, source(structs), tmp_path / f"dwarf{version}.o", "-c", f"-gdwarf-{version}")
        is_clang = compiler == "clang"
        agree(structs, built, facts, loses_full=is_clang, hides_atomics=is_clang and version < 5)


@pytest.mark.exhaustive
@PROFILE
@given(structs=programs())
def test_libclang_says_what_the_program_says(tmp_path, structs):
    facts = ask("clang", structs, tmp_path)
    path = tmp_path / "structs.h"
    path.write_text(source(structs))
    agree(structs, path, facts)


@pytest.mark.exhaustive
@PROFILE
@given(structs=programs())
def test_libclang_says_what_gcc_compiles(tmp_path, structs):
    facts = ask("gcc", structs, tmp_path)
    alike = settle(structs)
    path = tmp_path / "structs.h"
    path.write_text(source(structs))
    agree(tuple(struct for struct in structs if struct.name in alike), path, facts)


@PROFILE
@given(structs=programs(without=NOT_IN_PAHOLE))
def test_btf_says_what_the_program_says(tmp_path, structs):
    facts = ask("gcc", structs, tmp_path)
    built = compile_c("gcc", source(structs), tmp_path / "btf.o", "-c", "-g")
    done = subprocess.run([need("pahole"), "-J", "--btf_gen_floats", str(built)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    agree(structs, built, facts, reader="btf", hides_atomics=True)


TARGETS = [
    # compiler, flags for it and for libclang, pointer size, types to leave out
    ("gcc", ("-m32",), 4, frozenset()),
    ("clang", ("-m32",), 4, frozenset()),
    ("clang", ("--target=aarch64-linux-gnu",), 8, frozenset()),
    ("clang", ("--target=armv7-linux-gnueabihf",), 4, frozenset()),
    # clang aligns __int128 to 16 up to version 14 and to 8, as the ABI of s390x says, in the libclang of today
    ("clang", ("--target=s390x-linux-gnu",), 8, INT128),
    ("clang", ("--target=powerpc64-linux-gnu",), 8, frozenset()),
    ("clang", ("--target=mips-linux-gnu",), 4, frozenset()),
    ("clang", ("--target=riscv64-linux-gnu",), 8, frozenset()),
]


@pytest.mark.exhaustive
@pytest.mark.parametrize(("compiler", "flags", "pointer_size", "without"), TARGETS, ids=[" ".join((t[0], *t[1])) for t in TARGETS])
def test_other_targets(compiler, flags, pointer_size, without, tmp_path):
    count: Counter[str] = Counter()

    @PROFILE
    @given(structs=programs(pointer_size, without))
    def check(structs):
        facts = ask_object(compiler, structs, tmp_path, *flags)
        for version in (3, 5):
            built = compile_c(compiler, source(structs), tmp_path / "other.o", "-c", f"-gdwarf-{version}", *flags)
            is_clang = compiler == "clang"
            agree(structs, built, facts, loses_full=is_clang, hides_atomics=is_clang and version < 5)
        path = tmp_path / "structs.h"
        path.write_text(source(structs))
        if compiler == "clang":
            agree(structs, path, facts, *flags)
        count["structs"] += len(structs)

    check()
    assert count["structs"] >= EXAMPLES


@PROFILE
@given(structs=programs())
def test_readers_say_the_same(tmp_path, structs):
    """All that a reader says of what gcc compiled, types included."""
    path = tmp_path / "structs.c"
    path.write_text(source(structs))
    built = compile_c("gcc", source(structs), tmp_path / "structs", "-c", "-gdwarf-5")
    dwarf, clang = (
        {s.name: s for s in read(str(at), names(structs), ReadOptions()).structs} for at in (built, path)
    )
    assert len(dwarf) == len(clang) == len(structs)
    alike = sorted(settle(structs))
    found = [line for name in alike for line in agreement.differences(dwarf[name], clang[name], "dwarf", "clang")]
    assert found == []


@pytest.mark.exhaustive
@PROFILE
@given(structs=programs(without=NOT_IN_PAHOLE))
def test_pahole_says_what_the_program_says(tmp_path, structs):
    """The oracles agree with one another, and tests/oracles/pahole.py reads what pahole prints."""
    facts = ask("gcc", structs, tmp_path)
    built = compile_c("gcc", source(structs), tmp_path / "structs", "-c", "-g")
    need("pahole")
    for shape in pahole.list_output(built, "-F", "dwarf"):
        output = facts.get(shape.name)
        if output is not None:
            assert shape.size in (None, output.size)
            spots = {path: (spot.bit_offset, spot.bit_size) for path, spot in shape.spots}
            empty = {path for path, spot in spots.items() if spot[1] == 0}  # so pahole also prints what has unnamed bit-fields only
            known = {path: spot for path, spot in output.spots.items() if path in spots and spot[1] is not None}
            assert {path: spots[path][0] for path in known} == {path: spot[0] for path, spot in known.items()}
            assert {path: spots[path] for path in known.keys() - empty} == {path: known[path] for path in known.keys() - empty}
            assert known.keys() >= {path for path in output.spots if "." not in path and output.spots[path][1] is not None}


@pytest.mark.exhaustive
@PROFILE
@given(structs=programs())
def test_constants_in_an_object_say_what_the_program_says(tmp_path, structs):
    for compiler in ("gcc", "clang"):
        assert ask_object(compiler, structs, tmp_path) == ask(compiler, structs, tmp_path)
