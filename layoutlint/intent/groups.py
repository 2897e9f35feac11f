"""The rule that the marks of groups in a struct state (docs/net-cachelines.md)."""

from __future__ import annotations

from layoutlint import groups
from layoutlint.kinds.group import MarkedGroup
from layoutlint.layout import Layout
from layoutlint.model import Source, Struct
from layoutlint.rule import Rule, Severity

_WHY = "the struct marks its fields so that those which are written take no line from those which are read"


def rule(struct: Struct, path: str) -> Rule:
    """What the marks of a struct ask for; `path` is the input, for a struct whose place is not known."""
    found = groups.of(Layout(struct))
    first = next((group.begin.field.source for group in found.whole), None) or struct.source
    return Rule(
        id=f"marks/{struct.name}",
        struct=struct.name,
        kind=MarkedGroup(),
        severity=Severity.WARNING,
        why=_WHY,
        source=first or Source(path),
        pack="in structs",
        by="marks in the struct",
    )
