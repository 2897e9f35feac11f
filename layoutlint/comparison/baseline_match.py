"""Accepted findings: which findings of a run a baseline has, which are worse, and which are new."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from fractions import Fraction

from layoutlint.comparison.edits import outline
from layoutlint.comparison.standings import Key, Standing, Status, compare_standings, finding_key, standing
from layoutlint.judgement.finding import Finding, State
from layoutlint.judgement.line_sharing import advise_pairs, list_shared_lines
from layoutlint.judgement.rule import Severity
from layoutlint.judgement.verdict import Outcome, SharedLine, Verdict
from layoutlint.model.record import Record, field, replace
from layoutlint.phrases import percent, quantity


class Entry(Record, frozen=True):
    """A finding that people accept. Equal entries accept several definitions of one name."""

    key: Key
    build: str
    """The build of a matrix; empty without one."""
    standing: Standing
    reason: str = ""

    @property
    def sort_key(self) -> tuple[object, ...]:
        """The order of entries in a file, which depends on nothing but what they say."""
        held = self.standing
        measure = held.outcome.value, held.share, held.pairs, held.cause
        return (*self.key, self.build, held.fields, *measure, self.reason)

    @property
    def label(self) -> str:
        """What the entry is about: `RULE on STRUCT`."""
        rule, struct, path, variable = self.key
        around = f" around {path}" if path else ""
        build = f" (in {self.build})" if self.build else ""
        return f"{rule} on {variable or struct}{around}{build}"


class Instance(Record):
    """One failure that a baseline can accept: findings that differ only in lines and inputs are one."""

    key: Key
    build: str
    standing: Standing
    numbers: list[int]
    """The indices of its findings."""
    entry: Entry | None = None
    state: State = State.NEW

    def accept(self, reason: str = "") -> Entry:
        """Return the entry that accepts the failure as it is."""
        return Entry(self.key, self.build, self.standing, reason)


class Acceptance(Record, frozen=True):
    """The failures of a run, and the entries that none of them needs."""

    instances: tuple[Instance, ...]
    idle: tuple[Entry, ...] = field(default=())

    def with_states(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        """Yield the findings of the run with their states; None for one that a baseline cannot have.

        Of one that is worse than accepted, the pairs of fields that are new or share a line more often come
        first, and the others are counted.
        """
        instances = {number: instance for instance in self.instances for number in instance.numbers}
        for number, finding in enumerate(findings):
            instance = instances.get(number)
            if instance is None:
                yield finding
            elif instance.entry is None or instance.state is not State.WORSE:
                yield replace(finding, state=instance.state)
            else:
                verdict = _with_new_pairs_first(finding.verdict, instance.entry.standing)
                yield replace(finding, state=instance.state, verdict=verdict)


def _with_new_pairs_first(verdict: Verdict, accepted: Standing) -> Verdict:
    before = {pair.key: pair.share for pair in accepted.pairs}
    new, worse, old = list[SharedLine](), list[SharedLine](), list[SharedLine]()
    for pair in verdict.shared:
        was = before.get((pair.first, pair.second, bool(pair.distance)), Fraction(0))
        if Fraction(len(pair.bases), verdict.total or 1) <= was:
            old.append(pair)
        elif was:
            worse.append(replace(pair, sentence=f"{pair.sentence} (before: {percent(float(was))} of them)"))
        else:
            new.append(pair)
    changed = (*new, *worse)
    if not (changed and before):
        return verdict
    first, second = ({path for pair in own for path in (pair.first, pair.second)} for own in (new, worse))
    evidence = sorted(verdict.evidence, key=lambda place: (place.path not in first, place.path not in second))
    told = (("new", new), ("worse", worse))
    parts = [f"{head}: {'; '.join(pair.sentence for pair in own)}" for head, own in told if own]
    parts += [f"{quantity(len(old), 'pair')} as before"] if old else []
    message = verdict.message.replace(list_shared_lines(verdict.shared), "; ".join(parts))
    advice = verdict.advice.replace(advise_pairs(verdict.shared), advise_pairs(new or worse))
    return replace(
        verdict, message=message, evidence=tuple(evidence), shared=(*changed, *old), advice=advice
    )


def can_be_accepted(finding: Finding) -> bool:
    """Return whether a baseline can have a finding: one that can fail a run."""
    is_failing = finding.verdict.outcome is not Outcome.KEPT and finding.rule.kind.traits.in_baselines
    return is_failing and finding.suppressed is None and finding.rule.severity is not Severity.NOTE


def find_instances(findings: Iterable[tuple[str, Finding]]) -> tuple[Instance, ...]:
    """Return the failures among findings, each with the name of its build."""
    instances: dict[Hashable, Instance] = {}
    for number, (build, finding) in enumerate(findings):
        if not can_be_accepted(finding):
            continue
        struct = finding.struct
        file = struct.source.file if struct is not None and struct.source is not None else ""
        content = None if struct is None else outline(struct)
        key, own = finding_key(finding), standing(finding)
        identity = key, build, own, file, content
        instance = instances.setdefault(identity, Instance(key, build, own, []))
        instance.numbers.append(number)
    return tuple(instances.values())


def match_entries(findings: Iterable[tuple[str, Finding]], entries: Iterable[Entry]) -> Acceptance:
    """Match the failures of a run, each with its build, with the entries of a baseline.

    An entry accepts one failure of the same rule, struct and build that is no worse.
    """
    instances = find_instances(findings)
    by_key: dict[tuple[Key, str], list[Instance]] = defaultdict(list)
    for instance in instances:
        by_key[instance.key, instance.build].append(instance)
    accepted: dict[tuple[Key, str], list[Entry]] = defaultdict(list)
    for entry in entries:
        accepted[entry.key, entry.build].append(entry)
    idle = [
        entry for key, group in accepted.items() for entry in _match_group(by_key.get(key, []), list(group))
    ]
    return Acceptance(instances, tuple(idle))


def _match_group(instances: list[Instance], entries: list[Entry]) -> Iterator[Entry]:
    """Give each failure the entry that fits best, and yield the entries that are left."""
    left = sorted(instances, key=lambda instance: _weight(instance.standing), reverse=True)
    entries.sort(key=lambda entry: _weight(entry.standing))
    for status in (Status.SAME, Status.BETTER, Status.WORSE, Status.NOT_COMPARED):
        for instance in tuple(left):
            entry = next((e for e in entries if _status(e.standing, instance.standing) is status), None)
            if entry is None:
                continue
            instance.entry, instance.state = entry, _STATES[status]
            entries.remove(entry)
            left.remove(instance)
    yield from entries


_STATES = {
    Status.SAME: State.KNOWN,
    Status.BETTER: State.KNOWN,
    Status.WORSE: State.WORSE,
    Status.NOT_COMPARED: State.NOT_COMPARED,
}


def _weight(one: Standing) -> tuple[object, ...]:
    return one.rank, one.share, len(one.pairs), one.fields, one.pairs


def _status(accepted: Standing, now: Standing) -> Status | None:
    """Return how a failure compares with an accepted one; None if that says nothing about it."""
    if now.outcome is Outcome.UNKNOWN:
        same_cause = accepted.outcome is Outcome.UNKNOWN and accepted.cause == now.cause
        return Status.SAME if same_cause else Status.NOT_COMPARED
    # What was unknown was accepted as that, and not as a failure.
    return None if accepted.outcome is Outcome.UNKNOWN else compare_standings(accepted, now)
