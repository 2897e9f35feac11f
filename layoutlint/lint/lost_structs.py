"""The structs that rules judged before a change and judge no more: renamed, removed, or hidden."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase

from layoutlint.geometry.layout import Layout
from layoutlint.judgement.finding import Finding, Report
from layoutlint.judgement.rule import VARIABLES, Rule, Severity
from layoutlint.judgement.verdict import unknown
from layoutlint.lint.exit_status import exit_status
from layoutlint.lint.finding_order import order_findings
from layoutlint.lint.options import Options
from layoutlint.model.paths import is_pattern
from layoutlint.model.reading import Reading
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Struct
from layoutlint.model.wanted import Wanted
from layoutlint.phrases import first_few


class JudgedStruct(Record, frozen=True):
    """A definition of a struct, or a variable, that a rule judged."""

    rule: str
    name: str
    """The name in the rule; for a pattern, that of the struct or variable."""
    file: str
    """The file that defines it, or the input."""
    fields: tuple[str, ...] = ()
    """The names of its fields, sorted."""

    @property
    def key(self) -> tuple[str, str]:
        """The rule and the name."""
        return self.rule, self.name


class Loss(Record, frozen=True):
    """A struct that a rule judged before a change and judges no more, in the files that defined it."""

    rule: Rule
    name: str
    was: tuple[JudgedStruct, ...]
    is_judged: bool
    """Whether another definition of the name is judged, or for a pattern another name."""
    is_of_unit: bool = False
    """Whether it is still defined, but not for a changed file: that matters if it has an heir."""

    @property
    def key(self) -> tuple[str, str]:
        """The rule and the name."""
        return self.rule.id, self.name

    @property
    def files(self) -> tuple[str, ...]:
        """The files that defined it."""
        return tuple(dict.fromkeys(each.file for each in self.was))

    @property
    def subject(self) -> str:
        """What it is, in messages."""
        return self.name if self.rule.struct == VARIABLES else f"struct {self.name}"


def list_judged(report: Report, counts: Callable[[Finding], bool]) -> tuple[JudgedStruct, ...]:
    """Return the definitions that rules of files judged in a run, in the findings that count.

    Guesses and annotations do not count.
    """
    counted = filter(counts, (*report.findings, *report.kept_findings))
    return tuple(dict.fromkeys(judged for finding in counted for judged in _records(finding)))


def _records(finding: Finding) -> Iterator[JudgedStruct]:
    struct, rule = finding.struct, finding.rule
    if struct is None or rule.guess or rule.kind.traits.is_built_in:
        return
    if struct.bit_size is None and struct.problem is None:  # declared, not defined
        return
    if rule.struct == VARIABLES:
        name = struct.label or struct.name
    else:
        name = struct.name if is_pattern(rule.struct) else rule.struct
    file = struct.source.file if struct.source is not None else finding.input
    yield JudgedStruct(rule.id, name, file, field_names(struct))


def field_names(struct: Struct) -> tuple[str, ...]:
    """Return the names of the fields of a struct, those of its anonymous members too, sorted."""
    if struct.bit_size is None:
        return ()
    return tuple(sorted({place.path for place in Layout(struct).walk_fields(0)}))


def find(
    old: Iterable[JudgedStruct], new: Iterable[JudgedStruct], rules: Iterable[Rule], removed: frozenset[str]
) -> tuple[Loss, ...]:
    """Return what some rules judged and judge no more, without the names that people removed."""
    by_id = {rule.id: rule for rule in rules}
    now: dict[str, set[tuple[str, str]]] = {}
    for each in new:
        now.setdefault(each.rule, set()).add((each.name, each.file))
    gone: dict[tuple[str, str], list[JudgedStruct]] = {}
    for each in old:
        if each.rule in by_id and (each.name, each.file) not in now.get(each.rule, ()):
            gone.setdefault(each.key, []).append(each)
    losses = []
    for (rule_id, name), was in gone.items():
        if name in removed:
            continue
        names = {each for each, _ in now.get(rule_id, ())}
        is_exact = not _is_open(by_id[rule_id])
        is_judged = name in names if is_exact else bool(names)
        losses.append(Loss(by_id[rule_id], name, tuple(was), is_judged))
    return tuple(losses)


def structs_of_units(readings: Iterable[Reading], wanted: Wanted) -> Iterator[JudgedStruct]:
    """Yield the requested structs of files, also of what they include, without rules."""
    for reading in readings:
        for struct in reading.structs:
            if struct.bit_size is not None or struct.problem is not None:
                for name in filter(wanted.matches, (struct.name, *struct.aliases)):
                    yield JudgedStruct("", name, reading.path, field_names(struct))


def find_in_units(
    old: Iterable[JudgedStruct],
    new: Iterable[JudgedStruct],
    rules: Iterable[Rule],
    removed: frozenset[str],
) -> Iterator[Loss]:
    """Yield the structs of rules that changed files had, and have no more."""
    now = {(each.name, each.file) for each in new}
    gone = [each for each in old if (each.name, each.file) not in now and each.name not in removed]
    for rule in rules:
        for each in gone:
            if rule.struct != VARIABLES and not rule.guess and fnmatchcase(each.name, rule.struct):
                yield Loss(rule, each.name, (each,), True, is_of_unit=True)


def _is_open(rule: Rule) -> bool:
    """Return whether a rule names its structs by a pattern, or variables."""
    return rule.struct == VARIABLES or is_pattern(rule.struct)


def successors(loss: Loss, structs: Iterable[Struct], old_names: frozenset[str]) -> tuple[str, ...]:
    """Return the new structs that can be a lost one under another name: they have half of its fields."""
    fields = {name for each in loss.was for name in each.fields}
    found = []
    for struct in structs:
        names = {struct.name, *struct.aliases}
        if loss.name in names or not names.isdisjoint(old_names):
            continue
        if fields and 2 * len(fields.intersection(field_names(struct))) >= len(fields):
            found.append(struct.name)
    return tuple(dict.fromkeys(found))


def finding(loss: Loss, heirs: Sequence[str], remedy: str) -> Finding | None:
    """Return the finding on a loss; None if another definition of the name is judged, and nothing is new.

    `heirs` are the new structs that can be it; `remedy` says how to remove it on purpose.
    """
    files = first_few(loss.files)
    if heirs:
        are = "is new and has" if len(heirs) == 1 else "are new and have"
        heir = f"struct {first_few(list(heirs))} {are} fields of it: it can have another name now"
        text = f"{files} no longer defines {loss.subject}, and {heir}"
    elif not loss.is_judged:
        text = f"{files} defined {loss.subject} before this change, and nothing that is judged defines it now"
    elif _is_open(loss.rule) and not loss.is_of_unit:
        text = f"{loss.subject} of {files} matched `{loss.rule.struct}` before this change, and is gone"
        return Finding(replace(loss.rule, severity=Severity.NOTE), None, unknown(text), "")
    else:
        return None
    return Finding(loss.rule, None, replace(unknown(text), advice=remedy), "")


def add(report: Report, findings: Iterable[Finding], options: Options) -> Report:
    """Return a report with findings on losses, in place of those on rules without a struct."""
    findings = tuple(findings)
    ids = {each.rule.id for each in findings}
    others = (each for each in report.findings if each.struct is not None or each.rule.id not in ids)
    every = tuple(order_findings((*others, *findings), options))
    rules = tuple({rule.id: rule for rule in (*(each.rule for each in findings), *report.rules)}.values())
    unreached = "" if findings or report.unread else report.coverage.unreached
    count = max(report.coverage.rules, len(rules)) if findings else report.coverage.rules
    coverage = replace(report.coverage, rules=count, unreached=unreached)
    status = exit_status(every, report.unread, options, report.coverage.not_covered)
    return replace(report, findings=every, rules=rules, coverage=coverage, exit_status=status)
