"""What docs/contributing/security-tests.md promises of changes that break a rule: an exit status for each kind of change and form of input.

Every row breaks the rule, as the objects of gcc show. `python -m tools.differential.violations` makes more by chance.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.command import ROOT, run
from tests.harness.repository import git
from tests.harness.tools import need
from tools.differential.change_projects import Files, Link, commit, seen_structs, write

RULE = '[[rule]]\nid = "{id}"\nstruct = "{struct}"\nkind = "separate"\nfields = [["head"], ["tail"]]\nwhy = "two sides write them"\n'
RULES = RULE.format(id="sides", struct="rx_ring")
PATTERN = RULE.format(id="sides", struct="*_ring")
GOOD = "struct rx_ring {\n\tlong head;\n\tchar pad[64];\n\tlong tail;\n};\n"
BAD = GOOD.replace("64", "8")
OTHER = GOOD.replace("rx_ring", "tx_ring")
UNIT = '#include "ring.h"\nstruct rx_ring r;\n'
LOOP, LOOP_UNIT = BAD.replace("rx_ring", "loop"), UNIT.replace("rx_ring", "loop")
IGNORED = BAD.replace("long tail;", "long tail; /* layoutlint: ignore[sides] known */")
BASELINE = 'schema = "layoutlint/baseline/1"\naccept = [\n%s]\n'
ACCEPTED = BASELINE % '  { rule = "sides", struct = "rx_ring", outcome = "broken", pairs = [["head", "tail", "8/8"]] },\n  { rule = "sides", struct = "rx_ring", outcome = "at-risk", share = "1/1", pairs = [["head", "tail", "1/1"]] },\n'
BASE: Files = {"layoutlint.toml": RULES, "inc/ring.h": GOOD, "src/a.c": UNIT}
MATCHED: Files = {**BASE, "layoutlint.toml": PATTERN, "inc/other.h": OTHER, "src/b.c": '#include "other.h"\nstruct tx_ring t;\n'}
KERNEL: Files = {
    "Makefile": "VERSION = 6\nPATCHLEVEL = 1\nSUBLEVEL = 2\n", ".config": "CONFIG_X86_64=y\n", "include/linux/kconfig.h": "", "include/linux/compiler_types.h": "",
    "include/generated/autoconf.h": "#define CONFIG_X86_64 1\n", "arch/x86/include/asm/x.h": "", "kernel/Makefile": "obj-y += a.o b.o\n",
}  # fmt: skip
LINKED: list[Files] = [
    # what the link `inc` or `cur` leads to
    {"inc": Link("old"), "old/ring.h": GOOD, "src/a.c": UNIT},
    {"cur": Link("old"), "inc": Link("cur/inc"), "old/inc/ring.h": GOOD, "src/a.c": UNIT},
]
FORMS = ("file", "database", "folder", "kernel tree", "--staged", "--since", "--policy-from")


def header(text: str, **more: object) -> Files:
    """Return a change of the header."""
    return {"inc/ring.h": text, **more}  # type: ignore[dict-item]


Row = tuple[str, str, Files, Files, int]
TEXTS: list[Row] = [
    # kind, what the change does; before, the change, exit status
    ("rename", "the struct", BASE, header(LOOP, **{"src/a.c": LOOP_UNIT}), 3),
    ("rename", "a field", BASE, header(BAD.replace("tail", "end")), 3),
    ("rename", "the struct, and declares the old name", BASE, header("struct rx_ring;\n" + LOOP, **{"src/a.c": LOOP_UNIT}), 3),
    ("rename", "the only match of a pattern", {**BASE, "layoutlint.toml": PATTERN}, header(LOOP, **{"src/a.c": LOOP_UNIT}), 3),
    ("decoy", "in a comment", BASE, header(f"/*\n{GOOD}*/\n{LOOP}", **{"src/a.c": LOOP_UNIT}), 3),
    ("decoy", "in a string", BASE, header(f'static const char x[] = "{" ".join(GOOD.split())}";\n{LOOP}', **{"src/a.c": LOOP_UNIT}), 3),
    ("decoy", "in #if 0", BASE, header(f"#if 0\n{GOOD}#endif\n{LOOP}", **{"src/a.c": LOOP_UNIT}), 3),
    ("decoy", "under a macro", BASE, header(f"#define rx_ring loop\n{BAD}#undef rx_ring\n", **{"src/a.c": LOOP_UNIT}), 3),
    ("macro", "shrinks the distance", {**BASE, "inc/ring.h": "#define PAD 64\n" + GOOD.replace("64", "PAD")}, header("#define PAD 8\n" + GOOD.replace("64", "PAD")), 1),
    ("macro", "makes the struct", MATCHED, header("#define RING(x, n) struct x##_ring { long head; char pad[n]; long tail; }\nRING(rx, 8);\n"), 1),
    ("macro", "is the word struct", MATCHED, header("#define record struct\n" + BAD.replace("struct", "record")), 1),
    ("attribute", "is in brackets", MATCHED, header(BAD.replace("rx_ring", "[[gnu::aligned(8)]] rx_ring")), 1),
    ("attribute", "is behind #ifdef", MATCHED, header(BAD.replace("rx_ring", "\n#ifdef __GNUC__\n__attribute__((aligned(8)))\n#endif\nrx_ring")), 1),
    ("attribute", "is gone", {**BASE, "inc/ring.h": "struct rx_ring { long head; long tail __attribute__((aligned(128))); };\n"}, header("struct rx_ring { long head, tail; };\n"), 1),
    ("comment", "is before the brace", MATCHED, header(BAD.replace("{", "/* receive side */ {")), 1),
    ("comment", "is before the name", MATCHED, header(BAD.replace("rx_ring", "// {\nrx_ring")), 1),
    ("comment", "is a continued line", MATCHED, header(BAD.replace("rx_ring", "rx_\\\nring")), 1),
    ("include", "is the body", {**MATCHED, "inc/ring.h": 'struct rx_ring {\n#include "fields.inc"\n};\n', "inc/fields.inc": "long head; char pad[64]; long tail;\n"}, {"inc/fields.inc": "long head, tail;\n"}, 1),
    ("include", "has another suffix", MATCHED, header('#include "ring.tpl"\n', **{"inc/ring.tpl": BAD}), 1),
    ("include", "is two headers away", {**BASE, "inc/ring.h": '#include "b.h"\n', "inc/b.h": '#include "c.h"\n', "inc/c.h": GOOD}, {"inc/c.h": BAD}, 1),
    ("link", "is the header", BASE, header("", **{"inc/ring.h": Link("new.h"), "inc/new.h": BAD}), 1),
    ("link", "leads to another file", {**BASE, "inc/ring.h": Link("old.h"), "inc/old.h": GOOD, "inc/new.h": BAD}, {"inc/ring.h": Link("new.h")}, 1),
    ("namesake", "is good, in another header", BASE, header(BAD, **{"inc/a.h": GOOD}), 1),
    ("namesake", "is good, in a function", BASE, header(f"static inline int f(void) {{ {' '.join(GOOD.split())} return sizeof(struct rx_ring); }}\n{BAD}"), 1),
    ("namesake", "is good, in another branch", BASE, header(f"#ifdef NEVER\n{GOOD}#else\n{BAD}#endif\n"), 1),
]  # fmt: skip
POLICIES: list[tuple[str, str, Files, Files, tuple[str, ...], tuple[int, ...]]] = [
    # kind, what the change does; before, the change, more words, exit statuses
    ("suppression", "at the field", BASE, header(IGNORED), (), (1,)),
    ("suppression", "as in another struct of the base", {**BASE, "inc/ring.h": GOOD + IGNORED.replace("rx_ring", "loop")}, header(IGNORED + IGNORED.replace("rx_ring", "loop")), (), (1,)),
    ("suppression", "as in #if 0 of the base", {**BASE, "inc/ring.h": f"#if 0\n{IGNORED}#endif\n{GOOD}"}, header(f"#if 0\n{IGNORED}#endif\n{IGNORED}"), (), (1,)),
    ("rule", "is gone", BASE, header(BAD, **{"layoutlint.toml": None}), (), (1,)),
    ("rule", "is a note", BASE, header(BAD, **{"layoutlint.toml": RULES + 'severity = "note"\n'}), (), (1,)),
    ("rule", "is in a folder that is a link now", {**BASE, "ci/rules/r.toml": RULES}, header(BAD, **{"ci/rules/r.toml": None, "ci": Link("new"), "new/rules/r.toml": RULES + 'severity = "note"\n'}), ("--rules", "ci/rules"), (1,)),
    ("baseline", "accepts it", {**BASE, "ci/b.toml": BASELINE % ""}, header(BAD, **{"ci/b.toml": ACCEPTED}), ("--baseline", "ci/b.toml"), (1,)),
    ("baseline", "is new", BASE, header(BAD, **{"b.toml": ACCEPTED}), ("--baseline", "b.toml"), (2,)),
    ("baseline", "is in a folder that is a link now", {**BASE, "ci/b.toml": BASELINE % ""}, header(BAD, **{"ci/b.toml": None, "ci": Link("new"), "new/b.toml": ACCEPTED}), ("--baseline", "ci/b.toml"), (1,)),
    ("flag", "is in a new compile_flags.txt", BASE, header(f"#ifdef LINT\n{GOOD}#else\n{BAD}#endif\n", **{"src/compile_flags.txt": "-I../inc\n-DLINT\n"}), (), (1, 3)),
    ("flag", "is in the database", BASE, header(f"#ifdef LINT\n{GOOD}#else\n{BAD}#endif\n", **{"compile_commands.json": "-DLINT"}), (), (1, 3)),
]  # fmt: skip
MAKEFILES = ("KBUILD_CFLAGS += -DSHORT", "KBUILD_CPPFLAGS += -DSHORT", "CPPFLAGS += -DSHORT", "KBUILD_CFLAGS += -fpack-struct=1")
"""Flags that a Makefile of Linux can add, which break the rule."""


def database(files: Files, *flags: str) -> str:
    units = sorted(name for name, text in files.items() if name.endswith(".c") and text is not None)
    return json.dumps([{"directory": ".", "file": unit, "arguments": ["gcc", "-Iinc", *flags, "-c", unit]} for unit in units])


def in_kernel(files: Files) -> Files:
    """Return files at the places of a kernel tree."""
    def text_of(text: str | bytes | Link | None) -> str | bytes | Link | None:
        return re.sub(r'#include "(\w+\.h)"', r"#include <linux/\1>", text) if isinstance(text, str) else text

    return {name.replace("inc/", "include/linux/").replace("src/", "kernel/"): text_of(text) for name, text in files.items()}


def make(folder: Path, base: Files, changed: Files, form: str) -> None:
    """Make a repository with a change that gcc's object shows to break the rule."""
    if form == "kernel tree":
        base, changed = {**KERNEL, **in_kernel(base)}, in_kernel(changed)
    else:
        base = {**base, "compile_commands.json": database(base)}
        flag = changed.get("compile_commands.json")
        changed = {**changed, "compile_commands.json": database({**base, **changed}, *([flag] if isinstance(flag, str) else []))}
    folder.mkdir(exist_ok=True)
    git(folder, "init", "-q", "-b", "main")
    write(folder, base)
    commit(folder, "base")
    write(folder, changed)
    unit, flags = ("kernel/a.c", ("-Iinclude",)) if form == "kernel tree" else ("src/a.c", ("-Iinc",))
    distances = [each.offsets.get("tail", each.offsets.get("end", 0)) - each.offsets["head"] for each in seen_structs(folder, (unit,), flags) if "head" in each.offsets]
    assert any(distance < 64 for distance in distances)
    if form == "--staged":
        git(folder, "add", "-A")
    else:
        commit(folder, "change")


