"""What four layouts of Linux cost before and after they were mended: `python -m tools.bench.layout_costs [SECONDS]`.

Runs `layoutlint measure` on address_space, pcpu_chunk, optimistic_spin_node and rw_semaphore, SECONDS (30) for each,
and prints a table of ratios with their spreads: the rate in placements with both on one line, divided by that in the
others (of a sweep: the rate on two lines by that on one). Run it on a machine that does nothing else.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from tests.harness.command import ROOT
from tests.real.kernels import fetch

SHOWN = ROOT / "docs" / "measure"
OLD, NEW = "cloud", "newest"
"""Kernels from before and after the changes of address_space and pcpu_chunk."""


def cases() -> dict[str, list[str]]:
    """The arguments of `measure` for each struct."""
    old, new = (str(fetch(name)) for name in (OLD, NEW))
    return {
        "address_space": ["--before", old, "--after", new, "--lock", "i_mmap_rwsem.count", "--write", "i_mmap"],
        "pcpu_chunk": ["--before", old, "--after", new, "--write", "free_bytes", "--write", "chunk_md", "--read", "base_addr"],
        "optimistic_spin_node": [
            "--before", f"{SHOWN}/optimistic-spin-node.h", "--after", f"{SHOWN}/optimistic-spin-node-padded.h",
            "--stores", "--write", "next", "--write", "prev", "--write", "locked", "--read", "cpu",
        ],
        "rw_semaphore": [
            "--before", f"{SHOWN}/rw-semaphore-5.1.h", "--after", f"{SHOWN}/rw-semaphore-5.2.h",
            "--sweep", "--stores", "--lock", "count", "--write", "owner", "--rounds", "9",
        ],
    }  # fmt: skip


def rows(struct: str, document: dict[str, Any]) -> list[str]:
    """The rows of the table for one struct: those of its last core, which never pauses."""
    if document["refusal"] is not None:
        return [f"| `{struct}` | refused: {document['refusal']} | | | |"]
    last = max((each["core"] for each in document["ratios"]), default=0)
    return [
        f"| `{struct}` | {each['layout'] or 'both'}: {each['of']} to {each['to']} | {each['interval']} | {spread(each['ratio'])} | "
        f"{'clear' if each['clear'] else 'unclear'} |"
        for each in document["ratios"]
        if each["core"] == last
    ]


def spread(ratio: dict[str, float]) -> str:
    """A ratio with its least and greatest round."""
    return f"{ratio['median']:.2f} ({ratio['least']:.2f}..{ratio['most']:.2f})"


def main() -> None:
    seconds = sys.argv[1] if len(sys.argv) > 1 else "30"
    print("| struct | placements | pause, ns | ratio | rounds |\n|---|---|---:|---:|---|")
    for struct, words in cases().items():
        command = [sys.executable, "-m", "layoutlint", "measure", struct, *words, "--seconds", seconds, "--format", "json"]
        done = subprocess.run(command, capture_output=True, text=True)
        if not done.stdout:
            print(f"| `{struct}` | failed: {done.stderr.strip()} | | | |", flush=True)
            continue
        print("\n".join(rows(struct, json.loads(done.stdout))), flush=True)


if __name__ == "__main__":
    main()
