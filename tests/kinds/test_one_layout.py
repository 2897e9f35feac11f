"""`one-layout`, as tables, and against gcc: two units with different macros, and the offsets that a program of each prints."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from random import Random
from typing import Any

import pytest

from layoutlint.judgement.context import CannotTell
from layoutlint.judgement.namesakes import Namesakes
from layoutlint.judgement.verdict import Outcome
from layoutlint.kinds.one_layout import OneLayout
from layoutlint.model.record import replace
from layoutlint.model.structs import Field, Source, Struct
from layoutlint.model.target import target_named
from tests.harness.build import bits, context, member, struct
from tests.harness.command import run
from tests.harness.facts import facts
from tests.harness.tools import need
from tests.kinds.cases import BROKEN, KEPT, Case, check, table
from tests.kinds.structs import LINES

SKIPPED = Outcome.UNKNOWN


def definition(unit: str, *fields: Field, size: int = 16, file: str | None = "s.h", align: int | None = None, **more: Any) -> Struct:
    made = struct("s", size, *fields, align=align)
    return replace(made, origin=unit, source=None if file is None else Source(file, 1), **more)


A, B, C = member("a", 0, 8), member("b", 8, 8), member("c", 8, 8)
LATE, WIDE, IN = member("b", 12, 4), member("b", 8, 4), member("x", 0, 8, member("y", 0, 4))
UNTAGGED = [member(None, 0, 8, member("y", at, 4)) for at in (0, 4)]
CASES = [Case("one definition", LINES, {}, KEPT, (), "one layout")]
TABLE = [
    ("two of one layout", [definition("a.c", A, B), definition("b.c", A, B)], {}, [KEPT, SKIPPED], "one layout"),
    ("a size", [definition("a.c", A), definition("b.c", A, size=8)], {}, [BROKEN, SKIPPED],
     "2 layouts: 16 bytes in a.c, 8 bytes in b.c; all members are at the same places"),
    ("an alignment", [definition("a.c", A, align=8), definition("b.c", A, align=16)], {}, [BROKEN, SKIPPED],
     "2 layouts: 16 bytes in a.c, 16 bytes in b.c; the alignment is 8 in a.c, 16 in b.c"),
    ("an alignment that one does not state", [definition("a.c", A, possible=24), definition("b.c", A, align=16)], {}, [KEPT, SKIPPED], "one layout"),
    ("a name", [definition("a.c", A, B), definition("b.c", A, C)], {}, [BROKEN, SKIPPED], "2 layouts: 16 bytes in a.c, 16 bytes in b.c; `b` is only in a.c"),
    ("a member more", [definition("a.c", A), definition("b.c", A, B)], {}, [BROKEN, SKIPPED], "2 layouts: 16 bytes in a.c, 16 bytes in b.c; `b` is only in b.c"),
    ("an offset", [definition("a.c", A, B), definition("b.c", A, LATE)], {}, [BROKEN, SKIPPED],
     "2 layouts: 16 bytes in a.c, 16 bytes in b.c; `b` is at 8..15 in a.c, at 12..15 in b.c"),
    ("a size of a member", [definition("a.c", A, B), definition("b.c", A, WIDE)], {}, [BROKEN, SKIPPED],
     "2 layouts: 16 bytes in a.c, 16 bytes in b.c; `b` is at 8..15 in a.c, at 8..11 in b.c"),
    ("bits", [definition("a.c", bits("b", 3, 2)), definition("b.c", bits("b", 4, 2))], {}, [BROKEN, SKIPPED],
     "2 layouts: 16 bytes in a.c, 16 bytes in b.c; `b` is at bits 3..4 in a.c, at bits 4..5 in b.c"),
    ("inside a member", [definition("a.c", IN), definition("b.c", replace(IN, members=(member("z", 0, 4),)))], {}, [BROKEN, SKIPPED],
     "2 layouts: 16 bytes in a.c, 16 bytes in b.c; `x.y` is only in a.c"),
    ("inside a member that grew", [definition("a.c", IN), definition("b.c", replace(IN, bit_size=96))], {}, [BROKEN, SKIPPED],
     "2 layouts: 16 bytes in a.c, 16 bytes in b.c; `x` is at 0..7 in a.c, at 0..11 in b.c, because long int differs"),
    ("inside a member without a name", [definition("a.c", UNTAGGED[0]), definition("b.c", UNTAGGED[1])], {}, [BROKEN, SKIPPED],
     "2 layouts: 16 bytes in a.c, 16 bytes in b.c; `y` is at 0..3 in a.c, at 4..7 in b.c"),
    ("another order", [definition("a.c", A, B), definition("b.c", B, A)], {}, [KEPT, SKIPPED], "one layout"),
    ("three layouts", [definition("a.c", A), definition("b.c", B), definition("c.c", C), definition("d.c", C)], {}, [BROKEN, SKIPPED, SKIPPED, SKIPPED],
     "3 layouts: 16 bytes in a.c, 16 bytes in b.c, 16 bytes in c.c; `a` is only in a.c"),
    ("five layouts", [definition(f"{n}.c", A, size=8 * n) for n in range(1, 6)], {}, [BROKEN, *[SKIPPED] * 4],
     "5 layouts: 8 bytes in 1.c, 16 bytes in 2.c, 24 bytes in 3.c, 32 bytes in 4.c and 1 more; all members are at the same places"),
    ("one unit compiled twice", [definition("a.c", A), definition("a.c", A, B)], {}, [BROKEN, SKIPPED],
     "2 layouts: 16 bytes in a.c, 16 bytes in a.c; `b` is only in the second"),
    ("in two objects", [definition("a.c", A, files=("l.a:a.o",)), definition("a.c", A, B, files=("l.a:b.o",))], {}, [BROKEN, SKIPPED],
     "2 layouts: 16 bytes in l.a:a.o, 16 bytes in l.a:b.o; `b` is only in l.a:b.o"),
    ("two headers", [definition("a.c", A), definition("b.c", B, file="t.h")], {}, [BROKEN, SKIPPED],
     "2 layouts: 16 bytes in a.c, 16 bytes in b.c (t.h:1); `a` is only in a.c"),
    ("two sources", [definition("a.c", A, file="a.c"), definition("b.c", B, file="b.c")], {}, [KEPT, KEPT], "one layout"),
    ("one source in two units", [definition("a.c", A, file="a.c"), definition("b.c", B, file="a.c")], {}, [BROKEN, SKIPPED],
     "2 layouts: 16 bytes in a.c, 16 bytes in b.c; `a` is only in a.c"),
    ("two sources that share", [definition("a.c", A, file="a.c"), definition("b.c", B, file="b.c")], {"sources": True}, [BROKEN, SKIPPED],
     "2 layouts: 16 bytes in a.c, 16 bytes in b.c (b.c:1); `a` is only in a.c"),
    ("two machines", [definition("a.c", A), definition("b.c", B, target=target_named("i386"))], {}, [KEPT, KEPT], "one layout"),
    ("a tag and a typedef", [definition("a.c", A), definition("b.c", B, is_tagged=False)], {}, [KEPT, KEPT], "one layout"),
    ("a file that is excepted", [definition("a.c", A), definition("b.c", B, file="old/s.h")], {"except_": ("old/*",)}, [KEPT, SKIPPED], "one layout"),
    ("from here", [definition("a.c", A), definition("b.c", B, file="old/s.h")], {"except_": ("./old/*",)}, [KEPT, SKIPPED], "one layout"),
    ("the first file", [definition("a.c", A, file="/usr/old/s.h"), definition("b.c", B)], {"except_": ("old/*",)}, [SKIPPED, KEPT], "one layout"),
    ("no such file", [definition("a.c", A), definition("b.c", B, file="sold/s.h")], {"except_": ("old/*",)}, [BROKEN, SKIPPED],
     "2 layouts: 16 bytes in a.c, 16 bytes in b.c (sold/s.h:1); `a` is only in a.c"),
    ("without files", [definition("p", A, file=None), definition("p", A, file=None, size=24)], {}, [BROKEN, SKIPPED],
     "2 layouts: 16 bytes in p, 24 bytes in p; all members are at the same places"),
    ("an unreliable one", [definition("a.c", A), definition("b.c", B, problem="gone")], {}, [KEPT, "the layout of s is unreliable: gone"], "one layout"),
    ("other members without files", [definition("p", A, file=None), definition("p", B, file=None)], {},
     ["2 definitions of s have other members, and the input states no files: they can be different structs; check a file with DWARF, or the sources",
      SKIPPED], ""),
    ("all are excepted", [definition("a.c", A), definition("b.c", B)], {"except_": ("*.h",)}, ["every definition of s is in a file that the rule excepts", SKIPPED], ""),
]  # fmt: skip


@table(CASES)
def test_one_layout(case):
    check(OneLayout, case)


@pytest.mark.parametrize(("structs", "keys", "outcomes", "message"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_definitions(structs, keys, outcomes, message):
    """One definition of those that are compared has the verdict; the others are skipped."""
    for each, outcome in zip(structs, outcomes, strict=True):
        given = replace(context(each), namesakes=Namesakes(each, tuple(structs)))
        if isinstance(outcome, str):
            with pytest.raises(CannotTell) as caught:
                OneLayout(**keys).check(given)
            assert str(caught.value) == outcome
            continue
        verdict = OneLayout(**keys).check(given)
        assert (verdict.outcome, verdict.is_not_applicable) == (outcome, outcome is SKIPPED)
        if outcome is not SKIPPED:
            assert facts(verdict.message) == facts(message)


def program(folder: Path, header: str, *flags: str, uses: str = "") -> str:
    """An archive of two units that include a header, each with a flag of its own."""
    (folder / "s.h").write_text(header)
    for unit, flag in zip("ab", flags, strict=True):
        (folder / f"{unit}.c").write_text(f'#include "s.h"\n{uses}\n')
        subprocess.run([need("gcc"), "-g", flag, "-c", f"{unit}.c"], cwd=folder, check=True)
    subprocess.run([need("ar"), "rc", "out.a", "a.o", "b.o"], cwd=folder, check=True)
    return "out.a"


def judge(folder: Path, path: str, *words: str) -> dict[str, Any]:
    done = run("check", path, "--no-packs", "--format", "json", *words, cwd=folder)
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["exit"] == done.returncode
    return found


def test_the_examples_of_the_manual(tmp_path):
    for example in (OneLayout.manual.breaks, OneLayout.manual.keeps):
        found = judge(tmp_path, program(tmp_path, example.code, "-DDEBUG", "-UDEBUG", uses="struct ring r;"), "--one-layout")
        ((outcome, message),) = {(each["outcome"], each["message"].partition(" (the")[0]) for each in (*found["findings"], *found["kept"])}
        assert (outcome, message) == (example.outcome.value, example.message)


MEMBERS = ("char {}", "int {}", "unsigned int {}", "long {}", "double {}", "char {}[8]", "short {}[3]", "void *{}", "struct {{ char x; int y; }} {}")


def varied_struct(chance: Random, number: int) -> tuple[str, list[str]]:
    """A struct with members of which a macro chooses some, and the names of its members with either choice."""
    lines, names = [], []
    for at in range(chance.randint(1, 4)):
        one, other = (chance.choice(MEMBERS) for _ in range(2))
        other_name = chance.choice((f"m{at}", f"m{at}", f"n{at}"))
        is_chosen = chance.random() < 0.3
        chosen = f"#ifdef ONE\n{one.format(f'm{at}')};\n#else\n{other.format(other_name)};\n#endif"
        lines.append(chosen if is_chosen else f"{one.format(f'm{at}')};")
        names += [f"m{at}", f"n{at}"] if is_chosen and other_name[0] == "n" else [f"m{at}"]
    return f"struct s{number} {{\n" + "\n".join(lines) + "\n};\n", names


def layouts_of_gcc(folder: Path, texts: list[tuple[str, list[str]]], flag: str) -> list[str]:
    """What a program prints of each struct: size, alignment, and its members that compile."""
    header = (folder / "s.h").read_text()
    probes = []
    source = "\n;next;\n".join(text for text, _ in texts)
    shown = subprocess.run([need("gcc"), flag, "-E", "-P", "-"], input=source, capture_output=True, text=True, check=True).stdout
    for number, ((_, names), own) in enumerate(zip(texts, re.split(r";\s*next;", shown), strict=True)):
        parts = [name for name in names if re.search(rf"\b{name}\b", own)]
        inner = [f"{name}.{part}" for name in parts if re.search(rf"\}} {name};", own) for part in "xy"]
        places = [f'printf(" {path} %zu %zu", offsetof(struct s{number}, {path}), sizeof ((struct s{number} *)0)->{path});' for path in (*parts, *inner)]
        probes.append(f'printf("%zu: %zu", _Alignof(struct s{number}), sizeof(struct s{number}));{"".join(places)}puts("");')
    (folder / "probe.c").write_text(f"#include <stdio.h>\n#include <stddef.h>\n{header}int main(void) {{ {' '.join(probes)} }}\n")
    subprocess.run([need("gcc"), flag, "probe.c", "-o", "probe"], cwd=folder, check=True)
    return subprocess.run([folder / "probe"], capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.mark.parametrize("seed", range(2))
def test_structs_of_seeds_as_gcc_lays_them_out(tmp_path, seed):
    chance = Random(f"one layout {seed}")
    texts = [varied_struct(chance, number) for number in range(200)]
    path = program(tmp_path, "".join(text for text, _ in texts), "-DONE", "-UONE", uses=" ".join(f"struct s{n} v{n};" for n in range(200)))
    units = [{"directory": str(tmp_path), "file": f"{unit}.c", "command": f"gcc {flag} -c {unit}.c"} for unit, flag in (("a", "-DONE"), ("b", "-UONE"))]
    (tmp_path / "compile_commands.json").write_text(json.dumps(units))
    first, second = (layouts_of_gcc(tmp_path, texts, flag) for flag in ("-DONE", "-UONE"))
    found = {each: {f["struct"] for f in judge(tmp_path, each, "--one-layout")["findings"]} for each in (path, "compile_commands.json")}
    pairs = list(enumerate(zip(first, second, strict=True)))
    expected = {f"s{n}" for n, (one, other) in pairs if one != other}
    without_alignment = {f"s{n}" for n, (one, other) in pairs if one.partition(":")[2] != other.partition(":")[2]}
    assert 20 < len(without_alignment) < len(expected) < 180
    assert found["compile_commands.json"] == expected
    assert without_alignment <= found[path] <= expected  # DWARF does not tell whether a struct is packed


LEAK = "struct s { char c; long a; };\nstruct t { int x; };\nstruct gone;\n"
USES = "struct s v; struct t w; struct gone *p; int f(void) { struct u { int n; } l = {0}; return l.n; }"


@pytest.mark.parametrize(("flags", "outcomes", "status"), [
    (("-fpack-struct=1", "-g"), [("s", "broken"), ("t", "kept")], 1), (("-g", "-g"), [("s", "kept"), ("t", "kept")], 0),
])  # fmt: skip
def test_check_one_layout(tmp_path, flags, outcomes, status):
    """Declared structs and those that are local to functions are no other definitions."""
    found = judge(tmp_path, program(tmp_path, LEAK, *flags, uses=USES), "--one-layout")
    assert sorted((each["struct"], each["outcome"]) for each in (*found["findings"], *found["kept"])) == outcomes
    assert found["exit"] == status


def test_btf_without_files_is_unknown_for_other_members(tmp_path):
    need("pahole")
    program(tmp_path, OneLayout.manual.breaks.code, "-DDEBUG", "-UDEBUG", uses="static struct ring r; static void *f(void) { return &r; } void *p_(void) __attribute__((weak)); void *p_(void) { return f(); }")
    subprocess.run(["gcc", "-shared", "-g", "a.o", "b.o", "-o", "out"], cwd=tmp_path, check=True)
    subprocess.run(["pahole", "-J", "out"], cwd=tmp_path, check=True, capture_output=True)
    found = judge(tmp_path, "out", "--reader", "btf", "--one-layout")
    assert ([each["outcome"] for each in found["findings"]], found["exit"]) == (["unknown"], 3)


def test_since_a_commit_all_units_are_compared(tmp_path):
    """A macro of a unit makes a struct of a header differ, which the change leaves as it is."""
    units = [{"directory": str(tmp_path), "file": f"{unit}.c", "command": f"gcc -c {unit}.c"} for unit in "ab"]
    (tmp_path / "compile_commands.json").write_text(json.dumps(units))
    program(tmp_path, OneLayout.manual.breaks.code, "-g", "-g")
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=n", "-c", "user.email=e", "commit", "-qm", "one"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    (tmp_path / "a.c").write_text(f"#define DEBUG\n{(tmp_path / 'a.c').read_text()}")
    subprocess.run(["git", "add", "."], cwd=tmp_path, check=True)
    found = judge(tmp_path, "compile_commands.json", "--one-layout", "--since", "HEAD")
    assert ([(each["struct"], each["outcome"]) for each in found["findings"]], found["exit"]) == ([("ring", "broken")], 1)
