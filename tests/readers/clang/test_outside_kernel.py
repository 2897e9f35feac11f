"""C files outside of a kernel tree that are read with its flags (`--kernel`): drivers as `make -C TREE M=FOLDER` builds them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.harness.command import run
from tests.harness.editor import Editor
from tests.harness.repository import git, write

KERNEL = {
    "Makefile": "VERSION = 6\nPATCHLEVEL = 1\nSUBLEVEL = 7\nKBUILD_CFLAGS += -funsigned-char\n",
    "include/linux/kconfig.h": "#include <generated/autoconf.h>\n",
    "include/linux/compiler_types.h": "#define ____cacheline_aligned __attribute__((__aligned__(64)))\n",
    "include/linux/spinlock.h": "typedef struct { unsigned int raw[1 + CONFIG_SLOW]; } spinlock_t;\n",
    "arch/x86/include/asm/types.h": "",
}
CONFIGURED = {
    "include/generated/autoconf.h": "#define CONFIG_X86_64 1\n#define CONFIG_SLOW 2\n#define CONFIG_NIC_MODULE 1\n",
    "include/config/auto.conf": "CONFIG_X86_64=y\nCONFIG_SLOW=2\nCONFIG_NIC=m\n",
}
DRIVER = {
    "nic.h": '#include <linux/spinlock.h>\n#include "regs.h"\nstruct nic {\n\tchar kind[SIZE];\n\tspinlock_t lock;\n\tstruct regs regs ____cacheline_aligned;\n};\n',
    "regs.h": "struct regs { char c[1 + ((char)-1 > 0)]; };\n",
    "nic.c": '#define SIZE_OF_OWN 3\n#include "nic.h"\nconst char *name = KBUILD_MODNAME;\nstruct own { struct nic nic; char last[SIZE_OF_OWN]; };\nvoid poll(struct nic *nic)\n{\n\tnic->kind[0]++;\n}\n',
}
MAKEFILE = "ifneq ($(KERNELRELEASE),)\nobj-m := nic.o\nccflags-y := -DSIZE=5\nelse\nCFLAGS += -DSIZE=9\nall:\n\tmake -C $(KDIR) M=$(PWD)\nendif\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A driver in `d`, and a kernel in `k`, with `s` and `b` for one whose build folder is apart."""
    write(tmp_path / "k", KERNEL | CONFIGURED)
    write(tmp_path / "s", KERNEL)
    write(tmp_path / "b", CONFIGURED | {"Makefile": f"include {tmp_path}/s/Makefile\n"})
    write(tmp_path / "d", DRIVER | {"Makefile": MAKEFILE})
    return tmp_path


def show(folder: Path, *words: str, **environment: str) -> tuple[int, dict[str, dict[str, int]], str]:
    """The status, the offsets by struct and field, and what is said."""
    done = run("show", "--format", "json", *words, cwd=folder, **environment)
    structs = json.loads(done.stdout)["structs"] if done.stdout else []
    offsets = {each["name"]: {field["path"]: field["offset"] for field in each["fields"] if field["path"] in ("kind", "lock", "regs", "inside", "outside")} for each in structs}
    return done.returncode, offsets, done.stderr




NIC = {"kind": 0, "lock": 8, "regs": 64}
WAYS = {
    # input, options, the working folder, the environment
    "a header": ("nic.h", ("--kernel", "../k"), "d", {}),
    "a source": ("nic.c", ("--kernel", "../k"), "d", {}),
    "a folder": (".", ("--kernel", "../k"), "d", {}),
    "from elsewhere": ("d/nic.h", ("--kernel", "k"), ".", {}),
    "a build folder": ("nic.h", ("--kernel", "../b"), "d", {}),
    "a source tree with one build beside it": ("nic.h", ("--kernel", "../s"), "d", {}),
    "KDIR": ("nic.h", ("--kernel", "running"), "d", {"KDIR": "../k"}),
    "as a version": ("nic.h", ("--kernel-version", "../k"), "d", {}),
    "both, the same": ("nic.h", ("--kernel-version", "../k", "--kernel", "../k/."), "d", {}),
    "with flags": ("nic.h", ("--kernel", "../k", "--", "-DX"), "d", {}),
}


