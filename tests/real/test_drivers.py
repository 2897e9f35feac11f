"""Drivers outside of the trees of real kernels (`--kernel`): their layouts are those that gcc has with the flags of kbuild."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.harness.command import run
from tests.harness.repository import git, write
from tests.harness.tools import need

pytestmark = pytest.mark.real

DRIVER = {
    "regs.h": "struct mynic_regs {\n\tu32 ctrl;\n\tu8 kind;\n\tatomic_t users;\n};\n",
    "mynic.h": """#include <linux/spinlock.h>
#include <linux/netdevice.h>
#include "regs.h"

struct mynic_ring {
	spinlock_t lock;
	unsigned int head;
	struct mynic_regs regs;
	u64 packets ____cacheline_aligned;
};

struct mynic {
	struct net_device *dev;
	struct mynic_ring rx;
	u64 stats[MYNIC_STATS];
	struct work_struct work;
	char name[IFNAMSIZ];
};
""",
    "mynic.c": """#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include "mynic.h"

struct mynic_priv {
	struct mynic nic;
	struct mutex lock;
	struct list_head list;
};

static struct pci_driver mynic_driver = {
	.name = KBUILD_MODNAME,
};

static void mynic_poll(struct mynic *nic)
{
	spin_lock(&nic->rx.lock);
	nic->rx.packets++;
	spin_unlock(&nic->rx.lock);
}

static int __init mynic_init(void)
{
	struct mynic_priv *priv = kzalloc(sizeof(*priv), GFP_KERNEL);

	pr_info("began\\n");
	if (priv)
		mynic_poll(&priv->nic);
	return pci_register_driver(&mynic_driver);
}

static void __exit mynic_exit(void)
{
	pci_unregister_driver(&mynic_driver);
}
module_init(mynic_init);
module_exit(mynic_exit);
MODULE_LICENSE("GPL");
""",
    "Makefile": "ifneq ($(KERNELRELEASE),)\nobj-m := mynic.o\nccflags-y := -DMYNIC_STATS=3\nelse\nall:\n\t$(MAKE) -C $(KDIR) M=$(PWD)\nendif\n",
    "layoutlint.toml": '[[rule]]\nid = "apart"\nstruct = "mynic_ring"\nkind = "separate"\nfields = [["head"], ["packets"]]\nwhy = "the device writes one"\n',
}  # fmt: skip
STRUCTS = ("mynic_ring", "mynic", "mynic_priv", "pci_dev", "net_device", "page")
TREES = ("headers", "next-headers", "newest-headers")


@pytest.fixture
def driver(tmp_path: Path) -> Path:
    write(tmp_path, DRIVER)
    return tmp_path


def compile_with_gcc(tree: Path, driver: Path, assertions: str) -> tuple[int, str]:
    """The status of gcc with the flags that kbuild gives it for Debian's kernels on x86-64, and what it says.

    gcc 12 lacks some of the tree's compiler, which no layout depends on.
    """
    common = next(tree.parent.glob("linux-headers-*common"))
    folders = [
        f"-I{root}/{below}"
        for below in ("arch/x86/include", "include", "arch/x86/include/uapi", "include/uapi")
        for root, below in ((common, below), (tree, below.replace("include", "include/generated", 1) if below != "include" else below))
    ]
    headers = [word for name in ("compiler-version.h", "kconfig.h", "compiler_types.h") for word in ("-include", f"{common}/include/linux/{name}")]
    words = ["-nostdinc", *folders, *headers, "-D__KERNEL__", "-DMODULE", "-std=gnu11", "-fshort-wchar", "-fms-extensions", "-fno-PIE", "-mcmodel=kernel", "-w", "-O2"]
    words += ["-mno-sse", "-mno-80387", "-m64", "-mfentry", "-DCC_USING_FENTRY", "-DMYNIC_STATS=3", '-DKBUILD_MODNAME="mynic"', "-DKBUILD_BASENAME=\"mynic\"", "-D__KBUILD_MODNAME=mynic"]
    words += ["-funsigned-char"] if "-6.1." not in tree.name else []
    (driver / "asked.c").write_text('#include "mynic.c"\n' + assertions)
    done = subprocess.run([need("gcc"), *words, "-fsyntax-only", "asked.c"], cwd=driver, capture_output=True, text=True)
    return done.returncode, done.stderr


def assertions_on(structs: list[dict], more: int = 0) -> str:
    """Assertions of C on sizes, alignments and offsets; with `more`, the last offset is wrong by so much."""
    lines = []
    for struct in structs:
        tag = f"struct {struct['name']}"
        lines += [f"_Static_assert(sizeof({tag}) == {struct['size']}, \"\");"]
        for field in struct["fields"]:
            if field.get("bit_size") is None and "(" not in field["path"] and field["size"]:
                lines += [f"_Static_assert(__builtin_offsetof({tag}, {field['path']}) == {field['offset']}, \"{field['path']}\");"]
    if more:
        lines[-1] = lines[-1].replace(f"== {structs[-1]['fields'][-1]['offset']}", f"== {structs[-1]['fields'][-1]['offset'] + more}")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("name", TREES)
def test_gcc_has_the_same_layouts(kernel, driver, name):
    tree = kernel(name)
    done = run("show", "mynic.c", *STRUCTS, "--format", "json", "--kernel", tree, cwd=driver)
    structs = json.loads(done.stdout)["structs"]
    assert (done.returncode, {each["name"] for each in structs}) == (0, set(STRUCTS)), done.stderr
    text = assertions_on(structs)
    assert text.count("offsetof") > 200
    assert compile_with_gcc(tree, driver, text) == (0, "")
    mynic = [each for each in structs if each["name"] == "mynic"]
    assert compile_with_gcc(tree, driver, assertions_on(mynic, more=1))[0] != 0


@pytest.mark.parametrize("name", TREES)
def test_check_of_a_driver(kernel, driver, name):
    for path in ("mynic.h", "mynic.c", "."):
        done = run("check", path, "--no-packs", "--kernel", kernel(name), cwd=driver)
        assert (done.returncode, "1 kept" in done.stdout) == (0, True), done.stdout + done.stderr
    done = run("infer", "mynic.c", "--kernel", kernel(name), cwd=driver)
    assert (done.returncode, "functions of 1 unit read" in done.stdout) == (0, True), done.stdout + done.stderr


def test_staged_and_revisions_of_a_driver(kernel, driver):
    git(driver, "init", "-q")
    git(driver, "add", "-A")
    git(driver, "commit", "-qm", "a")
    write(driver, {"mynic.h": DRIVER["mynic.h"].replace(" ____cacheline_aligned", "")})
    git(driver, "add", "-A")
    tree = kernel("next-headers")
    done = run("check", "--staged", "--no-packs", "--kernel", tree, cwd=driver)
    assert (done.returncode, "1 new" in done.stdout) == (1, True), done.stdout + done.stderr
    git(driver, "commit", "-qm", "b")
    done = run("diff", "--git", "HEAD~1..HEAD", "mynic.h", "--no-packs", "--kernel", tree, cwd=driver)
    assert (done.returncode, "worse: apart" in done.stdout) == (1, True), done.stdout + done.stderr
