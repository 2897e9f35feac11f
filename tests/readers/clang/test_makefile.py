"""Private sources of kernel trees: the flags of their Makefiles, and what errors in them can and cannot spoil."""

from __future__ import annotations

import re
import subprocess
from itertools import count
from random import Random
from time import monotonic

import pytest

from layoutlint.model.reading import ReadOptions
from layoutlint.model.wanted import Wanted
from layoutlint.readers import clang
from layoutlint.readers.clang.kernel import make_lines, tree
from layoutlint.readers.clang.kernel.makefile import Added, Makefiles
from tests.harness.effort import draws
from tests.harness.tools import need
from tests.readers.clang.test_inputs import CONFIGURED, KERNEL, lay

ADDED = [
    # Makefile of fs/xfs, Makefile of fs, what is added for fs/xfs/a.c
    ("ccflags-y += -I $(srctree)/$(src)/libxfs\n", "", ("-I{top}/fs/xfs/libxfs",)),
    ("ccflags-y := -I$(src)\t# needed for trace events\n", "", ("-I{top}/fs/xfs",)),
    ("ccflags-y += -I$(srctree)/drivers/media/tuners -DALL \\\n\t-I $(srctree)/$(src)/../\n", "",
     ("-I{top}/drivers/media/tuners", "-DALL", "-I{top}/fs")),
    ("subdir-ccflags-y += -I$(src)/..\n", "subdir-ccflags-y += -DBELOW\nccflags-y += -DHERE\n", ("-DBELOW", "-I{top}/fs")),
    ("ccflags-$(CONFIG_COMEDI_DEBUG) := -DDEBUG\n", "", ()),
    ("ccflags-$(CONFIG_SMP) := -D MANY\nccflags-$(CONFIG_EXT4_FS) := -DMODULAR\n", "", ("-DMANY",)),
    ("ifdef CONFIG_SMP\nccflags-y := -DMANY\nelse\nccflags-y := -DONE\nendif\n", "", ("-DMANY",)),
    ("CFLAGS_a.o := -DOF_A\nCFLAGS_b.o := -DOF_B -fpack-struct\n", "", ("-DOF_A",)),
    ("KBUILD_CFLAGS += -DALL\nEXTRA_CFLAGS = -DOLD -UNEW\n", "KBUILD_CFLAGS += -DHERE\n", ("-DALL", "-DOLD", "-UNEW")),
    ("ccflags-y += $(extra-cflags-y) -I$(OWN)/include -Werror\n", "", ()),
    ("#ccflags-y += -DA\nccflags-y += -DONE=1 # -DB\n", "", ("-DONE=1",)),
    ("", "", ()),
]  # fmt: skip


def makefiles(top) -> Makefiles:
    lay(top, KERNEL | CONFIGURED)
    found = tree.find(str(top))
    assert found is not None
    return Makefiles(found)


@pytest.mark.parametrize(("own", "above", "words"), ADDED)
def test_flags_that_a_makefile_adds(tmp_path, own, above, words):
    lay(tmp_path, {"fs/xfs/Makefile": own, "fs/Makefile": above})
    assert makefiles(tmp_path).of_source(f"{tmp_path}/fs/xfs/a.c") == Added(
        tuple(word.format(top=tmp_path) for word in words)
    )


@pytest.mark.parametrize(("files", "words"), [
    ({"fs/xfs/Makefile": "ccflags-y += -I $(src)\n"}, ("-I{top}/fs/xfs",)),
    ({"fs/Makefile": "ccflags-y += -I $(src)\nsubdir-ccflags-y += -DBELOW\n"}, ("-I{top}/fs", "-DBELOW")),
    ({"fs/xfs/Makefile": "ccflags-y += -DOUTER\n", "fs/xfs/libxfs/Makefile": "ccflags-y += -DOWN\n"}, ("-DOWN",)),
    ({"fs/xfs/Makefile": "ccflags-y += -DOUTER\n", "fs/xfs/libxfs/Kbuild": "obj-y += a.o\n"}, ()),
])  # fmt: skip
def test_the_makefile_of_an_outer_folder_builds_a_folder_without_one(tmp_path, files, words):
    lay(tmp_path, files)
    found = makefiles(tmp_path).of_source(f"{tmp_path}/fs/xfs/libxfs/a.c")
    assert found == Added(tuple(word.format(top=tmp_path) for word in words))


