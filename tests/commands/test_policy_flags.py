"""`--policy-from REV`: a change does not choose the compiler flags that judge it."""

from __future__ import annotations

import json
import shutil
from random import Random

import pytest

from tests.harness.command import run
from tests.harness.effort import draws
from tests.harness.repository import git

RULES = """[pack]
name = "p"
[[rule]]
id = "small"
struct = "q"
kind = "size"
max = 4
why = "one word"
"""
TEXT = "#ifdef SMALL\n#define N 1\n#else\n#define N 64\n#endif\nstruct q { char c[N]; };\n"
"""It breaks the rule, unless flags define a macro."""
SOURCE = '#include "q.h"\nstruct q x;\n'
BROKEN, UNKNOWN, KEPT = 1, 3, 0


def entry(file, *words, directory=".", **more):
    return {"directory": directory, "file": file, "arguments": ["cc", *words, "-c", file], **more}


def database(*entries):
    return json.dumps(list(entries))


SMALL, PLAIN = database(entry("src/q.c", "-DSMALL")), database(entry("src/q.c"))
PROJECT = {"layoutlint.toml": RULES, "src/q.h": TEXT, "src/q.c": SOURCE}
HEADER, SOURCES, FOLDER, DATABASE = ("src/q.h",), ("src/q.c",), (".",), ("compile_commands.json",)
KERNEL = {
    "Makefile": "VERSION = 6\nPATCHLEVEL = 1\n", "include/linux/kconfig.h": "", "include/linux/q.h": TEXT, ".gitignore": "generated\n.config\n",
}  # fmt: skip
DRIVER = {
    "k/Makefile": KERNEL["Makefile"], "k/include/linux/kconfig.h": "#include <generated/autoconf.h>\n", "k/.config": "CONFIG_X86_64=y\n",
    "k/include/generated/autoconf.h": "",
}  # fmt: skip
"""A kernel in the repository of a driver, with its configuration."""
KERNEL_HEADER = ("include/linux/q.h",)
CASES = {
    # what the base has beside PROJECT, what the change does, inputs and options; status without and with --policy-from
    "nothing": ({}, {}, HEADER, BROKEN, BROKEN),
    "new flags of a folder": ({}, {"compile_flags.txt": "-DSMALL\n"}, HEADER, KEPT, BROKEN),
    "new flags of a folder, for a folder": ({}, {"compile_flags.txt": "-DSMALL\n"}, FOLDER, KEPT, BROKEN),
    "nearer flags of a folder": ({"compile_flags.txt": "-DX\n"}, {"src/compile_flags.txt": "-DSMALL\n"}, HEADER, KEPT, BROKEN),
    "other flags of a folder": ({"compile_flags.txt": "-DX\n"}, {"compile_flags.txt": "-DX\n-DSMALL\n"}, HEADER, KEPT, BROKEN),
    "no flags of a folder": ({"compile_flags.txt": "-UN\n-DBIG\n", "src/q.h": TEXT.replace("ifdef SMALL", "ifndef BIG")},
                             {"compile_flags.txt": None}, HEADER, KEPT, BROKEN),
    "a new database": ({}, {"compile_commands.json": SMALL}, SOURCES, KEPT, BROKEN),
    "a new database, for a header": ({}, {"compile_commands.json": SMALL}, HEADER, KEPT, BROKEN),
    "a new database in a build folder": ({}, {"build/compile_commands.json": database(entry("src/q.c", "-DSMALL", directory=".."))}, HEADER, KEPT, BROKEN),
    "another database, which is an input": ({"compile_commands.json": PLAIN}, {"compile_commands.json": SMALL}, DATABASE, KEPT, BROKEN),
    "another database, in a folder": ({"compile_commands.json": PLAIN}, {"compile_commands.json": SMALL}, FOLDER, KEPT, BROKEN),
    "a nearer database": ({"compile_commands.json": PLAIN}, {"src/compile_commands.json": database(entry("q.c", "-DSMALL"))}, SOURCES, KEPT, BROKEN),
    "a database that is named": ({"db.json": PLAIN}, {"db.json": SMALL}, (*HEADER, "--compile-commands", "db.json"), KEPT, BROKEN),
    "another database is named": (
        {"a.json": PLAIN, "b.json": SMALL, "layoutlint.toml": 'compile_commands = "a.json"\n' + RULES},
        {"layoutlint.toml": 'compile_commands = "b.json"\n' + RULES}, HEADER, KEPT, BROKEN),
    "another response file of a database": (
        {"compile_commands.json": database(entry("src/q.c", "@flags.rsp")), "flags.rsp": "-DX"}, {"flags.rsp": "-DSMALL"}, DATABASE, KEPT, BROKEN),
    "another response file of a file": (
        {"compile_commands.json": database(entry("src/q.c", "@flags.rsp")), "flags.rsp": "-DX"}, {"flags.rsp": "-DSMALL"}, SOURCES, KEPT, BROKEN),
    "another response file inside one": (
        {"compile_flags.txt": "@a.rsp", "a.rsp": "@b.rsp", "b.rsp": "-DX"}, {"b.rsp": "-DSMALL"}, HEADER, KEPT, BROKEN),
    "another response file of the command line": ({"flags.rsp": "-DX"}, {"flags.rsp": "-DSMALL"}, (*HEADER, "--", "@flags.rsp"), KEPT, BROKEN),
    "a new database, in a folder": ({}, {"compile_commands.json": SMALL}, FOLDER, KEPT, BROKEN),
    "a database that is new, and an input": ({}, {"compile_commands.json": SMALL}, DATABASE, KEPT, UNKNOWN),
    "the unit has another name, and other flags": (
        {"compile_commands.json": PLAIN}, {"compile_commands.json": database(entry("src/r.c", "-DSMALL")), "src/r.c": SOURCE, "src/q.c": None},
        DATABASE, KEPT, UNKNOWN),
    "a further unit": (
        {"compile_commands.json": database(entry("src/o.c")), "src/o.c": "struct o { int x; };\n"},
        {"compile_commands.json": database(entry("src/o.c"), entry("src/q.c", "-DSMALL"))}, DATABASE, KEPT, UNKNOWN),
    "a database in place of a link": ({"compile_commands.json": ("config/db.json",), "config/db.json": database(entry("src/q.c", directory=".."))},
                                      {"compile_commands.json": SMALL}, SOURCES, KEPT, BROKEN),
    "a link to another database": (
        {"a.json": PLAIN, "b.json": SMALL, "compile_commands.json": ("a.json",)}, {"compile_commands.json": ("b.json",)}, SOURCES, KEPT, BROKEN),
    "a folder that is a link": (
        {"build/compile_commands.json": database(entry("src/q.c", directory=".."))},
        {"build/compile_commands.json": None, "build": ("other",), "other/compile_commands.json": database(entry("src/q.c", "-DSMALL", directory=".."))},
        SOURCES, KEPT, BROKEN),
    "flags that alter nothing": ({"compile_flags.txt": "-DX\n"}, {"compile_flags.txt": "-DY\n"}, HEADER, BROKEN, BROKEN),
    "flags that alter nothing, of a sound text": (
        {"src/q.h": "struct q { char c; };\n", "compile_flags.txt": "-DX\n"}, {"compile_flags.txt": "-DY\n"}, HEADER, KEPT, KEPT),
    "flags that break the rule": ({"compile_flags.txt": "-DSMALL\n"}, {"compile_flags.txt": "-DY\n"}, HEADER, BROKEN, UNKNOWN),
    "a maintainer accepts new flags": ({}, {"compile_flags.txt": "-DSMALL\n"}, (*HEADER, "--", "-DSMALL"), KEPT, KEPT),
    "a maintainer wants no others": ({"compile_flags.txt": "-DX\n"}, {"compile_flags.txt": "-DSMALL\n"}, (*HEADER, "--no-compile-commands"), BROKEN, BROKEN),
    "a kernel's makefile": (KERNEL, {"Makefile": KERNEL["Makefile"] + "KBUILD_CFLAGS += -DSMALL\n"}, KERNEL_HEADER, KEPT, BROKEN),
    "a kernel's makefile, for a tree": (KERNEL, {"Makefile": KERNEL["Makefile"] + "KBUILD_CFLAGS += -DSMALL\n"}, FOLDER, KEPT, BROKEN),
    "a makefile of a kernel's folder": (
        KERNEL | {"fs/q.h": TEXT, "fs/q.c": SOURCE}, {"fs/Makefile": "ccflags-y += -DSMALL\n"}, ("fs/q.c",), KEPT, BROKEN),
    "a makefile of a driver": (DRIVER, {"src/Makefile": "obj-m := q.o\nccflags-y := -DSMALL\n"}, (*HEADER, "--kernel", "k"), KEPT, BROKEN),
    "a makefile around a driver": (
        DRIVER | {"src/Kbuild": "obj-m := q.o\n"}, {"Kbuild": "obj-m := src/\nsubdir-ccflags-y := -DSMALL\n"}, (*HEADER, "--kernel", "k"), KEPT, BROKEN),
    "a makefile of a driver's kernel": (DRIVER, {"k/Makefile": DRIVER["k/Makefile"] + "KBUILD_CFLAGS += -DSMALL\n"}, (*HEADER, "--kernel", "k"), KEPT, BROKEN),
    "the configuration of a driver's kernel": (DRIVER, {"k/include/generated/autoconf.h": "#define SMALL\n"}, (*HEADER, "--kernel", "k"), KEPT, UNKNOWN),
    "a command of a driver's build": (
        DRIVER, {"src/.q.o.cmd": "savedcmd_src/q.o := gcc -fshort-wchar -include ./include/linux/kconfig.h -DSMALL -c -o src/q.o src/q.c\n"},
        (*SOURCES, "--kernel", "k"), KEPT, BROKEN),
    "a kernel's version": (
        KERNEL | {"layoutlint.toml": RULES + 'when = { kernel = ">=6.0" }\n'}, {"Makefile": "VERSION = 5\nPATCHLEVEL = 1\n"}, FOLDER, UNKNOWN, BROKEN),
    "a kernel's configuration": (
        {"Makefile": "VERSION = 6\nPATCHLEVEL = 1\n", "include/linux/kconfig.h": "", "include/linux/q.h": TEXT.replace("SMALL", "CONFIG_SMALL")},
        {".config": "CONFIG_X86_64=y\nCONFIG_SMALL=y\n", "include/generated/autoconf.h": "#define CONFIG_SMALL 1\n", "include/linux/kconfig.h": "#include <generated/autoconf.h>\n"},
        ("include/linux/q.h",), KEPT, UNKNOWN),
}  # fmt: skip


