"""Folders of modules through the real command: what counts as one, and what is the same in many coming out once."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from layoutlint.model.reading import ReadOptions
from layoutlint.model.wanted import Wanted
from layoutlint.readers import dispatch, inputs
from tests.harness.command import run
from tests.oracles.c_probe import need
from tests.readers.archives import made
from tests.readers.btf.btf_blob import BASE, SPLIT
from tests.readers.elf.test_kernel_image import image

SHARED = "struct shared { long a; int b : 3, c : 5; };\n"
MODULES = {
    # path -> C; `own` is one struct in two of them, and another one in the third
    "kernel/fs/one.ko": f"{SHARED}struct own {{ struct shared inner; char *name; }} own; struct shared s;",
    "kernel/fs/two.ko": f"{SHARED}struct own {{ struct shared inner; char *name; }} own; struct shared s;",
    "kernel/net/three.ko": f"{SHARED}struct own {{ char *name; }} own; struct shared s;",
    "kernel/net/four.ko": f"{SHARED}struct own; struct own *own; struct shared s;",
}
RULES = """
[[rule]]
id = "shared-on-one-line"
struct = "shared"
kind = "lines"
fields = ["a"]
max = 1
severity = "error"
why = "a test"

[[rule]]
id = "own-is-small"
struct = "own"
kind = "size"
max = 8
severity = "error"
why = "a test"
"""


def compile_object(path: Path, text: str) -> Path:
    """An object file with DWARF; `#line` gives all of them the same places."""
    path.parent.mkdir(parents=True, exist_ok=True)
    source = f'#line 1 "shared.h"\n{text}\n'
    subprocess.run([need("gcc"), "-g", "-c", "-x", "c", "-o", path, "-"], input=source, text=True, check=True, cwd=path.parent)
    return path


@pytest.fixture(scope="module")
def modules_folder(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("modules")
    for path, text in MODULES.items():
        compile_object(root / "6.1.0" / path, text)
    (root / "rules.toml").write_text(RULES)
    return root


@pytest.fixture
def root(modules_folder, tmp_path) -> Path:
    """A copy that a test may change."""
    return Path(shutil.copytree(modules_folder, tmp_path / "root", symlinks=True))


def check(root: Path, *arguments: str | Path) -> dict:
    done = run("check", *arguments, "--rules", "rules.toml", "--format", "json", cwd=root)
    assert done.stderr == ""
    return json.loads(done.stdout)


def describe(report: dict) -> list[tuple[str, str, list[str]]]:
    """Rule, outcome and the names of the files of every finding, those that are kept included."""
    return [
        (finding["rule"], finding["outcome"], [Path(path).name for path in (finding["input"], *finding["also"]) if path])
        for finding in (*report["findings"], *report["kept"])
    ]


JUDGED = [
    ("own-is-small", "broken", ["one.ko", "two.ko"]),
    ("shared-on-one-line", "kept", ["one.ko", "two.ko", "four.ko", "three.ko"]),
    ("own-is-small", "kept", ["three.ko"]),
]


def test_what_is_the_same_in_many_is_judged_once(modules_folder):
    report = check(modules_folder, "6.1.0")
    assert describe(report) == JUDGED
    assert report["coverage"]["structs"] == 3
    assert [(i["path"], i["reader"], i["structs"], i["files"]) for i in report["inputs"]] == [("6.1.0", "dwarf", 3, 4)]
    assert report["exit"] == 1


def test_files_given_one_by_one_are_told_the_same(modules_folder):
    files = [f"6.1.0/{path}" for path in MODULES]
    report = check(modules_folder, *files)
    assert sorted((rule, outcome, sorted(names)) for rule, outcome, names in describe(report)) == sorted(
        (rule, outcome, sorted(names)) for rule, outcome, names in JUDGED
    )
    assert [i["files"] for i in report["inputs"]] == [None] * 4
    assert report["coverage"]["structs"] == 3


@pytest.mark.exhaustive
@pytest.mark.parametrize("format_", ["text", "json", "sarif", "github"])
def test_the_bytes_are_the_same_for_any_jobs(modules_folder, format_):
    outputs = {
        run("check", "6.1.0", "--rules", "rules.toml", "--format", format_, *jobs, cwd=modules_folder, PYTHONHASHSEED=seed).stdout
        for seed, jobs in (("0", ()), ("1", ("--jobs", "1")), ("2", ("--jobs", "2")), ("3", ("--jobs", "4")))
    }
    assert len(outputs) == 1
    assert "".join(outputs)


SHOWN = [
    # format, part of what is said of the definition that two files have
    ("text", "  in 2 files: one.ko, two.ko\n"),
    ("c", "/* in 2 files: one.ko, two.ko */\nstruct own {\n\tstruct shared              inner;"),
    ("json", '"files": [0, 1]'),
]


@pytest.mark.parametrize(("format_", "part"), SHOWN)
def test_show_says_where_each_definition_is(modules_folder, format_, part):
    done = run("show", "6.1.0", "own", "--format", format_, cwd=modules_folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert part in done.stdout


def test_show_names_each_file_once(modules_folder):
    shown = json.loads(run("show", "6.1.0", "--all", "--format", "json", cwd=modules_folder).stdout)
    assert [(s["name"], s["size"], [Path(shown["files"][n]).name for n in s["files"]]) for s in shown["structs"]] == [
        ("own", 24, ["one.ko", "two.ko"]), ("own", 8, ["three.ko"]), ("shared", 16, ["one.ko", "two.ko", "four.ko", "three.ko"]),
    ]  # fmt: skip


class TestWhatIsAFolderOfModules:
    def test_sources_make_it_a_tree_of_c(self, root):
        (root / "6.1.0/kernel/one.c").write_text("struct shared { long only; } s;\n")
        assert [i["reader"] for i in check(root, "6.1.0")["inputs"]] == ["clang"]

    @pytest.mark.parametrize("mark", ["Makefile", "Kbuild", "Kconfig", "compile_commands.json"])
    def test_what_builds_it_makes_it_a_tree_of_c(self, root, mark):
        (root / "6.1.0" / mark).write_text("")
        assert check(root, "6.1.0")["inputs"] == []

    def test_vmlinux_is_one_of_its_files(self, root):
        compile_object(root / "6.1.0/vmlinux", f"{SHARED} struct shared s;")
        assert describe(check(root, "6.1.0"))[1] == (*JUDGED[1][:2], [*JUDGED[1][2], "vmlinux"])

    def test_links_out_of_it_are_not_followed(self, root):
        other = compile_object(root / "elsewhere/five.ko", "struct own { long a, b; } own;")
        (root / "6.1.0/kernel/five.ko").symlink_to(other)
        (root / "6.1.0/build").symlink_to(root)
        (root / "6.1.0/kernel/fs/loop").symlink_to(root / "6.1.0")
        (root / "6.1.0/weak-updates").mkdir()
        (root / "6.1.0/weak-updates/one.ko").symlink_to(root / "6.1.0/kernel/fs/one.ko")
        report = check(root, "6.1.0")
        assert describe(report) == JUDGED
        assert report["inputs"][0]["notes"] == ["links that lead out of it were not followed: 1"]

    def test_raw_btf(self, root):
        (root / "btf").mkdir()
        (root / "btf/vmlinux").write_bytes(BASE)
        (root / "btf/ring").write_bytes(SPLIT)
        done = run("show", "btf", "--all", "--format", "json", cwd=root)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["files"] == ["btf/ring", "btf/vmlinux"]


class TestWhatCannotBeRead:
    def test_what_is_wrong_with_many_is_said_once(self, root):
        for name in ("five", "six"):
            subprocess.run([need("strip"), "-g", "-o", root / f"6.1.0/{name}.ko", root / "6.1.0/kernel/fs/one.ko"], check=True)
        (root / "6.1.0/seven.ko").write_bytes(b"\x7fELF")
        report = check(root, "6.1.0")
        assert describe(report) == JUDGED
        many, one = report["unread"]
        assert (many["origin"], many["files"]) == ("6.1.0", ["6.1.0/five.ko", "6.1.0/six.ko"])
        assert many["reason"].startswith("has no debug information (neither DWARF nor BTF)")
        assert (one["origin"], one["files"]) == ("6.1.0/seven.ko", [])
        assert report["inputs"][0]["files"] == 4

    def test_a_folder_without_debug_information_says_nothing_else(self, root):
        for path in (root / "6.1.0").rglob("*.ko"):
            subprocess.run([need("strip"), "-g", path], check=True)
        done = run("check", "6.1.0", "--rules", "rules.toml", cwd=root)
        assert done.returncode == 3
        assert done.stdout.count("has no debug information") == 1
        assert "(4 files: one.ko, two.ko, four.ko and 1 more)" in " ".join(done.stdout.split())

    @pytest.mark.one_in(3)
    @pytest.mark.parametrize("content", [b"", b"text\n", b"struct shared { char c; };\n", b"\xff" * 100, b"\x1f\x8bxx"], ids=range(5))
    @pytest.mark.parametrize("form", ["folder", "tarball"])
    def test_a_module_that_is_none_is_named(self, root, content, form):
        (root / "6.1.0/kernel/zz.ko").write_bytes(content)
        with tarfile.open(root / "modules.tar", "w") as archive:
            archive.add(root / "6.1.0", "6.1.0")
        name = {"folder": "6.1.0", "tarball": "modules.tar"}[form]
        report = check(root, name)
        assert [Path(each["origin"]).name for each in report["unread"]] == ["zz.ko"]
        assert {each[0] for each in describe(report)} == {"own-is-small", "shared-on-one-line"}

    def test_a_text_in_korean_is_no_module(self, root):
        members = (("usr/share/doc/README.ko", b"text\n"), ("usr/bin/one", (root / "6.1.0/kernel/net/three.ko").read_bytes()))
        (root / "a.tar").write_bytes(made.tar(members))
        assert check(root, "a.tar")["unread"] == []

    def test_it_does_not_hide_what_is_broken(self, root):
        (root / "6.1.0/seven.ko").write_bytes(b"\x7fELF")
        assert run("check", "6.1.0", "--rules", "rules.toml", cwd=root).returncode == 1
        assert run("check", "6.1.0", "--rules", "rules.toml", "--struct", "shared", cwd=root).returncode == 3


    def test_a_process_that_dies(self, modules_folder, monkeypatch):
        monkeypatch.setattr(dispatch, "read", lambda *_: os._exit(9))
        readings, (unread,) = inputs.read((str(modules_folder / "6.1.0"),), Wanted(everything=True), ReadOptions(jobs=2))
        assert readings == []
        assert str(unread).startswith(f"{modules_folder}/6.1.0: the process that read {modules_folder}/6.1.0/kernel/")
        assert ".ko crashes (status 9)" in str(unread)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_progress_counts_the_files(modules_folder, jobs):
    done = run("show", "6.1.0", "shared", "--progress", "--jobs", jobs, cwd=modules_folder)
    assert done.stderr.splitlines()[-1] == "reading 6.1.0: 100 %"
    assert "6.1.0/" not in done.stderr


class TestSplitBtf:
    """Modules as pahole encodes them on their vmlinux, and stripped, as distributions ship them."""

    @pytest.fixture
    def split(self, tmp_path) -> Path:
        folder = tmp_path / "lib/modules/6.1.0-test"
        vmlinux = compile_object(folder / "vmlinux", f"{SHARED}struct shared s;")
        subprocess.run([need("pahole"), "-J", vmlinux], check=True)
        for path in ("kernel/one.ko", "kernel/two.ko"):
            module = compile_object(folder / path, MODULES["kernel/fs/one.ko"])
            subprocess.run([need("pahole"), "-J", "--btf_base", vmlinux, module], check=True)
            subprocess.run([need("objcopy"), "--strip-debug", module], check=True)
        (tmp_path / "rules.toml").write_text(RULES)
        return tmp_path

    @pytest.mark.parametrize("given", ["lib/modules/6.1.0-test", "lib/modules/6.1.0-test/kernel"])
    def test_the_base_is_found(self, split, given):
        report = check(split, given, "--reader", "btf")
        assert describe(report) == [
            ("own-is-small", "broken", ["one.ko", "two.ko"]),
            ("shared-on-one-line", "kept", ["vmlinux"]),
        ]

    def test_the_base_of_a_debug_package(self, split):
        top = split / "usr/lib/debug/boot"
        top.mkdir(parents=True)
        (split / "lib/modules/6.1.0-test/vmlinux").rename(top / "vmlinux-6.1.0-test")
        assert describe(check(split, "lib/modules/6.1.0-test"))[-1][2] == ["vmlinux-6.1.0-test"]

    @pytest.mark.parametrize("place", ["lib/modules/6.1.0-test/vmlinuz", "boot/vmlinuz-6.1.0-test", "lib/modules/vmlinuz"])
    def test_the_base_in_a_bootable_kernel(self, split, place):
        """Distributions install that one, and vmlinux only with debug information."""
        vmlinux = split / "lib/modules/6.1.0-test/vmlinux"
        subprocess.run([need("objcopy"), "--strip-debug", vmlinux], check=True)
        (split / place).parent.mkdir(exist_ok=True)
        (split / place).write_bytes(image(gzip.compress(vmlinux.read_bytes())))
        vmlinux.unlink()
        report = check(split, "lib/modules/6.1.0-test")
        assert describe(report) == [("own-is-small", "broken", ["one.ko", "two.ko"]), ("shared-on-one-line", "kept", [Path(place).name])]
        assert report["exit"] == 1

    def test_a_bootable_kernel_of_another_machine_is_none(self, split):
        (split / "lib/modules/6.1.0-test/vmlinux").unlink()
        (split / "lib/modules/6.1.0-test/vmlinuz").write_bytes(gzip.compress(bytes(0x38) + b"ARM\x64" + bytes(1000)))
        report = check(split, "lib/modules/6.1.0-test")
        assert (report["exit"], "--btf-base FILE" in report["unread"][0]["reason"]) == (3, True)

    def test_each_release_has_its_own(self, split):
        """All kernels of a machine at once: `struct shared` is twice as large in the second."""
        modules = split / "lib/modules"
        vmlinux = compile_object(modules / "6.2.0-test/vmlinux", "struct shared { long a[4]; };\nstruct shared s;")
        module = compile_object(modules / "6.2.0-test/kernel/one.ko", "struct shared { long a[4]; };\nstruct own { struct shared s; } own;")
        subprocess.run([need("pahole"), "-J", vmlinux], check=True)
        subprocess.run([need("pahole"), "-J", "--btf_base", vmlinux, module], check=True)
        shown = json.loads(run("show", "lib/modules", "own", "--reader", "btf", "--format", "json", cwd=split).stdout)
        found = {struct["size"]: [shown["files"][n] for n in struct["files"]] for struct in shown["structs"]}
        assert found == {
            24: [f"lib/modules/6.1.0-test/kernel/{name}.ko" for name in ("one", "two")],
            32: ["lib/modules/6.2.0-test/kernel/one.ko"],
        }

    def test_without_a_base_nothing_is_told(self, split):
        (split / "lib/modules/6.1.0-test/vmlinux").rename(split / "elsewhere")
        report = check(split, "lib/modules/6.1.0-test")
        assert ([u["files"] for u in report["unread"]], report["exit"]) == (
            [[f"lib/modules/6.1.0-test/kernel/{name}.ko" for name in ("one", "two")]], 3,
        )  # fmt: skip
        assert "--btf-base FILE" in report["unread"][0]["reason"]
        assert check(split, "lib/modules/6.1.0-test", "--btf-base", "elsewhere")["exit"] == 1

    def test_a_base_of_another_build(self, split):
        subprocess.run([need("pahole"), "-J", compile_object(split / "wrong", "struct x { int a; } x;")], check=True)
        report = check(split, "lib/modules/6.1.0-test/kernel", "--btf-base", "wrong")
        assert [len(u["files"]) for u in report["unread"]] == [2]
        assert report["exit"] == 3
