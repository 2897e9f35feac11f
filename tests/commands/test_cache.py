"""The cache through the command: a second run prints the same without reading, and any change is seen."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.harness.caches import Run, run
from tests.harness.tools import need

RULES = '[[rule]]\nid = "{id}"\nstruct = "ring"\nkind = "separate"\nfields = [["head"], ["tail"]]\nwhy = "a test"\n'
PROJECT = {
    "ring.h": '#include "types.h"\n#ifndef PAD\n#define PAD 8\n#endif\nstruct ring { word head; char pad[PAD]; word tail; };\n',
    "include/types.h": "typedef long word;\n",
    "layoutlint.toml": RULES.format(id="ring"),
}
FLAGS = ("--", "-Ifirst", "-Iinclude")
pytestmark = pytest.mark.usefixtures("own_processes")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write(tmp_path / "project", PROJECT)


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A place that the search for missing headers around the project leaves out."""
    (tmp_path / ".hidden").mkdir()
    return tmp_path / ".hidden" / "xdg"


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def share(folder: Path, name: str = "ring.so", *flags: str) -> Path:
    """A shared object with the project's struct."""
    (folder / "ring.c").write_text('#include "ring.h"\nstruct ring ring;\n')
    need("gcc", "-g", "-c")
    subprocess.run(["gcc", "-g", "-shared", "-fPIC", "-nostdlib", "-Iinclude", *flags, "ring.c", "-o", name], cwd=folder, check=True)
    return folder / name


def assert_same(first: Run, second: Run) -> None:
    assert (second.status, second.stdout, second.stderr) == (first.status, first.stdout, first.stderr)


def check(project: Path, cache: Path, *words: str | Path, flags: tuple[str, ...] = FLAGS, **how: bool) -> Run:
    return run(project, cache, "check", *words, "--no-packs", *flags, **how)  # parsing the packs takes half of a run


def test_a_second_run_reads_nothing_and_prints_the_same(project, cache):
    words = ("check", "ring.h", *FLAGS)
    first = run(project, cache, *words)
    assert (first.status, first.read, first.recalled) == (1, 1, False)
    second = run(project, cache, *words)
    assert (second.read, second.recalled) == (0, True)
    assert_same(first, second)
    assert_same(first, check(project, cache, "ring.h", "--no-cache"))


def test_many_structs_of_c_text_are_kept(project, cache):
    (project / "many.h").write_text("".join(f"struct s{number} {{ int x; }};\n" for number in range(2_100)))
    runs = [run(project, cache, "show", "many.h", "--all", "--format", "json") for _ in range(2)]
    assert [each.read for each in runs] == [1, 0]
    assert_same(*runs)


def test_another_rule_or_format_judges_anew_without_reading(project, cache):
    check(project, cache, "ring.h")
    other = check(project, cache, "ring.h", "--format", "json")
    assert (other.read, other.recalled) == (0, False)
    assert_same(check(project, cache, "ring.h", "--format", "json", "--no-cache"), other)
    write(project, {"layoutlint.toml": RULES.format(id="other-id")})
    changed = check(project, cache, "ring.h")
    assert (changed.read, changed.recalled) == (0, False)
    assert "other-id" in changed.stdout


def touch(project: Path) -> None:
    os.utime(project / "include/types.h", (1, 1))


def rewrite(project: Path) -> None:
    """The same text in a new file, as a checkout of another commit and back leaves it."""
    (project / "new").write_text(PROJECT["include/types.h"])
    (project / "new").rename(project / "include/types.h")


def edit_size(project: Path) -> None:
    (project / "include/types.h").write_text("typedef char word;\n")


def edit_same_size_and_time(project: Path) -> None:
    path = project / "include/types.h"
    status = path.stat()
    path.write_text("typedef char word;\n"[: status.st_size])
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def earlier_header(project: Path) -> None:
    write(project, {"first/types.h": "typedef char word;\n"})