@pytest.mark.parametrize(("path", "words", "at", "environment"), WAYS.values(), ids=WAYS)
def test_ways_to_name_a_tree(path, words, at, environment, folder):
    status, offsets, said = show(folder / at, path, "nic", *words, **environment)
    assert (status, offsets) == (0, {"nic": NIC}), said
    tree = {"../b": "b", "../s": "b"}.get(words[1], "k")
    assert f"note: read with the flags of the kernel {folder / tree} (6.1.7)" in said


MAKEFILES = {
    # files of the driver, the input, the size of `kind`, or why it is not known
    "a condition on KERNELRELEASE": ({}, "nic.h", 5),
    "ifdef": ({"Makefile": MAKEFILE.replace("ifneq ($(KERNELRELEASE),)", "ifdef KERNELRELEASE")}, "nic.h", 5),
    "the other branch": ({"Makefile": "ifeq ($(KERNELRELEASE),)\nCFLAGS += -DSIZE=9\nelse\nobj-m := nic.o\nccflags-y := -DSIZE=5\nendif\n"}, "nic.h", 5),
    "KBUILD_EXTMOD": ({"Makefile": "ifneq ($(KBUILD_EXTMOD),)\nobj-m := nic.o\nccflags-y := -DSIZE=5\nendif\n"}, "nic.h", 5),
    "Kbuild before Makefile": ({"Kbuild": "obj-m := nic.o\nccflags-y := -DSIZE=4\n"}, "nic.h", 4),
    "of an object": ({"Kbuild": "obj-m := nic.o\nCFLAGS_nic.o := -DSIZE=4\n"}, "nic.c", 4),
    "an option of the configuration": ({"Kbuild": "obj-$(CONFIG_NIC) := nic.o\nccflags-$(CONFIG_NIC) := -DIGNORED\nccflags-$(CONFIG_X86_64) := -DSIZE=4\n"}, "nic.h", 4),
    "options that it sets": (
        {"Kbuild": "CONFIG_OWN = y\nCONFIG_OFF = n\nexport CONFIG_X86_64 ?= n\nobj-$(CONFIG_OWN) := nic.o\nifeq ($(CONFIG_OWN), y)\nccflags-$(CONFIG_OWN) += -DSIZE=4\nendif\n"
         "ccflags-$(CONFIG_OFF) += -DSIZE=8\nifeq ($(CONFIG_X86_64),n)\nccflags-y += -USIZE\nendif\n"}, "nic.h", 4),
    "an option that it sets in two ways": (
        {"Kbuild": "CONFIG_OWN := y\nifdef DEBUG\nCONFIG_OWN := n\nendif\nobj-m := nic.o\nccflags-y := -DSIZE=2\nifeq ($(CONFIG_OWN),y)\nccflags-y += -DSIZE=4\nendif\n"}, "nic.h",
        "Kbuild:8 adds -DSIZE=4 to ccflags-y, whose value or condition only make knows"),
    "a folder of headers": ({"Kbuild": "obj-m := nic.o\nccflags-y := -I$(src)/inc -DSIZE=INNER\n", "nic.h": "#include <size.h>\n" + DRIVER["nic.h"], "inc/size.h": "#define INNER 3\n"}, "nic.h", 3),
    "a folder by M": ({"Kbuild": "obj-m := nic.o\nccflags-y := -I$(M)/inc -DSIZE=INNER\n", "nic.h": "#include <size.h>\n" + DRIVER["nic.h"], "inc/size.h": "#define INNER 3\n"}, "nic.h", 3),
    "a header in front": ({"Kbuild": "obj-m := nic.o\nccflags-y := -include $(src)/front.h -include $(PWD)/second.h\n", "front.h": "#define TWO 2\n", "second.h": "#define SIZE TWO\n"}, "nic.h", 2),
    "of the folder around": ({"Makefile": "obj-m := in/\nsubdir-ccflags-y := -DSIZE=6\nccflags-y := -DSIZE=9\n", "in/Makefile": "obj-m := nic.o\n", **{f"in/{name}": text for name, text in DRIVER.items()}}, "in/nic.h", 6),
    "of both folders": ({"Makefile": "obj-m := in/\nsubdir-ccflags-y := -DSIZE=6\n", "in/Makefile": "obj-m := nic.o\nccflags-y := -USIZE -DSIZE=7\n", **{f"in/{name}": text for name, text in DRIVER.items()}}, "in/nic.c", 7),
    "no makefile": ({"Makefile": None, "nic.h": "#define SIZE 8\n" + DRIVER["nic.h"]}, "nic.h", 8),
    "an included makefile": ({"Kbuild": "obj-m := nic.o\ninclude $(src)/own.mk\n", "own.mk": "ccflags-y := -DSIZE=4\n"}, "nic.h", 4),
    "one that it includes": ({"Kbuild": "obj-m := nic.o\ninclude $(M)/own.mk\n", "own.mk": "-include $(src)/in.mk\n", "in.mk": "ccflags-y := -DSIZE=4\n"}, "nic.h", 4),
    "includes in a circle": ({"Kbuild": "obj-m := nic.o\ninclude $(src)/own.mk\nccflags-y := -DSIZE=4\n", "own.mk": "include $(src)/Kbuild\n"}, "nic.h", 4),
    "more included makefiles than are read": (
        {"Kbuild": "obj-m := nic.o\nccflags-y := -DSIZE=4\n" + "".join(f"include $(src)/{n}.mk\n" for n in range(90)), **{f"{n}.mk": "X := 1\n" for n in range(90)}},
        "nic.h", "Kbuild:66 has include $(src)/63.mk, which is not read"),
    "included makefiles that all include all": (
        {"Kbuild": "obj-m := nic.o\nccflags-y := -DSIZE=4\ninclude $(src)/0.mk\n", **{f"{n}.mk": "".join(f"include $(src)/{m}.mk\n" for m in range(40)) for n in range(40)}},
        "nic.h", 4),
    "an included makefile that is missing": ({"Kbuild": "obj-m := nic.o\n-include $(src)/own.mk\nccflags-y := -DSIZE=4\n"}, "nic.h", 4),
    "an included makefile by a name that make computes": (
        {"Kbuild": "obj-m := nic.o\nccflags-y := -DSIZE=4\ninclude $(wildcard own.mk)\n"}, "nic.h", "Kbuild:3 has include $(wildcard, which is not read"),
    "lines that make computes": (
        {"Kbuild": "obj-m := nic.o\nccflags-y := -DSIZE=4\ndefine X\nccflags-y += -DBIG\nendef\n$(eval $(X))\n"}, "nic.h", "Kbuild:6 has $(eval, which is not read"),
    "an object in a folder of the makefile": (
        {"Kbuild": "obj-m := in/nic.o\nccflags-y := -DSIZE=4\nCFLAGS_in/nic.o := -USIZE -DSIZE=6\n", **{f"in/{name}": text for name, text in DRIVER.items()}}, "in/nic.c", 6),
    "flags for an object of another folder": (
        {"Kbuild": "obj-m := in/nic.o\nccflags-y := -DSIZE=4\nCFLAGS_nic.o := -USIZE -DSIZE=6\n", **{f"in/{name}": text for name, text in DRIVER.items()}}, "in/nic.c", 4),
    "a flag taken away": ({"Kbuild": "obj-m := nic.o\nccflags-y := -DSIZE=4\nccflags-remove-y := -DSIZE=4\n"}, "nic.h", "Kbuild:3 removes -DSIZE=4, which may change layouts"),
    "a flag taken away from an object": (
        {"Kbuild": "obj-m := nic.o\nccflags-y := -DSIZE=4\nCFLAGS_REMOVE_nic.o := -DSIZE=4\n"}, "nic.c", "Kbuild:3 removes -DSIZE=4, which may change layouts"),
    "a value that make computes": ({"Kbuild": "obj-m := nic.o\nccflags-y := -DSIZE=$(shell echo 4)\n"}, "nic.h", "use of undeclared identifier 'SIZE'"),
    "an option that may change layouts": ({"Kbuild": "obj-m := nic.o\nccflags-y := -DSIZE=4 -fpack-struct\n"}, "nic.h", "Kbuild:2 adds -fpack-struct to ccflags-y, which may change layouts"),
}  # fmt: skip


