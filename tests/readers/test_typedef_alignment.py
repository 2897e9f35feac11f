"""Typedefs that give a struct an alignment of their own, up or down: each reader says what the compiler makes of them."""

from __future__ import annotations

import pytest
from elftools.elf.elffile import ELFFile

from layoutlint.model.reading import ReadOptions
from layoutlint.model.wanted import Wanted
from layoutlint.readers import inputs
from tests.harness.command import run
from tests.oracles.c_probe import compile_c

TYPES = """
typedef struct { long a, b; } lowered __attribute__((aligned(4)));
typedef struct { long a, b; } raised __attribute__((aligned(64)));
struct tagged { long a, b; };
typedef struct tagged up __attribute__((aligned(64)));
typedef struct tagged down __attribute__((aligned(1)));
typedef const struct tagged of_const __attribute__((aligned(2)));
typedef up again;
typedef up lower_again __attribute__((aligned(16)));
typedef struct tagged plain;
typedef struct { int x; } first __attribute__((aligned(2))), second __attribute__((aligned(16))), third;
typedef _Atomic(down) atomic;
typedef _Atomic(struct tagged) atomic_plain __attribute__((aligned(32)));
struct wide { char c; } __attribute__((aligned(32)));
typedef struct wide wide_plain;
typedef struct wide wide_down __attribute__((aligned(8)));
typedef union { char c[3]; } union_up __attribute__((aligned(4)));
"""
NAMES = (
    "lowered", "raised", "struct tagged", "up", "down", "of_const", "again", "lower_again", "plain", "first", "second",
    "third", "atomic", "atomic_plain", "struct wide", "wide_plain", "wide_down", "union_up",
)  # fmt: skip
MEMBERS = """
typedef long low_long __attribute__((aligned(2)));
typedef low_long low_longs[3];
typedef low_longs wide_longs __attribute__((aligned(32)));
typedef void *high_pointer __attribute__((aligned(16)));
struct members {
	char c0; lowered low; char c1; raised high; char c2; low_long number; char c3; low_longs numbers; char c4;
	wide_longs wide; char c5; high_pointer pointer; char c6; lowered several[2]; char c7; const down qualified;
	char c8; volatile low_long changing; char c9; _Atomic(low_long) counted; char c10; again last;
	char c11; struct { char in; lowered held; } inner; char end;
};
"""
WAYS = [("gcc", ("-gdwarf-5",)), ("gcc", ("-gdwarf-4",)), ("clang", ("-gdwarf-5",)), ("source", ())]
"""Clang states alignments from DWARF 5 on; atomic types are there from then on."""
IDS = [" ".join((compiler, *flags)) for compiler, flags in WAYS]


def input_of(tmp_path, way, text):
    """What a reader is given: an object, or the text itself."""
    compiler, flags = way
    if compiler != "source":
        return str(compile_c(compiler, text, tmp_path / "types.o", "-c", *flags))
    (tmp_path / "types.c").write_text(text)
    return str(tmp_path / "types.c")


def structs(path, *names):
    [reading], unread = inputs.read((path,), Wanted(frozenset(names)), ReadOptions())
    assert unread == []
    return {name: [s for s in reading.structs if s.matches(name)] for name in names}


def facts(tmp_path, compiler, text, *expressions):
    """Constants of C, as an object of this compiler has them."""
    text = f"{text}\nconst unsigned long long facts[] = {{ {', '.join(expressions)} }};\n"
    with open(compile_c(compiler, text, tmp_path / "facts.o", "-c"), "rb") as file:
        elf = ELFFile(file)
        [symbol] = elf.get_section_by_name(".symtab").get_symbol_by_name("facts")
        data = elf.get_section(symbol["st_shndx"]).data()[symbol["st_value"] :]
    return [int.from_bytes(data[at * 8 : at * 8 + 8], "little") for at in range(len(expressions))]


