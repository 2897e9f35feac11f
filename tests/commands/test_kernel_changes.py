"""`check --staged` and `--since` in a small kernel tree that is built in place: what the base had, and what the change reaches."""

from __future__ import annotations

import pytest

from tests.harness.command import run
from tests.harness.repository import commit, git, write

RULES = '[[rule]]\nid = "sides"\nstruct = "{}"\nkind = "separate"\nfields = [["head"], ["tail"]]\nwhy = "two sides write them"\n'
GOOD = "struct rx_ring {\n\tlong head;\n\tchar pad[64];\n\tlong tail;\n};\n"
BAD = GOOD.replace("64", "8")
OTHER = GOOD.replace("rx_ring", "tx_ring")
WIDTH = "struct rx_ring {\n\tlong head;\n\tchar pad[WIDTH];\n\tlong tail;\n};\n"
BASE: dict[str, str | None] = {
    "Makefile": "VERSION = 6\nPATCHLEVEL = 1\nSUBLEVEL = 2\n", "include/linux/kconfig.h": "", "include/linux/compiler_types.h": "", "kernel/a.c": "#include <linux/ring.h>\n",
    "arch/x86/include/asm/x.h": "", ".gitignore": ".config\ngenerated\n", "include/linux/ring.h": GOOD, "include/linux/other.h": OTHER, "layoutlint.toml": RULES.format("*_ring"),
}  # fmt: skip
BUILT: dict[str, str | None] = {
    ".config": "CONFIG_X86_64=y\n", "include/generated/autoconf.h": "#define CONFIG_X86_64 1\n", "include/generated/width.h": "#define WIDTH 64\n",
    "arch/x86/include/generated/asm/y.h": "",
}  # fmt: skip
CHANGES: dict[str, tuple[dict[str, str | None], dict[str, str | None], int]] = {
    # more of the base, the change; the status
    "in place": ({}, {"include/linux/ring.h": BAD}, 1),
    "to a new header": ({}, {"include/linux/ring.h": "#include <linux/new.h>\n", "include/linux/new.h": BAD}, 1),
    "with a comment before the brace": ({}, {"include/linux/ring.h": BAD.replace("{", "/* receive */ {")}, 1),
    "by a macro that joins names": ({}, {"include/linux/ring.h": f"#define RING(x) struct x##_ring {{ {' '.join(BAD.split()[3:])}\nRING(rx)\n"}, 1),
    "was broken before": ({"include/linux/ring.h": BAD}, {"include/linux/ring.h": f"/* receive */\n{BAD}"}, 0),
    "is broken by a generated header, as before": ({"include/linux/ring.h": f"#include <generated/width.h>\n{WIDTH}"}, {"include/linux/ring.h": f"#include <generated/width.h>\n\n{WIDTH}"}, 0),
    "shrinks what a generated header states": (
        {"include/linux/ring.h": f"#include <generated/width.h>\n{WIDTH}"}, {"include/linux/ring.h": f"#include <generated/width.h>\n{WIDTH.replace('WIDTH', 'WIDTH - 56')}"}, 1),
}  # fmt: skip


@pytest.mark.one_in(14)
@pytest.mark.parametrize("words", [(".",), ()], ids=["tree", "without an input"])
@pytest.mark.parametrize("form", ["--since", "--staged"])
@pytest.mark.parametrize(("more", "change", "status"), CHANGES.values(), ids=CHANGES)
def test_changes(tmp_path, more, change, status, form, words):
    commit(tmp_path, "base", {**BASE, **more})
    write(tmp_path, BUILT)
    write(tmp_path, change)
    if form == "--since":
        commit(tmp_path, "change", {})
        words = (*words, "HEAD~1")
        done = run("check", *words[:-1], form, words[-1], "--no-packs", cwd=tmp_path)
    else:
        git(tmp_path, "add", "-A")
        done = run("check", *words, form, "--no-packs", cwd=tmp_path)
    assert done.returncode == status, done.stdout + done.stderr


OF_KERNEL = '[[rule]]\nid = "rings"\nstruct = "{}"\nkind = "size"\nmax = 80\nwhy = "w"\n'
NEARER: dict[str, tuple[dict[str, str | None], dict[str, str | None], int]] = {
    # files of the base, the change; the status
    "of its header": ({"drivers/net/ring.h": OTHER}, {"drivers/net/ring.h": OTHER.replace("64", "128")}, 1),
    "of a header that it includes": (
        {"drivers/net/ring.c": "#include <linux/ring.h>\n", "drivers/net/layoutlint.toml": OF_KERNEL.format("rx_ring")}, {"include/linux/ring.h": GOOD.replace("64", "128")}, 1),
    "of another folder": ({"drivers/net/ring.h": OTHER}, {"include/linux/other.h": OTHER.replace("64", "128")}, 0),
}  # fmt: skip


@pytest.mark.parametrize("form", ["--since", "--staged"])
@pytest.mark.parametrize(("more", "change", "status"), NEARER.values(), ids=NEARER)
def test_a_rule_file_of_a_folder(tmp_path, more, change, status, form):
    commit(tmp_path, "base", {**BASE, "drivers/net/layoutlint.toml": OF_KERNEL.format("tx_ring"), **more})
    write(tmp_path, BUILT)
    write(tmp_path, change)
    git(tmp_path, "add", "-A")
    done = run("check", form, *(["HEAD"] if form == "--since" else []), "--no-packs", cwd=tmp_path)
    assert done.returncode == status, done.stdout + done.stderr
