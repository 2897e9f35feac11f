"""Rules judged on structs: a verdict over all placements and possible alignments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from layoutlint.errors import RuleFileError, UsageError
from layoutlint.geometry.layout import Layout, cached_layout
from layoutlint.geometry.placement import Placements
from layoutlint.judgement.context import CannotTell, Context, NoSuchField, NotApplicable, UnreliableLayout
from layoutlint.judgement.finding import Definition, Finding
from layoutlint.judgement.namesakes import Namesakes, other_layouts
from layoutlint.judgement.rule import VARIABLES, Pack, Rule
from layoutlint.judgement.verdict import ContainerVerdict, Outcome, Verdict, unknown
from layoutlint.lint import unknown_alignments
from layoutlint.lint.judged_input import JudgedInput
from layoutlint.lint.options import Options
from layoutlint.lint.placing import Case, PlacementTable, RulePlacements
from layoutlint.lint.unknown_alignments import CaseVerdicts
from layoutlint.model import possible_sizes
from layoutlint.model.paths import is_pattern
from layoutlint.model.record import replace
from layoutlint.model.storage import MALLOCS
from layoutlint.model.structs import Struct

_MOST_FINDINGS = 2_000_000
"""The most findings of a run, each of about 1 KB; guesses on a kernel make 100,000."""


def judge_all(inputs: Sequence[JudgedInput], options: Options) -> list[Finding]:
    """Judge all inputs by all of their packs.

    Raises RuleFileError with all mistakes in rule files that only the inputs show, and UsageError for too
    many findings, kept ones included.
    """
    mistakes: list[str] = []
    defined = frozenset(s.name for each in inputs for s in each.reading.structs if not _is_declaration(s))
    absent = _absent_variables(inputs) if len(inputs) > 1 else None
    every = (f for each in inputs for f in judge_input(each, options, defined, mistakes, absent))
    findings = list(islice(every, _MOST_FINDINGS + 1))
    if len(findings) > _MOST_FINDINGS:
        raise UsageError(
            f"rules with patterns judge structs more than {_MOST_FINDINGS:,} times; "
            "write narrower patterns, or choose structs with --struct"
        )
    if mistakes:
        raise RuleFileError(tuple(dict.fromkeys(mistakes)))
    return findings


def judge_input(
    judged: JudgedInput,
    options: Options,
    defined: frozenset[str] = frozenset(),
    mistakes: list[str] | None = None,
    absent: frozenset[str] | None = None,
) -> Iterator[Finding]:
    """Judge every definition of a struct in an input by the rules on it; skip rules on structs that it lacks.

    `defined` are the structs that some input of the run defines: declarations of them are skipped. Mistakes
    in rule files are added to `mistakes`; if it is None, RuleFileError is raised. `absent` are the variables
    that no input of the run has, if it has several.
    """
    options = options.of_input(judged.reading.path)
    for pack in judged.packs:
        table = placement_table(judged, pack, options)
        yield from _judge_pack(judged, pack, table, options, defined, mistakes, absent)


def placement_table(judged: JudgedInput, pack: Pack, options: Options) -> PlacementTable:
    """Return the placements by which the rules of a pack judge an input; the options are those of it."""
    return PlacementTable(
        pack,
        judged.reading,
        judged.surroundings,
        options.line_size,
        options.min_align,
        judged.aligner,
        judged.companions(options.read) if pack.guesses else None,
        judged.rules_on_pairs() if pack.guesses else None,
        judged.owners(pack, options.read),
    )


def _absent_variables(inputs: Sequence[JudgedInput]) -> frozenset[str] | None:
    """Return the variables that no input has; None without rules on variables."""
    if not any(rule.struct == VARIABLES for each in inputs for rule in each.rules):
        return None
    from layoutlint.lint import variables  # few rules are about variables

    return variables.absent_variables(each.reading for each in inputs)


def _judge_pack(
    judged: JudgedInput,
    pack: Pack,
    table: PlacementTable,
    options: Options,
    defined: frozenset[str],
    mistakes: list[str] | None,
    absent: frozenset[str] | None,
) -> Iterator[Finding]:
    for rule in pack.rules:
        if judged.exclusion(rule.when):
            continue
        if rule.struct == VARIABLES:
            from layoutlint.lint import variables  # few rules are about variables

            for finding in variables.judge_variables(
                rule,
                judged.reading,
                pack,
                options.line_size,
                judge_placements,
                table.aligner,
                table.owners,
                absent,
            ):
                if options.mode.sees_all or not finding.verdict.is_missing_field:  # another file has it
                    yield finding
            continue
        compares = rule.kind.traits.compares_definitions
        skips_declarations = rule.shipped or options.skips_missing or (compares and is_pattern(rule.struct))
        structs = [s for s in judged.structs.find(rule.struct) if options.selection.has(s)]
        structs = [
            s for s in structs if not (_is_declaration(s) and (skips_declarations or s.name in defined))
        ]
        if rule.guess or compares:
            structs = [struct for struct in structs if not struct.omits_members]
        definitions: dict[str, list[Struct]] = {}
        for struct in structs:
            definitions.setdefault(struct.name, []).append(struct)
        for struct in structs:
            try:
                yield from _judge_struct(rule, struct, judged, table.select(rule), definitions[struct.name])
            except RuleFileError as error:
                if mistakes is None:
                    raise
                mistakes += error.messages


def _judge_struct(
    rule: Rule, struct: Struct, judged: JudgedInput, where: RulePlacements, namesakes: list[Struct]
) -> Iterator[Finding]:
    """Judge one definition of a struct or, for a rule on surroundings, each of its containers.

    `namesakes` are all definitions of its name.
    """
    may_lack = rule.shipped and judged.reading.is_kernel
    if rule.around:
        from layoutlint.lint import surroundings  # few rules are about surroundings

        for finding in surroundings.judge_containers(rule, struct, judged.reading, where, judge_definition):
            yield replace(finding, is_lack=may_lack and finding.verdict.is_missing_field)
        return
    if len(namesakes) > 1:
        where = replace(where, namesakes=Namesakes(struct, tuple(namesakes)))
    verdict = judge_definition(rule, struct, where)
    if verdict.is_not_applicable:
        return
    first, *also = struct.files or (judged.reading.path,)
    is_lack = may_lack and verdict.is_missing_field
    others = [] if rule.kind.traits.compares_definitions else namesakes
    definition = _definition(struct, others) if len(namesakes) > 1 else None
    yield Finding(rule, struct, verdict, first, tuple(also), definition=definition, is_lack=is_lack)


def _is_declaration(struct: Struct) -> bool:
    return struct.bit_size is None and struct.problem is None


def _definition(struct: Struct, namesakes: list[Struct]) -> Definition:
    own = (struct.origin,) if struct.origin else ()
    return Definition(
        struct.source,
        (struct.bit_size or 0) // 8,
        struct.files if len(struct.files) > 1 else own,
        other_layouts(struct, namesakes),
    )


Check = Callable[[Context], Verdict]
"""Judges a struct in some placements."""


def judge_definition(
    rule: Rule, struct: Struct, where: RulePlacements, check: Check | None = None
) -> Verdict:
    """Return the verdict over all placements. `check` replaces the kind's own check.

    If the sizes of members are open, it is that on which all possible layouts agree.
    """
    verdict = _judge_layout(rule, struct, where, check)
    if verdict.outcome is not Outcome.UNKNOWN or struct.problem is not None:
        return verdict
    verdicts = [_judge_layout(rule, one, where, check) for one in possible_sizes.layouts(struct)]
    return verdicts[0] if len({each.outcome for each in verdicts}) == 1 else verdict


def _judge_layout(rule: Rule, struct: Struct, where: RulePlacements, check: Check | None) -> Verdict:
    if struct.problem is not None:
        verdicts_of_layouts = [judge_definition(rule, one, where, check) for one in struct.layouts]
        if len({verdict.outcome for verdict in verdicts_of_layouts}) == 1:
            return verdicts_of_layouts[0]
        verdict = unknown(f"the layout of {struct.name} is unreliable: {struct.problem}")
        return replace(verdict, is_unreliable=True)
    if struct.bit_size is None:
        return unknown(f"{struct.aggregate} {struct.name} is declared but not defined")
    check = check or rule.kind.check
    try:
        shape = where.surroundings.shape(struct)
        if shape is not None:
            from layoutlint.lint import every_order

            return every_order.judge_every_order(rule, struct, shape, where)
        verdicts = _judge_cases(rule, cached_layout(struct), where, check, False)
        if not _common_verdict(rule, verdicts):
            layout = cached_layout(where.surroundings.settle(struct))
            verdicts = _judge_cases(rule, layout, where, check, True)
    except CannotTell as error:
        return _unknown_verdict(rule, error)
    return _common_verdict(rule, verdicts) or unknown_alignments.unknown_alignment(struct, verdicts)


def _judge_cases(
    rule: Rule, layout: Layout, where: RulePlacements, check: Check, is_settled: bool
) -> CaseVerdicts:
    """Return the verdict for each alignment that makes a difference, the likeliest first.

    Raises CannotTell.
    """
    cases = where.usual_cases(layout, is_settled)
    verdicts = _verdicts(rule, layout, where, check, cases)
    if where.is_of_caches(layout.struct):
        return _judge_holders(rule, layout, where, check, cases, verdicts)
    smallest = None if rule.guess or rule.around else where.smallest_unplaced(layout.struct)
    if smallest is None or not any(verdict.total for _, verdict in verdicts):
        return verdicts
    anywhere = where.at_every_byte(layout, smallest)
    if anywhere is not None and _agree(
        (*verdicts, *_verdicts(rule, layout, where, check, (Case(anywhere),)))
    ):
        return verdicts  # whatever the inputs show, which takes long to read
    all_cases = where.add_shown_places(layout, cases)
    shown = verdicts if all_cases == cases else _verdicts(rule, layout, where, check, all_cases)
    return verdicts if _agree((*verdicts, *shown)) else shown


def _judge_holders(
    rule: Rule,
    layout: Layout,
    where: RulePlacements,
    check: Check,
    cases: tuple[Case, ...],
    verdicts: CaseVerdicts,
) -> CaseVerdicts:
    """Return the verdicts of a struct in slab caches, or with what embeds it, if that makes a difference.

    Inodes of most filesystems are no objects of the cache of inodes.
    """
    anywhere = _verdicts(rule, layout, where, check, where.cases_alone(layout))
    if _agree((*verdicts, *anywhere)):
        return verdicts  # wherever objects are: what embeds them takes long to read
    try:
        shown = _verdicts(rule, layout, where, check, where.add_holders(layout.struct, cases))
    except CannotTell:
        return anywhere
    return shown if len({verdict.outcome for _, verdict in shown}) == 1 else anywhere


def _agree(verdicts: Sequence[tuple[Case, Verdict]]) -> bool:
    """Return whether a rule fails in no placement, or in all."""
    outcomes = {verdict.outcome for _, verdict in verdicts}
    fails_nowhere = not any(verdict.bases for _, verdict in verdicts)
    return (outcomes == {Outcome.KEPT} and fails_nowhere) or outcomes == {Outcome.BROKEN}


def _verdicts(
    rule: Rule, layout: Layout, where: RulePlacements, check: Check, cases: tuple[Case, ...]
) -> CaseVerdicts:
    """Return the verdict for each of some cases. Raises CannotTell."""
    is_one_of_many = is_pattern(rule.struct)
    verdicts = []
    for case in cases:
        # Kinds can read the alignment itself, of which a case has at least one.
        own = layout if len(cases) == 1 or not case.aligns else layout.with_alignment(case.aligns[-1])
        context = where.context(own, case.placements, is_one_of_many)
        verdicts.append((case, judge_placements(rule, check, context)))
    return verdicts


def _common_verdict(rule: Rule, verdicts: CaseVerdicts) -> Verdict | None:
    """Return the verdict on which all alignments agree; None if they differ."""
    outcomes = {verdict.outcome for _, verdict in verdicts}
    if len(outcomes) == 1:
        return verdicts[0][1]
    if rule.guess and outcomes == {Outcome.BROKEN, Outcome.AT_RISK}:  # a note either way
        return next(verdict for _, verdict in verdicts if verdict.outcome is Outcome.AT_RISK)
    return None


def judge_placements(rule: Rule, check: Check, context: Context) -> Verdict:
    """Return the verdict for one set of placements, with the tolerance of the rule applied."""
    try:
        verdict = check(context)
    except CannotTell as error:
        return _unknown_verdict(rule, error)
    if verdict.total:
        verdict = _add_basis(verdict, check, context)
    if _is_tolerated(rule, verdict):
        return replace(verdict, outcome=Outcome.KEPT, tolerance=rule.tolerate, advice="")
    return verdict


def _is_tolerated(rule: Rule, verdict: Verdict) -> bool:
    """Return whether a rule fails in no larger share of the placements than it tolerates.

    A broken rule that does not depend on placements fails in all of them.
    """
    if verdict.outcome not in (Outcome.AT_RISK, Outcome.BROKEN):
        return False
    failing, total = verdict.seen or ((len(verdict.bases), verdict.total) if verdict.total else (1, 1))
    return failing <= rule.tolerate * total


def _add_basis(verdict: Verdict, check: Check, context: Context) -> Verdict:
    """Add the reason for the bases to a verdict, and the places in which the rule fails.

    An object that fails at a base in one place can pass at the same base in another place, where it has no
    neighbours: the rule is then at risk and not broken.
    """
    parts = context.placements.parts
    is_placed = context.storage is not None or bool(parts)
    weights = dict(zip(context.placements.bases, context.placements.weights, strict=False))
    if weights:
        failing_objects = sum(weights[base] for base in verdict.bases)
        verdict = replace(verdict, seen=(failing_objects, sum(weights.values())))
    if context.storage is not None and context.storage.word in MALLOCS:
        verdict = replace(verdict, is_from_malloc=True)
    if not any(part.rows for part in parts):
        found = [part.bases_in_any((verdict.bases,)) for part in parts]
        verdict = replace(verdict, containers=_in_containers(parts, found))
        return replace(verdict, basis=context.placements.basis(verdict.bases), is_placed=is_placed)
    bases = [_violating_bases(part, check, context) for part in parts]
    verdict = replace(verdict, containers=_in_containers(parts, bases))
    failing = tuple(part for part, violating in zip(parts, bases, strict=True) if violating)
    outcome = verdict.outcome
    if outcome is Outcome.BROKEN and any(p.bases != b for p, b in zip(parts, bases, strict=True)):
        outcome = Outcome.AT_RISK
    basis = context.placements.basis(verdict.bases, failing)
    return replace(verdict, outcome=outcome, basis=basis, is_placed=is_placed)


def _in_containers(
    parts: tuple[Placements, ...], violating: list[tuple[int, ...]]
) -> tuple[ContainerVerdict, ...]:
    """Return the verdict in each container; none if no slab cache of a container is known."""
    if not any(part.caches for part in parts):
        return ()
    return tuple(
        ContainerVerdict(part.container, part.caches, part.bases, failing)
        for part, failing in zip(parts, violating, strict=True)
    )


def _violating_bases(part: Placements, check: Check, context: Context) -> tuple[int, ...]:
    try:
        return check(replace(context, placements=part)).bases
    except CannotTell:  # an object has no neighbours there
        return ()


def _unknown_verdict(rule: Rule, error: CannotTell) -> Verdict:
    """Return `unknown`; for a pattern, skip structs without the fields that the rule is about."""
    verdict = unknown(str(error), isinstance(error, NoSuchField))
    return replace(
        verdict,
        is_unreliable=isinstance(error, UnreliableLayout),
        is_not_applicable=isinstance(error, NotApplicable) and is_pattern(rule.struct),
    )
