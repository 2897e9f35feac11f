"""Kernel trees by their files: where source and build are, the configuration, and the flags that follow. No header is parsed."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from layoutlint.errors import ReadError
from layoutlint.readers.clang.kernel import read, tree
from layoutlint.readers.clang.kernel.tree import Tree
from tests.harness.repository import write

MAKEFILE = "VERSION = 6\nPATCHLEVEL = 1\nSUBLEVEL = 2\n"
SOURCE = {"Makefile": MAKEFILE, "include/linux/kconfig.h": "", "include/linux/compiler_types.h": "", "kernel/x.c": "", "arch/x86/include/asm/y.h": ""}
BUILT = {"include/generated/autoconf.h": "#define CONFIG_X86_64 1\n#define CONFIG_A_MODULE 1\n#define CONFIG_B 0\n", "arch/x86/include/generated/z.h": ""}
FOLDERS = {
    # files, the folder that is read, its build folder; the source, the build folder, the note
    "in place": ({"k": (SOURCE, BUILT)}, "k", None, "k", "k", None),
    "O=": ({"k": (SOURCE,), "b": (BUILT,)}, "k", "b", "k", "b", None),
    "O= before its own": ({"k": (SOURCE, BUILT), "b": (BUILT,)}, "k", "b", "k", "b", None),
    "build below": ({"k": (SOURCE,), "k/build": (BUILT,)}, "k", None, "k", "k/build", None),
    "itself before build below": ({"k": (SOURCE, BUILT), "k/build": (BUILT,)}, "k", None, "k", "k", None),
    "source below": ({"b": (BUILT,), "b/source": (SOURCE,)}, "b", None, "b/source", "b", None),
    "its Makefile, beside": ({"k": (SOURCE,), "b": (BUILT, {"Makefile": "include TOP/k/Makefile\n"})}, "b", None, "k", "b", None),
    "its Makefile, relative": ({"k": (SOURCE,), "b": (BUILT, {"Makefile": "x = 1\ninclude ../k/Makefile \n"})}, "b", None, "k", "b", None),
    "its Makefile, elsewhere": (
        {"far/k": (SOURCE,), "b": (BUILT, {"Makefile": "include TOP/far/k/Makefile\n"})}, "b", None, "far/k", "b",
        "the headers of TOP/far/k are read, which its Makefile names"),
    "a copied package": (
        {"far/k": (SOURCE,), "k": (SOURCE,), "b": (BUILT, {"Makefile": "include TOP/far/k/Makefile\n"})}, "b", None, "k", "b",
        "the headers of TOP/k are read, beside it; its Makefile names TOP/far/k"),
    "a copied package alone": ({"k": (SOURCE,), "b": (BUILT, {"Makefile": "include /gone/k/Makefile\n"})}, "b", None, "k", "b", None),
    "no kernel": ({"k": ({"Makefile": MAKEFILE},)}, "k", None, None, None, None),
    "no Makefile": ({"k": ({"include/linux/kconfig.h": ""},)}, "k", None, None, None, None),
    "another Makefile": ({"k": (SOURCE, {"Makefile": "all:\n"})}, "k", None, None, None, None),
    "a Makefile that includes another": ({"b": (BUILT, {"Makefile": "include TOP/x/Makefile\n"}), "x": ({"Makefile": "all:\n"},)}, "b", None, None, None, None),
}  # fmt: skip


def lay(top: Path, folders) -> None:
    for name, parts in folders.items():
        for part in parts:
            write(top / name, {path: text.replace("TOP", str(top)) for path, text in part.items()})


@pytest.mark.parametrize(("folders", "path", "build", "source", "built", "note"), FOLDERS.values(), ids=FOLDERS)
def test_where_source_and_build_are(folders, path, build, source, built, note, tmp_path):
    lay(tmp_path, folders)
    found = tree.find(str(tmp_path / path), build and str(tmp_path / build))
    if source is None:
        assert found is None
        return
    assert (found.source, found.build) == (str(tmp_path / source), str(tmp_path / built))
    assert (found.note and found.note.replace(str(tmp_path), "TOP")) == note
    assert found.roots == (found.source, found.build)[: 1 + (source != built)]
    assert (found.config, found.macros) == ({"X86_64", "A"}, {"X86_64", "A_MODULE", "B"})


@pytest.mark.parametrize(("path", "build", "where"), [("k", None, "k"), ("k", "gone", "gone"), ("k", "b", "b")])
def test_trees_that_are_not_configured(path, build, where, tmp_path):
    lay(tmp_path, {"k": (SOURCE,), "b": ({"x": ""},)})
    with pytest.raises(ReadError, match=re.escape(f"not configured: {tmp_path / where}/include/generated/autoconf.h is not there")):
        tree.find(str(tmp_path / path), build and str(tmp_path / build))


CONFIGS = [
    # files of the build folder, options that are on, macros
    ({"include/config/auto.conf": "CONFIG_X86_64=y\nCONFIG_M=m\n", ".config": "CONFIG_X86_32=y\n"}, {"X86_64", "M"}, {"X86_64", "M_MODULE"}),
    ({"include/config/auto.conf": "", ".config": "CONFIG_X86_64=y\n# CONFIG_N is not set\nCONFIG_S=\"x\"\nCONFIG_I=3\n"},
     None, {"X86_64", "S", "I"}),
    ({}, {"X86_64", "A"}, {"X86_64", "A_MODULE", "B"}),
]  # fmt: skip


@pytest.mark.parametrize(("files", "on", "macros"), CONFIGS, ids=range(len(CONFIGS)))
def test_configurations(files, on, macros, tmp_path):
    lay(tmp_path, {"k": (SOURCE, BUILT, files)})
    found = tree.find(str(tmp_path / "k"))
    assert found.macros == macros
    assert "X86_64" in found.config
    assert on is None or found.config == on


@pytest.mark.parametrize(("options", "arch", "triple"), tree._ARCHITECTURES, ids=[" ".join(row[0]) for row in tree._ARCHITECTURES])
def test_architectures(options, arch, triple, tmp_path):
    """The first row whose options are all on; more options change nothing."""
    for more in ("", "CONFIG_SMP=y\n"):
        lay(tmp_path, {"k": (SOURCE, BUILT, {".config": more + "".join(f"CONFIG_{option}=y\n" for option in options)})})
        found = tree.find(str(tmp_path / "k"))
        assert (found.arch, found.triple) == (arch, triple)
        assert f"--target={triple}" in found.flags


@pytest.mark.parametrize("options", [("SMP",), ("LOONGARCH",), ("64BIT",), ("CPU_BIG_ENDIAN",)])
def test_an_unknown_architecture(options, tmp_path):
    lay(tmp_path, {"k": (SOURCE, BUILT, {".config": "".join(f"CONFIG_{option}=y\n" for option in options)})})
    with pytest.raises(ReadError, match="is configured for an architecture that is not known here"):
        tree.find(str(tmp_path / "k"))


def tree_of(version=(6, 1, 0), config=(), arch="x86", makefile="", source="/s", build="/b") -> Tree:
    numbers = "".join(f"{name} = {number}\n" for name, number in zip(("VERSION", "PATCHLEVEL", "SUBLEVEL"), version, strict=False))
    return Tree(source, build, frozenset(config), arch, "x-linux", numbers + makefile)


FLAGS = [
    # a tree, a flag, whether it has it
    (tree_of((5, 18)), "-std=gnu11", True), (tree_of((5, 18)), "-std=gnu89", False), (tree_of((5, 17, 99)), "-std=gnu89", True), (tree_of((4, 19)), "-std=gnu89", True),
    (tree_of(), "-funsigned-char", False), (tree_of(makefile="KBUILD_CFLAGS += -funsigned-char\n"), "-funsigned-char", True),
    (tree_of(), "-fms-extensions", False), (tree_of(makefile="KBUILD_CFLAGS += -fms-extensions\n"), "-fms-extensions", True),
    (tree_of(makefile="KBUILD_CFLAGS += $(CONFIG_CC_MS_EXTENSIONS)\n"), "-fms-extensions", True),
    (tree_of(config=("FUNCTION_TRACER", "HAVE_FENTRY")), "-DCC_USING_FENTRY", True), (tree_of(config=("FUNCTION_TRACER",)), "-DCC_USING_FENTRY", False),
    (tree_of(config=("HAVE_FENTRY",)), "-DCC_USING_FENTRY", False), (tree_of(), "-Dbtf_type_tag(x)=", True), (tree_of(), "-D__counted_by__(x)=", True),
    (tree_of(), "-nostdinc", True), (tree_of(), "-D__KERNEL__", True), (tree_of(), "-fshort-wchar", True), (tree_of(), "-DKBUILD_MODNAME=layoutlint", True),
    (tree_of(), "-DKBUILD_BASENAME=layoutlint", True), (tree_of(), "-D__KBUILD_MODNAME=layoutlint", True),
    (tree_of(config=("CPU_32v7",), arch="arm"), "-D__LINUX_ARM_ARCH__=7", True), (tree_of(config=("CPU_32v7",)), "-D__LINUX_ARM_ARCH__=7", False),
    (tree_of(config=("CPU_32v7", "CPU_32v6"), arch="arm"), "-D__LINUX_ARM_ARCH__=6", False),
    (tree_of(config=("CPU_32v6", "CPU_32v5"), arch="arm"), "-D__LINUX_ARM_ARCH__=6", True),
    *((tree_of(config=(option,), arch="arm"), f"-D__LINUX_ARM_ARCH__={number}", True) for option, number in tree._ARM_VERSIONS),
]  # fmt: skip


@pytest.mark.parametrize(("some", "flag", "has"), FLAGS, ids=range(len(FLAGS)))
def test_flags(some, flag, has, monkeypatch):
    monkeypatch.setattr(tree.builtin_headers, "include_folder", lambda: "/builtin")
    assert (flag in some.flags) is has
    assert (some.flags[-2:] == ("-isystem", "/builtin")) is (some.version < (5, 15))
    assert "-include" not in some.flags


@pytest.mark.parametrize(("version", "builtin", "has"), [((5, 14, 9), "/x", True), ((5, 15), "/x", False), ((5, 14, 9), None, False), ((4, 20), "/x", True)])
def test_the_own_headers_of_the_compiler(version, builtin, has, monkeypatch):
    monkeypatch.setattr(tree.builtin_headers, "include_folder", lambda: builtin)
    assert ("-isystem" in tree_of(version).flags) is has


def test_headers_that_are_included_first(tmp_path):
    lay(tmp_path, {"k": (SOURCE, BUILT)})
    words = tree.find(str(tmp_path / "k")).flags
    assert [words[at + 1] for at, word in enumerate(words) if word == "-include"] == [
        f"{tmp_path}/k/include/linux/{name}.h" for name in ("kconfig", "compiler_types")
    ]


def test_folders_of_headers():
    """In the order of LINUXINCLUDE; each once if a tree is built in place."""
    inside = ["arch/x86/include", "arch/x86/include/generated", "include", "include", "arch/x86/include/uapi", "arch/x86/include/generated/uapi", "include/uapi", "include/generated/uapi"]
    apart = [f"{root}/{below}" for root, below in zip("sbsbsbsb", inside, strict=True)]
    assert [folder[1:] for folder in tree_of().folders] == apart
    assert [folder.removeprefix("/s/") for folder in tree_of(build="/s").folders] == list(dict.fromkeys(inside))
    um = [folder[1:] for folder in tree_of(arch="um").folders]
    assert (um[0], um[1], um[-1], len(um)) == ("s/arch/um/include/shared", "s/arch/um/include", "s/arch/x86/include", 10)
    assert [word[2:] for word in tree_of().flags if word.startswith("-I")] == list(tree_of().folders)


@pytest.mark.parametrize(("config", "option"), [
    ((), None), (("RANDSTRUCT",), "RANDSTRUCT"), (("GCC_PLUGIN_RANDSTRUCT",), "GCC_PLUGIN_RANDSTRUCT"), (("RANDSTRUCT", "RANDSTRUCT_FULL"), "RANDSTRUCT_FULL"),
    (("RANDSTRUCT", "RANDSTRUCT_PERFORMANCE"), "RANDSTRUCT_PERFORMANCE"), (("RANDSTRUCT_NONE",), None),
])  # fmt: skip
def test_the_option_that_shuffles(config, option):
    assert tree_of(config=config).shuffling_option == (option and f"CONFIG_{option}")


@pytest.mark.parametrize(("makefile", "version"), [
    (MAKEFILE, (6, 1, 2)), ("VERSION=5\n", (5, 0, 0)), ("x\nPATCHLEVEL  =  19\n VERSION = 4\nSUBLEVEL = 7x\n", (0, 19, 7)), ("", (0, 0, 0)),
])  # fmt: skip
def test_versions(makefile, version):
    assert Tree("/s", "/b", frozenset(), "x86", "x", makefile).version == version


def test_the_tree_around_a_file(tmp_path):
    lay(tmp_path, {"k": (SOURCE, {"drivers/net/a.c": ""}), "other": ({"Makefile": MAKEFILE, "a.c": ""},)})
    found = {path: tree.enclosing_tree(str(tmp_path / path)) for path in ("k/drivers/net/a.c", "k/Makefile", "k", "other/a.c", "k/gone/deep/a.c")}
    top = str(tmp_path / "k")
    assert found == {"k/drivers/net/a.c": top, "k/Makefile": top, "k": None, "other/a.c": None, "k/gone/deep/a.c": top}


def test_folders_of_sources(tmp_path, monkeypatch):
    lay(tmp_path, {"k": (SOURCE, BUILT), "plain": (SOURCE,), "b": (BUILT, {"Makefile": "include ../k/Makefile\n"}), "some": ({"a.c": ""},)})
    monkeypatch.chdir(tmp_path)
    rows = {path: tree.source_folders(path) for path in ("plain", "some", "some/a.c", "some/a.h", "a.c", "some/a.o", "gone")}
    assert rows == {
        "plain": [("plain", ["plain"])], "some": [("some", ["some"])], "some/a.c": [("some", ["some/a.c"])], "some/a.h": [("some", ["some/a.h"])],
        "a.c": [(".", ["a.c"])], "some/a.o": [], "gone": [],
    }  # fmt: skip
    top = str(tmp_path)
    assert [(root[len(top) :], len(folders), {os.path.commonpath([root, folder])[len(top) :] for folder in folders}) for root, folders in tree.source_folders("k")] == [("/k", 7, {"/k"})]
    assert [(root[len(top) :], len(folders), {os.path.commonpath([root, folder])[len(top) :] for folder in folders}) for root, folders in tree.source_folders("b")] == [("/k", 4, {"/k"}), ("/b", 4, {"/b"})]


@pytest.mark.parametrize(("words", "folder", "rest"), [
    ((), None, ()), (("-w",), None, ("-w",)), (("O=b", "-w"), "b", ("-w",)), (("O=b", "O=c"), "c", ()), (("-O=x", "-O2"), None, ("-O=x", "-O2")), (("O=",), "", ()),
])  # fmt: skip
def test_the_build_folder_among_flags(words, folder, rest):
    assert read.build_folder(words) == (folder, rest)
