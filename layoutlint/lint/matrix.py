"""Judging the builds of a matrix, and merging their findings into one report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from layoutlint.errors import ReadError, RuleFileError, UsageError
from layoutlint.judgement.build_outcomes import sort_worst_first
from layoutlint.judgement.finding import Coverage, CoverageGap, Finding, Report, SkippedRule, Unresolved
from layoutlint.judgement.rule import Pack, Rule
from layoutlint.judgement.verdict import Outcome
from layoutlint.lint import run
from layoutlint.lint.exit_status import exit_status
from layoutlint.lint.finding_order import order_findings
from layoutlint.lint.options import Options
from layoutlint.lint.reading import Inputs
from layoutlint.lint.unused import rules_used_in_some_build
from layoutlint.model.build import Build, RandomisationOptions, short_name
from layoutlint.model.paths import is_pattern
from layoutlint.model.reading import Unread, no_progress
from layoutlint.model.record import Record, replace
from layoutlint.randstruct import kernel_tree
from layoutlint.workers import pool
from layoutlint.workers.child import Lost

if TYPE_CHECKING:
    from layoutlint.randstruct.randomisation import Randomisation


class NoRules(Record, frozen=True):
    """A build to which no rules apply."""

    unread: Unread
    """The same as a failure in the report."""


T = TypeVar("T")
Result = Report | Unread | NoRules
"""The result of a build; Unread if it cannot be judged."""
_Results = list[tuple[Build, Result | RuleFileError]]
_BuildFinding = tuple[str, Finding]
"""The name of a build, and a finding of it."""


def check(
    builds: tuple[Build, ...],
    packs: tuple[Pack, ...],
    kernel_packs: tuple[Pack, ...],
    options: Options,
) -> Report:
    """Judge every build, and report one finding for each rule and struct over all builds.

    With `options.read.executor`, builds are its tasks; the report is the same. Raises UsageError if no rules
    apply to any build, and RuleFileError if rule files contradict a build.
    """
    groups = _group_by_text(builds, options)
    judge_group = partial(_judge_group, packs=packs, kernel_packs=kernel_packs, options=options)
    jobs = options.read.jobs
    if options.read.executor is not None:
        from layoutlint.lint.build_tasks import judge_groups  # few runs have an executor

        quiet = replace(options, read=options.read.of_task)
        lists = judge_groups(options.read.executor, partial(judge_group, options=quiet), groups)
    elif jobs > 1 and len(groups) > 1:
        shared = replace(options.read, progress=no_progress, jobs=max(1, jobs // len(groups)))
        judge_group = partial(judge_group, options=replace(options, read=shared))
        lists = _judge_side_by_side(judge_group, groups, jobs)
    else:
        lists = []
        for done, group in enumerate(groups):
            options.read.progress("builds", done, len(groups))
            lists.append(judge_group(group))
    results = {build.name: result for group_results in lists for build, result in group_results}
    return _merge(builds, _refuse_mistakes(results, builds), options)


def _judge_side_by_side(
    judge_group: Callable[[list[Build]], _Results], groups: list[list[Build]], jobs: int
) -> list[_Results]:
    """Judge each group of builds in a process of its own; raise ReadError if a process dies."""
    try:
        return list(pool.map_ordered(judge_group, groups, jobs))
    except Lost as lost:
        group = groups[lost.part or 0]
        reason = f"the process that judged build {group[0].name} {lost.how}; `--jobs 1` needs less memory"
        raise ReadError(", ".join(group[0].inputs), reason) from lost


def _refuse_mistakes(
    results: dict[str, Result | RuleFileError], builds: tuple[Build, ...]
) -> dict[str, Result]:
    """Return the results; raise RuleFileError with all mistakes in rule files, each with its builds."""
    mistakes = {
        name: result.messages for name, result in results.items() if isinstance(result, RuleFileError)
    }
    if mistakes:
        raise RuleFileError(
            tuple(f"{text} (in {short_name(names, builds)})" for text, names in _merge_items(mistakes))
        )
    return {name: result for name, result in results.items() if not isinstance(result, RuleFileError)}


def _group_by_text(builds: tuple[Build, ...], options: Options) -> list[list[Build]]:
    """Group builds that read the same: they are read once, and differ only in how they are judged."""
    groups: dict[object, list[Build]] = {}
    for build in builds:
        # The containers of a randomised struct are selected by the lines on which they put it.
        may_be_random = options.randomised is not None or build.randomised != RandomisationOptions()
        line_size = build.line_size if may_be_random else None
        groups.setdefault((build.text, line_size), []).append(build)
    return list(groups.values())


def _judge_group(
    group: list[Build], packs: tuple[Pack, ...], kernel_packs: tuple[Pack, ...], options: Options
) -> _Results:
    """Judge builds that read the same."""
    try:
        randomised = options.randomised or randomisation_of(group[0])
    except (ReadError, UsageError) as error:
        path, reason = ", ".join(group[0].inputs), str(error)
        return [(build, Unread(path, reason, builds=(build.name,))) for build in group]
    options = replace(options, randomised=randomised)
    inputs = run.read(group[0].inputs, packs, kernel_packs, options_of_build(group[0], options))
    return [
        (build, _report(build, inputs, packs, kernel_packs, options_of_build(build, options)))
        for build in group
    ]


def randomisation_of(build: Build) -> Randomisation | None:
    """Return how a build randomises: as the matrix states, or else the kernel build around its inputs."""
    stated = build.randomised
    if stated == RandomisationOptions() and kernel_tree.find_folder(build.inputs, kernel_tree.SEEDS) is None:
        return None
    from layoutlint.randstruct import options

    randomisation = options.read_randomisation(
        stated.mode, stated.seed, stated.kernel, stated.marked, build.inputs
    )
    if randomisation is None and (stated.seed or stated.marked):
        word = "seed" if stated.seed else "randomized"
        raise UsageError(f"`{word}` of the build needs `randstruct`")
    return randomisation


def options_of_build(build: Build, options: Options) -> Options:
    """Return the options of the command line, completed by those of a build."""
    flags = (*options.read.flags, *build.flags)
    return replace(
        options,
        line_size=options.line_size or build.line_size,
        min_align=options.min_align or build.min_align,
        read=replace(options.read, flags=flags, target=build.target, config=build.config),
        kernel=options.kernel or build.kernel,
        build=build.name,
    )


def _report(
    build: Build,
    inputs: Inputs,
    packs: tuple[Pack, ...],
    kernel_packs: tuple[Pack, ...],
    options: Options,
) -> Result | RuleFileError:
    try:
        return run.report(inputs, packs, kernel_packs, options)
    except UsageError:
        return NoRules(Unread(", ".join(build.inputs), "no rules apply to it", builds=(build.name,)))
    except RuleFileError as error:
        return error


def _merge(builds: tuple[Build, ...], results: dict[str, Result], options: Options) -> Report:
    """Merge the results of all builds into one report."""
    in_order = ((build.name, results[build.name]) for build in builds)
    reports = {name: result for name, result in in_order if isinstance(result, Report)}
    build_findings = [
        (n, f) for n, report in reports.items() for f in (*report.findings, *report.kept_findings)
    ]
    used = rules_used_in_some_build([report.findings for report in reports.values()])
    build_findings = [(name, finding) for name, finding in build_findings if finding.rule not in used]
    findings = order_findings(map(_merge_findings, _group_by_rule(build_findings)), options, builds)
    # The rule of an annotation has one id in all builds, but its fields can differ.
    first = [finding.rule for finding in findings]
    of_id = {rule.id: rule for r in reports.values() for rule in r.rules} | {rule.id: rule for rule in first}
    rules = tuple(of_id.values())
    if not rules and any(isinstance(result, NoRules) for result in results.values()):
        raise UsageError("no rules apply to these builds; give some with --rules FILE or --pack NAME")
    unread = _merge_failures(builds, results)
    coverage = _merge_coverage(reports, rules)
    all_findings = [finding for _, finding in build_findings]
    return Report(
        readings=tuple(reading for report in reports.values() for reading in report.readings),
        findings=tuple(f for f in findings if f.verdict.outcome is not Outcome.KEPT),
        kept_findings=tuple(f for f in findings if f.verdict.outcome is Outcome.KEPT),
        coverage=coverage,
        exit_status=exit_status(all_findings, unread, options, coverage.not_covered),
        unread=unread,
        rules=rules,
        builds=builds,
        packs=tuple(run.distinct_packs(pack for report in reports.values() for pack in report.packs)),
        suppressions=tuple(use for report in reports.values() for use in report.suppressions),
    )


def _group_by_rule(build_findings: Iterable[_BuildFinding]) -> list[list[_BuildFinding]]:
    """Group the findings of all builds by rule and struct, and by the place of an embedded struct."""
    groups: dict[tuple[str, str, str], list[_BuildFinding]] = {}
    for name, finding in build_findings:
        rule = finding.rule
        is_one_of_many = (is_pattern(rule.struct) or finding.around) and finding.struct is not None
        struct = finding.struct.name if is_one_of_many and finding.struct else rule.struct
        path = finding.around.path if finding.around is not None else ""
        groups.setdefault((rule.id, struct, path), []).append((name, finding))
    return list(groups.values())


def _merge_findings(group: list[_BuildFinding]) -> Finding:
    """Return the worst finding of a group, of the first build that has it, with the outcome in each build.

    A fix is one of all builds, or none: each was tried on the layout of its own build.
    """
    ordered = sort_worst_first(group)
    worst = replace(ordered[0][1], builds=tuple(ordered))
    fixes = {each.verdict.fix for _, each in ordered if each.verdict.outcome is not Outcome.KEPT}
    return worst if len(fixes) == 1 else replace(worst, verdict=replace(worst.verdict, fix=""))


def _merge_failures(builds: tuple[Build, ...], results: dict[str, Result]) -> tuple[Unread, ...]:
    """Return each failure once, with its builds.

    Rules that are for other builds are a failure only if no build is one of those.
    """
    failures = {
        build.name: [replace(unread, builds=()) for unread in _failures(results[build.name])]
        for build in builds
    }
    names = dict(_merge_items(failures))
    if len(names.get(run.FOR_OTHERS, ())) < len(builds):
        names.pop(run.FOR_OTHERS, None)
    return tuple(replace(unread, builds=in_builds) for unread, in_builds in names.items())


def _failures(result: Result) -> tuple[Unread, ...]:
    if isinstance(result, NoRules):
        return (result.unread,)
    return (result,) if isinstance(result, Unread) else result.unread


def _merge_coverage(reports: dict[str, Report], rules: tuple[Rule, ...]) -> Coverage:
    findings = (f for report in reports.values() for f in (*report.findings, *report.kept_findings))
    judged = (finding for finding in findings if not finding.rule.kind.traits.is_built_in)
    coverages = {name: report.coverage for name, report in reports.items()}
    return Coverage(
        rules=sum(not rule.kind.traits.is_built_in for rule in rules),
        applied=len(
            {finding.rule.id for finding in judged if finding.verdict.outcome is not Outcome.UNKNOWN}
        ),
        structs=sum(coverage.structs for coverage in coverages.values()),
        unresolved=_with_builds({name: coverage.unresolved for name, coverage in coverages.items()}),
        skipped=_with_builds({name: coverage.skipped for name, coverage in coverages.items()}),
        not_covered=_with_builds({name: coverage.not_covered for name, coverage in coverages.items()}),
        overridden=tuple(dict.fromkeys(text for c in coverages.values() for text in c.overridden)),
        today=next(filter(None, (coverage.today for coverage in coverages.values())), None),
        policy=tuple(dict.fromkeys(text for coverage in coverages.values() for text in coverage.policy)),
    )


Part = TypeVar("Part", Unresolved, SkippedRule, CoverageGap)


def _with_builds(parts: Mapping[str, tuple[Part, ...]]) -> tuple[Part, ...]:
    """Return the parts of coverages, each once, with its builds."""
    return tuple(replace(part, builds=names) for part, names in _merge_items(parts))


def _merge_items(items_by_build: Mapping[str, Iterable[T]]) -> Iterator[tuple[T, tuple[str, ...]]]:
    """Yield each item once, with the builds that have it."""
    names: dict[T, list[str]] = {}
    for name, items in items_by_build.items():
        for item in items:
            names.setdefault(item, []).append(name)
    return ((item, tuple(in_builds)) for item, in_builds in names.items())
