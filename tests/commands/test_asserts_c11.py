"""`rules asserts --c11` for rules: a compiler accepts the assertions exactly where `check` keeps the rules."""

from __future__ import annotations

import json
import random
import re
import subprocess
from pathlib import Path

import pytest

from tests.comparison.test_random_edits import declare, edit_fields, shapes
from tests.harness import tools
from tests.harness.command import run
from tests.readers.btf.btf_blob import INT, STRUCT, Strings, blob, record

RULES = {
    "separate": 'fields = [["f0"], ["f1", "f2"]]', "together": 'fields = ["f0", "f1"]', "no-straddle": 'fields = ["f1"]',
    "order": 'fields = ["f0", "f2"]', "distance": 'fields = ["f0", "f2"]\nmin = 16\nmax = 200', "offset": 'fields = ["f1"]\nat = 8',
    "line-start": 'fields = ["f2"]', "size": "max = 256\nmultiple_of = 64",
}  # fmt: skip


def rule(kind: str, struct: str, keys: str) -> str:
    return f'[[rule]]\nid = "{kind}-{struct}"\nstruct = "{struct}"\nkind = "{kind}"\n{keys}\nwhy = "w"\n'


def outcomes(folder: Path, header: str, *flags: str) -> dict[str, str]:
    words = ("check", header, "--rules", "r.toml", "--format", "json", "--", *flags)
    report = json.loads(run(*words, cwd=folder).stdout)
    return {each["rule"]: each["outcome"] for each in (*report["findings"], *report["kept"])}


EVERY_ERROR = {"gcc": "-fmax-errors=0", "clang": "-ferror-limit=0"}


def failures(folder: Path, header: str, text: str, compiler: str = "gcc", *flags: str) -> set[str]:
    """The rules whose assertions a compiler rejects."""
    (folder / "asserts.c").write_text(f'#include "{header}"\n{text}')
    words = [tools.need(compiler), "-std=c11", "-fsyntax-only", EVERY_ERROR[compiler], "-Wno-trigraphs", *flags, "asserts.c"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    errors = [line for line in done.stderr.splitlines() if "error:" in line]
    found = [re.search(r"static[_ ]assert(?:ion)? failed.*?layoutlint ([\w-]+):", line) for line in errors]
    assert all(found), errors
    return {match[1] for match in found if match}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", range(2))
def test_assertions_fail_where_rules_do(tmp_path, seed):
    """Also for the next version of the structs: the assertions are those of the first."""
    chance = random.Random(seed)
    old = {f"s{n}": {f"f{k}": shape for k, shape in enumerate(shapes(chance))} for n in range(40)}
    new = {name: edit_fields(fields, chance) for name, fields in old.items()}
    for side, structs in (("old", old), ("new", new)):
        (tmp_path / f"{side}.h").write_text("\n".join(declare(name, fields) for name, fields in structs.items()) + "\n")
    (tmp_path / "r.toml").write_text("".join(rule(kind, name, keys) for name in old for kind, keys in RULES.items()))
    text = run("rules", "asserts", "--c11", "r.toml", "--in", "old.h", cwd=tmp_path).stdout
    asserted = set(re.findall(r'"layoutlint ([\w-]+):', text))
    left_out = dict(re.findall(r"/\* not asserted: ([\w-]+) on \w+: (.+) \*/", text))
    assert asserted | left_out.keys() == {f"{kind}-{name}" for name in old for kind in RULES}
    assert asserted & left_out.keys() == set()
    assert {kind for kind in RULES if any(each.startswith(kind) for each in asserted)} == RULES.keys()
    for header in ("old.h", "new.h"):
        judged = outcomes(tmp_path, header)
        expected = {each for each, outcome in judged.items() if outcome != "kept" and each in asserted}
        assert {each for each in failures(tmp_path, header, text) if each in judged} == expected
        assert expected


REFUSED = [
    # a rule, and why C cannot say it
    ('kind = "separate"\nfields = [["bits"], ["z"]]', "offsetof() cannot name `bits`, which is a bit-field"),
    ('kind = "order"\nfields = ["tail", "z"]', "`tail` has no last byte"),
    ('kind = "holes"\nmax = 8', "no expression in C is equivalent to the kind holes"),
    ('kind = "together"\nfields = ["a", "z"]\ntolerate = 0.5', "it tolerates some placements"),
    ('kind = "separate"\nfields = [["a"], ["z"]]\nwhen = { config = ["SMP"] }', "it applies to some configurations only (`when`)"),
    ('kind = "separate"\nfields = [["a"], ["z"]]\nneighbours = true', "it depends on the objects before and behind, too"),
    ('kind = "separate"\nfields = [["list.x"], ["z"]]', "`list.x` is in an array, and means all of its elements"),
    ('kind = "offset"\nfields = ["list[1]"]\nat = 24', "`list[1]` is an element of an array"),
    ('kind = "separate"\nfields = [["a"], ["z*"]]', "a field that is added later can match `z*`"),
    ('kind = "line-start"\nfields = ["@type:long"]', "a field that is added later can match `@type:long`"),
    ('kind = "order"\nfields = ["[a]", "z"]', "a field that is added later can match `[a]`"),
]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("keys", "reason"), REFUSED)
def test_what_c_cannot_say_is_listed(tmp_path, keys, reason):
    (tmp_path / "s.h").write_text("struct s { long a; int bits : 3; struct { long x; } list[4]; long z; char tail[]; };\n")
    (tmp_path / "r.toml").write_text(f'[[rule]]\nid = "r"\nstruct = "s"\n{keys}\nwhy = "w"\n')
    done = run("rules", "asserts", "--c11", "r.toml", "--in", "s.h", cwd=tmp_path)
    assert (done.returncode, "_Static_assert" in done.stdout) == (0, False)
    assert f"/* not asserted: r on s: {reason}" in done.stdout or reason in done.stdout


