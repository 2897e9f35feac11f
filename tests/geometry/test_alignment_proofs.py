"""What uses of structs prove of alignments that objects do not state, against the compiler's `_Alignof`."""

from __future__ import annotations

import json
import shutil
import subprocess
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from layoutlint.geometry.alignment_proofs import Evidence, Proofs, open_alignments
from layoutlint.geometry.layout import Layout
from layoutlint.model.ctype import CType
from layoutlint.model.reading import Reading, ReadOptions
from layoutlint.model.record import replace
from layoutlint.model.structs import Field, Struct, Unstated
from layoutlint.model.wanted import Wanted
from layoutlint.readers import dispatch, inputs
from tests.harness.build import member
from tests.harness.build import struct as build_struct
from tests.harness.command import run
from tests.harness.tools import need

COMPILERS = ("gcc-12", "clang-14", "clang-22")
PLAIN = "struct s {\n long a;\n long b;\n};\n"
PACKED = "struct __attribute__((packed)) s {\n long a;\n long b;\n};\n"
SHORT = "struct __attribute__((packed)) s {\n int a;\n};\n"
"""GCC aligns variables of 8 bytes and more to more than their type asks for."""
IN_A_ROW = '__attribute__((section("row")))'


class Case(NamedTuple):
    """A struct `s` of which debug information leaves open whether it is packed, and a use of it."""

    code: str
    known: str
    """Whether the use settles what the rule asks, for gcc 12, clang 14 and clang 22: `=` or `?`."""


CASES = {
    "no use": Case(PLAIN, "???"),
    "a hole before it": Case(PLAIN + "struct c {\n char x;\n struct s s;\n} c;", "???"),
    "a hole before an array of it": Case(PLAIN + "struct c {\n char x;\n struct s s[3];\n} c;", "???"),
    "a hole in a struct without a name": Case(
        PLAIN + "struct c {\n int i;\n struct {\n  char x;\n  struct s s;\n };\n} c;", "???",
    ),
    "a hole in an array of structs without names": Case(
        PLAIN + "struct c {\n struct {\n  char x;\n  struct s s;\n } of[4];\n} c;", "???",
    ),
    "a hole before a typedef of it": Case(
        PLAIN + "typedef const struct s t;\nstruct c {\n char x;\n t s;\n};\nstruct c c;", "???",
    ),
    "a hole that is a bit-field": Case(
        PACKED + "struct __attribute__((packed)) c {\n char x;\n long : 56;\n struct s s;\n} c;", "???",
    ),
    "a hole between members of one line": Case(PLAIN + "struct c {\n char x; struct s s;\n} c;", "???"),
    "a hole before a member that is aligned": Case(
        PACKED + "struct c {\n char x;\n struct s s __attribute__((aligned(8)));\n} c;", "???",
    ),
    "a hole before a typedef that is aligned": Case(
        PACKED + "typedef struct s t __attribute__((aligned(8)));\nstruct c {\n char x;\n t s;\n} c;", "???",
    ),
    "a hole that is half of what it could be": Case(
        PLAIN + "struct c {\n int x;\n struct s s;\n} c;", "???",
    ),
    "a pragma that cuts the hole down": Case(
        PLAIN + "#pragma pack(4)\nstruct c {\n char x;\n struct s s;\n} c;", "???",  # clang: or -fpack-struct=4
    ),
    "no hole, as what holds it is packed": Case(
        PLAIN + "struct __attribute__((packed)) c {\n char x;\n struct s s;\n} c;", "???",
    ),
    "an odd address": Case(SHORT + f"char before {IN_A_ROW} = 1;\nstruct s at {IN_A_ROW} = {{1}};", "=?="),
    "an odd address in a function": Case(
        SHORT + f"char before {IN_A_ROW} = 1;\nlong f(void) {{ static struct s at {IN_A_ROW} = {{1}}; return at.a++; }}", "=?=",
    ),
    "an odd address of an array": Case(
        SHORT + f"char before {IN_A_ROW} = 1;\nstruct s at[1] {IN_A_ROW} = {{{{1}}}};", "=?=",
    ),
    "an odd address of a variable that is aligned to less": Case(
        PLAIN + f"char before {IN_A_ROW} = 1;\nstruct s at {IN_A_ROW} __attribute__((aligned(1))) = {{1}};", "???",
    ),
    "an odd address of a typedef that is aligned to less": Case(
        PLAIN + f"typedef struct s t __attribute__((aligned(1)));\nchar before {IN_A_ROW} = 1;\nt at {IN_A_ROW} = {{1}};", "???",
    ),
    "an odd address of what holds it": Case(
        PLAIN + f"struct __attribute__((packed)) c {{ struct s s; char x; }};\nchar before {IN_A_ROW} = 1;\nstruct c at {IN_A_ROW} = {{{{1}}}};",
        "???",
    ),
}  # fmt: skip
RULES = """
[pack]
name = "p"
[struct.s]
placement = "{placement}"
[[rule]]
id = "r"
struct = "s"
kind = "no-straddle"
fields = ["a"]
severity = "error"
why = "w"
"""