@pytest.mark.parametrize(("files", "path", "size"), MAKEFILES.values(), ids=MAKEFILES)
def test_what_makefiles_add(files, path, size, folder):
    write(folder / "d", files)
    done = run("show", path, "nic", "--format", "json", "--kernel", "../k", cwd=folder / "d")
    if isinstance(size, str):
        assert (done.returncode, size in done.stderr) == (3, True), done.stderr
    else:
        assert json.loads(done.stdout)["structs"][0]["fields"][0]["size"] == size


def command(top: Path, flags: str, name: str = "cmd", kconfig: str = "./include/linux/kconfig.h") -> str:
    """What fixdep of Linux 6.1 writes beside an object that is compiled in the tree, with the flags that change types."""
    d = top / "d"
    return (
        f"{name}_{d}/nic.o :=  gcc -Wp,-MMD,{d}/.nic.o.d -nostdinc -I./arch/x86/include -I./include -include {kconfig} -D__KERNEL__ -std=gnu11"
        f" -fshort-wchar -funsigned-char -m64 -fplugin=./scripts/gcc-plugins/latent.so -O2 {flags} -DMODULE -DKBUILD_MODNAME='\"nic\"'"
        f" -c -o {d}/nic.o {d}/nic.c   ; ./tools/objtool/objtool --module -DSIZE=1 {d}/nic.o\n\n"
        f"source_{d}/nic.o := {d}/nic.c\n\ndeps_{d}/nic.o := \\\n  {d}/nic.h \\\n    $(wildcard include/config/SLOW) \\\n  include/linux/spinlock.h \\\n\n"
    )


