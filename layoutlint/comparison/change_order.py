"""The order of changes: what got worse first, then the structs that weigh most."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

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


def order_structs(changes: Iterable[LayoutChange], rules: Sequence[RuleChange]) -> tuple[LayoutChange, ...]:
    """Return changed structs: those on which a rule got worse, others with rules, the rest; added ones last.

    `rules` are in their order, and structs with worse ones too. Among equals, the largest change of size
    comes first, then that of lines. A struct whose change moves fields of another one counts for the rules on
    that one too.
    """
    ranks: dict[str, int] = {}
    for number, rule in enumerate(rules):
        ranks.setdefault(rule.struct, number if rule.status is Status.WORSE else len(rules))

    def weight(change: LayoutChange) -> tuple[bool, int, int, int, str]:
        names = (change.name, *change.containers)
        sizes = [_size(struct) for struct in (change.old, change.new)]
        lines = [-(-size // change.struct.target.line_size) for size in sizes]
        return (
            change.presence is Presence.ADDED,
            min(ranks.get(name, len(rules) + 1) for name in names),
            -abs(sizes[1] - sizes[0]),
            -abs(lines[1] - lines[0]),
            change.name,
        )

    return tuple(sorted(changes, key=weight))


def _size(struct: Struct | None) -> int:
    return 0 if struct is None else (struct.bit_size or 0) // 8
