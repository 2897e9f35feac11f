"""Changes that mend findings: each is applied to the layout, and judged again by the rule.

Most findings are mended by one alignment. The candidates are few and in an order, so that what is tried
depends on the finding alone; `suggest` searches all orders of the members.
"""

from __future__ import annotations

from collections.abc import Sequence

from layoutlint.errors import RuleFileError
from layoutlint.judgement.advice import tolerate_advice
from layoutlint.judgement.finding import Finding, Report
from layoutlint.judgement.rule import VARIABLES, Rule
from layoutlint.judgement.verdict import Outcome
from layoutlint.lint.changed_layout import Change, Changeable, changeable
from layoutlint.lint.changes_to_try import OrderBudget, levels
from layoutlint.lint.judge import judge_definition, placement_table
from layoutlint.lint.judged_input import JudgedInput
from layoutlint.lint.options import Options
from layoutlint.lint.placing import PlacementTable, RulePlacements
from layoutlint.lint.repair_words import RepairWords
from layoutlint.model.record import Record, replace
from layoutlint.model.storage import EMBEDDED
from layoutlint.model.structs import Struct
from layoutlint.randstruct.c_abi import CannotLayOut

_MOST_OF_ONE = 200
"""The most changes that are tried for a finding."""
_MOST_OF_ALL = 4_000
"""The most that are tried in a run; each takes less than a millisecond for most structs."""
_MOST_FIELDS = 300
"""The most members of a struct that is changed."""
_FAILING = (Outcome.BROKEN, Outcome.AT_RISK)


def with_repairs(report: Report, inputs: Sequence[JudgedInput], options: Options) -> Report:
    """Return a report in which the advice on a finding is a fix, where one was found and keeps the rule."""
    bench = _Bench(tuple(inputs), options)
    findings = []
    for number, finding in enumerate(report.findings):
        options.read.progress("searching fixes", number, len(report.findings))
        findings.append(bench.with_repair(finding))
    return replace(report, findings=tuple(findings))


class _Subject(Record, frozen=True):
    """A finding with what judges its struct again."""

    rule: Rule
    changeable: Changeable
    where: RulePlacements
    others: tuple[tuple[Rule, RulePlacements, Outcome], ...]
    """The other rules on the struct, and their outcomes now."""

    def keeps(self, struct: Struct) -> bool:
        """Return whether a changed struct keeps the rule."""
        return _outcome(self.rule, struct, self.where) is Outcome.KEPT

    def harms(self, struct: Struct) -> bool:
        """Return whether a changed struct breaks another rule that it keeps now."""
        return any(
            now is Outcome.KEPT and _outcome(rule, struct, where) is not Outcome.KEPT
            for rule, where, now in self.others
        )