S, WIDE = 128, 192
TEXT = "struct s {\n#ifdef WIDE\n\tlong w;\n#endif\n\tchar c;\n\tlong l;\n};\n"
LINES = [
    # a line of the top Makefile, the bits of struct s; None if it is unknown
    ("KBUILD_CFLAGS += -fpack-struct=1", None),
    ("KBUILD_CPPFLAGS := $(KBUILD_CPPFLAGS) -fpack-struct", None),
    ("CPPFLAGS += -fpack-struct=1", None),
    ("KCFLAGS = -fno-strict-aliasing -fshort-enums", None),
    ("CC = gcc -malign-double", None),
    ("subdir-ccflags-y += -fpack-struct=1", None),
    ("own := -fpack-struct=1\nKBUILD_CFLAGS += $(own)", None),
    ("own := -fpack-struct=1", S),
    ("KBUILD_CFLAGS += $(call cc-option,-fpack-struct=1,-O2)", None),
    ("ifeq ($(call x),y)\nKBUILD_CFLAGS += -fpack-struct=1\nendif", None),
    ("ifdef CONFIG_SMP\nKBUILD_CFLAGS += -fpack-struct=1\nendif", None),
    ("ifndef CONFIG_SMP\nKBUILD_CFLAGS += -fpack-struct=1\nendif", S),
    ("ifeq ($(CONFIG_SMP),y)\nKBUILD_CFLAGS += -O2\nelse\nKBUILD_CFLAGS += -fpack-struct=1\nendif", S),
    ("KBUILD_CFLAGS-$(CONFIG_UP) += -fpack-struct=1\nKBUILD_CFLAGS += $(KBUILD_CFLAGS-y)", S),
    ("KBUILD_CFLAGS-$(CONFIG_SMP) += -fpack-struct=1\nKBUILD_CFLAGS += $(KBUILD_CFLAGS-y)", None),
    ("init/main.o: KBUILD_CFLAGS += -fpack-struct=1", None),
    ("KBUILD_CFLAGS += -fplugin=./stackleak_plugin.so", None),
    ("KBUILD_CFLAGS += $(addprefix -fplugin=$(objtree)/scripts/gcc-plugins/, $(gcc-plugin-y))", S),
    ("KBUILD_CFLAGS += -m32", None),
    ("KBUILD_CFLAGS += -m64 -mno-sse -mcmodel=kernel -march=x86-64 -fno-PIE -Wa,--x -fshort-wchar -DMODULE -std=gnu11", S),
    ("KBUILD_AFLAGS += -fpack-struct=1\nKBUILD_LDFLAGS := -m elf_x86_64\nKBUILD_RUSTFLAGS := -Zx", S),
    ("HOSTCFLAGS := -DWIDE -fpack-struct", S),
    ("KBUILD_CFLAGS += -DWIDE", WIDE),
    ("KBUILD_CPPFLAGS += -D WIDE=1", WIDE),
    ("KBUILD_CFLAGS += -DOTHER=$(shell date)", S),
    ("KBUILD_CFLAGS += -DWIDE=$(shell date)", None),
    ("own := -DWIDE\nKBUILD_CFLAGS += $(own)", None),
    ("LINUXINCLUDE := -I$(srctree)/own $(LINUXINCLUDE)", None),
    ("LINUXINCLUDE += -I$(srctree)/own", S),
    ("LINUXINCLUDE := -I$(srctree)/arch/$(SRCARCH)/include -I$(objtree)/include -I$(srctree)/include", S),
    ("USERINCLUDE := -include $(srctree)/include/linux/kconfig.h\nLINUXINCLUDE := $(USERINCLUDE)", S),
    ("KBUILD_CFLAGS += -include $(srctree)/own.h", None),
    ("KBUILD_CFLAGS += -fnew-thing", None),
    ("define KBUILD_CFLAGS +=\n-O2 # one\n-fpack-struct=1\nendef", None),
    ("define own\n\t-fpack-struct=1\nendef\nKBUILD_CFLAGS += -O2", S),
    ("define own\n\tx\nendef\nKBUILD_CFLAGS += -DWIDE", WIDE),
    ("KBUILD_CFLAGS := $(filter-out -fshort-wchar -O2, $(KBUILD_CFLAGS))", None),
    ("KBUILD_CFLAGS := $(subst -D__KERNEL__,,$(KBUILD_CFLAGS))", None),
    ("subdir-ccflags-remove-y := -fshort-wchar", None),
    ("KBUILD_CFLAGS := $(filter-out -pg -O2, $(KBUILD_CFLAGS))", S),
]  # fmt: skip


