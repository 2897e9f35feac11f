"""The advice for headers that were not found: the nearest folder that has one, the file that the build makes it from, or what is missing."""

from __future__ import annotations

import os

import pytest

from layoutlint import files
from layoutlint.readers.clang import cross_target, missing_headers
from layoutlint.readers.clang.missing_headers import Remedies
from tests.harness.repository import write

TREE = {
    "lib/near/x.h": "", "lib/x.h": "", "src/deep/a.c": "", "src/deep/own.h": "", "src/inc/x.h": "", "src/inc/sub/y.h": "", "other/sub/y.h": "",
    "src/.hidden/z.h": "", "far/away/from/all/z.h": "", "two/twin.h": "", "one/twin.h": "", "sub/deeper/y.h": "", "xsub/only.h": "",
    "conf/config.h.in": "", "src/made.h.in": "", "gen/sub/made.h.in": "", "here.h": "",
}  # fmt: skip
FOLDERS = [
    # a header, the nearest folder to src/deep/a.c from which `#include` finds it
    ("own.h", "src/deep"), ("x.h", "src/inc"), ("sub/y.h", "src/inc"), ("./sub//y.h", "src/inc"), ("y.h", "src/inc/sub"), ("inc/x.h", "src"),
    ("near/x.h", "lib"), ("lib/x.h", "."), ("z.h", "far/away/from/all"), ("from/all/z.h", "far/away"), ("twin.h", "one"), ("deeper/y.h", "sub"),
    ("here.h", "."), ("only.h", "xsub"), ("sub/only.h", None), ("gone.h", None), ("../x.h", None), ("sub/../x.h", None), ("", None), (".", None),
    ("/x.h", None), ("sub/x.h", None), ("deep/own.h", "src"), ("eep/own.h", None),
]  # fmt: skip


@pytest.fixture
def project(tmp_path, monkeypatch):
    top = tmp_path / "top"
    write(top, TREE)
    (top / ".git").mkdir()
    monkeypatch.chdir(top / "src")
    return top


@pytest.mark.parametrize(("name", "folder"), FOLDERS, ids=[row[0] for row in FOLDERS])
def test_the_nearest_folder(name, folder, project):
    found = missing_headers.find_folder(name, str(project / "src/deep/a.c"))
    assert (found and os.path.relpath(found, project)) == folder


@pytest.mark.parametrize(("most", "found"), [(5, False), (6, True)])
def test_the_search_ends(most, found, tmp_path, monkeypatch):
    """Each file and folder counts: those that are in a folder before it is searched."""
    top = tmp_path
    write(top, {"a/x.h": "", "b.h": "", "t.c": ""})
    (top / ".git").mkdir()
    monkeypatch.setattr(missing_headers, "_MOST_ENTRIES", most)
    assert missing_headers.find_folder("x.h", str(top / "t.c")) == (str(top / "a") if found else None)


def test_the_search_counts_a_folder_once(tmp_path, monkeypatch):
    top = tmp_path
    write(top, {"src/a.c": "", "src/b.c": "", "src/c.c": "", "x.h": ""})
    (top / ".git").mkdir()
    found = []
    for most in (3, 4, 6, 7, 8):
        monkeypatch.setattr(missing_headers, "_MOST_ENTRIES", most)
        found.append(missing_headers.find_folder("x.h", str(top / "src/a.c")) is not None)
    assert found == [False, False, False, True, True]


TEMPLATES = [
    ("config.h", "", "the build makes it from ../conf/config.h.in: run that first"),
    ("sub/config.h", "", "the build makes it from ../conf/config.h.in: run that first"),
    ("made.h", "Makefile", "the build makes it from made.h.in: run `bear -- make` first"),
    ("config.h", "meson.build", "the build makes it from ../conf/config.h.in: run `meson setup build` first"),
    ("config.h", "src/meson.build", "the build makes it from ../conf/config.h.in: run that first"),
    ("x.h", "", None), ("config.h.in", "", None),
]  # fmt: skip


@pytest.mark.parametrize(("name", "marker", "advice"), TEMPLATES, ids=[f"{row[0]} {row[1]}" for row in TEMPLATES])
def test_what_a_build_makes(name, marker, advice, project):
    if marker:
        (project / marker).write_text("")
    assert missing_headers.find_template(name, str(project / "src/deep/a.c")) == advice