def put(folder, files):
    """Write files in the place of what is there; a tuple is a link, None nothing."""
    for name, text in files.items():
        at = folder / name
        if at.is_dir() and not at.is_symlink():
            shutil.rmtree(at)
        at.unlink(missing_ok=True)
        at.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(text, tuple):
            at.symlink_to(*text)
        elif text is not None:
            at.write_text(text)


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    return folder


def commit(folder, files):
    put(folder, files)
    git(folder, "add", "-A", "-f")
    git(folder, "commit", "-qm", "x")
    return folder


def check(folder, *words):
    return run("check", *words, cwd=folder).returncode


@pytest.mark.one_in(32)
@pytest.mark.parametrize(("base", "change", "words", "without", "status"), CASES.values(), ids=CASES)
def test_flags_of_a_change(project, base, change, words, without, status):
    commit(commit(project, PROJECT | base), change | {"x": ""})
    if base.get("Makefile") and ".config" not in change:
        put(project, {".config": "CONFIG_X86_64=y\n", "include/generated/autoconf.h": ""})  # a step of the build
    assert check(project, "--no-packs", *words) == without
    assert check(project, "--no-packs", "--policy-from", "HEAD^", *words) == status


SOUND = {"src/q.h": "struct q { char c[4]; };\n"}
HIDDEN = {"src/q.h": TEXT, "compile_flags.txt": "-DSMALL\n"}