BODIES = {
    "near": "{ long a; char p[56]; long b; char rest[56]; }",
    "far": "{ long a; char gap[120]; char p[8]; long b; char rest[120]; }",
    "packed": "{ char a; char p[64]; short b; }",
    "open": "{ long a; char p[56]; long b; char rest[]; }",
}
"""Structs with the fields `a`, `p` and `b`."""
ALIGNMENTS = ("", "__attribute__((aligned(16)))", "__attribute__((aligned(64)))", "__attribute__((aligned(128)))",
              "__attribute__((packed))")  # fmt: skip
PLACED = {
    # how a rule file says where objects start, and whether the size of the struct changes that, which is then asserted
    "": False, "line": False, "aligned:128": False, "static": False, "malloc": False, "slab": True, "kmalloc": True,
}  # fmt: skip
JUDGED = {
    "separate": 'fields = [["a"], ["b"]]', "no-straddle": 'fields = ["p"]', "together": 'fields = ["p", "b"]',
    "line-start": 'fields = ["p"]', "offset": 'fields = ["b"]\nline = 1', "size": "max = 192",
}  # fmt: skip


@pytest.mark.exhaustive
@pytest.mark.parametrize("bits", ["-m32", "-m64"])
@pytest.mark.parametrize("first", [0, 2], ids=["unaligned", "line"])
def test_a_build_with_another_alignment_fails_where_check_does(tmp_path, bits, first):
    """The assertions are those of one build, held against builds that align the types to less, and to more."""
    structs = {f"{body}_{number}": (body, words) for body in BODIES for number, words in enumerate(PLACED)}
    for number, attribute in enumerate(ALIGNMENTS):
        lines = (f"struct {name} {BODIES[body]} {attribute};\n" for name, (body, _) in structs.items())
        (tmp_path / f"{number}.h").write_text("".join(lines))
    stated = "".join(f'[struct.{name}]\nplacement = "{words}"\n' for name, (_, words) in structs.items() if words)
    (tmp_path / "r.toml").write_text(stated + "".join(rule(kind, name, keys) for name in structs for kind, keys in JUDGED.items()))
    text = run("rules", "asserts", "--c11", "r.toml", "--in", f"{first}.h", "--", bits, cwd=tmp_path).stdout
    asserted = set(re.findall(r'"layoutlint ([\w-]+):', text))
    assert {each.partition("-")[0] for each in asserted} == {kind.partition("-")[0] for kind in JUDGED}
    exact = {each for each in asserted if not PLACED[structs[each.rpartition("-")[2]][1]]}
    for number in range(len(ALIGNMENTS)):
        broken = {each for each, outcome in outcomes(tmp_path, f"{number}.h", bits).items() if outcome != "kept"} & asserted
        for compiler in EVERY_ERROR:
            failing = failures(tmp_path, f"{number}.h", text, compiler, bits)
            assert failing & exact == broken & exact, (number, compiler)
            assert failing >= broken, (number, compiler)


def test_the_reason_is_in_the_message_and_cannot_leave_it(tmp_path):
    (tmp_path / "s.h").write_text("struct s { long a, b; };\n")
    why = 'q\\"q \\\\ ??/ \\u00e9 */ \\n x'
    (tmp_path / "r.toml").write_text(f'[[rule]]\nid = "r"\nstruct = "s"\nkind = "size"\nmax = 8\nwhy = "{why}"\n')
    text = run("rules", "asserts", "--c11", "r.toml", "--in", "s.h", cwd=tmp_path).stdout
    assert failures(tmp_path, "s.h", text) == {"r"}


def test_names_of_an_object_are_no_code(tmp_path):
    odd = "s); int evil[1"
    names = Strings("long", "a", odd)
    at = names.add
    blob_of = blob(record(at("long"), INT, 8, 64) + record(at(odd), STRUCT, 8, at("a"), 1, 0, vlen=1), names.bytes)
    (tmp_path / "odd.btf").write_bytes(blob_of)
    (tmp_path / "r.toml").write_text(f'[[rule]]\nid = "r"\nstruct = "{odd.replace("[", "[[]")}"\nkind = "size"\nmax = 4\nwhy = "w"\n')
    text = run("rules", "asserts", "--c11", "r.toml", "--in", "odd.btf", cwd=tmp_path).stdout
    assert "evil" not in "".join(row for row in text.splitlines() if not row.startswith("/*"))


@pytest.mark.parametrize(("words", "message"), [
    (("--c11", "r.toml"), "--c11 needs the structs: --in INPUT"),
    (("--form", "kernel", "s"), "--form needs the structs: --in INPUT"),
    (("--c11", "--form", "kernel", "s"), "--c11 is --form c11, and contradicts --form kernel"),
    (("--form", "c99", "s", "--in", "s.h"), "'c99' is not one of 'c11', 'kernel', 'build-bug-on'"),
    (("s",), "'s' is not a rule file (*.toml); for a struct, pass --in INPUT"),
    (("s", "r.toml", "--in", "s.h"), "'r.toml' is a rule file, and --in has structs; pass --c11 for its rules on them"),
])  # fmt: skip
def test_wrong_use(tmp_path, words, message):
    (tmp_path / "r.toml").write_text("")
    (tmp_path / "s.h").write_text("struct s { long a; };\n")
    done = run("rules", "asserts", *words, cwd=tmp_path)
    done.stderr = " ".join(done.stderr.split())
    assert (done.returncode, message in done.stderr) == (2, True)
