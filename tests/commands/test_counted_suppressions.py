"""Which suppressions count: at their own definition, and with `--policy-from` those that the commit has there."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from random import Random

import pytest

from tests.commands.test_policy import BROKEN, IGNORED, IGNORED_AT_B, RULES, commit_files, project
from tests.harness.command import ROOT, run
from tests.harness.effort import draws
from tests.harness.repository import git, write
from tests.harness.tools import need

__all__ = ["project"]

MARK = "/* layoutlint: ignore[q-apart] known */"
FIELDS = f"long a; {MARK}\n long b;"
PLAIN = "long a;\n long b;"
BRANCHES = "#ifdef OLD\nstruct q {{\n {0}\n}};\n#else\nstruct q {{\n {1}\n}};\n#endif\n"
INNER = "struct q {{\n struct {{ long a; {0}\n long c; }} in;\n long a; {1}\n long b;\n}};\n"
NAMED = "typedef long a;\nstruct q {{\n a other; {0}\n long a; {1}\n long b;\n}};\n"
DATABASE = json.dumps([
    {"directory": ".", "file": name, "arguments": ["cc", "-c", *flags, name]} for name, *flags in (("x.c", "-DOLD"), ("y.c",), ("z.c",))
])  # fmt: skip
UNITS = {"compile_commands.json": DATABASE, "x.c": '#include "q.h"\nstruct q x;\n', "y.c": '#include "q.h"\nstruct q y;\n', "z.c": "int z;\n"}
GROUPED = RULES.replace('[["a"], ["b"]]', '[["in.a"], ["in.b"]]')
NESTED = "struct q {{\n struct {{\n  long a; {0}\n  long b;\n }} in;\n}};\n"
MACRO = "#define PAIR(name, note) struct name { long a note, b; }\nPAIR(q, __attribute__((annotate(\"layoutlint:ignore[q-apart] known\"))));\n"

CASES = {
    # base, the change, input; exit status without and with --policy-from
    "another field with the same last part": ({"q.h": INNER.format(MARK, "")}, {"q.h": INNER.format("", MARK)}, "q.h", 0, 1),
    "a word of another declaration": ({"q.h": NAMED.format(MARK, "")}, {"q.h": NAMED.format("", MARK)}, "q.h", 0, 1),
    "another branch": ({"q.h": BRANCHES.format(FIELDS, PLAIN)}, {"q.h": BRANCHES.format(PLAIN, FIELDS)}, "q.h", 0, 1),
    "text under #if 0": ({"q.h": f"#if 0\nstruct q {{\n {FIELDS}\n}};\n#endif\n{BROKEN}"}, {"q.h": IGNORED}, "q.h", 0, 1),
    "a macro that nothing uses": (
        {"q.h": f"#define OLD struct q {{ \\\n long a; {MARK} \\\n long b; }};\n{BROKEN}"}, {"q.h": IGNORED}, "q.h", 0, 1
    ),
    "the change selects the branch": (
        {"c.h": "", "q.h": '#include "c.h"\n' + BRANCHES.format(FIELDS, PLAIN)}, {"c.h": "#define OLD\n"}, "q.h", 0, 1
    ),
    "another unit's branch": (
        UNITS | {"q.h": BRANCHES.format(FIELDS, PLAIN)}, {"q.h": BRANCHES.format(FIELDS, FIELDS)}, "compile_commands.json", 0, 1
    ),
    "a namesake in another file": ({"x.c": IGNORED, "y.c": BROKEN}, {"y.c": IGNORED}, "y.c", 0, 1),
    "a file that becomes a link": ({"x.h": IGNORED, "q.h": BROKEN}, {"q.h": "-> x.h"}, "q.h", 0, 1),
    "an include of a namesake": (
        {"x.h": IGNORED, "q.h": BROKEN, "u.c": '#include "q.h"\n'}, {"u.c": '#include "x.h"\n'}, "u.c", 0, 1
    ),
    "a folder that becomes a link": (
        {"old/q.h": IGNORED, "src/q.h": BROKEN}, {"src": "-> old"}, "src/q.h", 0, 1
    ),
    "a struct that cannot be read in the base": ({"q.h": f'#include "gone.h"\n{IGNORED.replace("long b", "gone_t b")}'}, {"q.h": IGNORED}, "q.h", 0, 1),
    "kept in one of two branches": (
        UNITS | {"q.h": BRANCHES.format(PLAIN.replace("long b", "long p[8], b"), FIELDS)}, {"z.c": "int z2;\n"}, "compile_commands.json", 0, 0
    ),
    "kept in a nested struct": ({"q.h": NESTED.format(MARK), "layoutlint.toml": GROUPED}, {"q.h": "\n" + NESTED.format(MARK)}, "q.h", 0, 0),
    "kept at a macro": ({"q.h": MACRO}, {"q.h": "int i;\n" + MACRO}, "q.h", 0, 0),
    "kept in a header of many units": (UNITS | {"q.h": IGNORED}, {"q.h": "\n" + IGNORED, "z.c": '#include "q.h"\n'}, "compile_commands.json", 0, 0),
    "kept in a header of a folder": (UNITS | {"q.h": IGNORED}, {"q.h": "\n" + IGNORED}, ".", 0, 0),
    "kept in a header of a new unit": ({"q.h": IGNORED}, {"new.c": '#include "q.h"\nstruct q n;\n'}, "new.c", 0, 0),
    "kept in a folder": ({"src/q.h": IGNORED}, {"src/q.h": "\n" + IGNORED}, "src", 0, 0),
}  # fmt: skip

BUILT = {
    # folder of the run, words
    "by flags": (".", ("inc/q.h", "--", "-Ibuild")),
    "by flags from a folder below": ("src", ("x.c", "--", "-I../build", "-I../inc")),
    "by a database": (".", ("build/compile_commands.json",)),
    "by a database from its folder": ("build", ("compile_commands.json",)),
    "by its absolute path": ("src", ("HERE/inc/q.h", "--", "-IHERE/build")),
    "in an object": (".", ("build/x.o", "--sources", "inc", "--", "-Ibuild")),
}


def change_to(folder: Path, files: dict[str, str]) -> None:
    """Write files, and links for texts such as `-> target`."""
    for name, text in files.items():
        path = folder / name
        if text.startswith("-> "):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
            path.symlink_to(text[3:])
        else:
            write(folder, {name: text})


def status(folder: Path, *words: str) -> tuple[int, str]:
    done = run("check", *words, cwd=folder)
    return done.returncode, " ".join(f"{done.stdout} {done.stderr}".split())


WIDER = BROKEN.replace("long b", "long more, b")
VARIED = f"struct q {{\n {MARK}\n long a;\n#ifdef OLD\n int more;\n#endif\n long b;\n}};\n"
DEFINITIONS = {
    # files, inputs; where the findings that are suppressed are, and the others
    "a namesake of the same layout": ({"x.c": IGNORED, "y.c": BROKEN}, ("x.c", "y.c"), ["x.c"], ["y.c"]),
    "a namesake of another layout": ({"x.c": IGNORED, "y.c": WIDER}, ("y.c", "x.c"), ["x.c"], ["y.c"]),
    "a namesake in a folder": ({"x.c": IGNORED, "y.c": BROKEN}, (".",), ["x.c"], ["y.c"]),
    "a namesake in a database": (
        {"compile_commands.json": DATABASE, "x.c": IGNORED, "y.c": BROKEN, "z.c": ""}, ("compile_commands.json",), ["x.c"], ["y.c"]
    ),
    "a header of two units": (UNITS | {"q.h": IGNORED}, ("compile_commands.json",), ["q.h"], []),
    "a header that two units lay out differently": (UNITS | {"q.h": VARIED}, ("compile_commands.json",), ["q.h", "q.h"], []),
    "one of two branches": (UNITS | {"q.h": BRANCHES.format(FIELDS, PLAIN)}, ("compile_commands.json",), ["q.h"], ["q.h"]),
    "a struct of a macro": ({"q.h": MACRO, "r.h": "struct q { long a, b; };\n"}, ("q.h", "r.h"), ["q.h"], ["r.h"]),
    "a nested struct": ({"q.h": NESTED.format(MARK), "r.h": NESTED.format("")}, ("q.h", "r.h", "--rules", "in.toml"), ["q.h"], ["r.h"]),
    "objects": ({"x.c": IGNORED + "struct q x;\n", "y.c": BROKEN + "struct q y;\n"}, ("x.o", "y.o", "--sources", "."), ["x.c"], ["y.c"]),
}  # fmt: skip


@pytest.mark.one_in(5)
@pytest.mark.parametrize(("files", "inputs", "suppressed", "others"), DEFINITIONS.values(), ids=DEFINITIONS)
def test_a_suppression_covers_the_definition_at_which_it_stands(tmp_path, files, inputs, suppressed, others):
    write(tmp_path, {"layoutlint.toml": RULES, "in.toml": GROUPED} | files)
    for word in (word for word in inputs if word.endswith(".o")):
        subprocess.run([need("gcc"), "-g", "-c", word.replace(".o", ".c")], cwd=tmp_path, check=True)
    done = run("check", *inputs, "--format", "json", cwd=tmp_path)
    findings = [each for each in json.loads(done.stdout)["findings"] if each["severity"] == "error"]
    places = {is_counted: [each["definition"]["file"] for each in findings if (each["suppressed"] is None) == is_counted] for is_counted in (True, False)}
    assert (sorted(places[False]), places[True]) == (suppressed, others)
    assert done.returncode == (1 if others else 0)


@pytest.mark.one_in(9)
@pytest.mark.parametrize(("base", "change", "path", "without", "with_policy"), CASES.values(), ids=CASES)
def test_at_the_same_field_of_the_same_struct(project, base, change, path, without, with_policy):
    change_to(commit_files(project, {"layoutlint.toml": RULES} | base), change)
    assert status(project, path)[0] == without
    code, text = status(project, path, "--policy-from", "HEAD")
    assert code == with_policy, text
    assert ("does not count, because" in text) == (with_policy == 1)


TAG = 'LAYOUTLINT(ignore[q-apart] known)'
TAGGED = f'#include "layoutlint.h"\nstruct q {{ long a {TAG}; long b; }};\n'
HEADER = (ROOT / "layoutlint/include/layoutlint.h").read_text()
COMPILED = {
    # compiler, base, the text that is compiled; exit status with --policy-from
    "kept in a comment": ("gcc", IGNORED, "\n" + IGNORED, 0),
    "added in a comment": ("gcc", BROKEN, IGNORED, 1),
    "moved to another field": ("gcc", INNER.format(MARK, ""), INNER.format("", MARK), 1),
    "another branch": ("gcc", BRANCHES.format(FIELDS, PLAIN), BRANCHES.format(PLAIN, FIELDS), 1),
    "kept in a tag": ("clang", TAGGED, "\n" + TAGGED, 0),
    "added in a tag": ("clang", BROKEN, TAGGED, 1),
}  # fmt: skip


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("compiler", "base", "text", "with_policy"), COMPILED.values(), ids=COMPILED)
def test_of_a_compiled_input(project, compiler, base, text, with_policy):
    commit_files(project, {"layoutlint.toml": RULES, "layoutlint.h": HEADER, "q.c": base + "struct q q;\n"})
    write(project, {"q.c": text + "struct q q;\n"})
    subprocess.run([need(compiler), "-g", "-c", "q.c"], cwd=project, check=True)
    assert status(project, "q.o", "--sources", ".")[0] == 0
    code, printed = status(project, "q.o", "--sources", ".", "--policy-from", "HEAD")
    assert code == with_policy, printed


@pytest.mark.one_in(6)
@pytest.mark.parametrize(("place", "words"), BUILT.values(), ids=BUILT)
def test_with_a_header_that_the_build_makes(project, place, words):
    """The base has the same, and is read with the same flags, wherever the run is."""
    command = ["cc", "-g", "-I../inc", "-I.", "-c", "../src/x.c"]
    folder = str(project / "build")
    sources = {"inc/q.h": '#include "made.h"\n' + IGNORED, "src/x.c": '#include "q.h"\nstruct q x;\n'}
    commit_files(project, {"layoutlint.toml": RULES, ".gitignore": "build\n"} | sources)
    database = json.dumps([{"directory": folder, "file": "../src/x.c", "arguments": command}])
    write(project, {"build/made.h": "", "build/compile_commands.json": database})
    words, _, flags = " ".join(words).replace("HERE", str(project)).partition(" -- ")
    for text, expected in (("\n" + IGNORED, 0), (IGNORED_AT_B, 1)):
        write(project, {"inc/q.h": '#include "made.h"\n' + text})
        subprocess.run([need("gcc"), *command[1:], "-o", "x.o"], cwd=folder, check=True)
        code, printed = status(project / place, *words.split(), "--policy-from", "HEAD", "--", *flags.split())
        assert code == expected, printed


@pytest.mark.exhaustive
@pytest.mark.parametrize("unstaged", [{}, {"r.h": "int r;\n"}], ids=["all staged", "more unstaged"])
@pytest.mark.parametrize("words", [("--staged",), ("--since", "HEAD"), ("q.h", "--since", "HEAD")], ids=" ".join)
@pytest.mark.parametrize(("text", "expected"), [("\n" + IGNORED, 0), (IGNORED_AT_B, 1)], ids=["kept", "moved"])
def test_of_a_change(project, words, unstaged, text, expected):
    commit_files(project, {"layoutlint.toml": RULES, "q.h": IGNORED, "r.h": ""})
    write(project, {"q.h": text})
    git(project, "add", ".")
    write(project, unstaged)
    assert status(project, *words, "--all-findings")[0] == 0
    assert status(project, *words, "--all-findings", "--policy-from", "HEAD")[0] == expected


COPIES = {  # the only one that the compiler sees is "seen"
    "seen": "{}", "zero": "#if 0\n{}\n#endif", "branch": "#ifdef OLD\n{}\n#endif", "comment": "//{}\nint end;", "string": "const char *s = \"{}\";",
    "macro": "#define OTHER {}", "namesake": "{}",
}  # fmt: skip
PLACES = ("struct", "a", "b", "in.a", "in.b")
COUNTING = frozenset(("struct", "a", "b"))
"""The places that cover the finding on `a` and `b`."""


def copy_of_struct(copy: str, marked: set[tuple[str, str]]) -> str:
    """Return one copy of struct q with suppressions at some places, where only one copy is code."""
    marks = {place: MARK if (copy, place) in marked else "" for place in PLACES}
    body = (
        f"{marks['struct']}\nstruct {'r' if copy == 'namesake' else 'q'} {{\n struct {{ long a; {marks['in.a']}\n long b; {marks['in.b']}\n }} in;\n"
        f" long a; {marks['a']}\n long b; {marks['b']}\n}};"
    )
    ends = {"comment": "\n//", "string": " ", "macro": " \\\n"}
    return COPIES[copy].format(body.replace("\n", ends.get(copy, "\n")))


def render(order: list[str], marked: set[tuple[str, str]]) -> str:
    return "\n".join(copy_of_struct(copy, marked) for copy in order) + "\n"


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(draws(6, 30)))
def test_random_places(project, seed):
    """A suppression that the change has counts if the compiler sees one at its place in the base."""
    random = Random(seed)
    everywhere = [(copy, place) for copy in COPIES for place in PLACES]
    base, change = (set(random.sample(everywhere, random.randint(1, 14))) for _ in range(2))
    change.add(("seen", random.choice(sorted(COUNTING))))
    if random.random() < 0.5:
        base.add(random.choice(sorted(each for each in change if each[0] == "seen")))
    orders = [random.sample(sorted(COPIES), len(COPIES)) for _ in range(2)]
    commit_files(project, {"layoutlint.toml": RULES, "q.h": render(orders[0], base)})
    write(project, {"q.h": render(orders[1], change)})
    counts = any(("seen", place) in base & change for place in COUNTING)
    assert status(project, "q.h")[0] == 0
    assert status(project, "q.h", "--policy-from", "HEAD")[0] == (0 if counts else 1)
