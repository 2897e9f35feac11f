"""The structs of DPDK's headers (libdpdk-dev), many of them packed or aligned: no alignment but the compiler's."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.harness.command import run
from tests.harness.tools import need

pytestmark = pytest.mark.exhaustive

HEADERS = (
    "rte_mbuf.h", "rte_ring.h", "rte_ethdev.h", "rte_hash.h", "rte_mempool.h", "rte_ip.h", "rte_tcp.h",
    "rte_udp.h", "rte_ether.h", "rte_lpm.h", "rte_flow.h", "rte_timer.h", "rte_eventdev.h", "rte_cryptodev.h",
    "rte_gtp.h", "rte_vxlan.h", "rte_esp.h", "rte_sctp.h", "rte_arp.h", "rte_icmp.h", "rte_mpls.h",
)  # fmt: skip
CODE = "".join(f"#include <{header}>\n" for header in HEADERS)
NUMBER = 400
"""Structs that the compilers give a size and an alignment, at least."""


def _flags() -> list[str]:
    if shutil.which("pkg-config") is None:
        pytest.skip("needs pkg-config")
    done = subprocess.run(["pkg-config", "--cflags", "libdpdk"], capture_output=True, encoding="utf-8")
    if done.returncode:
        pytest.skip("needs the headers of DPDK")
    return [*done.stdout.split(), "-DALLOW_EXPERIMENTAL_API", "-w"]


def _truth(compiler: str, structs: dict[str, str], folder: Path) -> dict[str, tuple[int, int]]:
    """Return the sizes and alignments of structs by name, of which the values say what they are."""
    spelled = [(name, form) for name, what in structs.items() for form in (f"{what} {name}", name)]
    first = CODE.count("\n") + 1
    lines = [f'{{"{name}", sizeof({form}), _Alignof({form})}},' for name, form in spelled]
    head = "struct told { const char *name; unsigned long size, align; } told[] = {"
    every = "-fmax-errors=0" if compiler.startswith("gcc") else "-ferror-limit=0"
    (folder / "t.c").write_text(f"{CODE}{head}\n" + "\n".join(lines) + "\n};\n")
    done = subprocess.run(
        [compiler, *_flags(), every, "-fsyntax-only", "t.c"], cwd=folder, capture_output=True, encoding="utf-8"
    )
    wrong = {int(number) - first - 1 for number in re.findall(r"^t\.c:(\d+):\d+: error", done.stderr, re.M)}
    known = [line for number, line in enumerate(lines) if number not in wrong]
    (folder / "t.c").write_text(
        f"{CODE}#include <stdio.h>\n{head}\n" + "\n".join(known) + "\n};\nint main(void) {"
        ' for (unsigned n = 0; n < sizeof told / sizeof *told; n++)'
        ' printf("%s %lu %lu\\n", told[n].name, told[n].size, told[n].align); }\n'
    )
    subprocess.run([compiler, *_flags(), "-Wl,--unresolved-symbols=ignore-all", "-o", "t", "t.c"], cwd=folder, check=True)
    found = subprocess.run([folder / "t"], capture_output=True, encoding="utf-8", check=True).stdout
    output = [line.split() for line in found.splitlines()]
    return {name: (int(size), int(align)) for name, size, align in reversed(output)}


@pytest.mark.parametrize(
    ("compiler", "reader", "certain"),
    [("gcc-12", "dwarf", 100), ("clang-14", "dwarf", 40), ("clang-22", "dwarf", 80), ("gcc-12", "btf", 5)],
)
def test_alignments_are_the_compilers(compiler: str, reader: str, certain: int, tmp_path: Path) -> None:
    need(compiler, "-lc")
    made = tmp_path / "dpdk.o"
    (tmp_path / "dpdk.c").write_text(CODE)
    every = "-fno-eliminate-unused-debug-types"
    subprocess.run([compiler, *_flags(), "-g", every, "-c", "-o", made, "dpdk.c"], cwd=tmp_path, check=True)
    if reader == "btf":
        subprocess.run([need("pahole"), "-J", made], check=True)
    shown = json.loads(run("show", made, "--all", "--reader", reader, "--format", "json").stdout)["structs"]
    structs = {one["name"]: one for one in shown if one["size"]}
    truth = _truth(compiler, {name: one["aggregate"] for name, one in structs.items()}, tmp_path)
    assert len(truth) > NUMBER
    wrong = {
        name: (one["size"], one["align_possible"], truth[name])
        for name, one in structs.items()
        if name in truth and (one["size"] != truth[name][0] or truth[name][1] not in one["align_possible"])
    }
    assert not wrong
    assert sum(one["align"] is not None for one in structs.values()) >= certain