def _build(folder: Path, compiler: str, code: str, *flags: str, is_linked: bool) -> Path:
    if not shutil.which(compiler):
        pytest.skip(f"needs {compiler}")
    source, made = folder / "x.c", folder / "x.o"
    source.write_text(f"{code}\nstruct s *used;\nint main(void) {{ return _Alignof(struct s) > 1; }}\n")
    subprocess.run([compiler, "-g", *flags, *([] if is_linked else ["-c"]), "-o", made, source], check=True)
    return made


def _outcome(made: Path, placement: str = "static", *options: str, rules: str = RULES) -> tuple[str, str]:
    path = made.with_name("rules.toml")
    path.write_text(rules.format(placement=placement))
    done = run("check", made, "--rules", path, "--no-packs", "--format", "json", *options)
    report = json.loads(done.stdout)
    return next(((str(f["outcome"]), str(f["message"])) for f in report["findings"]), ("kept", ""))


@pytest.mark.one_in(7)
@pytest.mark.parametrize(
    ("compiler", "is_linked"),
    [
        pytest.param(compiler, is_linked, marks=() if (compiler, is_linked) == ("gcc-12", False) else pytest.mark.exhaustive)
        for compiler in COMPILERS
        for is_linked in (False, True)
    ],
)
@pytest.mark.parametrize("name", CASES)
def test_uses_settle_what_is_not_stated(name: str, compiler: str, is_linked: bool, tmp_path: Path) -> None:
    case = CASES[name]
    made = _build(tmp_path, compiler, case.code, is_linked=is_linked)
    program = made if is_linked else _build(tmp_path, compiler, case.code, is_linked=True)
    is_aligned = subprocess.run([program]).returncode
    if not is_linked:
        made = _build(tmp_path, compiler, case.code, is_linked=False)
    truth = "kept" if is_aligned else "at-risk"
    expected = truth if case.known[COMPILERS.index(compiler)] == "=" else "unknown"
    assert _outcome(made)[0] == expected


@pytest.mark.parametrize("seed", [(), ("--seed", "00" * 32)], ids=["any order", "one order"])
@pytest.mark.parametrize(("placement", "outcome"), [("static", "unknown"), ("aligned:8", "kept")])
def test_verdicts_on_other_orders_hold_for_each_alignment(
    placement: str, outcome: str, seed: tuple[str, ...], tmp_path: Path
) -> None:
    made = _build(tmp_path, "gcc-12", PLAIN, is_linked=False)
    shuffled = ("--randstruct", "gcc-full", "--kernel-version", "6.12", "--randomized", "s", *seed)
    assert _outcome(made, placement, *shuffled)[0] == outcome


