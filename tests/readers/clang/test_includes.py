"""Headers that a kernel's configuration leaves out, where several define a struct: which one is read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from layoutlint.model.reading import ReadOptions
from layoutlint.model.wanted import Wanted
from layoutlint.readers import clang
from layoutlint.readers.clang.kernel import tree
from layoutlint.readers.clang.kernel.includes import Includes
from tests.readers.clang.test_inputs import CONFIGURED, KERNEL, lay

CONFIG = "CONFIG_X86_64=y\nCONFIG_SMP=y\nCONFIG_EXT4_FS=m\nCONFIG_NR_CPUS=64\n"


def configure(folder: Path, files: dict[str, str], config: str = CONFIG) -> Path:
    return lay(folder / "linux", KERNEL | CONFIGURED | {"include/config/auto.conf": config} | files)


CONDITIONS = [
    # what stands around an #include: whether it holds; None for what the configuration does not decide
    ("#ifdef CONFIG_SMP\n@\n#endif", True), ("#ifndef CONFIG_SMP\n@\n#endif", False), ("#ifdef CONFIG_UP\n@\n#endif", False),
    ("#ifndef CONFIG_UP\n@\n#endif", True), ("#ifdef CONFIG_UP\n#else\n@\n#endif", True), ("#ifdef CONFIG_SMP\n#else\n@\n#endif", False),
    ("#ifdef CONFIG_EXT4_FS\n@\n#endif", False), ("#ifdef CONFIG_EXT4_FS_MODULE\n@\n#endif", True),
    ("#if IS_ENABLED(CONFIG_EXT4_FS)\n@\n#endif", True), ("#if IS_ENABLED(CONFIG_UP)\n@\n#endif", False),
    ("#if IS_MODULE(CONFIG_UP)\n@\n#endif", False), ("#if defined(CONFIG_UP) || defined(CONFIG_SMP)\n@\n#endif", True),
    ("#if defined(CONFIG_UP) && !defined(CONFIG_SMP)\n@\n#endif", False), ("#if !(defined CONFIG_SMP)\n@\n#endif", False),
    ("#if defined(CONFIG_UP) || defined(OTHER)\n@\n#endif", None), ("#if CONFIG_NR_CPUS > 8\n@\n#endif", None),
    ("#if defined(CONFIG_UP) /* none */ || \\\n defined(CONFIG_NONE)\n@\n#endif", False), ("#if (\n@\n#endif", None),
    ("#ifdef CONFIG_UP\n#elif defined(CONFIG_SMP)\n@\n#endif", True), ("#ifdef CONFIG_SMP\n#elif 1\n@\n#endif", False),
    ("#ifdef OTHER\n@\n#else\n#endif", None), ("#ifdef OTHER\n#else\n@\n#endif", None), ("@\n#endif\n#else", True),
    ("#ifdef CONFIG_SMP\n#ifdef CONFIG_UP\n@\n#endif\n#endif", False), ("#ifdef CONFIG_UP\n#ifdef OTHER\n#endif\n@\n#endif", False),
    ("#ifdef CONFIG_NR_CPUS\n@\n#endif", True), ("#ifndef CONFIG_NR_CPUS\n@\n#endif", False), ("#ifdef CONFIG_NR_CPUS_MODULE\n@\n#endif", False),
    ("#ifdef CONFIG_SMP_MODULE\n@\n#endif", False), ("#ifdef CONFIG_SMP /* x */\n@\n#endif", True), ("#ifdef OTHER /* x */\n@\n#endif", None),
    ("#if IS_BUILTIN(CONFIG_SMP)\n@\n#endif", None), ("#if IS_BUILTIN(CONFIG_UP)\n@\n#endif", False), ("#if IS_REACHABLE(CONFIG_EXT4_FS)\n@\n#endif", None),
    ("#if IS_REACHABLE(CONFIG_UP)\n@\n#endif", False), ("#if IS_MODULE(CONFIG_EXT4_FS)\n@\n#endif", None), ("#if IS_ENABLED(OTHER)\n@\n#endif", None),
    ("#if OTHER(CONFIG_SMP)\n@\n#endif", None), ("#if CONFIG_SMP\n@\n#endif", None), ("#if __KERNEL__\n@\n#endif", True), ("#if\n@\n#endif", None),
    ("#if ((defined(CONFIG_UP)) || (!defined(CONFIG_UP)))\n@\n#endif", True), ("#if (defined(CONFIG_SMP)\n@\n#endif", None),
    ("#if defined(CONFIG_SMP))\n@\n#endif", None), ("#if (defined(CONFIG_SMP) && IS_ENABLED(CONFIG_EXT4_FS)) && 1\n@\n#endif", True),
    ("#if !!defined(CONFIG_SMP)\n@\n#endif", True), ("#if defined(CONFIG_SMP) defined(CONFIG_SMP)\n@\n#endif", None), ("#if defined(CONFIG_SMP) &&\n@\n#endif", None),
    ("#if !OTHER\n@\n#endif", None), ("#if defined(CONFIG_SMP) || OTHER\n@\n#endif", True), ("#if OTHER && defined(CONFIG_UP)\n@\n#endif", False),
    ("#if defined(CONFIG_UP) || OTHER || defined(CONFIG_SMP)\n@\n#endif", True), ("#if defined(CONFIG_SMP) && OTHER\n@\n#endif", None),
    ("#if defined(__KERNEL__) && !defined(__ASSEMBLY__)\n@\n#endif", True), ("#if defined __ASSEMBLY__\n@\n#endif", False),
    ("#ifdef __KERNEL__\n@\n#endif", True), ("#ifdef __ASSEMBLY__\n@\n#endif", False), ("#ifdef CONFIG_UP\n#endif\n@", True),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "holds"), CONDITIONS, ids=[text.replace("\n", " ") for text, _ in CONDITIONS]
)
def test_conditions(text, holds, tmp_path):
    found = tree.find(str(configure(tmp_path, {})))
    included = Includes(found).find_includes(text.replace("@", "#  include <linux/x.h>").encode())
    assert list(included) == [("<linux/x.h", holds)]


ONE, OTHER = "struct twice { long one; };\n", "struct twice { int other[40]; };\n"
TREES = [
    # what it shows, the files, the configuration, the fields of the definitions that are read
    ("the other branch", {"b.h": "#ifdef CONFIG_UP\n#include <linux/a.h>\n#else\n#include <linux/z.h>\n#endif\n", "a.h": ONE, "z.h": OTHER},
     CONFIG, ["other"]),
    ("the one branch", {"b.h": "#ifndef CONFIG_UP\n#include <linux/a.h>\n#else\n#include <linux/z.h>\n#endif\n", "a.h": ONE, "z.h": OTHER},
     CONFIG, ["one"]),
    ("in quotes", {"b.h": '#ifdef CONFIG_UP\n#include "a.h"\n#else\n#include "z.h"\n#endif\n', "a.h": ONE, "z.h": OTHER}, CONFIG, ["other"]),
    ("through a header of that branch", {"b.h": "#ifdef CONFIG_UP\n#include <linux/m.h>\n#else\n#include <linux/z.h>\n#endif\n",
     "m.h": "#include <linux/a.h>\n", "a.h": ONE, "z.h": OTHER}, CONFIG, ["other"]),
    ("both are included somewhere", {"b.h": "#ifdef CONFIG_UP\n#include <linux/a.h>\n#else\n#include <linux/z.h>\n#endif\n",
     "c.h": "#include <linux/a.h>\n", "a.h": ONE, "z.h": OTHER}, CONFIG, ["one", "other"]),
    ("nothing decides", {"a.h": ONE, "z.h": OTHER}, CONFIG, ["one", "other"]),
    ("left out elsewhere, by a condition that is not about the other", {"b.h": "#ifdef CONFIG_UP\n#include <linux/a.h>\n#endif\n",
     "c.h": "#include <linux/z.h>\n", "a.h": ONE, "z.h": OTHER}, CONFIG, ["one", "other"]),
    ("two that include one another", {"a.h": "#ifndef A\n#define A\n#include <linux/c.h>\n" + ONE + "#endif\n",
     "c.h": "#ifndef C\n#define C\n#include <linux/a.h>\n#endif\n", "z.h": OTHER}, CONFIG, ["one", "other"]),
    ("the allocator's", {"slab_def.h": ONE, "slub_def.h": OTHER}, CONFIG + "CONFIG_SLUB=y\n", ["other"]),
    ("the other allocator's", {"slab_def.h": ONE, "slub_def.h": OTHER}, CONFIG + "CONFIG_SLAB=y\n", ["one"]),
    ("another machine's", {"../xen/arm/a.h": ONE, "z.h": OTHER}, CONFIG, ["other"]),
    ("all are left out", {"slab_def.h": ONE, "../xen/arm/a.h": OTHER}, CONFIG, ["one", "other"]),
]  # fmt: skip


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("files", "config", "fields"), [case[1:] for case in TREES], ids=[case[0] for case in TREES]
)
def test_definitions_of_a_name(files, config, fields, tmp_path):
    guarded = {name: text if "#ifndef" in text else f"#pragma once\n{text}" for name, text in files.items()}
    path = configure(
        tmp_path, {os.path.normpath(f"include/linux/{name}"): text for name, text in guarded.items()}, config
    )
    found = clang.read(str(path), Wanted(frozenset(["twice"])), ReadOptions()).structs
    assert sorted(struct.fields[0].name for struct in found if struct.name == "twice") == fields
    every = clang.read(str(path), Wanted(everything=True), ReadOptions()).structs
    assert next(struct.fields[0].name for struct in every if struct.name == "twice") in fields


MACHINES = [
    # a header that nothing includes, the architectures that leave it out
    ("xen/arm/page.h", "x86 um sh s390 mips sparc powerpc riscv"), ("kvm/arm_pmu.h", "x86 um sh s390 mips sparc powerpc riscv"), ("asm-arm64/x.h", ""), ("arm64/x.h", "x86 um arm sh s390 mips sparc powerpc riscv"),
    ("linux/sh_dma.h", "x86 um arm arm64 s390 mips sparc powerpc riscv"), ("s390/x.h", "x86 um arm arm64 sh mips sparc powerpc riscv"), ("mips-x/y.h", "x86 um arm arm64 sh s390 sparc powerpc riscv"),
    ("sparc/x.h", "x86 um arm arm64 sh s390 mips powerpc riscv"), ("powerpc/x.h", "x86 um arm arm64 sh s390 mips sparc riscv"), ("riscv/x.h", "x86 um arm arm64 sh s390 mips sparc powerpc"),
    ("platform/x86/x.h", "arm arm64 sh s390 mips sparc powerpc riscv"), ("linux/x86.h", ""), ("linux/armed_x.h", ""), ("linux/plain.h", ""), ("linux/harm/x.h", ""),
    ("linux/slab_def.h", "x86 um arm arm64 sh s390 mips sparc powerpc riscv"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "others"), MACHINES, ids=[row[0] for row in MACHINES])
def test_headers_of_other_machines(name, others, tmp_path):
    for arch in ("x86", "um", "arm", "arm64", "sh", "s390", "mips", "sparc", "powerpc", "riscv"):
        some = tree.Tree(str(tmp_path), str(tmp_path), frozenset(("SLUB",)), arch, "x", "")
        assert Includes(some).is_left_out(name) is (arch in others.split()), arch
    assert not Includes(tree.Tree(str(tmp_path), str(tmp_path), frozenset(("SLAB",)), "x86", "x", "")).is_left_out("linux/slab_def.h")
