"""The text of docs/losses.md, made from the table of the readers: `python -m tools.documents.losses` writes it."""

from __future__ import annotations

from pathlib import Path

from layoutlint.readers.losses import LOSSES

PATH = Path(__file__).resolve().parents[2] / "docs" / "losses.md"
HEAD = """# What inputs do not show

Debug information and C text lack facts of the compiled program. Unknown is printed as `??`, and a rule that depends on it is
`unknown`. [concepts.md](concepts.md#alignments-that-are-not-in-the-input) lists what each compiler states about alignment.
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