@pytest.mark.exhaustive
def test_parts_of_a_change(project):
    """Also where a copy of the files is read: of what is staged, or was staged before the working tree changed."""
    commit(commit(project, PROJECT | SOUND), HIDDEN)
    for words in (["src/q.h", "--since", "HEAD^"], ["--since", "HEAD^"], ["src/q.h", "--since", "HEAD^", "--all-findings"]):
        assert [check(project, *words), check(project, *words, "--policy-from", "HEAD^")] == [KEPT, BROKEN]
    git(project, "reset", "-q", "--soft", "HEAD^")
    assert [check(project, "--staged"), check(project, "--staged", "--policy-from", "HEAD")] == [KEPT, BROKEN]
    put(project, SOUND)
    assert [check(project, "--staged"), check(project, "--staged", "--policy-from", "HEAD")] == [KEPT, BROKEN]


@pytest.mark.exhaustive
def test_builds_of_a_matrix(project):
    matrix = "[build.one]\ninput = ['src/q.h']\n[build.two]\ninput = ['src/q.h']\nflags = ['-DX']\n"
    commit(commit(project, PROJECT | {"m.toml": matrix}), {"compile_flags.txt": "-DSMALL\n"})
    for jobs in "12":
        words = ["--matrix", "m.toml", "--jobs", jobs]
        assert [check(project, *words), check(project, *words, "--policy-from", "HEAD^")] == [KEPT, BROKEN]