def test_a_hole_before_what_may_be_atomic_proves_nothing(tmp_path: Path) -> None:
    """DWARF 4 of gcc does not state `_Atomic`, which aligns 16 bytes to 16: a hole of 7 is no proof of 8."""
    made = _build(tmp_path, "gcc-12", PACKED + "struct c {\n char x[9];\n _Atomic struct s s;\n} c;", "-gdwarf-4", is_linked=False)
    assert _outcome(made)[0] == "unknown"


IN_A_CONTAINER = PLAIN + "struct c {\n struct s first;\n long more;\n};\nstruct d {\n char x;\n struct c c;\n} d;"
AROUND = """
[pack]
name = "p"
[struct.s]
fields = {{ a = {{ access = "hot-write" }} }}
[struct.t]
fields = {{ far = {{ access = "hot-read" }} }}
[struct.c]
placement = "static"
[[rule]]
id = "r"
struct = "s"
around = true
kind = "separate"
fields = [["a"], ["@hot-read"]]
severity = "error"
why = "w"
"""


def test_a_hole_in_a_container_does_not_settle_where_an_embedded_struct_can_start(tmp_path: Path) -> None:
    made = _build(tmp_path, "gcc-12", IN_A_CONTAINER, is_linked=False)
    rules = RULES.replace("[[rule]]", '[struct.c]\nplacement = "static"\n[[rule]]')
    assert _outcome(made, "embedded", rules=rules)[0] == "unknown"


def test_what_is_declared_in_a_container_counts_for_each_of_its_alignments(tmp_path: Path) -> None:
    code = PLAIN + "struct t {\n long far;\n};\nstruct c {\n struct s s;\n long gap[4];\n struct t t;\n} c;\n"
    made = _build(tmp_path, "gcc-12", code, is_linked=False)
    outcome, message = _outcome(made, rules=AROUND)
    assert (outcome, "t.far" in message) == ("at-risk", True)


FILES = {
    "plain.c": "struct s {\n long a;\n long b;\n};\nstruct s plain;\n", "packed.c": "struct s {\n long a;\n long b;\n} __attribute__((packed));\nstruct s *packed;\n",
    "by_8.c": "struct s {\n long a;\n long b;\n} __attribute__((aligned(8)));\nstruct s by_8;\n", "s.h": "struct s {\n long a;\n long b;\n};\n",
    "holder.c": "struct s {\n long a;\n long b;\n};\nstruct c {\n char x;\n struct s s;\n} c;\n", "header.c": '#include "s.h"\nstruct s s;\n',
}  # fmt: skip


@pytest.mark.parametrize(("inputs", "outcomes"), [
    (("packed.o",), {"packed.o": "unknown"}), (("holder.o", "packed.o"), {"holder.o": "unknown", "packed.o": "unknown"}),
    (("by_8.o", "packed.o"), {"packed.o": "unknown"}), (("packed.o", "by_8.o"), {"packed.o": "unknown"}),
    (("plain.c", "packed.o"), {"packed.o": "unknown"}), (("s.h", "header.o"), {}), (("s.h", "packed.o"), {"packed.o": "unknown"}),
], ids=" ".join)  # fmt: skip
def test_the_alignment_of_another_input_counts_for_the_same_definition(inputs, outcomes, tmp_path):
    """At one line of one file, and where debug information would state `aligned` itself, not of another object."""
    need("gcc")
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    for name in {name for name in inputs if name.endswith(".o")}:
        subprocess.run(["gcc", "-g", "-c", f"{name[:-2]}.c"], cwd=tmp_path, check=True)
    (tmp_path / "rules.toml").write_text(RULES.format(placement="static"))
    done = run("check", *inputs, "--rules", "rules.toml", "--no-packs", "--format", "json", cwd=tmp_path)
    found = {finding["input"]: finding["outcome"] for finding in json.loads(done.stdout)["findings"]}
    assert (found, done.returncode) == (outcomes, 3 if outcomes else 0)


