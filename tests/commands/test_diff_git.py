"""`diff --git` and `--patch`: revisions of a repository, without touching it, and patches on a tree."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.harness.command import run
from tests.harness.repository import commit, git, write

RULES = '[[rule]]\nid = "apart"\nstruct = "s"\nkind = "separate"\nfields = [["a"], ["z"]]\nwhy = "w"\n'
START = {
    "include/inner.h": "struct inner { long x; long y; };\n",
    "include/s.h": '#include "inner.h"\n#ifdef WIDE\ntypedef long word_t;\n#else\ntypedef int word_t;\n#endif\n'
    "struct s {\n\tlong a;\n\tstruct inner in;\n\tlong pad[4];\n\tword_t w;\n\tlong z;\n};\n",
    "include/other.h": "struct other { int n; };\nstruct pair { long p; long q; };\n",
    "layoutlint.toml": RULES,
    "README": "text\n",
}
COMMITS = [
    # what each commit does: file, old, new text; status, exit status, structs that changed, status of the rule
    ("a comment", ("include/s.h", "long a;", "long a; /* hot */"), "same", 0, [], "same"),
    ("a field added", ("include/s.h", "long z;", "long z;\n\tlong last;"), "same", 0, ["s"], "same"),
    ("a field in another header", ("include/other.h", "int n;", "int n, m;"), "same", 0, ["other"], "same"),
    ("a type swapped in an included header", ("include/inner.h", "long y;", "char y;"), "same", 0, ["inner", "s"], "same"),
    ("a struct in it shrinks", ("include/inner.h", "long x; char y;", "char y;"), "worse", 1, ["inner", "s"], "worse"),
    ("the same undone", ("include/inner.h", "char y;", "long x; char y;"), "better", 0, ["inner", "s"], "better"),
    ("the configuration flipped", ("include/inner.h", "struct inner", "#define WIDE\nstruct inner"), "same", 0, ["s"], "same"),
    ("a struct renamed", ("include/other.h", "struct pair", "struct couple"), "same", 0, ["couple"], "same"),
    ("a file moved", ("include/other.h", None, "include/moved.h"), "same", 0, [], "same"),
    ("another text only", ("README", "text", "other"), "same", 0, [], "same"),
    ("fields swapped", ("include/s.h", "\tlong pad[4];\n\tword_t w;\n\tlong z;", "\tlong z;\n\tlong pad[4];\n\tword_t w;"),
     "worse", 1, ["s"], "worse"),
    ("a revert", ("include/s.h", "\tlong z;\n\tlong pad[4];\n\tword_t w;", "\tlong pad[4];\n\tword_t w;\n\tlong z;"),
     "better", 0, ["s"], "better"),
    ("a ruled struct removed", ("include/s.h", "struct s {", "struct t {"), "not-compared", 3, ["t"], "not-compared"),
]  # fmt: skip


@pytest.fixture(scope="module")
def history(tmp_path_factory) -> Path:
    """A repository with one commit for each kind of change, tagged by its number."""
    folder = tmp_path_factory.mktemp("history")
    commit(folder, "start", START)
    git(folder, "tag", "c0")
    for number, (subject, (file, old, new), *_) in enumerate(COMMITS, 1):
        path = folder / file
        if old is None:
            git(folder, "mv", file, new)
        else:
            assert old in path.read_text()
            path.write_text(path.read_text().replace(old, new))
        git(folder, "commit", "-qam", subject)
        git(folder, "tag", f"c{number}")
    return folder


@pytest.mark.one_in(4)
@pytest.mark.parametrize("number", range(len(COMMITS)), ids=[row[0] for row in COMMITS])
def test_each_commit(history, number):
    _, _, status, exit_status, structs, rule = COMMITS[number]
    done = run("diff", "--git", f"c{number}..c{number + 1}", "include", "--format", "json", cwd=history)
    found = json.loads(done.stdout)
    assert (done.returncode, found["status"]) == (exit_status, status)
    assert [each["name"] for each in found["structs"]] == structs
    assert [each["status"] for each in found["rules"]] == [rule]


def test_paths_are_those_of_the_repository(history):
    found = json.loads(run("diff", "--git", "c10..c11", "include/s.h", "--format", "json", cwd=history).stdout)
    assert [each["file"] for each in found["structs"]] == ["include/s.h"]
    assert [found[side]["label"] for side in ("old", "new")] == ["c10", "c11"]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("text", "labels"), [
    ("c10..", ["c10", "HEAD"]), ("..c11", ["HEAD", "c11"]), ("c0..c4", ["c0", "c4"]),
])  # fmt: skip
def test_ranges(history, text, labels):
    found = json.loads(run("diff", "--git", text, "include/inner.h", "--format", "json", cwd=history).stdout)
    assert [found[side]["label"] for side in ("old", "new")] == labels


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("words", "message"), [
    (("--git", "c0"), "is not a range of revisions: write A..B"),
    (("--git", "c0..gone"), "this repository has no such commit"),
    (("--git", "--output=x..c1"), "is not a revision"),
    (("--git", "c0..c1", "/etc/passwd"), "is outside of the repository"),
    (("--git", "c0..c1", "a", "b"), "takes a path at most; 2 are given"),
    (("--git", "c0..c1", "include/gone.h"), "'include/gone.h' is neither in c0 nor in c1"),
    (("--git", "c0..c1", "--patch", "x", "."), "--git and --patch exclude each other"),
    (("include/s.h",), "takes two inputs, OLD and NEW; 1 is given"),
    (("--patch", "p.patch"), "takes one source tree; 0 are given"),
    (("--patch", "p.patch", "README"), "--patch needs the folder of a source tree"),
])  # fmt: skip
def test_wrong_use(history, words, message):
    done = run("diff", *words, cwd=history)
    assert (done.returncode, message in done.stderr) == (2, True), done.stderr


HOSTILE = """
[core]
    fsmonitor = ./ran
    hooksPath = .