def policy(folder, *words):
    """The exit status, the sentences on flags, and what was not read, in JSON."""
    done = run("check", "--no-packs", "--format", "json", "--policy-from", "HEAD^", *words, cwd=folder)
    report = json.loads(done.stdout)
    of_flags = [sentence for sentence in report["coverage"]["policy"] if sentence.startswith("flags")]
    return report["exit"], of_flags, [each["reason"] for each in report["unread"]]


BUILT = {"build/compile_commands.json": database(entry("src/q.c", "-DSMALL", directory=".."))}
UNTRACKED = "flags of no commit, but of the step that made the untracked file: build/compile_commands.json"


def test_a_database_that_a_step_made(project):
    """It counts, and the report says that it is not of the base; not if the change tracks it."""
    commit(commit(project, PROJECT | {".gitignore": "build\n"}), {"x": ""})
    put(project, BUILT)
    assert policy(project, "src/q.c") == (KEPT, [UNTRACKED], [])
    assert policy(project, "build/compile_commands.json") == (KEPT, [UNTRACKED], [])
    commit(project, {})
    assert policy(project, "src/q.c") == (BROKEN, ["flags not used, because HEAD^ does not have them: build/compile_commands.json"], [
        "the change chose flags (build/compile_commands.json), which alter struct q; give the flags on the command line (`-- FLAGS`), "
        "or merge them first"])  # fmt: skip


@pytest.mark.exhaustive
def test_a_link_that_a_step_made(project):
    """It leads to a database of the commit, or of the change."""
    commit(commit(project, PROJECT | {".gitignore": "/compile_commands.json\n", "ci/db.json": database(entry("src/q.c", directory=".."))}), {
        "ci/db.json": database(entry("src/q.c", "-DSMALL", directory=".."))})  # fmt: skip
    (project / "compile_commands.json").symlink_to("ci/db.json")
    assert [check(project, "src/q.c"), check(project, "src/q.c", "--policy-from", "HEAD^")] == [KEPT, BROKEN]


