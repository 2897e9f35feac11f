"""`--since` and `--staged`: a struct that a rule judged is judged after the change too, or is gone in truth."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.harness.command import run
from tests.harness.effort import draws
from tests.harness.repository import commit, git, write

RULE = '[[rule]]\nid = "{id}"\nstruct = "{struct}"\nkind = "separate"\nfields = [["a"], ["b"]]\nwhy = "w"\n'
RULES, PATTERN = RULE.format(id="apart", struct="ring"), RULE.format(id="all", struct="*_ring")
GOOD = "struct %s { long a; char pad[64]; long b; };\n"
RENAMED = "struct %s { long a; long b; };\n"
RING, LOST = GOOD % "ring", RENAMED % "ring_"
SOURCE = '#include "ring.h"\nint used;\n'
DATABASE = '[{"directory": ".", "file": "a.c", "arguments": ["cc", "-c", "a.c"]}]'
BASE: dict[str, str | None] = {"layoutlint.toml": RULES, "ring.h": RING, "a.c": SOURCE, "compile_commands.json": DATABASE, "other.h": "int other;\n"}

DECOYS: dict[str, dict[str, str | None]] = {
    # what the change does: each renames the struct, and puts its two fields on one line
    "renamed": {"ring.h": LOST},
    "comment": {"ring.h": f"/* {RING} */\n{LOST}"},
    "line comment": {"ring.h": f"// struct ring {{\n{LOST}"},
    "string": {"ring.h": f'static const char *text = "struct ring {{";\n{LOST}'},
    "#if 0": {"ring.h": f"#if 0\n{RING}#endif\n{LOST}"},
    "#ifdef": {"ring.h": f"#ifdef NEVER\n{RING}#endif\n{LOST}"},
    "macro that renames": {"ring.h": f"#define ring ring_\n{RENAMED % 'ring'}#undef ring\n"},
    "macro of another file": {"ring.h": f'#include "names.h"\n{RENAMED % "ring"}', "names.h": "#define ring ring_\n"},
    "macro that nobody uses": {"ring.h": f"#define RING {RING[:-1]}\n{LOST}"},
    "macro that pastes": {"ring.h": f"#define MAKE(x) struct x##_ {{ long a; long b; }}\nMAKE(ring);\n/* {RING} */"},
    "declaration": {"ring.h": f"struct ring;\n{LOST}"},
    "typedef of a number": {"ring.h": f"typedef long ring;\n{LOST}"},
    "typedef of an incomplete struct": {"ring.h": f"typedef struct gone ring;\n{LOST}"},
    "local to a function": {"ring.h": f"static inline void f(void) {{ {RING} }}\n{LOST}"},
    "other file": {"ring.h": LOST, "other.h": RING},
    "other file, in a comment": {"ring.h": LOST, "other.h": f"/* {RING} */\n"},
    "included other file": {"ring.h": f'#include "other.h"\n{LOST}', "other.h": RING},
    "moved under another name": {"ring.h": '#include "new.h"\n', "new.h": f"/* {RING} */\n{LOST}"},
    "a typedef without a tag": {"ring.h": f"/* {RING} */\ntypedef struct {{ long a; long b; }} ring_;\n"},
}  # fmt: skip
INPUTS: dict[str, tuple[str, ...]] = {
    "file": ("a.c", "--since", "HEAD"), "header": ("ring.h", "--since", "HEAD"), "database": ("compile_commands.json", "--since", "HEAD"),
    "folder": (".", "--since", "HEAD"), "change": ("--since", "HEAD"), "staged": ("--staged",), "staged file": ("a.c", "--staged"), "staged header": ("ring.h", "--staged"),
}  # fmt: skip


def check(folder: Path, *words: str, **environment: str) -> tuple[int, dict, str]:
    done = run("check", *words, "--format", "json", cwd=folder, **environment)
    report = json.loads(done.stdout) if done.stdout.startswith("{") else {}
    return done.returncode, report, done.stdout + done.stderr


def stage(folder: Path, before: dict[str, str | None], change: dict[str, str | None]) -> None:
    commit(folder, "before", before)
    write(folder, change)
    git(folder, "add", "-A")


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", DECOYS)
def test_decoys(tmp_path, name):
    """What only the text names is not judged; each way to give inputs says so."""
    stage(tmp_path, BASE, DECOYS[name])
    codes = {way: check(tmp_path, *words)[0] for way, words in INPUTS.items()}
    assert codes == dict.fromkeys(INPUTS, 3)


def test_a_decoy_of_a_staged_change(tmp_path):
    stage(tmp_path, BASE, DECOYS["macro that renames"])
    code, _, text = check(tmp_path, "--staged")
    assert (code, "pass `--removed ring`" in text) == (3, True), text


ONE, TWO = GOOD % "rx_ring", GOOD % "tx_ring"
PATTERNS: dict[str, str | None] = {"layoutlint.toml": PATTERN, "ring.h": ONE + TWO}
NOTE = "matched `*_ring` before this change, and is gone"
EXACT = {"layoutlint.toml": RULES, "ring.h": RING + "struct kept { int x; };\n", "tx.h": TWO}
REMOVED: dict[str, tuple[dict[str, str | None], dict[str, str | None], tuple[str, ...], int, str]] = {
    # before, the change, options, exit status, what is said
    "an exact name": (EXACT, {"ring.h": "struct kept { int x; };\n"}, (), 3, "ring.h defined struct ring before this change"),
    "with its rule": (EXACT, {"ring.h": "struct kept { int x; };\n", "layoutlint.toml": RULES.replace("ring", "tx_ring")}, (), 0, ""),
    "renamed with its rule": (EXACT, {"ring.h": GOOD % "ring_", "layoutlint.toml": RULES.replace("ring", "ring_")}, (), 0, ""),
    "renamed with its rule, and broken": (EXACT, {"ring.h": LOST, "layoutlint.toml": RULES.replace("ring", "ring_")}, (), 1, "apart"),
    "with the option": (EXACT, {"ring.h": "struct kept { int x; };\n"}, ("--removed", "ring"), 0, ""),
    "with the option, and the keyword": (EXACT, {"ring.h": "struct kept { int x; };\n"}, ("--removed", "struct ring"), 0, ""),
    "with the option for another struct": (EXACT, {"ring.h": "struct kept { int x; };\n"}, ("--removed", "kept"), 3, "defined struct ring"),
    "the option for a struct that is there": (EXACT, {"ring.h": RENAMED % "ring"}, ("--removed", "ring"), 1, "apart"),
    "moved": (EXACT, {"ring.h": None, "moved.h": RING}, (), 0, ""),
    "moved beside an heir": (EXACT, {"ring.h": RENAMED % "other", "moved.h": RING}, (), 3, "struct other is new and has fields of it"),
    "moved beside another struct": (EXACT, {"ring.h": "struct other { int x, y, z; };\n", "moved.h": RING}, (), 0, ""),
    "one of two definitions": ({**EXACT, "more.h": RING}, {"more.h": None}, (), 0, ""),
    "one of two definitions renamed": ({**EXACT, "more.h": RING}, {"more.h": RENAMED % "ring_more"}, (), 3, "struct ring_more is new"),
    "one of a pattern": (PATTERNS, {"ring.h": TWO}, (), 0, f"struct rx_ring of ring.h {NOTE}"),
    "one of a pattern renamed": (PATTERNS, {"ring.h": TWO + LOST}, (), 3, "struct ring_ is new"),
    "one of a pattern renamed, with a decoy": (PATTERNS, {"ring.h": f"{TWO}{LOST}/* {ONE} */\n"}, (), 3, "struct ring_ is new"),
    "one of a pattern renamed, with the option": (PATTERNS, {"ring.h": TWO + LOST}, ("--removed", "rx_ring"), 0, ""),
    "one of a pattern renamed to match": (PATTERNS, {"ring.h": TWO + RENAMED % "new_ring"}, (), 1, "struct new_ring"),
    "one of a pattern, in its own file": ({**PATTERNS, "ring.h": ONE, "tx.h": TWO}, {"ring.h": None}, (), 0, f"struct rx_ring of ring.h {NOTE}"),
    "the last of a pattern": (PATTERNS, {"ring.h": "/* rx_ring */\n"}, (), 3, "nothing that is judged defines it now"),
    "the last of a pattern, with a decoy": (PATTERNS, {"ring.h": "", "d.h": f"/* {ONE} */\n"}, (), 3, "nothing that is judged defines it now"),
    "all of a pattern, with the option": (PATTERNS, {"ring.h": ""}, ("--removed", "rx_ring", "--removed", "tx_ring"), 0, ""),
}  # fmt: skip


@pytest.mark.one_in(22)
@pytest.mark.parametrize("name", REMOVED)
def test_removed_on_purpose(tmp_path, name):
    before, change, words, status, message = REMOVED[name]
    stage(tmp_path, before, change)
    code, _, text = check(tmp_path, "--staged", *words)
    assert (code, message in text) == (status, True), text


def test_options_that_need_a_change(tmp_path):
    write(tmp_path, BASE)
    code, _, text = check(tmp_path, "ring.h", "--removed", "ring")
    assert (code, "--removed needs --staged or --since" in text) == (2, True)


UNREACHED = "the change reaches no wanted struct"


@pytest.mark.one_in(5)
@pytest.mark.parametrize(("change", "words", "status", "is_said"), [
    ({"other.h": "int more;\n"}, ("--staged",), 0, True), ({"README": "text\n"}, ("--since", "HEAD"), 0, True),
    ({"other.h": "int more;\n"}, ("a.c", "--since", "HEAD"), 0, False), ({"ring.h": RING + "\n"}, ("--staged",), 0, False),
    ({"ring.h": "", "a.c": "int none;\n"}, ("a.c", "--since", "HEAD"), 3, False),
])  # fmt: skip
def test_why_nothing_is_judged(tmp_path, change, words, status, is_said):
    stage(tmp_path, BASE, change)
    code, report, _ = check(tmp_path, *words)
    assert (code, [each["reason"] for each in report["coverage"]["not_covered"]]) == (status, [UNREACHED] if is_said else [])
    assert (f"exit 0: {UNREACHED}" in run("check", *words, cwd=tmp_path).stdout) == is_said


BROKEN = RENAMED % "ring"
REACHED: dict[str, tuple[dict[str, str | None], dict[str, str | None]]] = {
    # before, the change; the struct is included by a.c or src/x.c, and broken
    "an included header": ({}, {"ring.h": BROKEN}),
    "through another header": ({"a.c": '#include "mid.h"\n', "mid.h": '#include "ring.h"\n'}, {"ring.h": BROKEN}),
    "a body that is included": ({"ring.h": 'struct ring {\n#include "body.inc"\n};\n', "body.inc": "long a; char pad[64]; long b;\n"}, {"body.inc": "long a, b;\n"}),
    "a file of another suffix": ({"a.c": '#include "ring.x"\n', "ring.h": "\n", "ring.x": RING}, {"ring.x": BROKEN}),
    "a comment before the brace": ({"ring.h": RING.replace("ring {", "ring /* of a queue */ {")}, {"ring.h": BROKEN.replace("ring {", "ring /* of a queue */ {")}),
    "a name that a macro makes": ({"ring.h": "#define MAKE(x) struct x##ng\nMAKE(ri) { long a; char pad[64]; long b; };\n"},
                                  {"ring.h": "#define MAKE(x) struct x##ng\nMAKE(ri) { long a; long b; };\n"}),
    "a directive in another way to write it": ({"a.c": '%:include "ring.h"\n'}, {"ring.h": BROKEN}),
}  # fmt: skip


@pytest.mark.one_in(7)
@pytest.mark.parametrize("name", REACHED)
def test_given_files_are_judged_with_what_they_include(tmp_path, name):
    before, change = REACHED[name]
    stage(tmp_path, {**BASE, "src/x.c": '#include "../a.c"\n', **before}, change)
    codes = {words: check(tmp_path, *words)[0] for words in (("a.c", "--staged"), ("a.c", "--since", "HEAD"), ("src/x.c", "--since", "HEAD"))}
    assert codes == dict.fromkeys(codes, 1)


def test_unstaged_changes_beside_staged_ones_are_named(tmp_path):
    stage(tmp_path, BASE, {"ring.h": RING + "\n"})
    write(tmp_path, {"ring.h": BROKEN})
    code, _, text = check(tmp_path, "a.c", "--staged")
    assert (code, "unstaged changes are not judged: ring.h; stage them with `git add`" in text) == (0, True), text


AFFECTED: dict[str, dict[str, str | None]] = {
    # headers whose struct contains one of pad.h, which the change shrinks
    "as usual": {"ring.h": '#include "pad.h"\nstruct ring { long a; struct pad pad; long b; };\n'},
    "a comment before the brace": {"ring.h": '#include "pad.h"\nstruct ring /* of a queue */ { long a; struct pad pad; long b; };\n'},
    "a comment before the name": {"ring.h": '#include "pad.h"\nstruct /* this is the */ ring { long a; struct pad pad; long b; };\n'},
    "an attribute between brackets": {"ring.h": '#include "pad.h"\nstruct [[gnu::aligned(8)]] ring { long a; struct pad pad; long b; };\n'},
    "a line that goes on": {"ring.h": '#include "pad.h"\nstruct \\\n ring \\\n { long a; struct pad pad; long b; };\n'},
    "an attribute behind a condition": {
        "ring.h": '#include "pad.h"\nstruct\n#ifdef __GNUC__\n__attribute__((aligned(8)))\n#endif\nring { long a; struct pad pad; long b; };\n'},
    "a macro that makes it": {"ring.h": '#include "pad.h"\n#define MAKE(name) struct name { long a; struct pad pad; long b; }\nMAKE(ring);\n'},
    "a typedef of a struct elsewhere": {"inner.h": '#include "pad.h"\nstruct inner { long a; struct pad pad; long b; };\n',
                                         "ring.h": '#include "inner.h"\ntypedef struct inner ring;\n'},
    "a body that is included": {"body.inc": "long a; struct pad pad; long b;\n", "ring.h": '#include "pad.h"\nstruct ring {\n#include "body.inc"\n};\n'},
    "a file of another suffix": {"ring.x": '#include "pad.h"\nstruct ring { long a; struct pad pad; long b; };\n', "ring.h": '#include "ring.x"\n'},
    "through a header that a build makes": {"ring.h": '#include "made.h"\nstruct ring { long a; struct pad pad; long b; };\n', ".gitignore": "made.h\n", "made.h": '#include "pad.h"\n'},
}  # fmt: skip


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", [*AFFECTED][:: draws(2, 1)])
def test_all_ways_to_write_a_struct_are_reached(tmp_path, name):
    pads = [f"struct pad {{ char bytes[{size}]; }};\n" for size in (64, 8)]
    stage(tmp_path, {**BASE, **AFFECTED[name], "pad.h": pads[0]}, {"pad.h": pads[1]})
    codes = {way: check(tmp_path, *words)[0] for way, words in INPUTS.items()}
    assert codes == dict.fromkeys(INPUTS, 1)


TREE: dict[str, str | None] = {
    "Makefile": "VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 0\n", "include/linux/kconfig.h": "#include <generated/autoconf.h>\n",
    "include/linux/compiler-version.h": "\n", "include/linux/compiler_types.h": "\n", "arch/x86/include/asm/x.h": "\n",
    "include/linux/ring.h": RING, "include/linux/other.h": "int other;\n", "init/main.c": "#include <linux/ring.h>\n", "layoutlint.toml": RULES,
}  # fmt: skip
BUILD: dict[str, str | None] = {"include/generated/autoconf.h": "\n", "include/config/auto.conf": "CONFIG_X86_64=y\n"}
OF_TREE = {
    "tree": (".", "--since", "HEAD"), "header": ("include/linux/ring.h", "--since", "HEAD"), "source": ("init/main.c", "--since", "HEAD"),
    "change": ("--since", "HEAD"), "staged": ("--staged",), "staged source": ("init/main.c", "--staged"),
}  # fmt: skip


def codes_of_tree(folder: Path, change: dict[str, str | None]) -> dict[str, int]:
    """The exit status of each way to give a kernel tree, whose build folder is beside it."""
    texts = {name: text and text.replace('#include "', '#include "linux/') for name, text in change.items()}
    (folder / "tree").mkdir()
    write(folder / "build", BUILD)
    stage(folder / "tree", TREE, {f"include/linux/{name}": text for name, text in texts.items()})
    return {way: check(folder / "tree", *words, "--flags", "O=../build")[0] for way, words in OF_TREE.items()}


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", [*DECOYS][:: draws(4, 1)])
def test_decoys_in_a_kernel(tmp_path, name):
    assert codes_of_tree(tmp_path, DECOYS[name]) == dict.fromkeys(OF_TREE, 3)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("text", "status"), [(RING + "\n", 0), (BROKEN, 1)])
def test_a_kernel_without_decoys(tmp_path, text, status):
    assert codes_of_tree(tmp_path, {"ring.h": text}) == dict.fromkeys(OF_TREE, status)


GONE = {"ring.h": f"/* {RING} */\n{LOST}", "layoutlint.toml": RULES.replace("ring", "ring_ten")}
POLICY: dict[str, tuple[dict[str, str | None], tuple[str, ...], int, str]] = {
    # what the change does besides hiding the struct, more options, exit status, what is said
    "the rule stays": ({"ring.h": GONE["ring.h"]}, (), 3, "remove or change the rule first, as the owner of the rules, or pass `--removed ring`"),
    "the change edits the rule": (GONE, (), 3, "ring.h defined struct ring before this change"),
    "the change removes the rules": ({**GONE, "layoutlint.toml": None}, (), 3, "ring.h defined struct ring before this change"),
    "the owner says so": (GONE, ("--removed", "ring"), 0, ""),
}  # fmt: skip


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", POLICY)
def test_the_rules_of_the_base(tmp_path, name):
    change, words, status, message = POLICY[name]
    stage(tmp_path, {**BASE, "src/x.c": '#include "../ring.h"\n'}, change)
    for inputs in (("src/x.c", "--since", "HEAD"), ("--since", "HEAD"), ("--staged",)):
        code, _, text = check(tmp_path, *inputs, *words, "--policy-from", "HEAD")
        assert (inputs, code, message in text) == (inputs, status, True), text


@pytest.mark.exhaustive
def test_renamed_with_its_header(tmp_path):
    """The header is renamed in the same change, and the struct is hidden."""
    stage(tmp_path, BASE, {"ring.h": None, "rings.h": f"/* {RING} */\n{LOST}", "a.c": '#include "rings.h"\n'})
    assert check(tmp_path, "a.c", "--since", "HEAD")[0] == 3


@pytest.mark.exhaustive
@pytest.mark.parametrize(("old", "status", "origins"), [("\x7fELF, damaged\n", 3, ["HEAD:ring.h"]), ("", 0, [])])
def test_a_base_that_cannot_be_read(tmp_path, old, status, origins):
    """Nothing shows what rules judged there; an empty file shows that they judged nothing."""
    stage(tmp_path, {**BASE, "ring.h": old, "other.h": RING}, {"ring.h": RING + "\n"})
    code, report, text = check(tmp_path, "ring.h", "--since", "HEAD")
    assert (code, [each["origin"] for each in report["unread"]]) == (status, origins), text


@pytest.mark.exhaustive
@pytest.mark.parametrize(("words", "environment"), [
    (("ring.h", "--staged"), {"PRE_COMMIT": "1"}), (("--staged",), {"PRE_COMMIT_FROM_REF": "HEAD~1", "PRE_COMMIT_TO_REF": "HEAD"}),
    (("--staged", "--all-findings"), {}), (("--staged", "--baseline", "accepted.toml"), {}), (("--since", "HEAD", "--fail-on", "broken"), {}),
    (("--staged", "--struct", "ring"), {}),
])  # fmt: skip
def test_options_beside_a_decoy(tmp_path, words, environment):
    """A baseline, or a filter of pre-commit for other files, accepts no struct that is gone."""
    stage(tmp_path, {**BASE, "accepted.toml": 'schema = "layoutlint/baseline/1"\naccept = []\n'}, DECOYS["comment"])
    if "PRE_COMMIT_FROM_REF" in environment:
        git(tmp_path, "commit", "-qm", "change")
    code, _, text = check(tmp_path, *words, **environment)
    assert (code, "ring.h defined struct ring before this change" in text) == (3, True), text


PART = "struct ring { long a;\n#ifndef ring\nchar pad[64];\n#endif\nlong b; };\n"
TWO_UNITS = '[{"directory": ".", "file": "a.c", "arguments": ["cc", "a.c"]}, {"directory": ".", "file": "b.c", "arguments": ["cc", "b.c"]}]'
BESIDE: dict[str, dict[str, str | None]] = {
    # the struct is left as it was for some files; others get a new one
    "a macro in one of two sources": {"a.c": '#define ring ring_\n#include "ring.h"\n', "ring.h": PART},
    "another header in one of two sources": {"a.c": '#include "new.h"\n', "new.h": LOST},
    "another header through a header": {"mid.h": '#include "new.h"\n', "new.h": LOST},
}  # fmt: skip


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", BESIDE)
def test_a_struct_that_is_left_for_other_files(tmp_path, name):
    before = {**BASE, "b.c": SOURCE, "a.c": '#include "mid.h"\n', "mid.h": '#include "ring.h"\n', "compile_commands.json": TWO_UNITS}
    stage(tmp_path, before, BESIDE[name])
    ways = {way: words for way, words in INPUTS.items() if way in ("file", "database", "folder", "change", "staged", "staged file")}
    assert {way: check(tmp_path, *words)[0] for way, words in ways.items()} == dict.fromkeys(ways, 3)