@pytest.mark.one_in(12)
@pytest.mark.parametrize(("line", "bits"), LINES)
def test_lines_of_the_top_makefile(tmp_path, line, bits):
    makefile = KERNEL["Makefile"] + line + "\n"
    reading = read(
        tmp_path,
        {
            "Makefile": makefile,
            "include/linux/s.h": TEXT,
            "own/linux/s.h": "struct s { char c; };\n",
            "own.h": "",
        },
        "s",
    )
    (struct,) = reading.structs
    assert (struct.problem is None, bits if struct.problem else struct.bit_size) == (bits is not None, bits)
    assert bits is not None or "Makefile:" in struct.problem


INCLUDED = [
    # a makefile, what the top Makefile includes, whether it counts
    ("Kbuild", "", True), ("GNUmakefile", "", True), ("arch/x86/Makefile", "", True), ("scripts/Makefile.lib", "", True),
    ("arch/x86/Makefile_64", "include $(srctree)/arch/$(SRCARCH)/Makefile_64", True),
    ("scripts/Makefile.extrawarn", "include-y := scripts/Makefile.extrawarn", True),
    ("scripts/Makefile.x", "include-$(CONFIG_SMP) += scripts/Makefile.x", True), ("scripts/Makefile.x", "include-$(CONFIG_X) += scripts/Makefile.x", False),
    ("scripts/Makefile.x", "ifdef CONFIG_SMP\n-include scripts/Makefile.x\nendif", True), ("scripts/Makefile.x", "ifdef CONFIG_X\ninclude scripts/Makefile.x\nendif", False),
    ("scripts/Makefile.x", "", False), ("arch/arm/Makefile", "", False),
]  # fmt: skip


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("file", "line", "counts"), INCLUDED)
def test_other_makefiles_of_the_whole_tree(tmp_path, file, line, counts):
    variable = "subdir-ccflags-y" if file == "Kbuild" else "KBUILD_CFLAGS"
    files = {"Makefile": KERNEL["Makefile"] + line + "\n", file: f"{variable} += -fpack-struct=1\n"}
    (struct,) = read(tmp_path, files, "s").structs
    problem = f"{file}:1 adds -fpack-struct=1 to {variable}, which may change layouts"
    assert struct.problem == (problem if counts else None)


def test_the_makefile_of_a_build_folder(tmp_path):
    top = lay(tmp_path / "linux", KERNEL)
    lay(
        tmp_path / "out",
        CONFIGURED | {"Makefile": f"KBUILD_CFLAGS += -fpack-struct\ninclude {top}/Makefile\n"},
    )
    found = tree.find(str(tmp_path / "out"))
    assert (
        Makefiles(found).of_tree.problem
        == "../out/Makefile:1 adds -fpack-struct to KBUILD_CFLAGS, which may change layouts"
    )


@pytest.mark.parametrize(("line", "is_removed"), [
    ("CFLAGS_REMOVE_a.o = -fshort-wchar", True), ("CFLAGS_REMOVE_b.o = -fshort-wchar", False), ("ccflags-remove-y += -fshort-wchar", True),
    ("CFLAGS_REMOVE_a.o = -pg", False),
])  # fmt: skip
def test_flags_that_a_makefile_removes(tmp_path, line, is_removed):
    lay(tmp_path, {"fs/xfs/Makefile": line + "\n"})
    added = makefiles(tmp_path).of_source(f"{tmp_path}/fs/xfs/a.c")
    assert added.problem == (
        "fs/xfs/Makefile:1 removes -fshort-wchar, which may change layouts" if is_removed else None
    )


@pytest.mark.parametrize("file", ["fs/xfs/Makefile", "fs/Makefile"])
def test_a_makefile_of_a_folder(tmp_path, file):
    """Its line counts for the sources of the folder alone."""
    reading = read(tmp_path, XFS | {"fs/xfs/Makefile": "ccflags-y += -I $(src)/lib\n"} | {
        file: "ccflags-y += -I $(src)/lib\nsubdir-ccflags-y += -fpack-struct=1\n"}, "mount", "s")  # fmt: skip
    problems = {struct.name: struct.problem for struct in reading.structs}
    assert problems == {
        "mount": f"{file}:2 adds -fpack-struct=1 to subdir-ccflags-y, which may change layouts",
        "s": None,
    }