def words_of(form: str) -> Iterator[tuple[str, ...]]:
    """Yield command lines of a form of input."""
    inputs = {"file": "src/a.c", "database": "compile_commands.json", "folder": ".", "kernel tree": "."}
    if form in inputs:
        yield (inputs[form],)
        return
    more = {"--staged": ("--staged",), "--since": ("--since", "HEAD~1"), "--policy-from": ("--policy-from", "HEAD~1")}[form]
    yield from ((given, *more) for given in ("src/a.c", "compile_commands.json", "."))
    if form != "--policy-from":
        yield more


def statuses(folder: Path, form: str, *more: str) -> dict[str, int]:
    return {" ".join(words): run("check", *words, *more, cwd=folder).returncode for words in words_of(form)}


@pytest.mark.one_in(90)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("kind", "what", "base", "changed", "status"), TEXTS, ids=[f"{row[0]} {row[1]}" for row in TEXTS])
def test_no_text_hides_a_change(tmp_path, kind, what, base, changed, status, form):
    need("gcc", "-c")
    make(tmp_path, base, changed, form)
    found = statuses(tmp_path, form)
    assert found == dict.fromkeys(found, status)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("form", [form for form in FORMS if form != "kernel tree"])
@pytest.mark.parametrize("base", LINKED, ids=["an include folder", "a folder above it"])
def test_links_to_other_folders_count(tmp_path, base, form):
    """A link leads to another folder, which was there before or not. Without an input, only a new one is judged for itself."""
    need("gcc", "-c")
    link = next(name for name, content in base.items() if isinstance(content, Link))
    bad = {name.replace("old/", "new/"): BAD if content == GOOD else content for name, content in base.items() if name.startswith("old/")}
    for number, (before, changed) in enumerate(((base, bad), ({**base, **bad}, {}))):
        make(tmp_path / f"{number}", {"layoutlint.toml": RULES, **before}, {**changed, link: Link("new")}, form)
        found = statuses(tmp_path / f"{number}", form)
        assert {words: status == 1 or (status == 3 and words.startswith("--")) for words, status in found.items()} == dict.fromkeys(found, True), found