COMMANDS = {
    # flags of the command, the input, what else differs; the size of `kind`, or why it is not known
    "of a source": ("-DSIZE=6", "nic.c", {}, 6),
    "of a header, through its source": ("-DSIZE=6", "nic.h", {}, 6),
    "saved": ("-DSIZE=6", "nic.h", {"name": "savedcmd"}, 6),
    "with quotes": ("'-DSIZE=(6)' -DTEXT='\"a b\"'", "nic.c", {}, 6),
    "with signs that make escapes": (r"-DSIZE=6 -DSIGN='\"\#$$\"'", "nic.c", {}, 6),
    "a folder of headers": ("-I{d}/inc -DSIZE=INNER -include {d}/inc/size.h", "nic.h", {}, 3),
    "an option that may change layouts": ("-DSIZE=6 -fplugin=/own.so", "nic.c", {}, ".nic.o.cmd: compiled with -fplugin=/own.so"),
    "without a flag of the tree": ("-DSIZE=6 -fsigned-char", "nic.c", {"leave": "-funsigned-char"}, "compiled without -funsigned-char, which may change layouts"),
    "of another kernel": ("-DSIZE=6", "nic.c", {"kconfig": "/other/include/linux/kconfig.h"}, 5),
    "of no command": ("-DSIZE=6 '", "nic.c", {}, 5),
}  # fmt: skip


@pytest.mark.parametrize(("flags", "path", "how", "size"), COMMANDS.values(), ids=COMMANDS)
def test_commands_of_a_build(flags, path, how, size, folder):
    leave = how.get("leave", "-no-such-flag")
    text = command(folder, flags.replace("{d}", str(folder / "d")), **{key: value for key, value in how.items() if key != "leave"})
    write(folder / "d", {".nic.o.cmd": text.replace(leave + " ", ""), "inc/size.h": "#define INNER 3\n"})
    done = run("show", path, "nic", "--format", "json", "--kernel", "../k", cwd=folder / "d")
    if isinstance(size, str):
        assert (done.returncode, size in done.stderr) == (3, True), done.stderr
    else:
        assert json.loads(done.stdout)["structs"][0]["fields"][0]["size"] == size