AS_LARGE = """
struct pair { long a, b; } __attribute__((aligned(2 * sizeof(long))));
struct plain { long a, b; };
#define AT(x) __attribute__((section("rows"), x))
static long before AT(used) = 1;
static struct plain odd AT(used) = { 1, 2 };
static struct pair first AT(used) = { 1, 2 };
static struct plain even AT(used) = { 1, 2 };
static struct pair several[3] AT(used) = { { 1, 2 } };
int of_pair[_Alignof(struct pair)], of_plain[_Alignof(struct plain)];
void _start(void) { }
"""


@pytest.mark.exhaustive
@pytest.mark.parametrize("is_linked", [False, True])
@pytest.mark.parametrize(("compiler", "word"), [("riscv64-linux-gnu-gcc", 8), ("sparc64-linux-gnu-gcc", 8), ("arm-linux-gnueabihf-gcc", 4)])
def test_addresses_leave_the_alignment_that_gcc_does_not_state(compiler: str, word: int, is_linked: bool, tmp_path: Path) -> None:
    """Those of objects count from the start of a section."""
    if not shutil.which(compiler):
        pytest.skip(f"needs {compiler}")
    (tmp_path / "x.c").write_text(AS_LARGE)
    how = ("-nostdlib", "-static") if is_linked else ("-c",)
    subprocess.run([compiler, "-g", *how, "-o", "x.o", "x.c"], cwd=tmp_path, check=True)
    reading = dispatch.read(str(tmp_path / "x.o"), Wanted(frozenset(("pair", "plain"))), ReadOptions())
    proofs = Proofs((reading,), False, partial(inputs.read, options=ReadOptions()))
    found = {struct.name: Layout(proofs.narrow_alignments(struct)).alignments for struct in reading.structs}
    assert 2 * word in found["pair"]
    assert word in found["plain"]
    assert 2 * word not in found["plain"]


HIDING = ["ALIGNED", "TYPEDEF", "RAISED", "ATOMIC"]


def test_variables_that_can_be_aligned_without_a_sign_prove_nothing():
    evidence = Evidence([reading_of(OPEN, misplaced=(variable(4),))])
    assert Layout(evidence.narrow_alignments(OPEN)).alignments == (1,)
    others = [replace(OPEN, unstated=Unstated.PACKED | Unstated[name]) for name in HIDING]
    others += [replace(OPEN, realigned_from="t"), replace(OPEN, unstated=Unstated.NOTHING), replace(OPEN, bit_size=64)]
    for other in others:
        assert evidence.narrow_alignments(other) is other


BY_16 = (member("a", 0, 8, align=8), member("b", 8, 8, align=8))
"""The members of a struct that may be packed."""
OPEN = replace(build_struct("s", 16, *BY_16, align=None), unstated=Unstated.PACKED, possible=15)
EVERY = (1, 8)


def variable(address: int, members: tuple[Field, ...] = BY_16, **more: object) -> Struct:
    """A variable as data of its own, in an object file behind as many bytes of its section."""
    place = {"type": CType("struct s"), "bit_size": 128, "aggregate": "struct", "members": members, "possible": 15}
    of_type = Field(name="v", bit_offset=address * 8, **{**place, **more})  # type: ignore[arg-type]
    section = Field(None, CType(".data"), 0, address * 8 + 128, aggregate="struct", members=(of_type,))
    return build_struct("v", address + 16, section)


def reading_of(*structs, path: str = "input", reader: str = "dwarf", **more: object) -> Reading:
    return Reading(path, reader, OPEN.target, structs, **more)  # type: ignore[arg-type]


