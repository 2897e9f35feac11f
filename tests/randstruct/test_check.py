"""`check` of a build whose seed is known, against what compilers did with it."""

from __future__ import annotations

import json
import re
import subprocess

import pytest

from tests.harness.command import run
from tests.oracles.c_probe import compile_c
from tests.randstruct import golden
from tests.randstruct.golden import BUILDS

SHUFFLED = [build for build in BUILDS if build["mode"]]
KINDS = ("C", "DWARF 5")
RULE = '[[rule]]\nid = "{id}"\nstruct = "{struct}"\nkind = "{kind}"\n{keys}\nseverity = "error"\nwhy = "a test"\n'


def rules(path, rows, placements=()):
    """A rule file: (id, struct, kind, keys) each, and (struct, placement)."""
    message = [f'[struct.{struct}]\nplacement = "{placement}"\n' for struct, placement in placements]
    texts = [RULE.format(id=row[0], struct=row[1], kind=row[2], keys=row[3]) for row in rows]
    path.write_text("\n".join(['[pack]\nname = "test"\n', *message, *texts]))
    return path


def check(path, rule_file, *options, status=(0,)):
    """The findings and what was kept, by their rules."""
    done = run("check", path, "--rules", rule_file, "--no-packs", "--format", "json", *options)
    assert done.returncode in status, done.stdout[-2000:] + done.stderr
    report = json.loads(done.stdout)
    return {finding["rule"]: finding for finding in (*report["findings"], *report["kept"])}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.one_in(3)
@pytest.mark.parametrize("build", SHUFFLED, ids=golden.name_of)
def test_every_field_is_judged_where_the_compiler_put_it(build, kind, tmp_path):
    fields = [
        (f"{struct}-{path.replace('.', '-')}", struct, "offset", f'fields = ["{path}"]\nat = {bits // 8}')
        for struct, layout in build["layouts"].items()
        for path, bits in layout["bit_offsets"].items()
    ]
    found = check(golden.input_of(kind, build["source"]), rules(tmp_path / "rules.toml", fields), *golden.options(build, kind))
    assert {finding["outcome"] for finding in found.values()} == {"kept"}
    assert len(found) == len(fields)


EMBEDDING = """
#define RAND __attribute__((randomize_layout))
struct inner { char a; long b; short c; long d[3]; } RAND;
struct plain { long p; struct inner inside; } RAND;
union either { struct plain one; char bytes[72]; };
struct outer { char x; struct inner first; long y[3]; struct { int z; struct plain deep[3]; union either u; } mid; short w; }
    __attribute__((aligned(256))) RAND;
struct outer outer;
"""
PLACES = ("first", "mid.deep[0].inside", "mid.deep[1].inside", "mid.deep[2].inside", "mid.u.one.inside")
SEEDS = [f"{number:064x}" for number in (1, 2, 3)]


def offsets(seed, folder):
    """Where clang puts the structs inside of `outer`, and what is asked for in them, by its constants in the object."""
    wanted = [f"__builtin_offsetof(struct outer, {place})" for place in PLACES]
    text = f"{EMBEDDING}\nunsigned long at[] = {{ {', '.join(wanted)} }};"
    source = folder / f"at{seed[-1]}.c"
    source.write_text(text)
    done = subprocess.run(
        [golden.newest_clang(), f"-frandomize-layout-seed={seed}", "-S", "-o", "-", str(source)], capture_output=True, text=True, check=True
    )
    listed = done.stdout.partition("\nat:")[2].partition(".size")[0]
    return [int(word) for word in re.findall(r"\.quad\s+(\d+)", listed)]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("kind", ["C", "DWARF"])
@pytest.mark.parametrize("seed", SEEDS)
def test_embedded_structs_stand_where_the_compiler_put_them(seed, kind, tmp_path):
    """Bases are those of the containers in that build, at every depth."""
    wanted = offsets(seed, tmp_path)
    (tmp_path / "embedding.c").write_text(EMBEDDING)
    options = ["--randstruct", "clang", "--seed", seed]
    path = tmp_path / "embedding.c"
    if kind == "DWARF":
        path = compile_c("gcc", EMBEDDING, tmp_path / "embedding.o", "-g", "-c")
        options += ["--randomized", "inner,plain,outer"]
    embedded = [(name, "embedded") for name in ("inner", "plain", "either")]
    file = rules(tmp_path / "rules.toml", [("inner", "inner", "size", "max_lines = 1")], embedded)
    found = check(path, file, *options, "--line-size", "256", status=(0, 1))["inner"]
    assert found["placements"]["total"] == len({at % 256 for at in wanted})
    assert found["placements"]["bases"] == sorted({at % 256 for at in wanted if at % 256 + 48 > 256})


MARKED = """
#define __randomize_layout
#define __no_randomize_layout
struct plain { long a; long b; };
struct by_macro { long a; long b; } __randomize_layout;
struct by_both { long a; long b; } __attribute__((aligned(sizeof(long)))) __randomize_layout;
struct by_attribute { long a; long b; } __attribute__((randomize_layout));
struct kept { long a; long b; } __no_randomize_layout;
"""


def test_marked_structs_that_are_not_randomised_are_said_to_be_randomisable(tmp_path):
    (tmp_path / "marked.c").write_text(MARKED)
    names = {"plain": False, "by_macro": True, "by_both": True, "by_attribute": True, "kept": False}
    file = rules(tmp_path / "rules.toml", [(name, name, "order", 'fields = ["b", "a"]') for name in names])
    found = check(tmp_path / "marked.c", file, status=(1,))
    assert {name: finding["randomisable"] for name, finding in found.items()} == names
    assert {finding["outcome"] for finding in found.values()} == {"broken"}
    text = run("check", "-v", tmp_path / "marked.c", "--rules", file, "--no-packs").stdout
    assert " ".join(text.split()).count("the struct is marked `__randomize_layout`") == 3


def test_a_verdict_on_a_size_has_orders_and_no_placements(tmp_path):
    (tmp_path / "s.h").write_text("struct s { char a; long b; char c; int d; };\n")
    table = rules(tmp_path / "rules.toml", [("small", "s", "size", "max = 16")])
    placements = check(tmp_path / "s.h", table, "--randstruct", "gcc-full", "--randomized", "s", status=(1,))["small"]["placements"]
    assert (placements["total"], placements["bases"], placements["basis"]) == (0, [], None)
    assert placements["orders"]["counted"] == "exact"
