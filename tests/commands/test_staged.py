"""`check --staged`: what a staged change can affect is judged, and nothing else."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.commands.test_policy import CONFIGURATION, commit_files, configure_to_run, git, project, write  # noqa: F401
from tests.harness.command import run

pytestmark = pytest.mark.usefixtures("whole_runs")

RULE = """[[rule]]
id = "{id}"
struct = "{struct}"
kind = "separate"
fields = [["a"], ["b"]]
why = "two processors write them"
"""
RULES = RULE.format(id="q-apart", struct="q")
WITH_R = RULES + RULE.format(id="r-apart", struct="r")
PATTERN = RULE.format(id="all-apart", struct="q*")
PAD = "struct pad { char bytes[64]; };\n"
SMALL = PAD.replace("64", "8")
Q = "struct q {\n\tlong a;\n\tstruct pad pad;\n\tlong b;\n};\n"
QH = '#include "base.h"\n' + Q
BROKEN_Q = "struct q { long a; long b; };\n"
BROKEN_R = "struct r { long a; long b; };\n"
BASE: dict[str, str | None] = {"layoutlint.toml": RULES, "base.h": PAD, "q.h": QH}
MACRO = "struct q { long a; char pad[PAD]; long b; };\n"
NESTED = '#include "dir with space/mid.h"\n' + Q
ANNOTATED = QH.replace("long a;", "long a; /* layoutlint: hot-write */").replace("long b;", "long b; /* layoutlint: hot-read */")
IN_PARENT = {"p.h": '#include "q.h"\nstruct p { char c; struct q q; } __attribute__((packed));\n'}

CASES: dict[str, tuple[dict[str, str | None], dict[str, str | None], int, str]] = {
    # before, the change, exit status, what is said
    "shrinks an embedded type": (BASE, {"base.h": SMALL}, 1, "q-apart"),
    "shrinks it two headers away": (
        {**BASE, "q.h": NESTED, "dir with space/mid.h": '#include "../base.h"\n'}, {"base.h": SMALL}, 1, "q-apart"),
    "replaces the header of an embedded type by another": (
        {**BASE, "q.h": '#include "kind/base.h"\n' + Q, "kind/base.h": PAD}, {"kind/base.h": '#include "../base.h"\n', "base.h": SMALL}, 1, "q-apart"),
    "deletes the header of an embedded type": (BASE, {"base.h": None}, 3, "'base.h' file not found"),
    "deletes a ruled struct": (BASE, {"q.h": None}, 3, "q.h defined struct q before this change"),
    "deletes a struct with letters outside of ASCII": (
        {"layoutlint.toml": RULES.replace('"q"', '"q\u00f6"'), "q.h": "struct q\u00f6 { long a; char pad[64]; long b; };\n"}, {"q.h": None}, 3,
        "q.h defined struct q\u00f6 before this change"),
    "takes a ruled struct out": (BASE, {"q.h": '#include "base.h"\n'}, 3, "q.h defined struct q before this change"),
    "renames a ruled struct": (BASE, {"q.h": QH.replace("struct q ", "struct s ")}, 3, "q.h defined struct q before this change"),
    "takes the last match of a pattern out": ({**BASE, "layoutlint.toml": PATTERN}, {"q.h": None}, 3, "q.h defined struct q before"),
    "turns a ruled struct off": (BASE, {"q.h": f"#include \"base.h\"\n#ifdef NEVER\n{Q}#endif\n"}, 3, "q-apart"),
    "takes a ruled field out": (BASE, {"q.h": QH.replace("long b;", "")}, 3, "has no field `b`"),
    "adds a broken rule": ({**BASE, "r.h": BROKEN_R}, {"layoutlint.toml": WITH_R}, 1, "r-apart"),
    "adds a broken rule to a folder of rules": ({**BASE, "r.h": BROKEN_R}, {"layoutlint.toml": WITH_R.replace("r-apart", "r-apart-2")}, 1, "r-apart-2"),
    "adds a rule on a missing struct": (BASE, {"layoutlint.toml": WITH_R}, 3, "no C file of the repository defines struct r"),
    "adds the first rule file": ({"base.h": SMALL, "q.h": QH}, {"layoutlint.toml": RULES}, 1, "q-apart"),
    "mends the rule file": ({**BASE, "layoutlint.toml": "[[rule]]\n", "base.h": SMALL}, {"layoutlint.toml": RULES}, 1, "q-apart"),
    "takes a tolerance away": ({**BASE, "layoutlint.toml": RULES + "tolerate = 1.0\n", "q.h": '#include "base.h"\n' + Q.replace("struct pad", "char")},
                               {"layoutlint.toml": RULES}, 1, "q-apart"),
    "states another placement": (
        {**BASE, "q.h": "struct q { char x[56]; long a; long b; };\n", "layoutlint.toml": RULES + '[struct.q]\nplacement = "line"\n'},
        {"layoutlint.toml": RULES + '[struct.q]\nplacement = "aligned:8"\n'}, 1, "q-apart"),
    "takes an override away": ({**BASE, "base.h": SMALL, "layoutlint.toml": RULES + '[override."q-apart"]\nseverity = "note"\nwhy = "later"\n'},
                               {"layoutlint.toml": RULES}, 1, "q-apart"),
    "shrinks a type in a struct with annotations": ({"base.h": PAD, "q.h": ANNOTATED}, {"base.h": SMALL}, 1, "q/access"),
    "changes a macro before the header": ({**BASE, "q.h": MACRO, "a.c": '#define PAD 64\n#include "q.h"\n'},
                                          {"a.c": '#define PAD 8\n#include "q.h"\n'}, 1, "q-apart"),
    "packs structs before the header": (
        {**BASE, "q.h": "struct q { long a; char pad[57]; long b; };\n", "a.c": '#include "q.h"\n'},
        {"a.c": '#pragma pack(1)\n#include "q.h"\n'}, 0, "`b` at 65..72"),
    "adds a packed container": (
        {**BASE, "base.h": PAD.replace("64", "56"), "layoutlint.toml": RULES + '[struct.q]\nplacement = "embedded"\n'}, IN_PARENT, 1, "q-apart"),
    "changes the text that is included": ({**BASE, "base.h": '#include "bytes.inc"\n', "bytes.inc": PAD}, {"bytes.inc": SMALL}, 1, "q-apart"),
    "changes the text that a macro includes": (
        {**BASE, "base.h": '#define BYTES "bytes.inc"\n#include BYTES\n', "bytes.inc": PAD}, {"bytes.inc": SMALL}, 1, "q-apart"),
    "changes the text that a macro of the includer includes": (
        {**BASE, "q.h": '#define BYTES <bytes.inc>\n' + QH, "base.h": "#include BYTES\n", "bytes.inc": PAD,
         "compile_commands.json": '[{"directory": ".", "file": "a.c", "command": "cc -I. a.c"}]', "a.c": '#include "q.h"\n'},
        {"bytes.inc": SMALL}, 1, "q-apart"),
    "changes the text that a macro writes in parts": (
        {**BASE, "base.h": '#define TEXT(x) #x\n#define NAME(x) TEXT(x)\n#define F bytes\n#include NAME(sub/bytes.inc)\n', "sub/bytes.inc": PAD},
        {"sub/bytes.inc": SMALL}, 1, "q-apart"),
    "changes the text that a macro of the flags includes": (
        {**BASE, "base.h": "#ifdef BYTES\n#include BYTES\n#endif\n", "bytes.inc": PAD, "a.c": '#include "q.h"\n',
         "compile_commands.json": r'[{"directory": ".", "file": "a.c", "arguments": ["cc", "-DBYTES=\"bytes.inc\"", "a.c"]}]'},
        {"bytes.inc": SMALL}, 1, "q-apart"),
    "changes what lines with comments include": ({**BASE, "q.h": '/* a */ # /* b */ include /* c */ "base.h" /* d */\n' + Q}, {"base.h": SMALL}, 1, "q-apart"),
    "changes what a line in two parts includes": ({**BASE, "q.h": '#\\\ninclude \\\n  "base.h"\n' + Q}, {"base.h": SMALL}, 1, "q-apart"),
    "changes what is imported": ({**BASE, "q.h": '#import "base.h"\n' + Q}, {"base.h": SMALL}, 1, "q-apart"),
    "changes what a link leads to": ({**BASE, "q.h": '#include "link.h"\n' + Q}, {"base.h": SMALL}, 1, "q-apart"),
    "shrinks a type in a struct that is off": ({**BASE, "q.h": f'#include "base.h"\n#ifdef NEVER\n{Q}#endif\n'}, {"base.h": SMALL}, 3, "`#if` leaves out"),
    "shrinks the type of an array of locks": (
        {"layoutlint.toml": '[[rule]]\nid = "locks"\nkind = "stride"\nvariables = ["@type:lock_t"]\nwhy = "each CPU takes its own"\n',
         "base.h": "typedef struct { char bytes[64]; } lock_t;\n", "a.c": '#include "base.h"\n_Alignas(64) lock_t locks[8];\n'},
        {"base.h": "typedef struct { char bytes[8]; } lock_t;\n"}, 1, "locks"),
    "shrinks the type of a named array": (
        {"layoutlint.toml": '[[rule]]\nid = "locks"\nkind = "stride"\nvariables = ["locks"]\nwhy = "each CPU takes its own"\n',
         "base.h": "typedef struct { char bytes[64]; } lock_t;\n", "a.c": '#include "base.h"\n_Alignas(64) lock_t locks[8];\n'},
        {"base.h": "typedef struct { char bytes[8]; } lock_t;\n"}, 1, "locks"),
    # harmless look-alikes
    "changes a file with the name of an array in a comment": (
        {"layoutlint.toml": '[[rule]]\nid = "locks"\nkind = "stride"\nvariables = ["locks"]\nwhy = "each CPU takes its own"\n',
         "b.c": "int x;\n", "a.c": 'typedef long lock_t;\n_Alignas(64) lock_t locks[8];\n'},
        {"b.c": "int x, y; /* not of locks */\n"}, 0, ""),
    "enlarges an embedded type": (BASE, {"base.h": PAD.replace("64", "128")}, 0, ""),
    "changes a header that the struct does not include": ({**BASE, "other.h": PAD}, {"other.h": SMALL}, 0, ""),
    "changes another struct beside a broken one": ({**BASE, "r.h": BROKEN_R, "layoutlint.toml": WITH_R}, {"base.h": PAD + "\n"}, 0, ""),
    "changes a source that includes a broken header": (
        {**BASE, "r.h": BROKEN_R, "layoutlint.toml": WITH_R, "a.c": '#include "r.h"\n'}, {"a.c": '#include "r.h"\nint x;\n'}, 0, ""),
    "renames the header": (BASE, {"q.h": None, "new name.h": QH}, 0, ""),
    "moves the struct": (BASE, {"q.h": "struct s { int i; };\n", "sub/s.h": '#include "../base.h"\n' + Q}, 0, ""),
    "deletes the struct with its rule": (BASE, {"q.h": None, "layoutlint.toml": RULE.format(id="p", struct="pad").replace(
        'fields = [["a"], ["b"]]', "max = 64").replace("separate", "size")}, 0, ""),
    "deletes one of two definitions": ({**BASE, "arch/q.h": QH.replace("base", "../base")}, {"arch/q.h": None}, 0, ""),
    "deletes a header without a ruled struct": ({**BASE, "other.h": PAD}, {"other.h": None}, 0, ""),
    "deletes a rule": ({**BASE, "layoutlint.toml": WITH_R, "r.h": BROKEN_R}, {"layoutlint.toml": RULES}, 0, ""),
    "deletes the rule file": (BASE, {"layoutlint.toml": None, "base.h": SMALL, "q.h": QH + "\n"}, 2, "no rules apply"),
    "adds a rule beside a broken one": ({**BASE, "layoutlint.toml": RULE.format(id="r-apart", struct="r"), "r.h": BROKEN_R},
                                        {"layoutlint.toml": WITH_R}, 0, ""),
    "adds a rule on a struct with a broken one": (
        {**BASE, "base.h": SMALL}, {"layoutlint.toml": RULES + 'id = "q-size"\nstruct = "q"\nkind = "size"\nmax = 64\nwhy = "one line"\n'.replace(
            "id", "[[rule]]\nid", 1)}, 0, ""),
    "gives another reason": ({**BASE, "base.h": SMALL}, {"layoutlint.toml": RULES.replace("two processors", "2 CPUs")}, 0, ""),
    "adds a comment to the rules": ({**BASE, "base.h": SMALL}, {"layoutlint.toml": "# more\n\n" + RULES}, 0, ""),
    "changes no C": ({**BASE, "base.h": SMALL}, {"notes.md": "more\n"}, 0, ""),
    "changes C without a rule": ({**BASE, "base.h": SMALL}, {"other.c": "int x;\n"}, 0, ""),
    # the layout before is unreliable
    "shrinks a type in a struct that lacks a header": ({**BASE, "q.h": '#include "gone.h"\n' + QH}, {"base.h": SMALL}, 3, "'gone.h' file not found"),
    "adds a header that a struct lacked": ({**BASE, "q.h": '#include "gone.h"\n' + QH}, {"gone.h": "\n", "base.h": SMALL}, 1, "q-apart"),
    "changes nothing of a struct that lacks a header": ({**BASE, "q.h": '#include "gone.h"\n' + QH}, {"other.h": PAD}, 0, ""),
}  # fmt: skip


def check_staged(folder: Path, *words: str, **environment: str) -> tuple[int, dict, str]:
    done = run("check", "--staged", "--format", "json", *words, cwd=folder, **environment)
    return done.returncode, json.loads(done.stdout) if done.stdout.startswith("{") else {}, done.stdout + done.stderr


def change(folder: Path, files: dict[str, str | None]) -> None:
    write(folder, files)
    git(folder, "add", "-A")


@pytest.mark.one_in(5)
@pytest.mark.parametrize(("before", "changed", "status", "message"), CASES.values(), ids=CASES)
def test_changes(project, before, changed, status, message):  # noqa: F811
    if "link.h" in (before.get("q.h") or ""):
        (project / "link.h").symlink_to("base.h")
    commit_files(project, before)
    change(project, changed)
    code, _, text = check_staged(project)
    assert (code, message in text) == (status, True), text


@pytest.mark.one_in(3)
@pytest.mark.parametrize("flags", ["-Iinclude", "-isystem include -DX", "-I include"])
def test_flags_find_headers(project, flags):  # noqa: F811
    commit_files(project, {**BASE, "include/base.h": PAD, "q.h": QH.replace('"base.h"', "<base.h>")})
    change(project, {"base.h": SMALL})
    assert check_staged(project, "--flags", flags)[0] == 0
    change(project, {"include/base.h": SMALL})
    assert check_staged(project, "--flags", flags)[0] == 1


def test_forced_headers_are_included_by_every_file(project):  # noqa: F811
    commit_files(project, {**BASE, "config.h": "#define PAD 64\n", "q.h": MACRO})
    change(project, {"config.h": "#define PAD 8\n"})
    assert check_staged(project, "--flags", "-include config.h")[0] == 1


def test_the_first_commit(project):  # noqa: F811
    change(project, {**BASE, "base.h": SMALL})
    assert check_staged(project)[0] == 1


def test_from_a_folder_below(project):  # noqa: F811
    commit_files(project, BASE)
    change(project, {"base.h": SMALL, "sub/x": ""})
    code, report, _ = check_staged(project / "sub")
    assert (code, report["findings"][0]["input"]) == (1, "../q.h")


def test_names_count_as_changed(project):  # noqa: F811
    """As `pre-commit run --all-files` passes them."""
    commit_files(project, {**BASE, "base.h": SMALL})
    assert check_staged(project)[0] == 0
    assert check_staged(project, "base.h")[0] == 1
    assert check_staged(project, "layoutlint.toml")[0] == 1


def test_names_are_judged_or_refused(project):  # noqa: F811
    """Of a file that git does not track, of none, and of one that the change deletes."""
    commit_files(project, {**BASE, "gone.h": PAD})
    change(project, {"gone.h": None})
    write(project, {"new.h": BROKEN_Q})
    code, report, _ = check_staged(project, "new.h", "gone.h", "misspelt.h")
    assert (code, [each["file"] for finding in report["findings"] for each in finding["fields"]]) == (1, ["new.h"] * 2)
    assert [(each["origin"], each["reason"]) for each in report["unread"]] == [("misspelt.h", "no such file or directory")]
    code, report, _ = check_staged(project, "misspelt.o")
    assert (code, [each["origin"] for each in report["unread"]]) == (3, ["misspelt.o"])


def test_all_files_do_not_make_rules_new(project):  # noqa: F811
    """`pre-commit run --all-files` passes over rules on structs of other repositories; a commit that adds one does not."""
    commit_files(project, {**BASE, "layoutlint.toml": WITH_R})
    names = ["layoutlint.toml", "q.h", "base.h"]
    assert check_staged(project, *names)[0] == 0
    change(project, {"layoutlint.toml": WITH_R.replace("r-apart", "r-apart-2")})
    assert check_staged(project, *names)[0] == 3


def test_files_that_a_filter_of_pre_commit_leaves_out(project):  # noqa: F811
    commit_files(project, {**BASE, "layoutlint.toml": WITH_R, "r.h": BROKEN_R})
    change(project, {"r.h": BROKEN_R.replace("long a;", "long a, c;"), "base.h": PAD + "\n"})
    assert check_staged(project, "--all-findings")[0] == 1
    assert check_staged(project, "base.h")[0] == 0
    assert check_staged(project, PRE_COMMIT="1")[0] == 0
    change(project, {"base.h": SMALL})
    assert check_staged(project, PRE_COMMIT="1")[0] == 1


def test_other_inputs_are_judged_whole(project):  # noqa: F811
    commit_files(project, {**BASE, "layoutlint.toml": WITH_R, "r.h": BROKEN_R, "src/x.h": "int x;\n"})
    change(project, {"src/x.h": "int y;\n"})
    assert [check_staged(project, ".", *words)[0] for words in ((), ("--all-findings",))] == [0, 1]


def test_an_input_that_the_change_changes_is_judged(project):  # noqa: F811
    database = '[{"directory": ".", "file": "a.c", "arguments": ["cc", "-DPAD=64", "a.c"]}]'
    commit_files(project, {"layoutlint.toml": RULES, "q.h": MACRO, "a.c": '#include "q.h"\nstruct q q;\n', "compile_commands.json": database})
    change(project, {"compile_commands.json": database.replace("64", "8")})
    assert check_staged(project, "compile_commands.json")[0] == 1


MERGES: dict[str, tuple[dict[str, str | None], dict[str, str | None], int]] = {
    # what our branch does, what the merged one does; each alone is harmless
    "shrinks a type, adds a struct with it": ({"base.h": SMALL, "q.h": None, "layoutlint.toml": "# none\n" + RULE.format(id="p", struct="pad").replace(
        'fields = [["a"], ["b"]]', "max = 64").replace("separate", "size")}, {"new/q.h": QH.replace("base", "../base")}, 0),
    "shrinks a type, adds a rule": ({"base.h": SMALL, "layoutlint.toml": None, "q.h": QH + "\n"}, {"more.toml": RULES.replace("q-apart", "q-2")}, 1),
    "deletes a struct, adds a rule": ({"q.h": None}, {"more.toml": RULES.replace("q-apart", "q-2")}, 3),
    "comes with a broken struct": ({"notes": "ours"}, {"base.h": SMALL}, 0),
    "is broken itself": ({"base.h": SMALL}, {"notes": "theirs"}, 0),
}  # fmt: skip


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("ours", "theirs", "status"), MERGES.values(), ids=MERGES)
def test_merges(project, ours, theirs, status):  # noqa: F811
    """A merge is judged where it differs from both sides."""
    commit_files(project, {**BASE, "more.toml": RULE.format(id="none", struct="pad").replace('fields = [["a"], ["b"]]', "max = 256").replace("separate", "size")})
    git(project, "switch", "-qc", "theirs")
    commit_files(project, {name: text for name, text in theirs.items() if text is not None})
    git(project, "switch", "-q", "main")
    change(project, ours)
    git(project, "commit", "-qm", "ours")
    git(project, "merge", "-q", "--no-commit", "--no-ff", "theirs")
    words = ("--rules", "more.toml") if (project / "layoutlint.toml").exists() is False or "more.toml" in theirs else ()
    code, _, text = check_staged(project, *words)
    assert code == status, text


@pytest.mark.parametrize(("ours", "status"), [({"notes": "ours"}, 0), ({"layoutlint.toml": WITH_R, "r.h": BROKEN_R}, 1)])
def test_a_merge_of_several_branches(project, ours, status):  # noqa: F811
    """Each branch is a side of its own: what the second one brings differs from HEAD and the first one."""
    commit_files(project, BASE)
    for branch, files in {"first": {"one.h": "struct one { int x; };\n"}, "second": {"base.h": SMALL}}.items():
        git(project, "switch", "-qc", branch, "main")
        commit_files(project, files)
    git(project, "switch", "-q", "main")
    commit_files(project, {"main.h": "struct main { int x; };\n"})
    git(project, "merge", "-q", "--no-commit", "first", "second")
    assert len((project / ".git/MERGE_HEAD").read_text().split()) == 2
    change(project, ours)
    code, _, text = check_staged(project)
    assert code == status, text


def test_the_commits_that_pre_commit_compares(project):  # noqa: F811
    commit_files(project, BASE)
    git(project, "switch", "-qc", "change")
    commit_files(project, {"base.h": SMALL})
    git(project, "switch", "-q", "main")
    commit_files(project, {"notes": "more"})
    git(project, "switch", "-q", "change")
    assert check_staged(project)[0] == 0
    assert check_staged(project, PRE_COMMIT_FROM_REF="main", PRE_COMMIT_TO_REF="HEAD")[0] == 1
    git(project, "switch", "-q", "main")
    assert check_staged(project, PRE_COMMIT_FROM_REF="HEAD~", PRE_COMMIT_TO_REF="HEAD")[0] == 0


def test_the_index_of_the_commit_that_git_makes(project):  # noqa: F811
    """`git commit FILE` and `git commit -a` have an index of their own."""
    commit_files(project, BASE)
    write(project, {"base.h": SMALL})
    index = project / ".git" / "other"
    index.write_bytes((project / ".git" / "index").read_bytes())
    assert check_staged(project, GIT_INDEX_FILE=".git/other")[0] == 0
    git(project, "add", "base.h", GIT_INDEX_FILE=str(index))
    assert check_staged(project)[0] == 0
    assert check_staged(project, GIT_INDEX_FILE=".git/other")[0] == 1


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("options", "status", "message"),
    [(("--matrix", "m.toml"), 2, "--staged"), (("--ignore-missing",), 0, ""), (("--allow-unknown",), 0, "defined struct q before")],
)
def test_options_beside_it(project, options, status, message):  # noqa: F811
    commit_files(project, BASE)
    change(project, {"q.h": None})
    code, _, text = check_staged(project, *options)
    assert (code, message in text) == (status, True), text


def test_no_repository(tmp_path):
    write(tmp_path, BASE)
    assert check_staged(tmp_path, GIT_CEILING_DIRECTORIES=str(tmp_path.parent))[0] == 2


@pytest.mark.one_in(6)
@pytest.mark.parametrize("configuration", CONFIGURATION.values(), ids=CONFIGURATION)
def test_a_hostile_repository_runs_nothing(project, tmp_path, configuration):  # noqa: F811
    commit_files(project, {**BASE, ".gitattributes": "* filter=x diff=x\n"})
    change(project, {"base.h": SMALL})
    configure_to_run(project, configuration)
    os.utime(project / "q.h", (1, 1))
    assert check_staged(project)[0] == 1
    assert not (tmp_path / "ran").exists()


def test_no_output_is_kept(project, tmp_path):  # noqa: F811
    """The index decides, which the cache does not ask about."""
    commit_files(project, BASE)
    write(project, {"base.h": SMALL})
    kept = {"XDG_CACHE_HOME": str(tmp_path / "kept"), "LAYOUTLINT_NO_CACHE": ""}
    assert [check_staged(project, **kept)[0] for _ in range(2)] == [0, 0]
    git(project, "add", "-A")
    assert check_staged(project, **kept)[0] == 1