class _Bench:
    """Repairs the findings of a run."""

    def __init__(self, inputs: tuple[JudgedInput, ...], options: Options) -> None:
        self._inputs = inputs
        self._options = options
        self._left, self._orders = _MOST_OF_ALL, OrderBudget()
        self._changeable: dict[int, Changeable | None] = {}
        self._tables: dict[tuple[int, int], PlacementTable] = {}

    def with_repair(self, finding: Finding) -> Finding:
        """Return a finding, with a fix if one was found."""
        if not _may_be_mended(finding) or finding.struct is None or self._left <= 0:
            return finding
        own = self._changeable_of(finding.struct)
        judged = None if own is None else self._input_of(finding)
        if own is None or judged is None or _has_pragma(finding.struct, judged):
            return finding
        subject = self._subject(finding, own, judged)
        change = None if subject is None else self._search(finding, subject)
        if subject is None or change is None:
            return finding
        words = RepairWords(own, judged.aligner, judged.reading.reader)
        verdict = finding.verdict
        accepted = tolerate_advice(len(verdict.bases), verdict.total) if verdict.total else ""
        end = accepted if accepted and verdict.advice.endswith(accepted) else ""
        return replace(finding, verdict=replace(verdict, fix=f"{words.describe(change)}{end}"))

    def _changeable_of(self, struct: Struct) -> Changeable | None:
        if id(struct) not in self._changeable:
            self._changeable[id(struct)] = changeable(struct) if len(struct.fields) <= _MOST_FIELDS else None
        return self._changeable[id(struct)]

    def _input_of(self, finding: Finding) -> JudgedInput | None:
        """Return the input with the struct of a finding, and its rule."""
        struct, rule = finding.struct, finding.rule
        for judged in self._inputs:
            same = () if struct is None else judged.structs.find(struct.name)
            if any(one is struct for one in same) and rule in judged.rules:
                return judged
        return None

    def _subject(self, finding: Finding, own: Changeable, judged: JudgedInput) -> _Subject | None:
        """Return what judges the struct again; None if containers decide on its placements."""
        options = self._options.of_input(judged.reading.path)
        where, others = None, []
        for number, pack in enumerate(judged.packs):
            key = id(judged), number
            for rule in pack.rules:
                is_own = rule is finding.rule or rule == finding.rule
                if not is_own and (rule.guess or not _is_on(rule, own.struct) or judged.exclusion(rule.when)):
                    continue
                if key not in self._tables:
                    self._tables[key] = placement_table(judged, pack, options)
                places = self._tables[key].select(rule)
                if is_own:
                    where = where or places
                else:
                    others.append((rule, places, _outcome(rule, own.struct, places)))
        if where is None or where.surroundings.shape(own.struct) is not None or _is_inside(where, own.struct):
            return None
        return _Subject(finding.rule, own, where, tuple(others))

    def _search(self, finding: Finding, subject: _Subject) -> Change | None:
        """Return the first change that keeps the rule and harms no other one; None for none."""
        tried: set[Change] = set()
        for level in levels(finding, subject.changeable, subject.where, self._orders):
            passing: list[tuple[int, int, Change, Struct]] = []
            for change in level:
                if change in tried:
                    continue
                if len(tried) >= _MOST_OF_ONE or self._left <= 0:
                    break
                tried.add(change)
                self._left -= 1
                struct = _apply(subject, change)
                if struct is not None and subject.keeps(struct):
                    passing.append((struct.bit_size or 0, len(passing), change, struct))
            for _, _, change, struct in sorted(passing, key=lambda one: one[:2]):
                if not subject.harms(struct):
                    return _without_needless(change, subject)
        return None


def _has_pragma(struct: Struct, judged: JudgedInput) -> bool:
    """Return whether a `#pragma pack` in the file of a struct may lower the alignments in it."""
    if judged.reading.reader != "clang" or struct.source is None:
        return False
    from layoutlint.readers.clang import text_search  # compiled inputs have no text

    text = text_search.content(struct.source.file)
    return any(word in text for word in (b"pragma pack", b"_Pragma"))


def _may_be_mended(finding: Finding) -> bool:
    """Return whether a finding is about the layout of one struct, and a change of it could keep the rule."""
    verdict = finding.verdict
    is_printed = verdict.outcome in _FAILING and not finding.is_accepted
    is_about_one = finding.around is None and not finding.rule.kind.traits.compares_definitions
    is_built_in = finding.rule.kind.traits.is_built_in or finding.rule.struct == VARIABLES
    return is_printed and is_about_one and not is_built_in and verdict.orders is None


def _is_on(rule: Rule, struct: Struct) -> bool:
    """Return whether a rule judges a struct by itself."""
    is_other = rule.struct == VARIABLES or rule.around or rule.kind.traits.compares_definitions
    return not is_other and struct.matches(rule.struct)


def _is_inside(where: RulePlacements, struct: Struct) -> bool:
    """Return whether containers decide where a struct is: with it, they would change."""
    storage = where.pack.storage(struct)
    return storage is not None and storage.word == EMBEDDED


def _outcome(rule: Rule, struct: Struct, where: RulePlacements) -> Outcome:
    try:
        return judge_definition(rule, struct, where).outcome
    except RuleFileError:  # the declared placement contradicts the new alignment
        return Outcome.UNKNOWN


def _apply(subject: _Subject, change: Change) -> Struct | None:
    try:
        return subject.changeable.apply(change)
    except CannotLayOut:
        return None


def _without_needless(change: Change, subject: _Subject) -> Change:
    """Return a change without the alignments that the rule is kept without."""
    for one in change.aligned if len(change.aligned) > 2 else ():
        fewer = replace(change, aligned=tuple(each for each in change.aligned if each != one))
        struct = _apply(subject, fewer)
        if struct is not None and subject.keeps(struct) and not subject.harms(struct):
            change = fewer
    return change
