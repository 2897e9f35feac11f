"""What people wrote on the inputs of a run beside rule files: annotations, marks, comments, suppressions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from time import strftime
from types import MappingProxyType
from typing import TYPE_CHECKING

from layoutlint.intent.group_marks import group_mark_packs
from layoutlint.judgement.finding import Finding, Report
from layoutlint.judgement.rule import Pack
from layoutlint.lint import guessing, query, unused
from layoutlint.lint.judged_input import JudgedInput
from layoutlint.lint.options import Options
from layoutlint.lint.reading import Inputs
from layoutlint.model.reading import Reading, Unread
from layoutlint.model.record import Record, replace

if TYPE_CHECKING:
    from layoutlint.intent.annotations.rules import Intent, Suppression
    from layoutlint.intent.claims import Claims


class Judged(Record, frozen=True):
    """Inputs with what judges them."""

    inputs: list[JudgedInput]
    """Each input with its packs, and those of annotations, marks and comments."""
    intents: list[Intent]
    """The annotations."""
    packs: tuple[Pack, ...]
    """All rule files of the run."""


class Suppressed(Record, frozen=True):
    """Findings of which some are suppressed."""

    findings: tuple[Finding, ...]
    idle: tuple[Suppression, ...] = ()
    """The suppressions that count, and suppress nothing."""
    dropped: Mapping[Suppression, str] = MappingProxyType({})
    """Those that the policy drops, with the reason."""
    today: str | None = None
    """The day by which suppressions with an end are judged; None if none has one."""


def read_claims(paths: tuple[str, ...], options: Options) -> Claims | None:
    """Return what comments of C sources claim about cache lines; None if the run does not judge it."""
    if not options.intents.comments:
        return None
    from layoutlint.intent import claims  # few runs judge comments

    return claims.read(paths, options.read.sources)


def stale_files(inputs: Iterable[JudgedInput], read_result: Inputs) -> Iterator[Unread]:
    """Yield the files whose comments are of another state than the inputs."""
    if (claims := read_result.claims) is not None:
        for judged in inputs:
            yield from claims.stale_files(judged.reading)


def add(
    read_result: Inputs, packs: tuple[Pack, ...], kernel_packs: tuple[Pack, ...], options: Options
) -> Judged:
    """Return the inputs with packs, and with the packs of their annotations, marks and comments."""
    inputs, intents = [], []
    for number, reading in enumerate(read_result.readings):
        every = packs + (kernel_packs if reading.is_kernel else ())
        own = tuple(pack for pack in every if pack.applies_to(reading.path))
        if own != every:  # other inputs have structs of the other rules
            headers = read_result.claims.structs if read_result.claims is not None else {}
            reading = query.narrow(reading, query.structs_to_read(own, (), headers, options))
        own = guessing.share_placements(own)
        active = own
        if options.intents.annotations:
            if any(struct.annotations for struct in reading.structs):
                from layoutlint.intent.annotations import suppression  # most inputs have none

                active, intent = suppression.merge_annotations(reading, own)
                intents += [] if intent is None else [intent]
            active += group_mark_packs(_reading_of_marks(reading, own, options), own)
        if read_result.claims is not None:
            active += read_result.claims.packs_for(reading, own)
        if options.slabs is not None:
            from layoutlint.lint import slab_placements  # few runs know the caches of a kernel

            active = slab_placements.with_slabs(active, reading, options.slabs)
        if options.objects is not None:
            active = tuple(replace(pack, objects=options.objects) for pack in active)
        inputs.append(JudgedInput(reading, active, read_result.surroundings.select(number)))
    return Judged(inputs, intents, packs + kernel_packs)


def _reading_of_marks(reading: Reading, packs: tuple[Pack, ...], options: Options) -> Reading:
    """Return a reading with the structs whose marks count: packs that guess read others too."""
    certain = tuple(pack for pack in packs if not pack.guesses)
    if certain == packs:
        return reading
    return query.narrow(reading, query.structs_to_read(certain, (), {}, options), keep_annotated=False)


def suppress(findings: list[Finding], judged: Judged, options: Options) -> Suppressed:
    """Mark the findings that annotations suppress. Raises UsageError and ReadError."""
    if not judged.intents:
        return Suppressed(tuple(findings))
    from layoutlint.intent.annotations import suppression

    counting, dropped = _apply_policy(judged, options)
    today = _current_date(counting, options)
    marked, idle = suppression.mark_suppressed(findings, counting, today or "")
    return Suppressed(tuple(marked), tuple(idle), dropped, today)


def _apply_policy(judged: Judged, options: Options) -> tuple[list[Intent], dict[Suppression, str]]:
    """Return the intents with the suppressions that count, and why the policy drops the others."""
    if not options.intents.suppressions:
        return [replace(intent, suppressions=()) for intent in judged.intents], {}
    if options.intents.policy is None:
        return judged.intents, {}
    from layoutlint.lint import base_suppressions  # few runs have a policy

    dropped = base_suppressions.find_missing(judged.intents, judged.inputs, options.intents.policy, options)
    return [
        replace(intent, suppressions=tuple(each for each in intent.suppressions if each not in dropped))
        for intent in judged.intents
    ], dropped


def _current_date(intents: Iterable[Intent], options: Options) -> str | None:
    """Return the day by which suppressions with an end are judged; None if none has one."""
    suppressions = (suppression for intent in intents for suppression in intent.suppressions)
    if all(suppression.ignored.until is None for suppression in suppressions):
        return None
    return options.intents.today or strftime("%Y-%m-%d")


def state(
    report: Report, judged: Judged, suppressed: Suppressed, read_result: Inputs, options: Options
) -> Report:
    """Return a report that states which suppressions were used, by which day, and what the policy did."""
    coverage = report.coverage
    if suppressed.today is not None:
        coverage = replace(coverage, today=suppressed.today)
    if options.intents.policy is not None:
        flag_uses = dict(use for reading in read_result.readings for use in reading.flag_uses)
        sentences = options.intents.policy.sentences(suppressed.dropped, flag_uses)
        coverage = replace(coverage, policy=sentences)
    if not judged.intents:
        return report if coverage is report.coverage else replace(report, coverage=coverage)
    uses = unused.suppression_uses(
        judged.intents, suppressed.idle, suppressed.findings, judged.inputs, options.strictness.unused
    )
    return replace(report, coverage=coverage, suppressions=tuple(uses))