@pytest.mark.exhaustive
@pytest.mark.parametrize("form", ["--staged", "--since"])
@pytest.mark.parametrize("flag", ["-IHERE/inc", "-isystem HERE/inc", "-iquote HERE/src/../inc", "-Iinc"])
def test_a_database_that_names_the_tree_through_a_link(tmp_path, flag, form):
    need("gcc", "-c")
    (tmp_path / "link").symlink_to("tree")
    make(tmp_path / "tree", BASE, header(BAD), form)
    words = ["gcc", *flag.replace("HERE", f"{tmp_path}/link").split(), "-c", "src/a.c"]
    write(tmp_path / "tree", {"build/compile_commands.json": json.dumps([{"directory": f"{tmp_path}/link", "file": "src/a.c", "arguments": words}])})
    revision = [] if form == "--staged" else ["HEAD~1"]
    assert run("check", "build/compile_commands.json", form, *revision, cwd=tmp_path / "tree").returncode == 1


@pytest.mark.one_in(10)
@pytest.mark.parametrize(("kind", "what", "base", "changed", "more", "expected"), POLICIES, ids=[f"{row[0]} {row[1]}" for row in POLICIES])
def test_no_change_edits_its_judge(tmp_path, kind, what, base, changed, more, expected):
    need("gcc", "-c")
    make(tmp_path, base, changed, "--policy-from")
    found = statuses(tmp_path, "--policy-from", *more)
    assert set(found.values()) <= set(expected), found