@pytest.mark.parametrize("way", WAYS, ids=IDS)
def test_each_typedef_has_its_own_alignment(tmp_path, way):
    variables = "".join(f"{name} v_{name.split()[-1]};\n" for name in NAMES)
    path = input_of(tmp_path, way, TYPES + variables)
    expressions = [f"{word}({name})" for name in NAMES for word in ("sizeof", "_Alignof")]
    output = facts(tmp_path, "gcc" if way[0] == "gcc" else "clang", TYPES, *expressions)
    truth = {name: (output[2 * at], output[2 * at + 1]) for at, name in enumerate(NAMES)}
    are_atomic_told = way[0] == "source"
    found = structs(path, *(name.split()[-1] for name in NAMES))
    for name in NAMES:
        if name.startswith("atomic") and not are_atomic_told:
            continue
        [struct] = found[name.split()[-1]]
        align = struct.align if struct.align is not None else 8 if "tagged" in struct.name else 4
        assert (name, (struct.bit_size or 0) // 8, align) == (name, *truth[name])


@pytest.mark.parametrize("way", WAYS, ids=IDS)
def test_members_have_the_alignment_of_their_typedefs(tmp_path, way):
    text = TYPES + MEMBERS
    path = input_of(tmp_path, way, f"{text}struct members v;\n")
    [struct] = structs(path, "members")["members"]
    fields = [field for field in struct.fields if field.name and field.type.left != "char"]
    output = facts(
        tmp_path, "gcc" if way[0] == "gcc" else "clang", text,
        *(f"__builtin_offsetof(struct members, {field.name})" for field in fields),
        *(f"_Alignof(__typeof__(((struct members *)0)->{field.name}))" for field in fields),
    )  # fmt: skip
    offsets, aligns = output[: len(fields)], output[len(fields) :]
    for field, offset, align in zip(fields, offsets, aligns, strict=True):
        if field.name == "counted" and way[0] != "source":
            continue
        assert (field.name, field.bit_offset // 8, field.align) == (field.name, offset, align)


RULES = '[[rule]]\nid = "whole"\nstruct = "{}"\nkind = "no-straddle"\nfields = ["b"]\nwhy = "a test"\n{}'
VERDICTS = [
    # struct, placement, outcome
    ("lowered", 'placement = "static"', "at-risk"),
    ("raised", "", "kept"),
    ("up", "", "kept"),
    ("down", 'placement = "static"', "at-risk"),
    ("again", "", "kept"),
]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("name", "placement", "outcome"), VERDICTS)
@pytest.mark.parametrize("way", WAYS, ids=IDS)
def test_the_verdict_is_that_of_the_typedef(tmp_path, way, name, placement, outcome):
    path = input_of(tmp_path, way, f"{TYPES}{name} v; struct tagged other;\n")
    (tmp_path / "rules.toml").write_text(RULES.format(name, f"[struct.{name}]\n{placement}\n"))
    done = run("check", path, "--rules", tmp_path / "rules.toml", "--format", "json", "--no-packs")
    assert f'"outcome": "{outcome}"' in done.stdout, done.stdout


HELD = """
struct in { long a, b; };
typedef struct in in_down __attribute__((aligned(4)));
struct out { int x; in_down i; };
struct out v; struct in w; in_down d;
"""


@pytest.mark.parametrize("way", WAYS, ids=IDS)
@pytest.mark.parametrize("asked", ["in", "in_down"])
def test_what_holds_it_by_the_typedef_holds_the_struct(tmp_path, way, asked):
    """The container is aligned to 4, and `b` stands at 12 of it: at its base 52 it straddles."""
    path = input_of(tmp_path, way, HELD)
    other = RULES.format("in_down" if asked == "in" else "in", "").replace("whole", "other")
    tables = f'[struct.{asked}]\nplacement = "embedded"\n[struct.out]\nplacement = "static"\n{other}'
    (tmp_path / "rules.toml").write_text(RULES.format(asked, tables))
    done = run("check", path, "--rules", tmp_path / "rules.toml", "--format", "json", "--no-packs", "--struct", asked)
    assert '"outcome": "at-risk"' in done.stdout, done.stdout
    assert "at 4 of out" in done.stdout
