"""The order of changes: what got worse first, then the structs that weigh most."""

from __future__ import annotations

from collections.abc import Iterable

from layoutlint.comparison.layouts import LayoutChange, Presence
from layoutlint.comparison.standings import Status
from layoutlint.comparison.verdicts import RuleChange
from layoutlint.judgement.rule import Severity
from layoutlint.judgement.verdict import WORST_FIRST
from layoutlint.model.structs import Struct

_STATUSES = (Status.WORSE, Status.NOT_COMPARED, Status.BETTER, Status.SAME)


def order_rules(rules: Iterable[RuleChange]) -> tuple[RuleChange, ...]:
    """Return rules: worse ones first, of these what can decide the exit status, the worst of it first."""
    return tuple(sorted(rules, key=_rule_weight))


def _rule_weight(change: RuleChange) -> tuple[int, bool, int, int, bool, float]:
    verdict, severity = change.finding.verdict, change.rule.severity
    return (
        _STATUSES.index(change.status),
        not change.counts,
        list(Severity).index(severity),
        WORST_FIRST.index(verdict.outcome),
        change.rule.shipped,
        -verdict.share,
    )


def order_structs(changes: Iterable[LayoutChange], rules: Iterable[RuleChange]) -> tuple[LayoutChange, ...]:
    """Return changed structs: those on which a rule got worse, others with rules, the rest; added ones last.

    Among equals, the largest change of size comes first, then that of lines. A struct whose change moves
    fields of another one counts for the rules on that one too.
    """
    ruled = {change.struct: False for change in rules}
    ruled |= {change.struct: True for change in rules if change.status is Status.WORSE}

    def weight(change: LayoutChange) -> tuple[bool, bool, bool, int, int, str]:
        names = {change.name, *change.containers} & ruled.keys()
        sizes = [_size(struct) for struct in (change.old, change.new)]
        lines = [-(-size // change.struct.target.line_size) for size in sizes]
        return (
            change.presence is Presence.ADDED,
            not any(ruled[name] for name in names),
            not names,
            -abs(sizes[1] - sizes[0]),
            -abs(lines[1] - lines[0]),
            change.name,
        )

    return tuple(sorted(changes, key=weight))


def _size(struct: Struct | None) -> int:
    return 0 if struct is None else (struct.bit_size or 0) // 8