CONDITIONS = [
    # lines around an assignment, whether it is taken if A is y, B is m, N is 3 and nothing else is set
    ("ifdef CONFIG_A", True), ("ifdef CONFIG_N", True), ("ifdef CONFIG_X", False), ("ifndef CONFIG_X", True), ("ifdef OWN", None),
    ("ifeq ($(CONFIG_A),y)", True), ("ifeq ($(CONFIG_B),y)", False), ("ifeq ($(CONFIG_X),)", True), ('ifeq "$(CONFIG_A)" "y"', True),
    ("ifneq ($(CONFIG_A),)", True), ("ifeq ($(CONFIG_N),3)", None), ("ifeq ($(CONFIG_A)$(CONFIG_B),ym)", True), ("ifeq ($(call f,x),y)", None),
    ("ifdef CONFIG_X\nelse", True), ("ifdef CONFIG_A\nelse", False), ("ifdef OWN\nelse", None), ("ifdef CONFIG_X\nelse ifdef CONFIG_A", True),
    ("ifdef CONFIG_A\nelse ifdef CONFIG_B", False), ("ifdef CONFIG_X\nifdef CONFIG_A\nendif", False), ("ifdef CONFIG_X\nendif", True),
    ("ifeq ($(need-sub-make),1)\nelse", True), ("ifdef OWN\nifdef CONFIG_X", False),
]  # fmt: skip


def options_with(values):
    """The values of variables: of the configuration, and of the kernel's top Makefile."""

    def value(name: str) -> str | None:
        option = name.removeprefix("CONFIG_")
        return make_lines.OF_KERNEL.get(name) if option == name else values.get(option, "")

    return value


@pytest.mark.parametrize(("lines", "is_taken"), CONDITIONS)
def test_conditions_of_makefiles(lines, is_taken):
    values = {"A": "y", "B": "m", "N": None}
    (found,) = make_lines.assignments(
        f"{lines}\nx-$(CONFIG_A) += 1 \\\n  2 # 3\n", options_with(values)
    )
    assert (found.variable, found.value.split(), found.appends, found.is_taken) == (
        "x-y",
        ["1", "2"],
        True,
        is_taken,
    )


def read(folder, files: dict[str, str], *names: str):
    lay(folder, KERNEL | CONFIGURED | files)
    wanted = Wanted(frozenset(names), headers=(("mount", "fs/xfs/mount.h"),))
    return clang.read(str(folder), wanted, ReadOptions())


XFS = {"fs/xfs/mount.h": "struct mount { word_t a; };\n", "fs/xfs/a.c": '#include <linux/s.h>\n#include "types.h"\n#include "mount.h"\n',
       "fs/xfs/lib/types.h": "typedef long word_t;\n"}  # fmt: skip


def test_a_private_header_is_read_as_its_makefile_compiles_it(tmp_path):
    reading = read(
        tmp_path, XFS | {"fs/xfs/Makefile": "ccflags-y += -I $(srctree)/$(src)/lib\n"}, "mount", "s"
    )
    assert {(s.name, s.bit_size, s.problem) for s in reading.structs} == {
        ("mount", 64, None),
        ("s", 64, None),
    }
    assert reading.unread == ()


def test_a_header_that_is_read_well_elsewhere_is_not_spoiled_by_a_source_with_errors(tmp_path):
    broken = XFS | {
        "fs/xfs/a.c": '#include "none.h"\n#include <linux/s.h>\n#include "lib/types.h"\n#include "mount.h"\n'
    }
    reading = read(tmp_path, broken, "mount", "s")
    assert {(s.name, s.problem) for s in reading.structs} == {
        ("mount", "fs/xfs/a.c:1:10: error: 'none.h' file not found"), ("s", None),
    }  # fmt: skip