def test_commands_since_linux_6_13(folder):
    """make works in the folder of the module, so relative paths start there."""
    write(folder / "k", {"Makefile": KERNEL["Makefile"].replace("= 1\n", "= 13\n")})
    text = command(folder, "-I./inc -include ./inc/size.h -DSIZE=INNER").replace(" ./include", f" {folder}/k/include").replace("-I./include", f"-I{folder}/k/include")
    write(folder / "d", {".nic.o.cmd": text.replace(f"  {folder}/d/nic.h", "  nic.h"), "inc/size.h": "#define INNER 3\n"})
    assert run("show", "nic.h", "nic", "--kernel", "../k", cwd=folder / "d").stdout.count("char kind[3]") == 1


REFUSED = {
    # command, status, what is said
    "no folder": ("show nic.h nic --kernel ../gone", 2, "--kernel '../gone': no such folder; --kernel-version X.Y states a version"),
    "a version": ("show nic.h nic --kernel 6.12", 2, "--kernel '6.12': no such folder; --kernel-version X.Y states a version"),
    "a file": ("show nic.h nic --kernel nic.c", 2, "--kernel 'nic.c': is a file: give the folder with it; --kernel-version X.Y states a version"),
    "no kernel": ("show nic.h nic --kernel .", 2, "--kernel '.': is no kernel tree (source, build folder or header package); --kernel-version X.Y states a version"),
    "half a package": ("show nic.h nic --kernel ../half", 2, "its Makefile includes that of /gone/linux-headers-common, which is not there"),
    "KDIR that is gone": ("show nic.h nic --kernel running", 2, "--kernel running: ../gone: no such folder (KDIR); --kernel-version X.Y states a version"),
    "a version that is none": ("show nic.h nic --kernel-version six", 2, "--kernel-version 'six': expected X.Y, such as 6.12; --kernel names a tree"),
    "a folder as version": ("show nic.h nic --kernel-version .", 2, "--kernel-version '.': is no kernel tree (source, build folder or header package); --kernel names a tree"),
    "two trees": ("show nic.h nic --kernel ../k --kernel-version ../b", 2, "--kernel ../k contradicts --kernel-version ../b"),
    "a build folder as well": ("show nic.h nic --kernel ../s -- O=../b", 2, "--kernel contradicts O=../b: --kernel takes the build folder itself"),
    "a database as well": ("show nic.h nic --kernel ../k --compile-commands db.json", 2, "--compile-commands contradicts --kernel"),
    "not configured": ("show nic.h nic --kernel ../plain", 3, "is a kernel tree that is not configured: TOP/plain/include/generated/autoconf.h is not there (run `make defconfig modules_prepare` there, or name its build folder: `--kernel FOLDER`)"),
    "two builds": ("show nic.h nic --kernel ../two/s", 3, "is the common part of header packages: name one of a, b"),
    "another architecture": ("show nic.h nic --kernel ../odd", 3, "is configured for an architecture that is not known here"),
    "O= for a driver": ("show nic.h nic -- O=../k", 3, "nic.h: is in no kernel tree: `--kernel ../k` reads it with the flags of that one, not `O=`"),
    "O= for a folder": ("check . -- O=../k", 3, "is in no kernel tree: `--kernel ../k`"),
    "O= for infer": ("infer nic.c -- O=../k", 3, "nic.c: is in no kernel tree: `--kernel ../k`"),
    "no option": ("show nic.h nic", 3, "'linux/nonesuch.h' file not found; read a driver outside of the kernel tree with the flags of that: `--kernel TREE`"),
}  # fmt: skip