@pytest.mark.exhaustive
def test_a_submodule_brings_a_database(project, tmp_path):
    inner = tmp_path / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    commit(inner, {"q.h": TEXT, "q.c": SOURCE})
    put(project, {"layoutlint.toml": RULES})
    git(project, "submodule", "add", "-q", str(inner), "src")
    commit(project, {})
    commit(inner, {"compile_commands.json": database(entry("q.c", "-DSMALL"))})
    git(project / "src", "pull", "-q")
    commit(project, {})
    assert [check(project, "src/q.c"), check(project, "src/q.c", "--policy-from", "HEAD^")] == [KEPT, BROKEN]


@pytest.mark.exhaustive
def test_a_snapshot_in_the_place_of_a_database(project):
    commit(project, PROJECT | {"compile_commands.json": PLAIN})
    (project / "compile_commands.json").unlink()
    run("snapshot", "src/q.h", "--output", "compile_commands.json", "--", "-DSMALL", cwd=project)
    commit(project, {})
    words = ["compile_commands.json"]
    assert [check(project, *words), check(project, *words, "--policy-from", "HEAD^")] == [KEPT, UNKNOWN]


@pytest.mark.exhaustive
@pytest.mark.parametrize("form", ["text", "concise", "json", "github", "gitlab", "junit", "markdown", "rdjson", "checkstyle", "sarif"])
def test_every_format_says_that_the_change_chose_its_flags(project, form):
    commit(commit(project, PROJECT | {"compile_flags.txt": "-DSMALL\n"}), {"compile_flags.txt": ""})
    done = run("check", "src/q.h", "--policy-from", "HEAD^", "--format", form, cwd=project)
    assert (done.returncode, "the change chose flags" in " ".join(done.stdout.split())) == (UNKNOWN, True)


def random_flags(random):
    """Files with flags, of which some define the macro that hides what breaks the rule."""

    def word():
        return random.choice(["-DSMALL", "-DX", "-USMALL", "@flags.rsp", "@own/more.rsp"])

    def units(folder, to_top):
        return database(*(entry(f"{to_top}src/{name}", word(), directory=folder) for name in random.sample(["q.c", "r.c"], random.randint(1, 2))))

    makers = {
        "compile_flags.txt": lambda: "\n".join(word() for _ in range(random.randint(0, 2))),
        "src/compile_flags.txt": word,
        "compile_commands.json": lambda: random.choice([units(".", ""), ("own/db.json",), ("build/compile_commands.json",)]),
        "src/compile_commands.json": lambda: units("..", ""),
        "build/compile_commands.json": lambda: units("..", ""),
        "own/db.json": lambda: units("..", ""),
        "flags.rsp": lambda: random.choice(["-DSMALL", "-DX", "@own/more.rsp"]),
        "own/more.rsp": lambda: random.choice(["-DSMALL", "-DX"]),
    }
    return {name: maker() for name, maker in makers.items() if random.random() < 0.4}


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(draws(8, 40)))
def test_random_flags_are_those_of_the_base(project, tmp_path, seed):
    """What the text of the change is with the base's flags decides; what the change's own flags alter is never passed."""
    random = Random(seed)
    base, change = random_flags(random), random_flags(random)
    sources = PROJECT | {"src/r.c": SOURCE}
    commit(project, sources | base)
    commit(project, {**dict.fromkeys(base), **change, "x": ""})
    (tmp_path / "base").mkdir()
    git(tmp_path / "base", "init", "-q")
    put(tmp_path / "base", sources | base)
    words = random.choice([HEADER, SOURCES, FOLDER, ("src/r.c",), ("src",), DATABASE])
    with_base, with_own = check(tmp_path / "base", "--no-packs", *words), check(project, "--no-packs", *words)
    status = check(project, "--no-packs", "--policy-from", "HEAD^", *words)
    is_there = all((project / word).exists() for word in words)
    expected = with_base if is_there and (with_base in (BROKEN, UNKNOWN) or with_base == with_own) else UNKNOWN
    assert status == expected, (base, change, words, with_base, with_own)
