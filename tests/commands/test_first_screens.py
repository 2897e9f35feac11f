"""What people see first: few lines, the sentence at the top."""

from __future__ import annotations

import os
import re

import pytest

from tests.harness.command import run

EXAMPLE = ("check", "docs/example/ring.h", "--rules", "docs/example/layoutlint.toml")
KERNELS = [f"fixtures/kernel_layouts/{name}" for name in ("linux-6.1.json", "linux-6.12.json", "linux-7.2.json")] + ["/sys/kernel/btf/vmlinux"]
HEADLINE = re.compile(r"^\S+: (error|warning|note): .+ \[\S+\]$", re.M)


def test_two_findings_take_twenty_lines():
    printed = run(*EXAMPLE).stdout
    assert len(HEADLINE.findall(printed)) == 2
    assert HEADLINE.match(printed)
    assert len(printed.splitlines()) <= 20


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_kernel(kernel):
    """Two warnings take 24 lines at most, and what fails comes first."""
    if not os.path.exists(kernel):
        pytest.skip(f"there is no {kernel}")
    printed = run("check", kernel, cwd="fixtures").stdout if kernel.startswith("/") else run("check", kernel).stdout
    number = len(HEADLINE.findall(printed))
    assert len(printed.splitlines()) <= 12 + 6 * number
    assert HEADLINE.match(printed) or not number
    assert printed.splitlines()[-1].startswith("exit ")


@pytest.mark.parametrize("struct", ["ring", "address_space", "mm_struct"])
def test_three_lines_above_the_table(struct):
    words = ("docs/example/ring.h", struct) if struct == "ring" else ("fixtures/kernel_layouts/linux-6.12.json", struct)
    printed = run("show", *words)
    assert printed.returncode == 0, printed.stderr
    assert printed.stdout.startswith(f"struct {struct}  ")
    assert len(printed.stdout.partition("\n\n")[0].splitlines()) <= 3

