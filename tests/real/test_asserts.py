"""`rules asserts STRUCT` from a built kernel: gcc compiles it with the kernel's own headers, and not where a number differs."""

from __future__ import annotations

import re
import subprocess

import pytest

from tests.harness import tools
from tests.harness.command import run

pytestmark = pytest.mark.real

STRUCTS = ("list_head", "page", "task_struct", "sk_buff")
HEADERS = ("list", "mm_types", "sched", "skbuff")
FOLDERS = ("arch/x86/include", "arch/x86/include/generated", "include", "arch/x86/include/uapi", "arch/x86/include/generated/uapi",
           "include/uapi", "include/generated/uapi")  # fmt: skip
FIRST = ("compiler-version.h", "kconfig.h", "compiler_types.h")
FLAGS = ("-nostdinc", "-D__KERNEL__", "-std=gnu11", "-funsigned-char", "-fshort-wchar", "-mcmodel=kernel", "-fno-pic", "-mno-sse", "-O2", "-w")


@pytest.mark.parametrize("form", ["c11", "kernel", "build-bug-on"])
def test_structs_of_linux(tmp_path, next, next_headers, form):
    done = run("rules", "asserts", *STRUCTS, "--in", next, "--form", form)
    assert (done.returncode, done.stderr) == (0, "")
    common = next_headers.with_name(next_headers.name.replace("-cloud-amd64", "-common"))
    words = [tools.need("gcc"), *FLAGS, *(f"-I{part}/{folder}" for folder in FOLDERS for part in (common, next_headers))]
    words += [word for name in FIRST for word in ("-include", f"{common}/include/linux/{name}")]
    text = "".join(f"#include <linux/{name}.h>\n" for name in HEADERS) + done.stdout.replace("<stddef.h>", "<linux/stddef.h>")
    compared = [*re.finditer(r"[(]offsetof\([^()]+\) [!=]= (\d+)", text)]
    assert len(compared) > 800
    for changed in (None, compared[0], compared[-1]):
        wrong = text if changed is None else f"{text[: changed.start(1)]}7777{text[changed.end(1) :]}"
        (tmp_path / "asserted.c").write_text(wrong)
        compiled = subprocess.run([*words, "-c", "-o", "asserted.o", "asserted.c"], cwd=tmp_path, capture_output=True, text=True)
        assert compiled.stderr.count(": error: ") == (changed is not None), compiled.stderr[:2000]