def nearer_header(project: Path) -> None:
    write(project, {"types.h": "typedef char word;\n"})


def removed_header(project: Path) -> None:
    (project / "include/types.h").unlink()


def unreadable_name(project: Path) -> None:
    (project / "include/types.h").rename(project / "include/types")
    (project / "include/types.h").mkdir()


def linked_header(project: Path) -> None:
    write(project, {"elsewhere.h": "typedef char word;\n"})
    (project / "include/types.h").unlink()
    (project / "include/types.h").symlink_to("../elsewhere.h")


def other_rule(project: Path) -> None:
    write(project, {"layoutlint.toml": RULES.format(id="ring").replace("ring", "rink", 1)})


def removed_rule(project: Path) -> None:
    (project / "layoutlint.toml").unlink()


def new_comment(project: Path) -> None:
    write(project, {"ring.h": PROJECT["ring.h"].replace("word tail;", "/* layoutlint: ignore[ring] a test */ word tail;")})


CHANGES = (edit_size, edit_same_size_and_time, earlier_header, nearer_header, removed_header, unreadable_name, linked_header,
           other_rule, removed_rule, new_comment)  # fmt: skip
HARMLESS = (touch, rewrite)


@pytest.mark.one_in(8)
@pytest.mark.parametrize("trusts", [True, False], ids=["old files", "files written just now"])
@pytest.mark.parametrize("change", [*CHANGES, *HARMLESS], ids=lambda change: change.__name__)
def test_a_change_is_seen(change, trusts, project, cache):
    (project / "first").mkdir()
    before = check(project, cache, "ring.h", trusts=trusts)
    change(project)
    after = check(project, cache, "ring.h", trusts=trusts)
    assert_same(check(project, cache, "ring.h", "--no-cache", trusts=trusts), after)
    assert after.recalled == (change in HARMLESS)
    assert change in HARMLESS or before.stdout != after.stdout or before.stderr != after.stderr


@pytest.mark.one_in(6)
@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("#if __has_include(<extra.h>)\n#define PAD 64\n#endif\n", "include/extra.h"),
        ('#if __has_include("extra.h")\n#define PAD 64\n#endif\n', "extra.h"),
        ("#ifdef __has_include\n#if __has_include_next(<extra.h>)\n#define PAD 64\n#endif\n#endif\n", "include/extra.h"),
        ('#define NAME "extra.h"\n#if 1\n#include NAME\n#endif\n', "first/extra.h"),
        ('#include "missing.h"\n', "include/missing.h"),
        ("#include <missing.h>\n", "first/missing.h"),
        ('#include "below/other.h"\n#include "guarded.h"\n', "below/guarded.h"),
    ],
)
def test_a_new_file_where_libclang_looked_in_vain_is_seen(text, place, project, cache):
    """`guarded.h` has an include guard, so that libclang looks beside `below/other.h` and opens nothing."""
    (project / "first").mkdir()
    guarded = "#ifndef GUARD\n#define GUARD\n#endif\n"
    extra = {"include/extra.h": ""} if "NAME" in text else {}
    write(project, {"ring.h": text + PROJECT["ring.h"], "include/guarded.h": guarded, **extra})
    write(project, {"below/other.h": '#include "guarded.h"\n'})
    check(project, cache, "ring.h")
    kept = check(project, cache, "ring.h")
    write(project, {place: "#undef PAD\n#define PAD 64\n"})
    after = check(project, cache, "ring.h")
    assert_same(check(project, cache, "ring.h", "--no-cache"), after)
    assert not after.recalled
    assert kept.recalled


@pytest.mark.one_in(5)
@pytest.mark.parametrize(
    "text",
    [
        "#define HAS(x) __has_include(x)\n#if HAS(<extra.h>)\n#endif\n",
        "%:include <types.h>\n",
    ],
)
def test_what_cannot_be_followed_is_not_kept(text, project, cache):
    write(project, {"ring.h": text + PROJECT["ring.h"]})
    check(project, cache, "ring.h")
    assert not check(project, cache, "ring.h").recalled


