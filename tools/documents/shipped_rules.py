"""The text of docs/shipped-rules.md, made from the packs for Linux: `python -m tools.documents.shipped_rules` writes it."""

from __future__ import annotations

from pathlib import Path

from layoutlint.intent.toml import shipped_rules
from layoutlint.judgement.rule import Pack

PATH = Path(__file__).resolve().parents[2] / "docs" / "shipped-rules.md"
HEAD = """# The list of shipped rules

The packs for Linux, with their rules. `layoutlint explain RULE` prints why a rule is there, and where it comes from;
[kernel-rules.md](kernel-rules.md) has what they find. [servers.md](servers.md#types---pack-generic) has the rules that guess.
"""


def section(pack: Pack) -> str:
    """Return the table of one pack."""
    default = "On by default for kernels" if pack.kernel else f"Off by default: `--pack {pack.name}` turns it on"
    rows = [f"| {rule.id} | [{rule.kind.name}](kinds.md#{rule.kind.name}) | `{rule.struct}` | {rule.severity.value} |" for rule in pack.rules]
    table = ["| rule | kind | struct | severity |", "|---|---|---|---|", *rows, ""] if rows else []
    return "\n".join([f"## {pack.name}", "", f"{pack.description[0].upper()}{pack.description[1:]}. {default}.", "", *table])


def text() -> str:
    """Return all of docs/shipped-rules.md."""
    return "\n".join([HEAD, *(section(pack) for pack in shipped_rules.shipped_packs() if not pack.guesses)])


if __name__ == "__main__":
    PATH.write_text(text())
