"""Phrases on findings, shared by the formats for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated

from layoutlint import phrases
from layoutlint.judgement.finding import (
    MOST_ELEMENTS,
    Finding,
    Rank,
    Report,
    SkippedRule,
    State,
    Unresolved,
)
from layoutlint.judgement.messages import finding_message
from layoutlint.judgement.rule import UNUSED, VARIABLES, Severity
from layoutlint.judgement.verdict import CONFIDENCE, Orders, Outcome, Verdict
from layoutlint.model.build import Build, short_name
from layoutlint.model.json_object import Amount, JsonObject, Natural, Positive, Share, one_of
from layoutlint.randstruct.kernel_tree import MODES
from layoutlint.reports import layout_phrases


def struct_name(finding: Finding) -> str:
    """Return the name of the judged struct, or the one in the rule if it was not found."""
    return finding.rule.struct if finding.struct is None else finding.struct.name


def subject(finding: Finding) -> str:
    """Return what a finding is about: `struct pcpu_chunk`, `struct inode around i_rwsem`."""
    if finding.rule.struct == VARIABLES:
        if finding.struct is None:
            return "the rule on variables"
        return finding.struct.label or f"data in {finding.struct.name}"
    if finding.rule.kind.traits.is_built_in:
        return f"the {finding.rule.origin}"
    aggregate = "struct" if finding.struct is None else finding.struct.aggregate
    around = "" if finding.around is None else f" around {finding.around.path or finding.around.struct}"
    return f"{aggregate} {struct_name(finding)}{around}"


def fingerprint(finding: Finding) -> str:
    """Return 16 hexadecimal digits for rule, struct and field paths, which do not change with lines."""
    paths = sorted(place.path for place in finding.verdict.evidence)
    words = [finding.rule.id, struct_name(finding), *paths]
    from hashlib import sha256  # loads OpenSSL, for the formats that print fingerprints

    return sha256("\0".join(words).encode()).hexdigest()[:16]


def fingerprint_state(finding: Finding) -> str:
    """Return 16 hexadecimal digits that also change with the outcome and the share of failing placements.

    Of a finding over a matrix, those in each build count.
    """
    words = [fingerprint(finding), _state(finding.verdict)]
    words += [f"{name} {_state(one.verdict)}" for name, one in sorted(finding.builds, key=lambda one: one[0])]
    from hashlib import sha256

    return sha256("\0".join(words).encode(errors="surrogatepass")).hexdigest()[:16]


def _state(verdict: Verdict) -> str:
    orders = verdict.orders
    shares = f"{len(verdict.bases)}/{verdict.total}" if orders is None else f"{orders.share:.4f}"
    return f"{verdict.outcome.value} {shares}"


def outcome(finding: Finding) -> str:
    """Return the outcome in a word; `unused` for unused intent."""
    return UNUSED if finding.rule.kind.traits.is_built_in else finding.verdict.outcome.value


def share(verdict: Verdict) -> str:
    """Return how many placements fail; empty for a verdict that does not depend on placements."""
    orders = verdict.orders
    if orders is not None:
        return f"in {phrases.percent(orders.share)} of the placements of all orders" if orders.share else ""
    if not verdict.total or not verdict.bases:
        return ""
    return phrases.placements_phrase(len(verdict.bases), verdict.total)


def rank_reason(rank: Rank) -> str:
    """Return the rank of a guess, with its score and the reason."""
    place = f"{rank.place:,} of {rank.total:,} guesses"
    if rank.uses is not None and rank.uses.reasons:
        return f"{place}, by uses of the fields ({rank.uses.score:,.2f}): {'; '.join(rank.uses.reasons)}"
    unused = "" if rank.uses is None else "no function of the sources is known to use its fields; "
    return (
        f"{place}, {unused}score {rank.score:,.1f}: {_users(rank)}, times "
        f"{phrases.percent(rank.share)} of placements that fail"
    )


def _users(rank: Rank) -> str:
    """Return what counts as the users of a struct or an array."""
    if rank.elements is None or rank.holders > rank.counted_elements:
        verb = "embeds it or points to it" if rank.holders == 1 else "embed it or point to it"
        noun = "struct or variable" if rank.counts_variables and rank.holders == 1 else "struct"
        if rank.counts_variables and rank.holders != 1:
            return f"{rank.holders:,} structs and variables {verb}"
        return f"{phrases.quantity(rank.holders, noun)} {verb}"
    if not rank.elements:
        return f"an array of unknown length, which counts as {MOST_ELEMENTS} elements"
    most = f", of which {MOST_ELEMENTS} count" if rank.elements > MOST_ELEMENTS else ""
    return f"an array of {phrases.quantity(rank.elements, 'element')}{most}"


def order(finding: Finding) -> str:
    """Return the origin of the judged field order; empty for the declared order."""
    struct = finding.struct
    if struct is None or struct.randomised is None:
        return _RANDOMISABLE if struct is not None and struct.is_randomisable else ""
    return layout_phrases.order(struct.randomised)


_RANDOMISABLE = (
    "as declared; builds with CONFIG_RANDSTRUCT have another order, because the struct is marked "
    "`__randomize_layout` (judge them with --randstruct)"
)


class WitnessJson(JsonObject, frozen=True):
    """One order. The rule fails in it, if it fails in any."""

    order: Sequence[str]
    """The fields, in this order."""
    base: Natural | None
    """A base at which the rule fails in this order. Null if it does not fail, or does not depend on bases."""


class OrdersJson(JsonObject, frozen=True):
    """The orders of fields that a verdict covers, if the compiler can choose any."""

    mode: Annotated[str, one_of(*MODES)]
    """The value of `--randstruct`."""
    counted: Annotated[str, one_of("exact", "sampled")]
    """`sampled` if orders were drawn by chance, else `exact`."""
    share: Share
    """The share of the placements of all orders in which the rule fails."""
    error: Amount
    """The largest difference to the true share; 0 for an exact one."""
    confidence: Share
    """The probability that the error is no larger; 1 for an exact share."""
    drawn: Positive | None
    """How many orders were drawn. Null for an exact share."""
    witness: WitnessJson
    """One order. The rule fails in it, if it fails in any."""


def orders_json(orders: Orders) -> OrdersJson:
    """Return the field orders that a verdict covers."""
    return OrdersJson(
        mode=orders.mode,
        counted=orders.counted,
        share=orders.share,
        error=orders.error,
        confidence=CONFIDENCE if orders.drawn else 1.0,
        drawn=orders.drawn,
        witness=WitnessJson(order=orders.witness, base=orders.base),
    )


def sentence(finding: Finding, builds: tuple[Build, ...]) -> str:
    """Return the subject, the outcome, and the message; for a matrix, the message names its `builds`."""
    glue = " " if finding.builds else f" {outcome(finding)}: "
    return f"{subject(finding)} is{glue}{finding_message(finding, builds)}"


def coverage_part(part: Unresolved | SkippedRule, builds: tuple[Build, ...]) -> str:
    """Return a part of the coverage, with the builds of a matrix in which it is so; `builds` are all."""
    return f"{part} (in {short_name(part.builds, builds)})" if part.builds else str(part)


def tally(report: Report) -> str:
    """Return the number of findings for each outcome, and of notes: `2 broken, 1 at-risk, 1 note, 4 kept`."""
    counted_words = list(_counts((*report.findings, *report.kept_findings)))
    accepted = {
        "suppressed": sum(finding.suppressed is not None for finding in report.findings),
        "known": sum(finding.state is State.KNOWN for finding in report.findings),
    }
    accepted_words = [f"{number} {word}" for word, number in accepted.items() if number]
    counted_words += [f"{len(report.unread)} not read"] if report.unread else []
    counted_words += [f"{not_covered} not covered"] if (not_covered := _count_not_covered(report)) else []
    text = ", ".join(counted_words) or "nothing judged"
    return f"{text} ({', '.join(accepted_words)})" if accepted_words else text


def _counts(findings: Sequence[Finding]) -> Iterator[str]:
    """Yield the number of each outcome, the worst first, and of notes, which never fail a run."""
    notes = [each for each in findings if _is_note(each)]
    counts = Counter(outcome(each) for each in findings if not _is_note(each))
    for word in (Outcome.BROKEN.value, Outcome.AT_RISK.value, Outcome.UNKNOWN.value, UNUSED):
        if counts[word]:
            yield f"{counts[word]} {word}"
    if notes:
        yield phrases.quantity(len(notes), "note")
    if counts[Outcome.KEPT.value]:
        yield f"{counts[Outcome.KEPT.value]} {Outcome.KEPT.value}"


def _is_note(finding: Finding) -> bool:
    fails = outcome(finding) in (Outcome.BROKEN.value, Outcome.AT_RISK.value)
    return fails and finding.rule.severity is Severity.NOTE


def baseline_tally(report: Report) -> str:
    """Return how the findings compare with the baseline: `1 new, 2 worse, 9 known, 4 no longer needed`."""
    if report.baseline is None:
        return ""
    states = Counter(finding.state for finding in report.findings)
    words = [f"{states[State.NEW]:,} new", f"{states[State.WORSE]:,} worse", f"{states[State.KNOWN]:,} known"]
    rest = {
        "could not be compared": states[State.NOT_COMPARED],
        "no longer needed": len(report.baseline.unneeded),
    }
    words += [f"{number:,} {word}" for word, number in rest.items() if number]
    number = report.baseline.not_judged
    others = "of another struct, build or part" if number == 1 else "of other structs, builds or parts"
    return ", ".join((*words, *((f"{number:,} not judged ({others})",) if number else ())))


def exit_meaning(report: Report) -> str:
    """Return the meaning of the exit status in words."""
    if report.exit_status == 1:
        if _shipped_rules_alone_fail(report):
            return "only shipped rules are broken or at risk; --no-packs turns off those for kernels"
        if report.baseline is None:
            return "rules are broken or at risk"
        if report.baseline.command:
            return f"rules are broken or at risk, and were not, or less so, in {report.baseline.file}"
        return "rules are broken or at risk, and the baseline does not accept that"
    if report.exit_status == 3:
        is_unknown = any(finding.verdict.outcome is Outcome.UNKNOWN for finding in report.findings)
        are_parts = not is_unknown and not report.unread
        accepting = "; --allow-unknown accepts parts that are not covered" if are_parts else ""
        return f"something could not be judged{accepting}"
    if report.exit_status:
        return "the run failed"
    if report.coverage.unreached:
        return report.coverage.unreached
    if report.coverage.guessed and not report.findings:
        return NO_GUESS
    if report.coverage.drafts and not report.findings:
        return DRAFT.format(" and ".join(report.coverage.drafts))
    ignored = ", ".join(_uncounted_problems(report))
    return f"nothing broken that counts; not counted: {ignored}" if ignored else "nothing broken"


NO_GUESS = (
    "nothing broken, and no guess: no lock, atomic or array of them is beside other fields; "
    "next, `layoutlint infer` reads what the functions of *.c files do"
)
DRAFT = (
    "nothing was judged: {} has no rules yet; write one (`layoutlint explain separate`), "
    "or remove the `# ` before a drafted one that is true"
)


def _shipped_rules_alone_fail(report: Report) -> bool:
    """Return whether no rule that somebody wrote for a kernel fails the run."""
    is_kernel = any(reading.is_kernel for reading in report.readings)
    has_own = any(not rule.shipped for rule in report.rules)
    fails = Outcome.BROKEN, Outcome.AT_RISK
    failing = (f.rule for f in report.findings if f.counts and f.verdict.outcome in fails)
    return is_kernel and has_own and all(rule.shipped for rule in failing)


def _uncounted_problems(report: Report) -> list[str]:
    """Return the problems that did not fail a run with exit status 0."""
    words = list(_counts(report.findings))
    words += [f"{len(report.unread)} not read"] if report.unread else []
    return words + ([f"{not_covered} not covered"] if (not_covered := _count_not_covered(report)) else [])


def _count_not_covered(report: Report) -> int:
    """Return the number of parts that were not read although rules could apply to them."""
    return sum(part.rules > 0 for part in report.coverage.not_covered)