FLAG = "add its folder with `{}`"
OR_INSTALL = "add its folder with `-I DIR`, or install the package that has it"
NO_LIBRARY = "this machine has no C library headers; install them (libc6-dev), or use `--sysroot DIR`"
NO_TARGET = missing_headers._LIBRARY_REMEDY
SPARC = "--target=sparc64-linux-gnu"
REMEDIES = [
    # the header, the flags, whether this machine has a C library, the advice
    ("x.h", (), True, FLAG.format("-Iinc")),
    ("x.h", ("-nostdinc",), True, FLAG.format("-Iinc")),
    ("x.h", (), False, FLAG.format("-Iinc")),
    ("twin.h", (), True, FLAG.format("-ITOP/one")),
    ("here.h", (), True, FLAG.format("-ITOP")),
    ("inc/x.h", (), True, FLAG.format("-I.")),
    ("gone.h", (), True, OR_INSTALL),
    ("gone.h", ("-nostdinc",), True, "`-nostdinc` leaves out the system's headers; add the folder with `-I DIR`"),
    ("gone.h", ("--sysroot=/x", "--sysroot=/y"), False, "it is not in the sysroot /x; add its folder with `-I DIR`"),
    ("gone.h", ("--sysroot", "/x"), True, OR_INSTALL),
    ("gone.h", ("-nostdinc", "--sysroot=/x"), True, "`-nostdinc` leaves out the system's headers; add the folder with `-I DIR`"),
    ("gone.h", (SPARC, *cross_target.ALONE), True, NO_TARGET),
    ("gone.h", (SPARC, *cross_target.ALONE), False, NO_TARGET),
    ("gone.h", (SPARC,), True, OR_INSTALL),
    ("gone.h", cross_target.ALONE, True, OR_INSTALL),
    ("gone.h", ("--target=riscv64-unknown-elf",), True, NO_TARGET),
    ("gone.h", ("--target=arm-none-eabi", "-nostdlibinc", "-isystem", "/x"), True, OR_INSTALL),
    ("gone.h", (), False, NO_LIBRARY),
    ("config.h", (), False, NO_LIBRARY),
    ("config.h", (), True, "the build makes it from ../conf/config.h.in: run that first"),
]


@pytest.mark.parametrize(("name", "words", "has_library", "advice"), REMEDIES)
def test_remedies(name, words, has_library, advice, project, monkeypatch):
    monkeypatch.setattr(missing_headers, "_C_LIBRARY", str(project / ("here.h" if has_library else "none.h")))
    monkeypatch.setattr(cross_target.files, "is_folder", lambda path, ask=files.is_folder: "sparc64" not in path and ask(path))
    assert Remedies(str(project / "src/deep/a.c"), words).remedy(name) == advice.replace("TOP", str(project))


def test_only_the_first_header_is_searched(project):
    remedies = Remedies(str(project / "src/deep/a.c"), ())
    assert [remedies.remedy(name) for name in ("x.h", "twin.h", "x.h")] == [FLAG.format("-Iinc"), OR_INSTALL, FLAG.format("-Iinc")]


def test_a_folder_with_spaces_is_quoted(tmp_path, monkeypatch):
    write(tmp_path, {"two words/x.h": "", "work/t.c": ""})
    (tmp_path / ".git").mkdir()
    for folder, flag in ((".", "-I'two words'"), ("work", f"-I'{tmp_path}/two words'")):
        monkeypatch.chdir(tmp_path / folder)
        assert Remedies(str(tmp_path / "work/t.c"), ()).remedy("x.h") == FLAG.format(flag)


def test_a_link_to_a_header_stands_for_its_place(tmp_path, monkeypatch):
    """Generated headers of a revision are links: the flag names the folder of the header, if that is called alike."""
    write(tmp_path, {"true/sub/x.h": "", "true/other.h": "", "work/t.c": "", "links/sub/none": ""})
    (tmp_path / "links/sub/x.h").symlink_to(tmp_path / "true/sub/x.h")
    (tmp_path / "links/y.h").symlink_to(tmp_path / "true/other.h")
    monkeypatch.chdir(tmp_path / "work")
    links, true = str(tmp_path / "links"), str(tmp_path / "true")
    for folder, name, shown in ((links, "sub/x.h", true), (links, "./sub//x.h", true), (f"{links}/sub", "x.h", f"{true}/sub"), (links, "y.h", links)):
        assert missing_headers._include_flag(folder, name) == f"-I{shown}"


MESSAGES = [
    ("'x.h' file not found", "x.h"), ("'sub/x y.h' file not found", "sub/x y.h"), ("'x.h' file not found, did you mean 'y.h'?", None),
    ("error: 'x.h' file not found", None), ("'' file not found", None), ("use of undeclared identifier 'x'", None),
]  # fmt: skip


@pytest.mark.parametrize(("message", "name"), MESSAGES)
def test_the_name_in_a_message(message, name):
    assert missing_headers.missing_name(message) == name


CONFIGURED = b"#ifdef HAVE_CONFIG_H\n#include <config.h>\n#endif\n"


@pytest.mark.parametrize(("text", "words", "lacks"), [
    (CONFIGURED, (), True), (CONFIGURED, ("-DX", "-w"), True), (CONFIGURED, ("-w", "-DHAVE_CONFIG_H=1"), False), (CONFIGURED, ("-D", "HAVE_CONFIG_H"), False),
    (b"#include <config.h>\n", (), False), (b"", (), False),
])  # fmt: skip
def test_what_configure_found_out(text, words, lacks):
    assert Remedies("/t.c", words).lacks_configuration(text) is lacks
