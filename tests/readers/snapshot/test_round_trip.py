"""Snapshots hold what readers state: a struct that is written and read again is the same one, without its lines."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from layoutlint.geometry.layout import Layout
from layoutlint.model.ctype import CType
from layoutlint.model.randomised import Randomisation, ShufflingEvidence
from layoutlint.model.reading import Chosen, Omission, Reading, ReadOptions
from layoutlint.model.record import replace
from layoutlint.model.structs import Annotation, Field, Source, Struct, Unstated
from layoutlint.model.wanted import Wanted
from layoutlint.readers import dispatch
from layoutlint.readers.snapshot.decode import decode
from layoutlint.readers.snapshot.encode import encode
from tests.harness import json_schemas, tools
from tests.harness.build import X86_64
from tests.oracles.c_structs import programs, source
from tests.oracles.random_structs import structs

FILE = Source("a.h")
LOCK = Field("lock", CType("struct lock"), 0, 32, False, "struct", (), (Field("raw", CType("int"), 0, 32, source=FILE),), 4, FILE)
FIELDS = (
    LOCK,
    replace(LOCK, name="other", bit_offset=32, members=(Field("word", CType("int"), 0, 32, source=FILE),)),
    Field(None, CType("union {...}"), 64, 64, aggregate="union", members=(LOCK,), align=8),
    Field("bits", CType("unsigned int"), 131, 3, True, align=4, source=Source("b.h")),
    Field("odd", CType("_BitInt"), 136, 12),
    Field("opaque", CType("union u"), 160, 32, aggregate="union"),
    Field("unknown", CType("??"), 192, None),
    Field("call", CType("int (*", ")(void)"), 256, 64, is_function_pointer=True, requested_align=2, possible=24, source=FILE),
    Field("x", CType("int", "[0][3]"), 320, 0, dims=(None, 3), underlying_types=(CType("word"), CType("int", "[3]")), is_flattened=True, flexible_bits=32),
)
STRUCT = Struct(
    "s", "struct", 320, None, FIELDS, X86_64, FILE, origin="x", aliases=("s_t",), annotations=(Annotation("lock", "hot-write", FILE),),
    randomised=Randomisation("clang", "00", None, True), is_randomisable=True, unstated=Unstated.PACKED | Unstated.WHOLE, possible=12,
)  # fmt: skip
READING = Reading(
    "x", "dwarf", X86_64,
    (replace(STRUCT, name="holder", aliases=(), fields=(), possible=0), STRUCT, replace(STRUCT, name="é", aggregate="union", is_tagged=False, realigned_from="s", align=8, fields=(), unstated=Unstated.PACKED, possible=0)),
    config=frozenset({"SMP"}), options=frozenset({"!A"}), is_kernel=True, kernel=(6, 12), compilers=("gcc 14",),
    shuffled=ShufflingEvidence("gcc", None, "00", "sign"), omissions=(Omission("r", frozenset({"s"}), is_shared=False), Omission("w")),
    chosen=Chosen(("[s-z]*", "é", "ü"), ("lock",), frozenset({"ü"})),
)  # fmt: skip


def text_of(reading: Reading) -> str:
    text = encode(reading, reading.chosen, lambda name: name)
    assert json_schemas.snapshot_mistakes(text) == []
    return text


def copy_of(reading: Reading) -> Reading:
    return decode(text_of(reading).encode(), "x")


def bare(field: Field) -> Field:
    """A field without lines; unnamed ones are in no file."""
    place = None if field.source is None or field.name is None else Source(field.source.file)
    return replace(field, source=place, members=tuple(map(bare, field.members)))


def facts(struct: Struct) -> tuple[object, ...]:
    source = struct.source and Source(struct.source.file)
    fields = tuple(map(bare, struct.fields))
    spelled = [(field.underlying_types, field.is_flattened, field.flexible_bits) for field in struct.fields]
    return replace(struct, source=source, fields=fields, origin="", possible=0), spelled, tuple(Layout(struct).alignments)


def test_everything_comes_back():
    back = copy_of(READING)
    assert sorted(back.structs, key=lambda each: each.name) == [replace(each, origin="x") for each in READING.structs]
    assert replace(back, structs=(), notes=()) == replace(READING, structs=(), reader="snapshot of dwarf")


@pytest.mark.parametrize("members", ["unsigned a:3; unsigned :5; int b;", "unsigned :3; int x; unsigned y:1;", "unsigned a:1, b:2;", "int a; unsigned :4;"])
def test_unnamed_bit_fields_of_c_text_come_back(tmp_path, members):
    (tmp_path / "s.h").write_text(f"struct s {{ {members} }};\n")
    (struct,) = (reading := dispatch.read(str(tmp_path / "s.h"), Wanted(everything=True), ReadOptions())).structs
    (back,) = copy_of(reading).structs
    assert [field.unnamed_bits for field in back.fields] == [field.unnamed_bits for field in struct.fields]


def test_equal_text_for_equal_facts():
    moved = replace(READING, path="/other", build_id="00", structs=tuple(reversed(READING.structs)), notes=("n",), names=frozenset("n"))
    assert text_of(moved) == text_of(READING)


def test_a_struct_does_not_depend_on_others():
    """What it states is on its own lines: else a merge of two files would change it."""
    alone, beside = (
        [line for line in text_of(replace(READING, structs=structs)).splitlines() if '"struct s"' in line]
        for structs in (READING.structs[1:2], READING.structs)
    )
    assert alone == [line.removesuffix(",") for line in beside]


def test_each_field_is_one_line():
    lines = text_of(READING).splitlines()
    for field in ("lock", "other", "bits", "odd", "opaque", "unknown", "call", "x"):
        assert len([line for line in lines if line.startswith(f'  {{"name": "{field}"')]) == 1
    assert [json.loads(line.rstrip(","))["of"] for line in lines if '"of"' in line][:2] == ["struct lock", "struct lock #2"]


@settings(max_examples=25, deadline=None)
@given(structs())
def test_random_structs(struct):
    (back,) = copy_of(Reading("x", "dwarf", X86_64, (struct,))).structs
    assert facts(back) == facts(struct)


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_what_a_compiler_lays_out(compiler, tmp_path):
    tools.need(compiler)

    @settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck))
    @given(programs())
    def check(made):
        compare(compiler, source(made), tmp_path)

    check()


@pytest.mark.exhaustive
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_more_of_what_a_compiler_lays_out(compiler, tmp_path):
    tools.need(compiler)

    @settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
    @given(programs())
    def check(made):
        compare(compiler, source(made), tmp_path)

    check()


def compare(compiler: str, text: str, folder: Path) -> None:
    """Compare structs of DWARF with those of its snapshot."""
    (folder / "a.c").write_text(text)
    subprocess.run([compiler, "-g", "-w", "-fno-eliminate-unused-debug-types", "-c", "a.c"], cwd=folder, check=True)
    reading = dispatch.read(str(folder / "a.o"), Wanted(everything=True), ReadOptions())
    good = [struct for struct in reading.structs if struct.bit_size is not None and not struct.problem]
    back = copy_of(replace(reading, structs=tuple(good)))

    def key(struct: Struct) -> tuple[str, bool]:
        return struct.name, struct.is_tagged

    assert [facts(struct) for struct in sorted(back.structs, key=key)] == [facts(struct) for struct in sorted(good, key=key)]

