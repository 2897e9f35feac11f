"""Many builds, one verdict: each is judged for itself, and a finding says in which it fails."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from layoutlint.errors import ReadError, RuleFileError, UsageError
from layoutlint.judgement.build_outcomes import spread, worst_first
from layoutlint.judgement.finding import Coverage, Finding, NotCovered, Report
from layoutlint.judgement.rule import Pack, Rule
from layoutlint.judgement.verdict import Outcome
from layoutlint.lint import run
from layoutlint.lint.exit_status import exit_status
from layoutlint.lint.options import Options
from layoutlint.lint.unused import used_somewhere
from layoutlint.model.build import Build, Randomised, named
from layoutlint.model.paths import is_pattern
from layoutlint.model.reading import Unread, no_progress
from layoutlint.randstruct import kernel_tree
from layoutlint.readers.processes import pool
from layoutlint.readers.processes.child import Lost

if TYPE_CHECKING:
    from layoutlint.randstruct.randomisation import Randomisation

Result = Report | Unread
"""What became of a build; Unread where it cannot be judged."""
_Judged = list[tuple[Build, Result | RuleFileError]]
_NO_RULES = "no rules apply to it"


def check(
    builds: tuple[Build, ...], packs: tuple[Pack, ...], kernel_packs: tuple[Pack, ...], options: Options
) -> Report:
    """Judge every build; the report has one finding for each rule and struct, over all of them.

    Raises UsageError when no rules apply to any build, RuleFileError for what contradicts some.
    """
    groups = _of_one_text(builds, options)
    judged = partial(_judge, packs=packs, kernel_packs=kernel_packs, options=options)
    jobs = options.read.jobs
    if jobs > 1 and len(groups) > 1:
        shared = replace(options.read, progress=no_progress, jobs=max(1, jobs // len(groups)))
        judged = partial(judged, options=replace(options, read=shared))
        lists = _side_by_side(judged, groups, jobs)
    else:
        lists = []
        for done, group in enumerate(groups):
            options.read.progress("builds", done, len(groups))
            lists.append(judged(group))
    results = {build.name: result for found in lists for build, result in found}
    return _merged(builds, _without_mistakes(results, builds), options)


def _side_by_side(
    judged: Callable[[list[Build]], _Judged], groups: list[list[Build]], jobs: int
) -> list[_Judged]:
    """What becomes of each group of builds, by several processes; raises ReadError when one dies."""
    try:
        return list(pool.ordered(judged, groups, jobs))
    except Lost as lost:
        group = groups[lost.part or 0]
        reason = f"the process that judged build {group[0].name} {lost.how}; `--jobs 1` needs less memory"
        raise ReadError(", ".join(group[0].inputs), reason) from lost


def _without_mistakes(
    told: dict[str, Result | RuleFileError], builds: tuple[Build, ...]
) -> dict[str, Result]:
    """The results; raises RuleFileError with all mistakes that builds show, each with the builds that do."""
    mistakes = {name: result.messages for name, result in told.items() if isinstance(result, RuleFileError)}
    if mistakes:
        raise RuleFileError(tuple(_in_builds(mistakes, builds)))
    return {name: result for name, result in told.items() if not isinstance(result, RuleFileError)}


def _of_one_text(builds: tuple[Build, ...], options: Options) -> list[list[Build]]:
    """Builds that read the same differ in what is judged alone; they are read once."""
    groups: dict[object, list[Build]] = {}
    for build in builds:
        # What can embed a randomised struct is taken by the lines on which it falls.
        may_be_random = options.randomised is not None or build.randomised != Randomised()
        lines = build.line_size if may_be_random else None
        groups.setdefault((build.text, lines), []).append(build)
    return list(groups.values())


def _judge(
    group: list[Build], packs: tuple[Pack, ...], kernel_packs: tuple[Pack, ...], options: Options
) -> _Judged:
    """What becomes of builds that read the same."""
    try:
        randomised = options.randomised or _randomised(group[0])
    except (ReadError, UsageError) as error:
        path, reason = ", ".join(group[0].inputs), str(error)
        return [(build, Unread(path, reason, builds=(build.name,))) for build in group]
    options = replace(options, randomised=randomised)
    inputs = run.read(group[0].inputs, packs, kernel_packs, _options(group[0], options))
    return [(build, _report(build, inputs, packs, kernel_packs, _options(build, options))) for build in group]


def _randomised(build: Build) -> Randomisation | None:
    """How a build randomises: what the matrix says, else the kernel build that its inputs stand in."""
    said = build.randomised
    if said == Randomised() and kernel_tree.around(build.inputs, kernel_tree.SEEDS) is None:
        return None
    from layoutlint.randstruct import options

    found = options.randomisation(said.mode, said.seed, said.kernel, said.marked, build.inputs)
    if found is None and (said.seed or said.marked):
        word = "seed" if said.seed else "randomized"
        raise UsageError(f"`{word}` of the build says nothing without `randstruct`")
    return found


def _options(build: Build, options: Options) -> Options:
    """Those of the command line, and what a build says besides."""
    flags = (*options.read.flags, *build.flags)
    return replace(
        options,
        line_size=options.line_size or build.line_size,
        min_align=options.min_align or build.min_align,
        read=replace(options.read, flags=flags, target=build.target, config=build.config),
        kernel=options.kernel or build.kernel,
    )


def _report(
    build: Build,
    inputs: run.Inputs,
    packs: tuple[Pack, ...],
    kernel_packs: tuple[Pack, ...],
    options: Options,
) -> Result | RuleFileError:
    try:
        report = run.report(inputs, packs, kernel_packs, options)
    except UsageError:
        return Unread(", ".join(build.inputs), _NO_RULES, builds=(build.name,))
    except RuleFileError as error:
        return error
    return replace(report, readings=tuple(replace(r, build=build.name) for r in report.readings))


def _merged(builds: tuple[Build, ...], results: dict[str, Result], options: Options) -> Report:
    told = ((build.name, results[build.name]) for build in builds)
    reports = {name: result for name, result in told if isinstance(result, Report)}
    each = [(n, f) for n, report in reports.items() for f in (*report.findings, *report.kept)]
    used = used_somewhere([report.findings for report in reports.values()])
    each = [(name, finding) for name, finding in each if finding.rule not in used]
    findings = sorted((_as_one(same, builds) for same in _same(each)), key=run.order)
    # What structs say themselves is a rule of one id, whose fields can differ from build to build.
    first = [finding.rule for finding in findings]
    of_id = {rule.id: rule for r in reports.values() for rule in r.rules} | {rule.id: rule for rule in first}
    rules = tuple(of_id.values())
    if not rules and any(isinstance(r, Unread) and r.reason == _NO_RULES for r in results.values()):
        raise UsageError("no rules apply to these builds; give some with --rules FILE or --pack NAME")
    unread = _unread(builds, results)
    coverage = _coverage(reports, rules, builds)
    return Report(
        readings=tuple(reading for report in reports.values() for reading in report.readings),
        findings=tuple(f for f in findings if f.verdict.outcome is not Outcome.KEPT),
        kept=tuple(f for f in findings if f.verdict.outcome is Outcome.KEPT),
        coverage=coverage,
        exit_status=exit_status([finding for _, finding in each], unread, options, coverage.not_covered),
        unread=unread,
        rules=rules,
        builds=builds,
    )


def _same(each: Iterable[tuple[str, Finding]]) -> list[list[tuple[str, Finding]]]:
    """The findings of all builds on one rule and struct, and of what it stands around."""
    found: dict[tuple[str, str, str], list[tuple[str, Finding]]] = {}
    for name, finding in each:
        rule = finding.rule
        is_one_of_many = (is_pattern(rule.struct) or finding.around) and finding.struct is not None
        struct = finding.struct.name if is_one_of_many and finding.struct else rule.struct
        around = finding.around.path if finding.around is not None else ""
        found.setdefault((rule.id, struct, around), []).append((name, finding))
    return list(found.values())


def _as_one(same: list[tuple[str, Finding]], builds: tuple[Build, ...]) -> Finding:
    """The finding of the first build in which the worst happens, and what it is in all of them."""
    ordered = worst_first(same)
    name, first = ordered[0]
    message = f"{spread(ordered, builds)}: {first.verdict.message}"
    if len({finding.verdict.message for _, finding in ordered}) > 1:
        message = f"{message} (build {name})"
    return replace(first, verdict=replace(first.verdict, message=message), builds=tuple(ordered))


def _unread(builds: tuple[Build, ...], results: dict[str, Result]) -> tuple[Unread, ...]:
    """Each reason once, with its builds. Rules for other builds are no failure while there are such."""
    found: dict[Unread, list[str]] = {}
    for build in builds:
        result = results[build.name]
        for unread in (result,) if isinstance(result, Unread) else result.unread:
            found.setdefault(replace(unread, builds=()), []).append(build.name)
    if len(found.get(run.FOR_OTHERS, ())) < len(builds):
        found.pop(run.FOR_OTHERS, None)
    return tuple(replace(unread, builds=tuple(names)) for unread, names in found.items())


def _coverage(reports: dict[str, Report], rules: tuple[Rule, ...], builds: tuple[Build, ...]) -> Coverage:
    judged = (f for report in reports.values() for f in (*report.findings, *report.kept))
    covered = {name: report.coverage for name, report in reports.items()}
    return Coverage(
        rules=len(rules),
        applied=len(
            {finding.rule.id for finding in judged if finding.verdict.outcome is not Outcome.UNKNOWN}
        ),
        structs=sum(coverage.structs for coverage in covered.values()),
        unresolved=tuple(_in_builds({n: c.unresolved for n, c in covered.items()}, builds)),
        skipped=tuple(_in_builds({n: c.skipped for n, c in covered.items()}, builds)),
        not_covered=tuple(_not_covered(covered)),
        policy=tuple(dict.fromkeys(said for each in covered.values() for said in each.policy)),
    )


def _not_covered(covered: dict[str, Coverage]) -> Iterator[NotCovered]:
    """Yield each part that was not looked at once, with its builds."""
    found: dict[NotCovered, list[str]] = {}
    for name, coverage in covered.items():
        for each in coverage.not_covered:
            found.setdefault(each, []).append(name)
    for each, names in found.items():
        yield replace(each, builds=tuple(names))


def _in_builds(texts: dict[str, tuple[str, ...]], builds: tuple[Build, ...]) -> Iterator[str]:
    """Each text once, with the builds of which it is true."""
    found: dict[str, list[str]] = {}
    for name, said in texts.items():
        for text in said:
            found.setdefault(text, []).append(name)
    for text, names in found.items():
        yield f"{text} (in {named(names, builds)})"
