"""The text of docs/losses.md, made from the table of the readers: `python -m tools.documents.losses` writes it."""

from __future__ import annotations

from pathlib import Path

from layoutlint.readers.losses import LOSSES

PATH = Path(__file__).resolve().parents[2] / "docs" / "losses.md"
HEAD = """# What inputs do not show

Debug information and C text lack facts of the compiled program. Unknown is printed as `??`, and a rule that depends on it is
`unknown`.

## Alignments

The alignment of a struct decides where its objects start; [concepts.md](concepts.md#alignments-that-are-not-in-the-input) says how a rule is
judged without it.

| input | does not state |
|---|---|
| C text | nothing: it states all |
| DWARF of gcc 8 and later | `packed`, `#pragma pack`; on targets that need aligned access (riscv64, sparc64, arm, mips, loongarch64) `aligned(N)` of a struct of N bytes that fit into registers |
| DWARF of clang 15 and later | `packed`, `-fpack-struct`, up to 18 `#pragma pack`; `aligned` on bit-fields; in DWARF 4 `_Atomic`, and `aligned` on typedefs |
| DWARF of clang up to 14 | the same, and that members need more than the `aligned` of their struct |
| other DWARF; DWARF of gcc under `-gstrict-dwarf` before DWARF 5; BTF | `packed`, `#pragma pack`, `aligned` |
"""
TITLES = {"dwarf": "DWARF", "btf": "BTF", "clang": "C headers and sources"}


def section(reader: str) -> str:
    """Return the table of one input format."""
    rows = [f"| {loss.fact} | {loss.effect} |" for loss in LOSSES if loss.reader == reader]
    return "\n".join([f"## {TITLES[reader]}", "", "| not shown | effect |", "|---|---|", *rows, ""])


def text() -> str:
    """Return all of docs/losses.md."""
    return "\n".join([HEAD, *map(section, TITLES)])


if __name__ == "__main__":
    PATH.write_text(text())
