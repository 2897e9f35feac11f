"""The text of docs/targets.md, made from the table of machines: `python -m tools.documents.targets` writes it."""

from __future__ import annotations

from pathlib import Path

from layoutlint.model.target import TARGETS, Target

PATH = Path(__file__).resolve().parents[2] / "docs" / "targets.md"
HEAD = """# Targets

The machine determines the size of cache lines, and where memory starts. All numbers but the first are bytes. `--line-size` and
`--min-align` override them. On x86, `--line-size 128` models the prefetcher that fetches lines in pairs.

The kernel's columns are from Linux 7.2. State other values with `--min-align`: 128 and 64 for arm64 and riscv until 6.5, 128 for
mips and a line for powerpc if DMA is not coherent, 16 for arm64 with KASAN's tags. `--min-align` replaces the last four columns
(kmalloc then skips smaller classes), except for the [placements](rules.md#where-memory-starts) `percpu`, `static` and
`aligned`.

| machine | bits | byte order | line | smallest alignment | ARCH_KMALLOC_MINALIGN | ARCH_SLAB_MINALIGN | MALLOC_ALIGNMENT |
|---|---|---|---|---|---|---|---|
"""


def row(target: Target) -> str:
    """Return the row of one machine."""
    order = "little" if target.little_endian else "big"
    aligned = (target.line_size, target.min_align, target.kmalloc_align, target.slab_align, target.malloc_align)
    return f"| `{target.name}` | {target.pointer_size * 8} | {order} | {' | '.join(map(str, aligned))} |\n"


def text() -> str:
    """Return all of docs/targets.md."""
    return HEAD + "".join(map(row, TARGETS))


if __name__ == "__main__":
    PATH.write_text(text())
