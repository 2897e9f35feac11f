"""The note on a struct with one object among the variables of a program; `nm` says where it is."""

from __future__ import annotations

import subprocess

import pytest

from tests.harness.command import run
from tests.harness.tools import need

RULE = '[[rule]]\nid = "r"\nstruct = "server"\nkind = "separate"\nfields = [["hot"], ["cold"]]\nwhy = "w"\n'
TYPE = "struct server { long hot, pad[6], cold; };\ntypedef struct server server_t;\n"
MAIN = "int main(int n, char **words) { (void)words; USE; return n; }\n"
ROWS = [
    # declarations, the variable that is named
    ("struct server server __attribute__((aligned(64)));", "server"),
    ("struct server server __attribute__((aligned(32))) = {1};", "server"),
    ("static server_t own __attribute__((aligned(128)));", "own"),
    ("struct server server __attribute__((aligned(64))), *other = &server;", "server"),
    ("struct server server __attribute__((aligned(64))), other __attribute__((aligned(64)));", None),
    ("struct server server[2] __attribute__((aligned(64)));", None),
    ("struct { struct server in; } server __attribute__((aligned(64)));", None),
    ("struct server server __attribute__((aligned(64))), others[2];", None),
    ("struct server *server;", None),
]


def build(folder, declaration: str, *flags: str) -> None:
    (folder / "layoutlint.toml").write_text(RULE)
    used = "own" if " own " in declaration else "server"
    main = MAIN.replace("USE", f"__asm__ volatile(\"\" : : \"r\"(&{used}) : \"memory\")")
    (folder / "p.c").write_text(f"{TYPE}{declaration}\n{main}")
    subprocess.run([need("gcc"), "-g", "-O1", "-w", *flags, "-o", "p", "p.c"], cwd=folder, check=True, timeout=60)


@pytest.mark.parametrize(("declaration", "name"), ROWS)
def test_a_variable_of_a_program(tmp_path, declaration, name):
    build(tmp_path, declaration)
    lines = run("check", "p", "--width", "300", cwd=tmp_path).stdout.splitlines()
    notes = [line.strip() for line in lines if "only variable" in line]
    if name is None:
        assert notes == []
        return
    symbols = subprocess.run([need("nm"), tmp_path / "p"], capture_output=True, text=True, check=True, timeout=60).stdout
    address = next(int(line.split()[0], 16) for line in symbols.splitlines() if line.split()[-1] == name)
    align = min(64, address & -address)
    assert notes == [
        f"note: {name} is the only variable of struct server, at {address % 64} modulo 64 in this program: if no other object exists, in other structs or allocated, "
        f'`[struct.server]` with `placement = "static:{align}"` would narrow 8 placements to {64 // align}'
    ]


def test_the_line_does_what_it_says(tmp_path):
    build(tmp_path, ROWS[0][0])
    with (tmp_path / "layoutlint.toml").open("a") as file:
        file.write('[struct.server]\nplacement = "static:64"\n')
    out = run("check", "p", cwd=tmp_path).stdout
    assert "only variable" not in out
    assert "error: struct server: `hot` and `cold` share a line [r]" in out


def test_an_object_file_has_no_addresses(tmp_path):
    build(tmp_path, ROWS[0][0], "-c")
    assert "only variable" not in run("check", "p", cwd=tmp_path).stdout