COMPANIONS = {
    "the file": lambda folder: share(folder, "ring.so", "-DPAD=64"),
    "its debug file": lambda folder: subprocess.run(["objcopy", "--only-keep-debug", share(folder, "new.so", "-DPAD=64", "-Wl,--build-id=0x1234"), "ring.debug"], cwd=folder, check=True),
    "the debug file goes": lambda folder: (folder / "ring.debug").unlink(),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("change", COMPANIONS.values(), ids=COMPANIONS)
def test_a_change_of_a_binary_or_its_companions_is_seen(change, project, cache):
    need("objcopy")
    program = share(project, "ring.so", "-Wl,--build-id=0x1234")
    for words in (["--only-keep-debug", "ring.so", "ring.debug"], ["--strip-debug", "--add-gnu-debuglink=ring.debug", "ring.so"]):
        subprocess.run(["objcopy", *words], cwd=project, check=True)
    check(project, cache, program, flags=())
    kept = check(project, cache, program, flags=())
    assert kept.recalled
    change(project)
    after = check(project, cache, program, flags=())
    assert_same(check(project, cache, program, "--no-cache", flags=()), after)
    assert after.stdout != kept.stdout or after.stderr != kept.stderr


@pytest.mark.exhaustive
def test_several_inputs_and_a_folder_of_them(project, cache):
    share(project)
    for words in (("ring.so", "ring.h"), (".",), ("ring.so", "ring.h", "--jobs", "2")):
        first = check(project, cache, *words)
        second = check(project, cache, *words)
        assert (second.recalled, second.read) == (True, 0)
        assert_same(first, second)
    write(project, {"added.h": "struct ring { char head, tail; };\n"})
    after = check(project, cache, ".")
    assert_same(check(project, cache, ".", "--no-cache"), after)
    assert not after.recalled


@pytest.mark.one_in(2)
@pytest.mark.parametrize("words", [("show", "ring.h", "ring"), ("containers", "ring.h", "ring")], ids=" ".join)
def test_other_commands_use_what_was_read(words, project, cache):
    first = run(project, cache, *words, *FLAGS)
    second = run(project, cache, *words, *FLAGS)
    assert first.read > 0
    assert second.read == 0
    assert_same(first, second)


def test_nothing_is_kept_inside_a_checkout(project, cache):
    (project / ".git").mkdir()
    for place in (project / "cache", project / "below/deep"):
        for _ in range(2):
            assert not check(project, place, "ring.h").recalled
        assert not place.exists()
    outside = project.parent / "elsewhere"
    outside.mkdir()
    assert not check(outside, project / "cache", project / "ring.h", flags=("--", f"-I{project}/include")).recalled
    assert not (project / "cache").exists()


@pytest.mark.one_in(3)
@pytest.mark.parametrize("mode", [0o755, 0o770, 0o701])
def test_a_folder_that_others_may_use_is_refused(mode, project, cache):
    (cache / "layoutlint").mkdir(parents=True)
    (cache / "layoutlint").chmod(mode)
    for _ in range(2):
        assert not check(project, cache, "ring.h").recalled
    assert list((cache / "layoutlint").iterdir()) == []
    assert "chmod 700" in run(project, cache, "cache", "info").stdout


def test_a_link_in_place_of_the_folder_is_refused(project, cache):
    (cache / "other").mkdir(parents=True, mode=0o700)
    (cache / "layoutlint").symlink_to("other")
    for _ in range(2):
        assert not check(project, cache, "ring.h").recalled
    assert list((cache / "other").iterdir()) == []


def entries(cache: Path) -> list[Path]:
    return sorted((cache / "layoutlint").iterdir())


DAMAGE = {
    "empty": lambda data: b"",
    "cut": lambda data: data[: len(data) // 2],
    "one bit": lambda data: data[:-9] + bytes([data[-9] ^ 1]) + data[-8:],
    "longer": lambda data: data + b"x",
    "other content": lambda data: b"x" * len(data),
}


@pytest.mark.one_in(5)
@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_damaged_entries_are_read_anew(damage, project, cache):
    first = check(project, cache, "ring.h")
    for path in entries(cache):
        path.write_bytes(damage(path.read_bytes()))
    second = check(project, cache, "ring.h")
    assert_same(first, second)
    assert not second.recalled
    assert check(project, cache, "ring.h").recalled


def test_an_entry_under_another_key_is_not_used(project, cache):
    """As if one result were renamed to stand for another."""
    check(project, cache, "ring.h")
    by_words = {}
    for words in (("ring.h",), ("ring.h", "--line-size", "16")):
        shutil.rmtree(cache)
        check(project, cache, *words)
        by_words[words] = {path.name: path.read_bytes() for path in entries(cache)}
    (ours, theirs) = by_words.values()
    for name in ours:
        for content in theirs.values():
            (cache / "layoutlint" / name).write_bytes(content)
            assert not check(project, cache, "ring.h").recalled or name in theirs


def test_info_and_clear(project, cache):
    assert "entries: 0\n" in run(project, cache, "cache", "info").stdout
    check(project, cache, "ring.h")
    size = sum(path.stat().st_size for path in entries(cache))
    (cache / "layoutlint" / "notes.txt").write_text("the user's")
    shown = run(project, cache, "cache", "info").stdout
    assert shown == f"path: {cache}/layoutlint\nentries: 2\nbytes: {size}\n"
    assert run(project, cache, "cache", "clear").stdout == "removed 2 entries\n"
    assert [path.name for path in entries(cache)] == ["notes.txt"]
    assert not check(project, cache, "ring.h").recalled


@pytest.mark.one_in(3)
@pytest.mark.parametrize("kind", ["missing HOME", "HOME is a file", "read-only"])
def test_without_a_folder_for_it_nothing_is_kept_and_nothing_fails(kind, project, tmp_path):
    if kind == "HOME is a file":
        (tmp_path / "home").write_text("")
    if kind == "read-only":
        (tmp_path / "home").mkdir(mode=0o500)
        if os.access(tmp_path / "home", os.W_OK):
            pytest.skip("this user may write everywhere")
    place = Path("relative") if kind == "missing HOME" else tmp_path / "home"
    home, os.environ["HOME"] = os.environ.get("HOME", ""), ""
    try:
        for _ in range(2):
            done = check(project, place, "ring.h")
            assert (done.status, done.stderr, done.recalled) == (1, "", False)
    finally:
        os.environ["HOME"] = home
    assert not (project / "relative").exists()


def test_a_full_disk_keeps_nothing_and_fails_nothing(project, cache):
    (cache / "layoutlint").mkdir(parents=True, mode=0o700)
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)); import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)"
    code = f"{limit}\nimport sys; sys.argv = ['layoutlint', 'check', 'ring.h', '--', '-Iinclude']\nfrom layoutlint import cli; cli.main()"
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache), "LAYOUTLINT_NO_CACHE": ""}
    import sys

    from tests.harness.command import ROOT

    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=project, env=environment | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True
        )
        assert (done.returncode, done.stderr) == (1, "")
    assert entries(cache) == []


@pytest.mark.exhaustive
def test_several_processes_at_once(project, cache):
    first = check(project, cache, "ring.h", "--no-cache")
    children = []
    for number in range(4):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                for _ in range(3):
                    assert_same(first, check(project, cache, "ring.h"))
                    run(project, cache, "cache", "clear") if number == 0 else None
                status = 0
            finally:
                os._exit(status)
        children.append(child)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * 4
    assert all(not path.name.startswith(".new-") for path in entries(cache))
