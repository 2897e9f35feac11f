"""`init`: a first rule file, a hook and a CI job, for each sort of project; nothing that exists is changed."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from pathlib import Path

import pytest
import yaml

from tests.commands.test_policy import git, write
from tests.harness.command import ROOT, run

OPS = "struct dev_ops { int (*open)(void); };\n"
HOT = '#include <pthread.h>\n' + OPS + """struct dev {
	const struct dev_ops *ops;
	pthread_mutex_t lock;
	_Atomic int users;
};
struct table { pthread_spinlock_t locks[16]; };
struct packed { char c; _Atomic long count; } __attribute__((packed));
struct list { struct dev *first; struct table *all; };
struct pair { pthread_mutex_t one, other; };
"""
UNIT = '#include "dev.h"\npthread_mutex_t shards[16];\n'
DATABASE = json.dumps([{"file": "src/a.c", "directory": ".", "arguments": ["cc", "-Iinclude", "-c", "src/a.c"]}])
CODE: dict[str, str | None] = {"include/dev.h": HOT, "src/a.c": UNIT}
PROJECTS: dict[str, tuple[dict[str, str | None], str, str, int]] = {
    # files, the name, the input, guesses
    "plain headers": (CODE, "C files", ".", 5),
    "make": ({**CODE, "Makefile": "all:\n"}, "make", "compile_commands.json", 5),
    "make with a database": ({**CODE, "Makefile": "all:\n", "compile_commands.json": DATABASE}, "make", "compile_commands.json", 6),
    "CMake": ({**CODE, "CMakeLists.txt": ""}, "CMake", "build/compile_commands.json", 5),
    "CMake with a database": ({**CODE, "CMakeLists.txt": "", "out/compile_commands.json": DATABASE.replace('"."', '".."')}, "CMake", "out/compile_commands.json", 6),
    "Meson": ({**CODE, "meson.build": ""}, "Meson", "build/compile_commands.json", 5),
    "autotools": ({**CODE, "configure.ac": ""}, "autotools", "compile_commands.json", 5),
    "a damaged database": ({**CODE, "compile_commands.json": "[{"}, "C files", "compile_commands.json", 0),
    "an unconfigured kernel": ({"include/linux/kconfig.h": "\n", "Makefile": "PATCHLEVEL = 1\n"}, "Linux tree", ".", 0),
    "no C": ({"notes": "\n"}, "C files", ".", 0),
    "nothing shared": ({"a.h": "struct a { int i; };\n"}, "C files", ".", 0),
}  # fmt: skip
FILES = ("layoutlint.toml", ".pre-commit-config.yaml", ".github/workflows/layoutlint.yml", ".github/workflows/layoutlint-comment.yml")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "my project"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    return folder


def init(folder: Path, *words: str) -> str:
    done = run("init", *words, cwd=folder)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    return done.stdout


def blocks(text: str) -> list[str]:
    """The rules that are comments, uncommented one by one."""
    commented = re.findall(r"^# \[\[rule\]\]\n(?:# .*\n)+", text, re.M)
    return [re.sub(r"^# ", "", block, flags=re.M) for block in commented]


def files(folder: Path) -> dict[str, str]:
    paths = [path for path in folder.rglob("*") if path.is_file() and ".git/" not in f"{path.relative_to(folder)}"]
    return {str(path.relative_to(folder)): path.read_text() for path in paths}


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("before", "name", "path", "guesses"), PROJECTS.values(), ids=PROJECTS)
def test_projects(project, before, name, path, guesses):
    write(project, before)
    message = init(project)
    assert message.startswith(f"{name}; read ")
    assert f"    layoutlint check {path}" in message
    assert {*files(project)} == {*before, *FILES}
    assert f"layoutlint check {path}" in (project / FILES[0]).read_text()
    assert len(blocks((project / FILES[0]).read_text())) == (guesses or 1)
    assert run("rules", "check", FILES[0], cwd=project).returncode == 0


@pytest.mark.parametrize("before", [CODE, {"a.h": "struct a { int i; };\n"}], ids=["with guesses", "without"])
def test_the_next_step_and_the_job_succeed_before_a_rule_is_written(project, before):
    write(project, before)
    init(project)
    git(project, "add", ".")
    git(project, "commit", "-q", "-m", "init")
    for words in (("check", "."), ("check", ".", "--policy-from", "HEAD")):
        done = run(*words, cwd=project)
        assert (done.returncode, done.stderr) == (0, "")
        assert "exit 0: nothing was judged: layoutlint.toml has no rules yet; write one" in done.stdout
    for text in ("", "# no rules\n", "[settings]\nline-size = 64\n"):  # nothing to choose from
        (project / "layoutlint.toml").write_text(text)
        assert run("check", ".", cwd=project).returncode == 2


def test_every_guess_is_a_rule(project):
    """Uncommented, each is valid, and finds what it is a guess of."""
    write(project, {**CODE, "Makefile": "all:\n", "compile_commands.json": DATABASE})
    init(project)
    rules = blocks((project / "layoutlint.toml").read_text())
    ids = [name for rule in rules for name in re.findall(r'^id = "(.*)"$', rule, re.M)]
    assert ids == ["shards-stride", "table-stride", "dev-separate", "dev-separate-2", "packed-no-straddle", "pair-separate"]
    for rule in [*rules, "\n".join(rules)]:
        write(project, {"layoutlint.toml": rule})
        assert run("rules", "check", "layoutlint.toml", cwd=project).returncode == 0
        done = run("check", "compile_commands.json", "--format", "json", cwd=project)
        findings = json.loads(done.stdout)["findings"]
        assert (done.returncode, {finding["outcome"] for finding in findings} <= {"broken", "at-risk"}) == (1, True), done.stdout
        assert len(findings) == rule.count("[[rule]]")


CALLS = """#include <pthread.h>
#include <stdlib.h>
struct shard { pthread_mutex_t lock; long count; };
struct shard *shards;
pthread_mutex_t *locks;
void start(int n)
{
	shards = calloc(n, sizeof(struct shard));
	shards = malloc(n * sizeof(struct shard));
	locks = calloc(n, sizeof(pthread_mutex_t));
}
"""


def test_allocated_arrays_are_guesses(project):
    """One for each type of elements, with the placement of the call; also of a type of a library."""
    write(project, {"src/a.c": CALLS, "compile_commands.json": DATABASE})
    assert init(project).startswith("C files; read compile_commands.json, 1 of 1 C file (a.c), with ")
    rules = blocks((project / "layoutlint.toml").read_text())
    assert [re.findall(r'^(?:id|struct|placement) = "(.*)"$', rule, re.M) for rule in rules] == [
        ["pthread_mutex_t-stride", "pthread_mutex_t", "malloc"],
        ["shard-stride", "shard", "malloc"],
    ]
    write(project, {"layoutlint.toml": "".join(rules)})
    findings = json.loads(run("check", "compile_commands.json", "--format", "json", cwd=project).stdout)["findings"]
    assert {finding["struct"]: finding["outcome"] for finding in findings} == {"shard": "at-risk", "pthread_mutex_t": "at-risk"}


def test_of_a_large_database_the_files_with_locks_are_read(project):
    """A file that is compiled twice counts once."""
    names = [f"{number}.c" for number in range(70)]
    write(project, {**dict.fromkeys(names, "int i;\n"), "63.c": CALLS})
    entries = [{"file": name, "directory": ".", "arguments": ["cc", "-c", name]} for name in names]
    write(project, {"compile_commands.json": json.dumps(entries * 2)})
    assert "read compile_commands.json, 12 of 70 C files (" in (message := init(project))
    assert "; 2 guessed rules\n" in message


def test_the_hook_and_the_job_are_valid(project):
    write(project, {**CODE, "CMakeLists.txt": ""})
    init(project)
    hook = yaml.safe_load((project / FILES[1]).read_text())["repos"][0]
    assert [each["id"] for each in hook["hooks"]] == ["layoutlint", "layoutlint-rules"]
    assert hook["hooks"][0]["args"] == ["--flags", "-Iinclude"]
    steps = yaml.safe_load((project / FILES[2]).read_text())["jobs"]["layoutlint"]["steps"]
    assert [step["run"] for step in steps if "run" in step] == [
        "sudo apt-get update -qq && sudo apt-get install -qqy cmake && cmake -B build -DCMAKE_EXPORT_COMPILE_COMMANDS=ON"
    ]
    assert steps[-1]["with"] == {"inputs": "build/compile_commands.json"}
    assert (project / FILES[3]).read_text() == (ROOT / "docs/ci/github-comment.yml").read_text()


def test_jobs_that_ship_are_those_of_the_documents():
    for name in ("github.yml", "github-comment.yml", "gitlab.yml"):
        assert (ROOT / "layoutlint/jobs" / name).read_text() == (ROOT / "docs/ci" / name).read_text()


def test_nothing_that_exists_is_changed(project):
    before = {**CODE, **dict.fromkeys(FILES, "mine\n")}
    write(project, before)
    message = init(project)
    assert files(project) == before
    assert message.count("exists and is not changed; this could be added:") == 4
    assert "    - id: layoutlint" in message


def test_guesses_that_the_rule_file_has_are_not_repeated(project):
    write(project, CODE)
    init(project)
    assert "; 0 guessed rules that layoutlint.toml lacks\n" in (again := init(project))
    assert "layoutlint.toml: has layoutlint already\n" in again
    text = (project / "layoutlint.toml").read_text()
    commented = blocks(text)
    (project / "layoutlint.toml").write_text("# no rules yet\n")
    assert "; 5 guessed rules that layoutlint.toml lacks\n" in init(project)
    for block in commented:  # as a rule, in words of its own
        name = re.search(r'^(?:struct|variables) = .*', block, re.M)[0]
        own = re.sub(r'^why = .*', 'why = "measured"', re.sub(r'^id = .*', 'id = "mine"', block, flags=re.M), flags=re.M)
        (project / "layoutlint.toml").write_text(own)
        message = init(project)
        assert "; 4 guessed rules that layoutlint.toml lacks\n" in message, name
        assert "# Rules of layoutlint" not in message
        kept = [block for block in commented if own.split("\n")[2:5] != block.split("\n")[2:5]]
        assert [b.split("\n")[2:5] for b in blocks(re.sub(r"^    ", "", message, flags=re.M))] == [b.split("\n")[2:5] for b in kept]


def test_rules_that_keep_guessed_fields_apart_count_as_well_and_broken_files_do_not(project):
    write(project, CODE)
    rule = '[[rule]]\nid = "mine"\nstruct = "pair"\nkind = "separate"\nwhy = "so"\nfields = [["other"], ["one"]]\n'
    (project / "layoutlint.toml").write_text(rule)
    assert "; 4 guessed rules that" in init(project)
    (project / "layoutlint.toml").write_text(rule.replace("separate", "seperate"))
    assert "; 5 guessed rules that" in init(project)


def test_layoutlint_is_not_added_twice(project):
    write(project, {".pre-commit-config.yaml": "- id: layoutlint\n", ".github/workflows/ci.yml": "run: layoutlint check .\n"})
    message = init(project)
    assert message.count("has layoutlint already") == 2
    assert not (project / FILES[2]).exists()


def test_gitlab_gets_its_job_printed(project):
    write(project, {**CODE, ".gitlab-ci.yml": "test: {}\n"})
    message = init(project)
    job = yaml.safe_load("\n".join(line[4:] for line in message.split("could be added:\n")[1].split("\nnext:")[0].split("\n")))
    assert job["layoutlint"]["script"][3].startswith("layoutlint check . --policy-from")
    assert "layoutlint-note" in job
    assert (project / ".gitlab-ci.yml").read_text() == "test: {}\n"
    assert not (project / ".github").exists()


def test_dry_run(project):
    write(project, CODE)
    message = init(project, "--dry-run")
    assert files(project) == CODE
    assert [f"would write {name}:" in message for name in FILES] == [True] * 4
    assert init(project, "--dry-run", "--header") == "would write ./layoutlint.h\n"


def test_without_a_repository_there_is_no_hook(tmp_path):
    write(tmp_path, CODE)
    assert "no .git here" in init(tmp_path)
    assert {*files(tmp_path)} == {*CODE, "layoutlint.toml"}


def test_another_folder(project):
    write(project, CODE)
    init(project.parent, "my project")
    assert {*files(project)} == {*CODE, *FILES}


LINKS = {".github": "../elsewhere", "layoutlint.toml": "../elsewhere/x", ".pre-commit-config.yaml": "../elsewhere/y", ".github/workflows": "../../elsewhere"}


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("link", "target"), LINKS.items(), ids=LINKS)
def test_no_link_is_followed_out_of_the_tree(project, link, target):
    elsewhere = project.parent / "elsewhere"
    elsewhere.mkdir()
    (project / link).parent.mkdir(exist_ok=True)
    (project / link).symlink_to(target)
    done = run("init", cwd=project)
    assert list(elsewhere.iterdir()) == []
    assert "is a symbolic link" in done.stderr if link.startswith(".github") else "exists and is not changed" in done.stdout


def test_c_that_links_lead_to_is_not_read(project):
    write(project.parent, {"elsewhere/dev.h": HOT, "elsewhere/compile_commands.json": "[{"})
    (project / "dev.h").symlink_to("../elsewhere/dev.h")
    (project / "src").symlink_to("../elsewhere")
    (project / "compile_commands.json").symlink_to("../elsewhere/compile_commands.json")
    assert init(project).startswith("C files; read none of 0 C files")


def test_a_folder_that_cannot_be_written(project):
    if os.geteuid() == 0:
        pytest.skip("root can write everywhere")
    write(project, CODE)
    project.chmod(0o500)
    done = run("init", cwd=project)
    project.chmod(0o700)
    assert (done.returncode, files(project)) == (2, CODE)


def test_names_cannot_leave_their_comment(project):
    write(project, {"a\n[[rule]]\nb.h": HOT})
    init(project)
    text = (project / "layoutlint.toml").read_text()
    assert [line for line in text.splitlines() if line and not line.startswith("#")] == []


@pytest.mark.exhaustive
def test_a_large_tree_takes_bounded_time(project):
    """Most of 20,000 files are searched as text only."""
    for number in range(20_000):
        folder = project / f"d{number // 200}"
        folder.mkdir(exist_ok=True)
        (folder / f"h{number}.h").write_text(HOT.replace("dev", f"dev{number}").replace("struct table", f"struct table{number}"))
    start = time.monotonic()
    message = init(project)
    assert "read 12 of 20,000 C files" in message
    assert time.monotonic() - start < 60
    assert sys.getsizeof(message) < 10_000


def test_what_could_not_be_read_is_said_with_what_to_do(project):
    header = '#include "config.h"\n' + HOT.replace("_Atomic int users;", "_Atomic int users[N];")
    write(project, {"CMakeLists.txt": "", "config.h.in": "#define N @N@\n", "include/dev.h": header})
    printed = init(project)
    assert "'config.h' file not found; the build makes it from config.h.in" in printed
    assert "    after `cmake -B build -DCMAKE_EXPORT_COMPILE_COMMANDS=ON`, remove layoutlint.toml and type `layoutlint init` again\n" in printed
