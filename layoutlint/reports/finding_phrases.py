"""Phrases of findings and reports that every format for people uses in the same way."""

from __future__ import annotations

from collections import Counter
from typing import Any

from layoutlint import phrases
from layoutlint.judgement.finding import Finding, Rank, Report
from layoutlint.judgement.rule import UNUSED, VARIABLES
from layoutlint.judgement.verdict import CONFIDENCE, Orders, Outcome, Verdict
from layoutlint.reports import layout_phrases


def struct_name(finding: Finding) -> str:
    """The struct that was judged, or the one that the rule names when it was not found."""
    return finding.rule.struct if finding.struct is None else finding.struct.name


def described(finding: Finding) -> str:
    """The struct with its aggregate: `struct pcpu_chunk`, `struct inode around i_rwsem`."""
    if finding.rule.struct == VARIABLES:
        return "the rule on variables" if finding.struct is None else f"data in {finding.struct.name}"
    if finding.rule.kind.traits.is_built_in:
        return f"the {finding.rule.by} at {finding.rule.source}"
    aggregate = "struct" if finding.struct is None else finding.struct.aggregate
    around = "" if finding.around is None else f" around {finding.around.path or finding.around.struct}"
    return f"{aggregate} {struct_name(finding)}{around}"


def fingerprint(finding: Finding) -> str:
    """An identity that survives moved lines: rule, struct and field paths, as 16 hexadecimal digits."""
    paths = sorted(place.path for place in finding.verdict.evidence)
    words = [finding.rule.id, struct_name(finding), *paths]
    from hashlib import sha256  # loads OpenSSL, for the formats that print fingerprints

    return sha256("\0".join(words).encode()).hexdigest()[:16]


def outcome(finding: Finding) -> str:
    """What became of the rule, in a word."""
    return UNUSED if finding.rule.kind.traits.is_built_in else finding.verdict.outcome.value


def share(verdict: Verdict) -> str:
    """In how many placements the rule fails; empty for a verdict that does not depend on them."""
    over = verdict.orders
    if over is not None:
        return f"in {phrases.percent(over.share)} of the placements of all orders" if over.share else ""
    if not verdict.total or not verdict.bases:
        return ""
    return f"in {len(verdict.bases)} of {verdict.total} placements"


def ranked(rank: Rank) -> str:
    """How high a guess stands, and why."""
    hold = "holds" if rank.holders == 1 else "hold"
    others = f"{phrases.counted(rank.holders, 'struct')} {hold} it or a pointer to it"
    return (
        f"{rank.place:,} of {rank.of:,} guesses, by a score of {rank.score:,.1f}: {others}, times the "
        f"{phrases.percent(rank.share)} of the placements that fail"
    )


def order(finding: Finding) -> str:
    """How the fields came into the order that was judged; empty for the declared one."""
    struct = finding.struct
    if struct is None or struct.randomised is None:
        return _RANDOMISABLE if struct is not None and struct.is_randomisable else ""
    return layout_phrases.order(struct.randomised)


_RANDOMISABLE = (
    "the declared one; the struct is marked `__randomize_layout`, and builds with CONFIG_RANDSTRUCT have "
    "another (--randstruct judges them)"
)


def orders(over: Orders) -> dict[str, Any]:
    """Over which orders a verdict is, as JSON has it."""
    return {
        "mode": over.mode,
        "counted": over.counted,
        "share": over.share,
        "error": over.error,
        "confidence": CONFIDENCE if over.drawn else 1.0,
        "drawn": over.drawn,
        "witness": {"order": list(over.witness), "base": over.base},
    }


def sentence(finding: Finding) -> str:
    """The struct, what became of the rule, and the numbers, which begin with the builds of a matrix."""
    verdict = finding.verdict
    glue = " " if finding.builds else f" {outcome(finding)}: "
    return f"{described(finding)} is{glue}{verdict.message}"


def tally(report: Report) -> str:
    """How many rules came out how: `2 broken, 1 at-risk, 1 unknown, 4 kept`."""
    ranks = (Outcome.BROKEN.value, Outcome.AT_RISK.value, Outcome.UNKNOWN.value, UNUSED, Outcome.KEPT.value)
    counts = dict.fromkeys(ranks, 0)
    for finding in (*report.findings, *report.kept):
        counts[outcome(finding)] += 1
    told = [f"{number} {word}" for word, number in counts.items() if number]
    suppressed = sum(finding.suppressed is not None for finding in report.findings)
    told += [f"{len(report.unread)} not read"] if report.unread else []
    told += [f"{missed} not covered"] if (missed := _missed(report)) else []
    said = ", ".join(told) or "nothing judged"
    return f"{said} ({suppressed} suppressed)" if suppressed else said


def exit_meaning(report: Report) -> str:
    """What the exit status says, in words."""
    if report.exit_status == 1:
        return "rules are broken or at risk"
    if report.exit_status == 3:
        return "something could not be told"
    if report.exit_status:
        return "the run failed"
    left = _passed_over(report)
    return f"nothing broken that counts; passed over: {', '.join(left)}" if left else "nothing broken"


def _passed_over(report: Report) -> list[str]:
    """What did not fail a run that ended with 0 and is not fine all the same."""
    counts = Counter(outcome(finding) for finding in report.findings)
    left = [f"{counts[word]} {word}" for word in (*(one.value for one in Outcome), UNUSED) if counts[word]]
    left += [f"{len(report.unread)} not read"] if report.unread else []
    return left + ([f"{missed} not covered"] if (missed := _missed(report)) else [])


def _missed(report: Report) -> int:
    """Return the number of parts that were not looked at and to which rules could apply."""
    return sum(part.rules > 0 for part in report.coverage.not_covered)