@pytest.mark.parametrize(("words", "status", "text"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused(words, status, text, folder):
    write(folder, {f"plain/{name}": content for name, content in KERNEL.items()})
    write(folder / "half", CONFIGURED | {"Makefile": "include /gone/linux-headers-common/Makefile\n"})
    write(folder / "two/s", KERNEL)
    for name in "ab":
        write(folder / "two" / name, CONFIGURED | {"Makefile": f"include {folder}/two/s/Makefile\n"})
    write(folder / "odd", KERNEL | CONFIGURED | {"include/config/auto.conf": "CONFIG_HEXAGON=y\n"})
    write(folder / "d", {"db.json": '[{"directory": ".", "file": "nic.c", "arguments": ["cc", "-c", "nic.c"]}]', "rules.toml": ""})
    if text.startswith("'linux/nonesuch"):
        write(folder / "d", {"nic.h": "#include <linux/nonesuch.h>\n" + DRIVER["nic.h"]})
    write(folder / "d", {"layoutlint.toml": '[[rule]]\nid = "a"\nstruct = "nic"\nkind = "size"\nmax = 9\nwhy = "x"\n'})
    done = run(*words.split(), cwd=folder / "d", KDIR="../gone")
    said = " ".join((done.stdout + done.stderr).split())
    assert (done.returncode, text.replace("TOP", str(folder)) in said) == (status, True), said


def test_the_running_kernel_without_headers(folder):
    release = os.uname().release
    if os.path.isdir(f"/lib/modules/{release}/build"):
        pytest.skip("the headers of the running kernel are installed")
    done = run("show", "nic.h", "nic", "--kernel", "running", cwd=folder / "d")
    hint = f"--kernel running: /lib/modules/{release}/build: no such folder (install linux-headers-{release}, or set KDIR)"
    assert (done.returncode, hint in done.stderr) == (2, True), done.stderr


RULES = '[[rule]]\nid = "small"\nstruct = "nic"\nkind = "size"\nmax = 128\nwhy = "two lines"\n[[rule]]\nid = "new"\nstruct = "nic"\nkind = "size"\nmax = 1\nwhy = "x"\nwhen = { kernel = ">=6.2" }\n'
COMMANDS_OF_A_DRIVER = {
    # command, status, what it prints
    "check": ("check nic.h", 0, "kept: small (size) struct nic"),
    "check, verbose": ("check nic.c -v", 0, "new: "),
    "suggest": ("suggest nic.h nic", 0, "struct nic, nic.h:3"),
    "infer": ("infer nic.c", 0, "of 1 unit read"),
    "infer of a folder": ("infer .", 0, "of 1 unit read"),
    "containers": ("containers . nic", 0, "own"),
    "staged": ("check --staged", 1, "1 new, 0 worse, 0 known"),
    "since": ("check --since HEAD nic.h", 1, "1 new, 0 worse, 0 known"),
    "diff of files": ("diff old.h nic.h", 1, "`lock` 8 -> 68"),
    "diff of revisions": ("diff --git HEAD..HEAD~1 nic.h", 0, "`kind`"),
    "a makefile": ("check --staged", 1, "1 new, 0 worse, 0 known"),
    "a snapshot": ("snapshot nic.h", 0, '"nic"'),
}  # fmt: skip


@pytest.mark.parametrize(("name", "words", "status", "text"), [(name, *row) for name, row in COMMANDS_OF_A_DRIVER.items()], ids=COMMANDS_OF_A_DRIVER)
def test_commands(name, words, status, text, folder):
    d = folder / "d"
    git(d, "init", "-q")
    write(d, {"layoutlint.toml": RULES})
    git(d, "add", "-A")
    git(d, "commit", "-qm", "a")
    write(d, {"Makefile": MAKEFILE.replace("SIZE=5", "SIZE=6")})
    git(d, "commit", "-qam", "b")
    if name in ("staged", "since"):
        write(d, {"nic.h": DRIVER["nic.h"].replace("lock;", "lock[20];")})
    elif name == "a makefile":
        write(d, {"Makefile": MAKEFILE.replace("SIZE=5", "SIZE=65")})
    elif name == "diff of files":
        write(d, {"old.h": DRIVER["nic.h"], "nic.h": DRIVER["nic.h"].replace("SIZE", "60 + SIZE")})
    git(d, "add", "-A")
    done = run(*words.split(), "--kernel", "../k", cwd=d)
    said = " ".join((done.stdout + done.stderr).split())
    assert (done.returncode, text in said) == (status, True), said


def test_a_file_of_the_tree_itself(folder):
    """The tree's own files are read as without the option, those of another kernel as any others."""
    header = {"include/linux/q.h": "#ifdef MODULE\nstruct q { long outside; };\n#else\nstruct q { char inside; };\n#endif\n"}
    for name in ("k", "s", "other"):
        write(folder / name, header)
    write(folder / "other", KERNEL | CONFIGURED)
    found = {path: list(show(folder, path, "q", "--kernel", tree)[1]["q"]) for path, tree in
             [("k/include/linux/q.h", "k"), ("s/include/linux/q.h", "b"), ("other/include/linux/q.h", "k"), ("s/include/linux/q.h", "k")]}  # fmt: skip
    assert found == {"k/include/linux/q.h": ["inside"], "s/include/linux/q.h": ["outside"], "other/include/linux/q.h": ["outside"]}
    assert list(show(folder, "s/include/linux/q.h", "q", "--kernel", "b")[1]["q"]) == ["inside"]


def test_inputs_with_flags_of_their_own(folder):
    write(folder / "b", {"include/linux/q.h": "struct q { long a[CONFIG_SLOW]; };\n"})
    write(folder / "s", {"include/linux/q.h": "struct q { char a[CONFIG_SLOW]; };\n"})
    write(folder / "d", {"db.json": '[{"directory": ".", "file": "q.c", "arguments": ["cc", "-DN=3", "-c", "q.c"]}]', "q.c": "struct q { char a[N]; };\n"})
    for path, size in (("db.json", 3), ("../b", 2)):
        done = run("show", path, "q", "--kernel", "../k", "--format", "json", cwd=folder / "d")
        assert (done.returncode, [each["size"] for each in json.loads(done.stdout)["structs"]]) == (0, [size]), done.stderr
        assert f"note: it has flags of its own, not those of {folder / 'k'}" in done.stderr


def test_a_change_of_the_tree_itself(folder):
    """What a change of Linux affects is searched as without the option."""
    k = folder / "k"
    write(k, {"layoutlint.toml": RULES.replace("nic", "q"), "include/linux/q.h": "struct q { char a[100]; };\n"})
    git(k, "init", "-q")
    git(k, "add", "-A", "-f")
    git(k, "commit", "-qm", "a")
    write(k, {"include/linux/q.h": "struct q { char a[200]; };\n"})
    git(k, "add", "-A")
    outputs = [run("check", "--staged", *words, cwd=k) for words in ((), ("--kernel", "."))]
    assert [each.returncode for each in outputs] == [1, 1]
    assert outputs[0].stdout == outputs[1].stdout


def test_standard_input(folder):
    done = run("show", "-", "nic", "--kernel", "../k", cwd=folder / "d", given=DRIVER["nic.h"].encode())
    assert (done.returncode, "char kind[5]" in done.stdout) == (0, True), done.stderr


def test_the_language_server(folder):
    write(folder / "d", {"layoutlint.toml": RULES.replace("128", "64")})
    editor = Editor("--kernel", "../k", cwd=folder / "d")
    found = editor.diagnostics(editor.open(folder / "d/nic.h", DRIVER["nic.h"]))
    assert ([each.code for each in found], editor.end()) == (["small"], (0, ""))


@pytest.mark.parametrize("words", [("check", "nic.h", "--no-packs", "--format", "json"), ("infer", "nic.c")], ids=["check", "infer"])
def test_what_the_cache_keeps(words, folder):
    """A makefile or a command that changes, or is new, is read again; so is another tree."""
    d = folder / "d"
    write(d, {"layoutlint.toml": RULES.replace("max = 1\n", "max = 400\n")})
    more = {"tree": {}, "Makefile": {"Makefile": MAKEFILE.replace("SIZE=5", "SIZE=77")}, ".nic.o.cmd": {".nic.o.cmd": command(folder, "-DSIZE=200")}}
    outputs = []
    for name, files in more.items():
        write(d, files)
        for tree in ("../k", "../b") if name == "tree" else ("../k",):
            kept, anew = (run(*words, "--kernel", tree, cwd=d, **cache) for cache in ({"XDG_CACHE_HOME": str(folder / "cache")}, {}))
            assert (kept.returncode, kept.stdout) == (anew.returncode, anew.stdout)
            outputs.append(kept.stdout)
    if words[0] == "check":
        assert len(set(outputs)) == 4
