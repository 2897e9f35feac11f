"""Private sources of kernel trees: the flags of their Makefiles, and what errors in them can and cannot spoil."""

from __future__ import annotations

import pytest

from layoutlint.model.reading import ReadOptions
from layoutlint.model.wanted import Wanted
from layoutlint.readers import clang
from layoutlint.readers.clang.kernel import makefile
from tests.readers.clang.test_inputs import CONFIGURED, KERNEL, lay

ADDED = [
    # Makefile of fs/xfs, Makefile of fs, what is added for fs/xfs/a.c
    ("ccflags-y += -I $(srctree)/$(src)/libxfs\n", "", ("-I{top}/fs/xfs/libxfs",)),
    ("ccflags-y := -I$(src)\t# needed for trace events\n", "", ("-I{top}/fs/xfs",)),
    ("ccflags-y += -I$(srctree)/drivers/media/tuners -DALL \\\n\t-I $(srctree)/$(src)/../\n", "",
     ("-I{top}/drivers/media/tuners", "-DALL", "-I{top}/fs")),
    ("subdir-ccflags-y += -I$(src)/..\n", "subdir-ccflags-y += -DBELOW\nccflags-y += -DHERE\n", ("-DBELOW", "-I{top}/fs")),
    ("ccflags-$(CONFIG_COMEDI_DEBUG) := -DDEBUG\n", "", ()),
    ("ccflags-y += $(extra-cflags-y) -I$(OWN)/include -Werror\n", "", ()),
    ("#ccflags-y += -DA\nccflags-y += -DONE=1 # -DB\n", "", ("-DONE=1",)),
    ("", "", ()),
]  # fmt: skip


@pytest.mark.parametrize(("own", "above", "words"), ADDED)
def test_flags_that_a_makefile_adds(tmp_path, own, above, words):
    lay(tmp_path, {"fs/xfs/Makefile": own, "fs/Makefile": above})
    assert makefile.added_flags(f"{tmp_path}/fs/xfs/a.c", str(tmp_path)) == tuple(
        word.format(top=tmp_path) for word in words
    )


@pytest.mark.parametrize(("files", "words"), [
    ({"fs/xfs/Makefile": "ccflags-y += -I $(src)\n"}, ("-I{top}/fs/xfs",)),
    ({"fs/Makefile": "ccflags-y += -I $(src)\nsubdir-ccflags-y += -DBELOW\n"}, ("-I{top}/fs", "-DBELOW")),
    ({"fs/xfs/Makefile": "ccflags-y += -DOUTER\n", "fs/xfs/libxfs/Makefile": "ccflags-y += -DOWN\n"}, ("-DOWN",)),
    ({"fs/xfs/Makefile": "ccflags-y += -DOUTER\n", "fs/xfs/libxfs/Kbuild": "obj-y += a.o\n"}, ()),
])  # fmt: skip
def test_the_makefile_of_an_outer_folder_builds_a_folder_without_one(tmp_path, files, words):
    lay(tmp_path, files)
    found = makefile.added_flags(f"{tmp_path}/fs/xfs/libxfs/a.c", str(tmp_path))
    assert found == tuple(word.format(top=tmp_path) for word in words)


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