LACKING = [
    # what else is in the tree, whether an error in fs/xfs/a.c can be why `lacking` was not found
    ({}, False),
    ({"include/linux/l.h": "#ifdef CONFIG_LACKING\nstruct lacking { int a; };\n#endif\n"}, False),
    ({"fs/xfs/l.c": "struct lacking { int a; }; \n#ifndef CONFIG_LACKING\n#error\n#endif\n"}, False),
    ({"fs/xfs/l.c": "#ifdef __NOT_HERE\nstruct lacking { int a; };\n#endif\n#error\n"}, True),
]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("more", "is_why"), LACKING)
def test_what_no_text_defines_was_lost_to_no_error(tmp_path, more, is_why):
    reading = read(tmp_path, XFS | more, "mount", "lacking")
    assert bool(reading.unread) == is_why


@pytest.mark.exhaustive
@pytest.mark.parametrize("piece", [
    "define x\n", "ifeq (\n", "ifeq ( ", "ifeq (" + " " * 1000 + "\n", "KBUILD_CFLAGS += $(subst ", "KBUILD_CFLAGS += $(subst    \n", "-D ", "KBUILD_CFLAGS += -D   ",
    "a a:", "\\\n", "a \\\n", "$(", "KBUILD_CFLAGS += -$(", "KBUILD_CFLAGS += -f,", "else\n", "endif\n", "ifdef x\n", "export ", "# ", "KBUILD_CFLAGS := $(KBUILD_CFLAGS)\n",
])  # fmt: skip
def test_hostile_makefiles_take_linear_time(tmp_path, piece):
    found = makefiles(lay(tmp_path, {"arch/x86/Makefile": piece * (300_000 // len(piece))}))
    begun = monotonic()
    assert found.of_tree is not None
    assert monotonic() - begun < 60


def random_lines(random, depth, names):
    """Lines of a makefile with assignments of names that occur once, below conditions of all forms."""
    for _ in range(random.randint(1, 3)):
        if depth and random.random() < 0.6:
            sides = [
                random.choice(["y", "m", "", "$(CONFIG_A)", "$(CONFIG_B)", "$(CONFIG_X)", "$(OWN)"])
                for _ in range(2)
            ]
            forms = [
                f"{{}}ifdef {random.choice(['CONFIG_A', 'CONFIG_B', 'CONFIG_X', 'OWN'])}",
                f"{{}}ifndef {random.choice(['CONFIG_A', 'CONFIG_X'])}",
                f"{{}}ifeq ({sides[0]},{sides[1]})",
                f"{{}}ifneq ({sides[0]}, {sides[1]})",
                f'{{}}ifeq "{sides[0]}" "{sides[1]}"',
            ]
            yield random.choice(forms).format(random.choice(["", "  "]))
            yield from random_lines(random, depth - 1, names)
            while random.random() < 0.4:
                yield random.choice(forms).format("else ")
                yield from random_lines(random, depth - 1, names)
            if random.random() < 0.5:
                yield "else # for others"
                yield from random_lines(random, depth - 1, names)
            yield "endif"
        else:
            if random.random() < 0.2:
                yield f"define v{next(names)}\n  set\nhere\nendef"
                continue
            operator = random.choice(["=", ":=", "+=", "?=", "::="])
            suffix = random.choice(["", "-$(CONFIG_A)", "-$(CONFIG_B)", "-$(CONFIG_X)"])
            yield f"v{next(names)}{suffix} {operator} set \\\n  here"


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(draws(15, 60)))
def test_make_takes_the_same_lines(tmp_path, seed):
    lines = list(random_lines(Random(seed), 4, count()))
    values = {"A": "y", "B": "m"}
    found = list(make_lines.assignments("\n".join(lines) + "\n", options_with(values)))
    shown = "".join(f"$(info {each.variable} [$({each.variable})])\n" for each in found)
    text = "CONFIG_A := y\nCONFIG_B := m\n" + "\n".join(lines) + f"\n{shown}all:\n"
    (tmp_path / "Makefile").write_text(text)
    made = subprocess.run(
        [need("make"), "-s"], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout
    set_by_make = {
        name for name, value in re.findall(r"(\S+) \[([^]]*)\]", made) if value.split() == ["set", "here"]
    }
    assert len(found) == sum(line.startswith(("v", "define")) for line in lines)
    assert {each.variable for each in found if each.is_taken is True} <= set_by_make
    assert {each.variable for each in found if each.is_taken is False}.isdisjoint(set_by_make)
    assert [each for each in found if each.is_taken is None] == [] or "OWN" in text