[filter "f"]
    smudge = ./ran
    clean = ./ran
    process = ./ran
[diff]
    external = ./ran
[diff "f"]
    textconv = ./ran
[pager]
    diff = ./ran
"""


def test_nothing_of_the_repository_runs_or_changes(tmp_path):
    """Filters, monitors and hooks are programs that a repository can name; the index and the stash are the user's."""
    program = tmp_path / "ran"
    program.write_text("#!/bin/sh\ntouch ran-it\ncat\n")
    program.chmod(0o755)
    commit(tmp_path, "one", {**START, ".gitattributes": "*.h filter=f diff=f export-ignore\n"})
    commit(tmp_path, "two", {"include/s.h": START["include/s.h"].replace("pad[4]", "pad[3]")})
    (tmp_path / "include/other.h").write_text("struct mine;\n")
    git(tmp_path, "stash", "-q")
    (tmp_path / "include/other.h").write_text("struct unsaved;\n")
    with (tmp_path / ".git/config").open("a") as file:
        file.write(HOSTILE)
    before = sorted(path.name for path in tmp_path.rglob("*")), (tmp_path / ".git/index").read_bytes()
    done = run("diff", "--git", "HEAD~1..HEAD", "include", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert (sorted(path.name for path in tmp_path.rglob("*")), (tmp_path / ".git/index").read_bytes()) == before
    assert (tmp_path / "include/other.h").read_text() == "struct unsaved;\n"


def tree_with(folder: Path, entries: str) -> str:
    """A commit whose tree git itself would not make: entries of `git mktree`."""
    return git(folder, "commit-tree", "-m", "m", git(folder, "mktree", "--missing", text=entries))


def test_names_that_lead_out_of_the_tree_are_refused(history, tmp_path):
    blob = git(history, "hash-object", "-w", "--stdin", text="struct x { int a; };\n")
    inner = git(history, "mktree", text=f"100644 blob {blob}\tevil.h\n")
    for name in ("..", ".git"):
        hostile = tree_with(history, f"040000 tree {inner}\t{name}\n")
        done = run("diff", "--git", f"{hostile}..{hostile}", cwd=history)
        assert (done.returncode, "leads out of its tree" in done.stderr) == (2, True), done.stderr


def test_links_that_lead_out_of_the_tree_are_not_followed(tmp_path):
    (tmp_path / "secret.h").write_text("struct secret { int a; };\n")
    repository = tmp_path / "r"
    repository.mkdir()
    (repository / "out.h").symlink_to("../secret.h")
    (repository / "in.h").symlink_to("s.h")
    commit(repository, "one", {"s.h": "struct s { long a; };\n"})
    for path, status in (("in.h", 0), ("out.h", 3)):
        assert run("diff", "--git", "HEAD..HEAD", path, cwd=repository).returncode == status


@pytest.mark.parametrize(("revisions", "status", "rule"), [("HEAD~1..HEAD", 1, "worse"), ("HEAD..HEAD~1", 3, "not-compared")])
def test_a_file_that_only_one_revision_has(tmp_path, revisions, status, rule):
    """Its structs are added or removed: that is known, unlike what cannot be read."""
    commit(tmp_path, "one", {"layoutlint.toml": RULES})
    commit(tmp_path, "two", {"s.h": "struct s { long a; long z; };\n"})
    done = run("diff", "--git", revisions, "s.h", "--format", "json", cwd=tmp_path)
    found = json.loads(done.stdout)
    assert (done.returncode, [each["status"] for each in found["rules"]]) == (status, [rule])
    assert [each["status"] for each in found["structs"]] == ["added" if status == 1 else "removed"]


def odd_trees(folder: Path) -> dict[str, str]:
    """Commits that git itself would not make."""
    blob = git(folder, "hash-object", "-w", "--stdin", text="struct x { int a; };\n")
    inner = git(folder, "mktree", text=f"100644 blob {blob}\tx.h\n")
    return {
        "a long name": tree_with(folder, f"100644 blob {blob}\t{'n' * 300}.h\n"),
        "a file and a folder of one name": tree_with(folder, f"100644 blob {blob}\tq.h\n040000 tree {inner}\tq.h\n"),
    }


@pytest.mark.parametrize("name", ["a long name", "a file and a folder of one name"])
def test_trees_that_cannot_be_written(history, name):
    odd = odd_trees(history)[name]
    done = run("diff", "--git", f"{odd}..{odd}", cwd=history)
    assert (done.returncode, "its files cannot be written" in done.stderr) == (3, True), done.stderr


def test_links_that_lead_out_through_others(tmp_path):
    """Each target stays inside the tree by its text; together they lead out."""
    (tmp_path / "secret.h").write_text("struct secret { int a; };\n")
    repository = tmp_path / "r"
    (repository / "d/a").mkdir(parents=True)
    (repository / "d/a/top").symlink_to("../..")
    (repository / "out.h").symlink_to("d/a/top/../secret.h")
    commit(repository, "one", {"s.h": "struct s { long a; };\n"})
    assert run("diff", "--git", "HEAD..HEAD", "out.h", cwd=repository).returncode == 3


class TestPatch:
    def test_a_series_on_a_tree(self, history, tmp_path):
        series = git(history, "format-patch", "--stdout", "c3..c5") + "\n"
        (tmp_path / "series.mbox").write_text(series)
        git(history, "worktree", "add", "-q", str(tmp_path / "tree"), "c3")
        before = {path: path.read_bytes() for path in (tmp_path / "tree").rglob("*.h")}
        done = run("diff", "--patch", tmp_path / "series.mbox", tmp_path / "tree", "--rules", history / "layoutlint.toml",
                   "--format", "json", cwd=tmp_path)  # fmt: skip
        found = json.loads(done.stdout)
        assert (done.returncode, found["status"], [each["name"] for each in found["structs"]]) == (1, "worse", ["inner", "s"])
        assert {path: path.read_bytes() for path in (tmp_path / "tree").rglob("*.h")} == before

    @pytest.mark.one_in(2)
    @pytest.mark.parametrize(("text", "message"), [
        ("", "does not apply"), ("no patch\n", "does not apply"),
        ("diff --git a/x.bin b/x.bin\nGIT binary patch\nliteral 999999999\nzcmV\n", "unpacks to more than"),
        ("--- a/include/s.h\n+++ b/include/s.h\n@@ -1 +1 @@\n-gone\n+new\n", "does not apply"),
        ("--- a/../x.h\n+++ b/../x.h\n@@ -0,0 +1 @@\n+int x;\n", "does not apply"),
        ("--- /dev/null\n+++ b/../../x.h\n@@ -0,0 +1 @@\n+int x;\n", "does not apply"),
    ])  # fmt: skip
    def test_what_does_not_apply_is_not_compared(self, history, tmp_path, text, message):
        (tmp_path / "p.patch").write_text(text)
        done = run("diff", "--patch", tmp_path / "p.patch", ".", cwd=history)
        assert (done.returncode, message in done.stderr) == (3, True), done.stderr

    @pytest.mark.one_in(2)
    @pytest.mark.parametrize("how", [(), ("--binary",), ("--full-index",), ("--no-prefix",)])
    @pytest.mark.parametrize(("change", "names", "status", "message"), [
        ({"inc/a.h": "struct a { long x; };\n", "p.bin": "\0\2"}, ["a"], 0, ""),
        ({"p.bin": "\0\2"}, [], 0, ""),
        ({"p.bin": None, "n.bin": "\0\3"}, [], 0, ""),
        ({"p.bin": None, "m.bin": "\0\1" * 9, "inc/a.h": "struct a { long x; };\n"}, ["a"], 0, ""),
        ({"inc/a.h": "struct a { long x; }; /* \0 */\n"}, ["a"], 3, "lacks the content of inc/a.h"),
    ])  # fmt: skip
    def test_binary_files_need_no_content(self, tmp_path, how, change, names, status, message):
        """A `git diff` without --binary lacks it, and git apply refuses that; layoutlint reads only C text."""
        files = {"inc/a.h": "struct a { int x; };\n", "p.bin": "\0\1" * 9}
        (tmp_path / "r").mkdir()
        commit(tmp_path / "r", "one", files)
        write(tmp_path / "tree", files)
        commit(tmp_path / "r", "two", change)
        (tmp_path / "p.patch").write_text(git(tmp_path / "r", "diff", *how, "HEAD~1") + "\n")
        done = run("diff", "--patch", "p.patch", "tree", "--format", "json", cwd=tmp_path)
        if "--binary" in how:
            status, message = 0, ""
        assert (done.returncode, message in done.stderr) == (status, True), done.stderr
        assert status or [each["name"] for each in json.loads(done.stdout)["structs"]] == names

    @pytest.mark.parametrize("ends", ["\n", "\r\n"])
    def test_mail_programs_may_end_lines_in_cr(self, tmp_path, ends):
        """As for git am, which removes them; a patch of files with CR has its own."""
        for name, text in {"mailed": "int", "own": "int"}.items():
            (tmp_path / name).mkdir()
            (tmp_path / name / "a.h").write_bytes(f"struct a {{ {text} x; }};{ends if name == 'own' else chr(10)}".encode())
        patch = "--- a/a.h\n+++ b/a.h\n@@ -1 +1 @@\n-struct a {{ int x; }};{0}+struct a {{ long x; }};{0}"
        (tmp_path / "mailed.patch").write_bytes(patch.format("\n").replace("\n", ends).encode())
        (tmp_path / "own.patch").write_bytes(patch.format(ends).encode())
        for name in ("mailed", "own"):
            done = run("diff", "--patch", f"{name}.patch", name, "--format", "json", cwd=tmp_path)
            assert [each["size"] for each in json.loads(done.stdout)["structs"]] == [[4, 8]], (name, done.stderr)

    @pytest.mark.one_in(2)
    @pytest.mark.parametrize(("link", "target", "include", "sizes"), [
        ("linked", "real", "linked/in.h", {"in": [8, 16], "s": [8, 16]}),
        ("linked", "/TREE/real", "linked/in.h", {"in": [8, 16], "s": [8, 16]}),
        ("deep/linked", "../real", "deep/linked/in.h", {"in": [8, 16], "s": [8, 16]}),
        ("linked", "../outside", "linked/out.h", {"in": [8, 16]}),
        ("linked", "/TREE/../outside", "linked/out.h", {"in": [8, 16]}),
        ("alias.h", "real/in.h", "alias.h", {"in": [8, 16], "s": [8, 16]}),
        ("alias.h", "/TREE/real/in.h", "alias.h", {"in": [8, 16], "s": [8, 16]}),
        ("alias.h", "../outside/out.h", "alias.h", {"in": [8, 16]}),
        ("alias.h", "real/in.text", "alias.h", {"in": [8, 16]}),
    ])  # fmt: skip
    def test_links_lead_to_the_patched_files(self, tmp_path, link, target, include, sizes):
        tree = tmp_path / "tree"
        for folder in (tree / "real", tree / "deep", tmp_path / "outside"):
            folder.mkdir(parents=True)
        (tree / "real/in.h").write_text("struct in { long x; };\n")
        for path in (tmp_path / "outside/out.h", tree / "real/in.text"):
            path.write_text("struct in { int other; };\n")
        (tree / link).symlink_to(target.replace("/TREE", str(tree)))
        (tree / "s.c").write_text(f'#include "{include}"\nstruct s {{ struct in in; }};\n')
        (tmp_path / "p.patch").write_text("--- a/real/in.h\n+++ b/real/in.h\n@@ -1 +1 @@\n-struct in { long x; };\n+struct in { long x, y; };\n")
        found = json.loads(run("diff", "--patch", "p.patch", "tree", "--format", "json", cwd=tmp_path).stdout)
        assert {each["name"]: each["size"] for each in found["structs"]} == sizes
        assert (found["failures"], found["not_compared"]) == ([], [])

    def test_sources_that_move_need_not_be_read(self, tmp_path):
        (tmp_path / "tree/include/linux").mkdir(parents=True)
        (tmp_path / "tree/include/linux/kconfig.h").touch()
        (tmp_path / "tree/a.h").write_text("struct a { int x; };\n")
        (tmp_path / "tree/old.c").write_text("int old;\n")
        (tmp_path / "p.patch").write_text(
            "diff --git a/old.c b/new.c\nsimilarity index 100%\nrename from old.c\nrename to new.c\n"
            "diff --git a/a.h b/a.h\n--- a/a.h\n+++ b/a.h\n@@ -1 +1 @@\n-struct a { int x; };\n+struct a { long x; };\n"
        )
        done = run("diff", "--patch", "p.patch", "tree", "--format", "json", cwd=tmp_path)
        assert [each["name"] for each in json.loads(done.stdout)["structs"]] == ["a"], done.stderr


class TestBareRepositories:
    """They have no files, and revisions of them can be compared."""

    @pytest.fixture
    def bare(self, tmp_path):
        (tmp_path / "made").mkdir()
        start = commit(tmp_path / "made", "start", START)
        commit(tmp_path / "made", "shrinks", {"include/inner.h": "struct inner { char y; };\n"})
        (tmp_path / "rules.toml").write_text(RULES)
        git(tmp_path, "clone", "-q", "--bare", "made", "bare.git")
        return tmp_path / "bare.git", start

    @pytest.mark.parametrize("words", [("include",), ()])
    def test_a_bare_repository(self, bare, words):
        folder, start = bare
        before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        changed = run("diff", "--git", f"{start}..HEAD", *words, "--rules", "../rules.toml", "--format", "json", cwd=folder)
        found = json.loads(changed.stdout)
        assert (changed.returncode, [each["name"] for each in found["structs"]]) == (1, ["inner", "s"]), changed.stderr
        searched = run("bisect", "apart", f"{start}..HEAD", *words, "--rules", "../rules.toml", "--format", "json", cwd=folder)
        assert json.loads(searched.stdout)["first_bad"]["subject"] == "shrinks"
        assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before

    def test_the_folder_of_git_is_one(self, bare):
        folder = bare[0].parent / "made/.git"
        assert run("diff", "--git", f"{bare[1]}..HEAD", "--rules", "../../rules.toml", cwd=folder).returncode == 1

    @pytest.mark.exhaustive
    def test_one_of_another_user_is_refused(self, bare):
        if os.geteuid() != 0:
            pytest.skip("only root can give a folder to another user")
        os.chown(bare[0], 1234, 1234)
        done = run("diff", "--git", "HEAD..HEAD", "--rules", "../rules.toml", cwd=bare[0])
        assert (done.returncode, "belongs to another user" in done.stderr) == (2, True), done.stderr


WIDTH = {"inc/width.h": "#define WIDTH %d\n", "sub/s.h": '#include "width.h"\nstruct s { long a; char pad[WIDTH]; long z; };\n'}
FLAGS = {
    # the folder in which the command runs, the path of the header from there, the flags
    "at the top": (".", "sub/s.h", ("--", "-Iinc")),
    "in a sub folder": ("sub", "s.h", ("--", "-I../inc")),
    "in a sub folder, with a response file": ("sub", "s.h", ("--", "@../flags")),
    "in a database": (".", "sub/s.h", ()),
}


def with_width(folder: Path, width: int) -> dict[str, str]:
    database = [{"directory": str(folder), "file": "sub/a.c", "arguments": ["gcc", "-Iinc", "-c", "sub/a.c"]}]
    more = {"sub/a.c": '#include "s.h"\nstruct s one;\n', "compile_commands.json": json.dumps(database), "flags": f"-I{folder}/inc"}
    return {"inc/width.h": WIDTH["inc/width.h"] % width, "sub/s.h": WIDTH["sub/s.h"], **more}


@pytest.mark.parametrize("form", ["--git", "--patch"])
@pytest.mark.parametrize(("at", "header", "flags"), FLAGS.values(), ids=FLAGS)
def test_paths_in_flags_are_those_of_each_side(tmp_path, form, at, header, flags):
    """A width in a header, which flags lead to, changes from 64 to 8."""
    tree = tmp_path / "tree"
    tree.mkdir()
    commit(tree, "wide", with_width(tree, 64))
    commit(tree, "narrow", with_width(tree, 8))
    if form == "--git":
        words = ("--git", "HEAD~1..HEAD", header)
    else:
        (tmp_path / "patch").write_text(git(tree, "diff", "HEAD~1..HEAD") + "\n")
        git(tree, "checkout", "-q", "HEAD~1")
        words = ("--patch", str(tmp_path / "patch"), str(Path("..") if at == "sub" else Path(".")))
    done = run("diff", *words, "--format", "json", *flags, cwd=tree / at)
    (changed,) = (each for each in json.loads(done.stdout)["structs"] if each["name"] == "s")
    assert changed["size"] == [80, 24], done.stderr


KERNEL = {
    "Makefile": "VERSION = 6\nPATCHLEVEL = 1\nSUBLEVEL = 2\n", "include/linux/kconfig.h": "", "include/linux/compiler_types.h": "",
    "arch/x86/include/asm/x.h": "", ".gitignore": ".config\ngenerated\nbuild\n", "include/linux/ring.h": "struct ring { long head; char pad[64]; };\n",
}  # fmt: skip
BUILT = {".config": "CONFIG_X86_64=y\n", "include/generated/autoconf.h": "#define CONFIG_X86_64 1\n"}
BUILDS = {
    # where the kernel is built, the words that name it; whether it is found
    "nowhere": ("", (), False), "in place": (".", (), True), "in build": ("build", (), True), "another folder": ("../out", ("--build", "../out"), True),
    "as make names it": ("../out", ("--", "O=../out"), True), "a folder without a build": ("", ("--", "O=.."), False),
}  # fmt: skip


@pytest.mark.parametrize("form", ["--git", "--patch"])
@pytest.mark.parametrize(("build", "words", "is_found"), BUILDS.values(), ids=BUILDS)
def test_the_configuration_of_a_kernel(tmp_path, form, build, words, is_found):
    """Without one, nothing is compared, and the reason is the first and only line."""
    tree = tmp_path / "linux"
    tree.mkdir()
    commit(tree, "wide", KERNEL)
    commit(tree, "narrow", {"include/linux/ring.h": "struct ring { long head; char pad[8]; };\n"})
    if build:
        write(tree / build, BUILT)
    if form == "--git":
        subject = ("--git", "HEAD~1..HEAD")
    else:
        (tmp_path / "patch").write_text(git(tree, "diff", "HEAD~1..HEAD") + "\n")
        git(tree, "checkout", "-q", "HEAD~1")
        subject = ("--patch", str(tmp_path / "patch"), ".")
    done = run("diff", *subject, "--format", "json", *words, cwd=tree)
    if is_found:
        assert [each["size"] for each in json.loads(done.stdout)["structs"]] == [[72, 16]], done.stderr
    else:
        assert (done.returncode, done.stdout) == (3, "")
        (line,) = done.stderr.splitlines()
        assert "is a kernel tree that is not configured" in line


INNER = "struct inner { long a; char pad[%d]; long b; };\n"
UNTRACKED = {
    # what git does not track; how the source names the header
    "a source that includes one": ({"build/all.c": '#include "TOP/src/a.c"\n'}, "inner.h"),
    "by a relative path": ({"build/all.c": '#include "../src/a.c"\n'}, "inner.h"),
    "a generated header": ({"build/all.c": '#include "TOP/src/a.c"\n', "build/made.h": '#include "TOP/src/inner.h"\n'}, "../build/made.h"),
}  # fmt: skip


@pytest.mark.parametrize("words", [("diff", "--git", "HEAD~1..HEAD"), ("check", "--since", "HEAD~1")], ids=["diff", "check"])
@pytest.mark.parametrize(("files", "name"), UNTRACKED.values(), ids=UNTRACKED)
def test_untracked_files_that_include_the_working_tree_are_told(tmp_path, files, name, words):
    """The base cannot be read then: its headers are not those that the files include."""
    source = {"src/a.c": f'#include "{name}"\nstruct inner one;\n', "layoutlint.toml": RULES.replace('"s"', '"inner"').replace('"z"', '"b"'), ".gitignore": "build\n"}
    commit(tmp_path, "wide", {**source, "src/inner.h": INNER % 64})
    commit(tmp_path, "narrow", {"src/inner.h": INNER % 8})
    database = [{"directory": str(tmp_path / "build"), "file": "all.c", "arguments": ["gcc", "-c", "all.c"]}]
    write(tmp_path, {path: text.replace("TOP", str(tmp_path)) for path, text in files.items()})
    write(tmp_path, {"build/compile_commands.json": json.dumps(database)})
    done = run(*words, "build/compile_commands.json", cwd=tmp_path)
    text = " ".join(done.stdout.split())
    assert (done.returncode, "includes src/inner.h of the working tree" in text) == ({"diff": 3, "check": 1}[words[0]], True), text
