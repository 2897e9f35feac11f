"""Flexible arrays: how far apart their elements are, against sizeof of the compiler, from sources, DWARF and BTF."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.harness.command import run
from tests.oracles.c_probe import need

ELEMENTS = {
    "a lock": "struct e { int lock; };",
    "padding at the end": "struct e { long next; char lock; };",
    "a typedef without a tag": "typedef struct { long a; int lock; } e_t;\n#define ELEMENT e_t",
    "packed": "struct e { long next; char lock; } __attribute__((packed));",
    "aligned": "struct e { char lock; } __attribute__((aligned(32)));",
    "a member aligned": "struct e { char a; char lock __attribute__((aligned(16))); };",
    "structs inside": "struct in { short a; char b; }; struct e { struct in in[3]; char lock; };",
    "bit-fields": "struct e { unsigned a : 3, b : 30; char lock; };",
    "a union": "union e { int lock; long a[3]; };\n#define ELEMENT union e",
    "a number": "typedef unsigned short e_t;\n#define ELEMENT e_t",
    "pointers": "struct e { void *next; unsigned short lock; };",
}
READERS = ("c", "dwarf", "btf", "snapshot")


def input_for(reader: str, folder: Path) -> Path:
    """The source, or what is made of its object."""
    if reader == "btf":
        subprocess.run([need("pahole"), "-J", "a.o"], cwd=folder, check=True, capture_output=True)
        subprocess.run(["objcopy", "--strip-debug", "a.o", "btf.o"], cwd=folder, check=True)
        return folder / "btf.o"
    if reader == "snapshot":
        assert run("snapshot", "a.o", "--all", "--output", "a.json", cwd=folder).returncode == 0
        return folder / "a.json"
    return folder / {"c": "a.c", "dwarf": "a.o"}[reader]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("element", ELEMENTS.values(), ids=ELEMENTS)
def test_elements_are_as_far_apart_as_sizeof_says(element: str, reader: str, tmp_path: Path):
    compiler = need("gcc")
    code = f"{element}\n#ifndef ELEMENT\n#define ELEMENT struct e\n#endif\nstruct row {{ int n; ELEMENT x[]; }};\n"
    source = tmp_path / "a.c"
    source.write_text(f"{code}struct row *row;\nint sizes = sizeof(ELEMENT);\n")
    (tmp_path / "probe.c").write_text(f'#include <stdio.h>\n{code}int main(void) {{ printf("%zu", sizeof(ELEMENT)); }}\n')
    subprocess.run([compiler, "probe.c", "-o", "probe"], cwd=tmp_path, check=True)
    expected = int(subprocess.run([tmp_path / "probe"], capture_output=True, text=True, check=True).stdout)
    subprocess.run([compiler, "-g", "-c", "a.c"], cwd=tmp_path, check=True)
    (tmp_path / "r.toml").write_text('[[rule]]\nid = "r"\nstruct = "row"\nkind = "stride"\narray = "x"\nwhy = "so"\n')
    path = input_for(reader, tmp_path)
    done = run("check", path, "--rules", tmp_path / "r.toml", "--format", "json")
    (finding,) = json.loads(done.stdout)["findings"]
    if reader == "btf" and "struct" not in element and "union" not in element:
        assert "BTF does not state the dimensions" in finding["message"]  # `x[]` and `x[][2]` are one to pahole
        return
    steps = {int(number) for number in re.findall(r"(\d+) bytes (?:on\)|apart)", finding["message"])}
    assert steps == {expected}, finding["message"]


GUESSES = {
    # the struct, whether an array of it is noted
    "flexible": ("struct row { int n; struct shard x[]; };", True),
    "of length 0": ("struct row { int n; struct shard x[0]; };", True),
    "of length 1, the last": ("struct row { int n; struct shard x[1]; };", True),
    "of length 1, alone": ("struct row { struct shard x[1]; };", True),
    "of length 1, not the last": ("struct row { struct shard x[1]; int n; };", False),
    "of length 1 in a union": ("union row { long n; struct shard x[1]; };", False),
    "without a lock": ("struct row { int n; struct { long a, b; } x[]; };", False),
    "on lines of their own": ("struct row { int n; struct { struct shard s; } __attribute__((aligned(64))) x[]; };", False),
    "an aligned array": ("struct row { int n; struct shard x[] __attribute__((aligned(32))); };", True),
    "of scalars": ("struct row { int n; _Atomic int x[]; };", True),
    "of arrays": ("struct row { int n; struct shard x[][2]; };", True),
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("text", "is_noted"), GUESSES.values(), ids=GUESSES)
def test_flexible_arrays_of_locks_are_noted(text: str, is_noted: bool, tmp_path: Path):
    source = tmp_path / "a.c"
    source.write_text(f"#include <pthread.h>\nstruct shard {{ pthread_mutex_t lock; long count; }};\n{text}\n")
    done = run("check", source, "--pack", "generic", "--format", "json")
    found = [f["struct"] for f in json.loads(done.stdout)["findings"]]
    assert found == (["row"] if is_noted else [])


def test_pairs_in_elements_of_a_flexible_array_are_those_of_the_element(tmp_path: Path):
    """As those of any named struct inside another."""
    source = tmp_path / "a.c"
    source.write_text("struct slot { _Atomic int a, b; };\nstruct all { _Atomic long top; char far[120]; struct slot x[]; };\n")
    done = run("check", source, "--pack", "generic", "--format", "json")
    found = {f["struct"] for f in json.loads(done.stdout)["findings"] if f["rule"] == "generic-locks-apart"}
    assert found == {"slot"}