@pytest.mark.exhaustive
@pytest.mark.parametrize("flags", MAKEFILES)
def test_flags_of_a_kernel_s_makefile_count(tmp_path, flags):
    need("gcc", "-c")
    holes = "struct holes { char a; long b; char c; long d; char e; long f; char g; long h; };\n" + GOOD.replace("char pad[64]", "struct holes pad")
    base: Files = {**KERNEL, **in_kernel({**BASE, "inc/ring.h": f"#ifdef SHORT\n{BAD}#else\n{holes}#endif\n"})}
    git(tmp_path, "init", "-q", "-b", "main")
    write(tmp_path, base)
    assert statuses(tmp_path, "kernel tree") == {".": 0}
    write(tmp_path, {"Makefile": f"{KERNEL['Makefile']}{flags}\n"})
    seen = seen_structs(tmp_path, ("kernel/a.c",), ("-Iinclude", flags.split()[-1]))
    assert {each.offsets["tail"] - each.offsets["head"] < 72 for each in seen if "tail" in each.offsets} == {True}
    assert statuses(tmp_path, "kernel tree")["."] in (1, 3)


WITHOUT = [
    # what the change does; before, the change; the form, and the status of it with --since
    ("renames one of several matches of a pattern", MATCHED, header(LOOP, **{"src/a.c": LOOP_UNIT}), ("database", "folder", "kernel tree")),
    ("renames, and adds a struct of the old name", BASE, header(LOOP, **{"src/a.c": LOOP_UNIT, "inc/old.h": GOOD, "src/c.c": '#include "old.h"\nstruct rx_ring old;\n'}), ("database", "folder", "kernel tree")),
]  # fmt: skip


