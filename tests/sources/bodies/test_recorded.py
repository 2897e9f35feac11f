"""What bodies do with fields, compared with what they did when they ran: clang's thread sanitizer is the oracle."""

from __future__ import annotations

import json
import re
import subprocess
from collections import defaultdict

import pytest

from tests.harness.command import ROOT, run
from tests.harness.tools import need

BODIES = ROOT / "fixtures/bodies"
_INSTRUMENTED = (
    "-fsanitize=thread", "-mllvm", "-tsan-instrument-read-before-write=1", "-mllvm", "-tsan-instrument-func-entry-exit=0",
)  # fmt: skip
_WRAPPED = [f"-Wl,--wrap={name}" for name in ("memcpy", "memmove", "memset")]

Accesses = dict[str, set[tuple[str, str]]]
"""By function: field and what is done with it."""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory) -> dict[str, list[tuple[str, tuple[str, ...]]]]:
    """Return for each function what it did, with the fields that the access covered."""
    clang = need("clang")
    folder = tmp_path_factory.mktemp("recorded")
    names = re.findall(r"^(?:.* )?void (t\d+)\(", (BODIES / "statements.c").read_text(), re.MULTILINE)
    table = ",".join(f'{{"{name}", {name}}}' for name in names)
    declared = "".join(f"void {name}(struct s *, struct s *, int);" for name in names)
    (folder / "table.c").write_text(
        f'#include "objects.h"\nstruct function {{ const char *name; void (*call)(struct s *, struct s *, int); }};\n'
        f"{declared}\nstruct function functions[] = {{ {table}, {{ 0 }} }};\n"
    )
    flags = [clang, "-w", "-O0", f"-I{BODIES}", "-c"]
    subprocess.run([*flags, *_INSTRUMENTED, str(BODIES / "statements.c")], cwd=folder, check=True)
    subprocess.run([*flags, str(BODIES / "recorder.c"), "table.c"], cwd=folder, check=True)
    subprocess.run([clang, *_WRAPPED, "statements.o", "recorder.o", "table.o", "-o", "recorder"], cwd=folder, check=True)
    text = subprocess.run([folder / "recorder"], stdout=subprocess.PIPE, text=True, check=True).stdout
    done: dict[str, list[tuple[str, tuple[str, ...]]]] = defaultdict(list)
    for line in text.splitlines():
        word, *fields = line.split()
        if word == "=":
            name = fields[0]
        else:
            done[name].append((word, tuple(fields)))
    return done


@pytest.fixture(scope="module")
def stated() -> Accesses:
    """Return for each function what layoutlint says that it and its own static functions do."""
    done = run("accesses", str(BODIES / "statements.c"), "--struct", "s", "--format", "json", "--no-cache")
    uses: Accesses = defaultdict(set)
    for field in json.loads(done.stdout)["fields"]:
        for use in field["uses"]:
            uses[use["function"].partition("_")[0]].add((field["path"], use["effect"]))
    return uses


def is_part(path: str, field: str) -> bool:
    return f"{path}.".startswith(f"{field}.") or f"{field}.".startswith(f"{path}.")


SAME = {"read": ("read", "atomic"), "write": ("write", "atomic"), "atomic": ("atomic",)}

UNKNOWN_OBJECTS = {
    # what is not known, and why
    "**qq = 3": "a pointer to a pointer",
    "*x = *y": "a whole object", "struct s t = *x": "a whole object", "*x = (struct s)": "a whole object",
    "memset(x, 0,": "a whole object", "memcpy(x, y,": "a whole object", "byval2(*x)": "a whole object", "struct s l = *x": "a whole object",
    "va_arg": "behind `...`: its address is taken",
    "q[1] = 3": "outside of the field", "*(&x->a + 1)": "outside of the field", "*lo++": "outside of the field", "r[0] = r[1]": "outside of the field",
    "offsetof(struct s, b);": "a byte of the object",
    "a[n & 1]->q": "a pointer in an object: its address is taken", "w.i->q": "a pointer in an object: its address is taken",
    "struct { int *p; }": "a pointer in an object: its address is taken", "static int *sp": "a pointer in an object: its address is taken",
    "x->p = &x->in": "a pointer in an object: its address is taken", "x->ip = &x->a": "a pointer in an object: its address is taken",
    "x->pa = &x->two": "a pointer in an object: its address is taken",
    "->pv->nx = l->nx": "any list", "x->link.nx->pv": "any list", "h->nx->pv = a": "any list",
    "qsort": "a function that is not known: its address is taken", "f(&p->a)": "a function that is not known: its address is taken",
    "f(&x->a)": "a function that is not known: its address is taken", "tab[0]": "a function that is not known: its address is taken",
}  # fmt: skip


UNSEEN = {
    # what is stated and was not recorded, and why
    "q[1] = 3": "outside of the field", "*(&x->a + 1)": "outside of the field", "r[0] = r[1]": "outside of the field",
    "static struct s local": "another object",
    "memcmp(": "the C library is not instrumented", "strcpy(": "the C library is not instrumented",
}  # fmt: skip


def difference(differences: dict[str, tuple], listed: dict[str, str]) -> dict[str, tuple]:
    return {body: each for body, each in differences.items() if not any(text in body for text in listed)}


def body_of(name: str) -> str:
    text = (BODIES / "statements.c").read_text()
    return next(line for line in text.splitlines() if f"void {name}(" in line)


def test_everything_that_was_done_is_known(recorded, stated):
    missing = {
        body_of(name): (word, fields)
        for name, accesses in recorded.items()
        for word, fields in accesses
        if not any(effect in SAME[word] and is_part(path, each) for path, effect in stated[name] for each in fields)
    }
    assert difference(missing, UNKNOWN_OBJECTS) == {}


def test_nothing_else_is_said(recorded, stated):
    """Which branches ran is known; the address of a field can be taken without an access."""
    extra = {
        body_of(name): (path, effect)
        for name, uses in stated.items()
        for path, effect in uses
        if effect != "address"
        and not any(
            (effect == word or {effect, word} == {"atomic", "write"}) and any(is_part(path, each) for each in fields)
            for word, fields in recorded[name]
        )
    }
    assert difference(extra, UNSEEN) == {}