ADDRESSES = [
    # a variable, the alignments that are left
    (variable(1), (1,)), (replace(variable(0), address=4), (1,)), (replace(variable(0), address=8), EVERY), (variable(4), (1,)), (variable(8), EVERY), (variable(12), (1,)), (variable(16), EVERY), (variable(28), (1,)),
    (variable(4, requested_align=4), EVERY), (variable(4, possible=0), EVERY), (variable(4, type=CType("_Atomic(struct s)")), EVERY),
    (variable(4, type=CType("struct t")), EVERY), (variable(4, type=CType("const struct s")), (1,)),
    (variable(4, type=CType("t"), underlying_types=(CType("struct s"),)), (1,)),
    (variable(4, members=(member("x", 0, 8, align=8), member("y", 8, 8, align=8))), EVERY),
]  # fmt: skip


@pytest.mark.parametrize(("at", "alignments"), ADDRESSES, ids=range(len(ADDRESSES)))
def test_an_address_leaves_the_alignments_that_divide_it(at, alignments):
    """Of the two that members of 8 bytes can have, packed or not; another struct with equal members is another one."""
    assert Layout(Evidence([reading_of(OPEN, misplaced=(at,))]).narrow_alignments(OPEN)).alignments == alignments


def test_variables_in_an_input_that_hides_alignments_prove_nothing():
    hides = replace(OPEN, name="hides", unstated=Unstated.PACKED | Unstated.ALIGNED)
    assert Evidence([reading_of(OPEN, hides, misplaced=(variable(4),))]).narrow_alignments(OPEN) is OPEN


AGAIN = replace(OPEN, possible=15)
"""The same struct, as another input has it."""
AT_4 = reading_of(OPEN, misplaced=(variable(4),))
ELSEWHERE = reading_of(AGAIN, path="other")
READINGS = [
    # readings, whether they have the variables, what is read beside them, names that are asked for, what is narrowed, alignments left
    ((AT_4,), True, (), None, OPEN, (1,)), ((replace(AT_4, reader="btf"),), True, (), None, OPEN, EVERY),
    ((reading_of(OPEN),), True, (), None, OPEN, EVERY), ((reading_of(OPEN),), False, (variable(4),), {"s"}, OPEN, (1,)),
    ((AT_4, ELSEWHERE), True, (), None, OPEN, (1,)), ((AT_4, ELSEWHERE), True, (), None, AGAIN, EVERY),
    ((AT_4,), True, (), None, replace(OPEN, files=("a", "b")), EVERY), ((AT_4,), True, (), None, replace(OPEN, files=("a",)), (1,)),
    ((AT_4, ELSEWHERE), True, (), None, replace(OPEN, files=("input",)), (1,)), ((AT_4, ELSEWHERE), True, (), None, replace(OPEN, files=("other",)), EVERY),
    ((AT_4, ELSEWHERE), True, (), None, replace(OPEN, files=("input", "other")), EVERY),
    ((reading_of(OPEN, build_struct("t", 8, member("m", 0, 8))),), False, (variable(4),), {"s"}, OPEN, (1,)),
    ((reading_of(OPEN, replace(OPEN, name="bad", problem="damaged"), replace(OPEN, name="none", bit_size=0)),), False, (), {"s"}, OPEN, EVERY),
]  # fmt: skip


@pytest.mark.parametrize(("readings", "has_variables", "beside", "names", "struct", "alignments"), READINGS, ids=range(len(READINGS)))
def test_variables_are_read_where_they_are_missing(readings, has_variables, beside, names, struct, alignments):
    """Those of one input exclude nothing for the structs of another one."""
    asked: list[Wanted] = []

    def read(paths, wanted):
        assert paths == ("input",)
        asked.append(wanted)
        return [reading_of(OPEN, misplaced=beside)], []

    proofs = Proofs(readings, has_variables, read)
    found = proofs.narrow_alignments(struct)
    assert Layout(found).alignments == alignments
    assert proofs.narrow_alignments(struct) is found
    assert [wanted.names for wanted in asked] == ([frozenset(names)] if names else [])
    for wanted in asked:
        assert wanted.misplaced is not None
        assert wanted.misplaced(readings[0]) == open_alignments(readings[0]) == {(16, 8)}