@pytest.mark.exhaustive
@pytest.mark.parametrize("form", ["--staged", "--since"])
@pytest.mark.parametrize(("what", "base", "changed", "forms"), WITHOUT, ids=[row[0] for row in WITHOUT])
def test_what_was_there_before_is_judged_or_missing(tmp_path, what, base, changed, forms, form):
    """The present state alone does not show it."""
    need("gcc", "-c")
    make(tmp_path, base, changed, form)
    found = statuses(tmp_path, form)
    assert found == dict.fromkeys(found, 3)


@pytest.mark.exhaustive
@pytest.mark.parametrize("form", ["file", "database", "folder"])
@pytest.mark.parametrize("test", ["#ifdef __FLT128_MAX__", "#ifdef __GCC_IEC_559", "#ifndef __CONSTANT_CFSTRINGS__"])
def test_macros_of_a_compiler_count_if_it_is_asked(tmp_path, test, form):
    gcc = need("gcc", "-c")
    make(tmp_path, BASE, header(f"{test}\n{BAD}#else\n{GOOD}#endif\n"), form)
    found = [statuses(tmp_path, form, *words) for words in ((), ("--query-driver", os.path.realpath(gcc)))]
    assert found == [dict.fromkeys(found[0], status) for status in (3, 1)]


def promises() -> dict[tuple[str, str], str]:
    """Return the table of docs/contributing/security-tests.md: kind and form of input to the promised status."""
    text = (ROOT / "docs/contributing/security-tests.md").read_text()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    first = next(number for number, row in enumerate(rows) if row[0] == "kind of change")
    forms = [cell.strip("`") for cell in rows[first][1:-1]]
    table = {}
    for row in rows[first + 2 :]:
        if len(row) != len(forms) + 2:
            break
        table |= {(row[0], form): cell for form, cell in zip(forms, row[1:], strict=False)}
    return table


def test_the_page_has_what_is_tested():
    """A dash on the page is a pair without a promise."""
    tested = {(row[0], form): set[int]() for row in TEXTS for form in FORMS}
    for row in TEXTS:
        for form in FORMS:
            tested[row[0], form].add(row[4])
    for row in POLICIES:
        tested.setdefault((row[0], "--policy-from"), set()).update(row[5])
    tested["flag", "kernel tree"] = {1, 3}
    found = {pair: set(map(int, re.findall(r"\d", cell))) for pair, cell in promises().items() if cell != "\u2013"}
    assert found == tested
