"""The subject of a measurement: a struct of an input, with its placements and the sides of a rule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from layoutlint.errors import ReadError, UsageError, did_you_mean
from layoutlint.geometry.layout import cached_layout
from layoutlint.judgement.context import CannotTell, Context
from layoutlint.judgement.rule import VARIABLES, Pack, Rule
from layoutlint.judgement.sides import HasSides, Sides
from layoutlint.lint import intents, run, slab_placements
from layoutlint.lint.judge import judge_placements
from layoutlint.lint.judged_input import JudgedInput
from layoutlint.lint.missing_name import missing_name_hint
from layoutlint.lint.options import Options
from layoutlint.lint.placing import PlacementTable, RulePlacements
from layoutlint.measurement.arrange import NotNamed, Subject, Uses, named_sides, override
from layoutlint.model.reading import Unread
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Struct


class Source(Record, frozen=True):
    """One input with a layout of the struct."""

    label: str
    path: str


class NoStruct(ReadError):
    """Raised for an input that was read, and does not have the struct."""


class InputStruct(Record, frozen=True):
    """A struct of an input, with the rules on it that can be measured."""

    source: Source
    judged: JudgedInput
    struct: Struct
    rules: tuple[tuple[Rule, Pack], ...]


class Request(Record, frozen=True):
    """The struct, the layouts and the rule of a measurement."""

    struct: str
    rule: str | None
    uses: Uses
    line_size: int
    """Bytes of a line of the machine that measures."""
    is_replay: bool = False
    """Whether a profile has the accesses, and not a rule or the caller."""


class Subjects(Record, frozen=True):
    """The layouts that are measured."""

    subjects: tuple[Subject, ...]
    rule: Rule | None
    arranges: str
    """`apart` or `together`; `apart` without a rule."""
    notes: tuple[str, ...]


def find_subjects(
    sources: Sequence[Source],
    request: Request,
    packs: tuple[Pack, ...],
    kernel_packs: tuple[Pack, ...],
    options: Options,
) -> Subjects:
    """Return the struct of each input, with its placements and the sides of the rule.

    Raises ReadError if one cannot be read or judged, and UsageError for a rule that cannot be measured.
    """
    definitions = [find_struct(source, request.struct, packs, kernel_packs, options) for source in sources]
    chosen = _choose_rule(definitions[0], request, packs + kernel_packs)
    results = [_subject(each, request, chosen, options) for each in definitions]
    rule = None if chosen is None else chosen[0]
    arranges = "apart" if rule is None else results[0][1]
    notes = dict.fromkeys(note for _, _, own in results for note in own)
    return Subjects(tuple(subject for subject, _, _ in results), rule, arranges, tuple(notes))


def find_struct(
    source: Source,
    name: str,
    packs: tuple[Pack, ...],
    kernel_packs: tuple[Pack, ...],
    options: Options,
) -> InputStruct:
    """Return the one definition of a struct in an input, with the rules on it. Raises ReadError."""
    own = replace(options, only=(name,), intents=replace(options.intents, annotations=True))
    read = run.read((source.path,), packs, kernel_packs, own)
    judged = intents.add(read, packs, kernel_packs, options).inputs
    structs = [(each, s) for each in judged for s in each.structs.find(name) if s.problem is None]
    complete = [(each, struct) for each, struct in structs if struct.bit_size is not None]
    if not complete:
        _refuse_missing(source, name, judged, read.unread, options)
    distinct = {(struct.bit_size, struct.fields): (each, struct) for each, struct in reversed(complete)}
    if len(distinct) > 1:
        raise ReadError(
            source.path,
            f"has {len(distinct)} different definitions of struct {name}; give an input with one",
        )
    each, struct = next(iter(distinct.values()))
    if options.slabs is not None:
        slab_placements.refuse_others((each.reading,), options.slabs)
    return InputStruct(source, each, struct, tuple(_measurable_rules(each, struct)))


def _refuse_missing(
    source: Source, name: str, judged: list[JudgedInput], unread: Sequence[Unread], options: Options
) -> None:
    """Raise ReadError for a struct without a definition."""
    if unread:
        raise ReadError(source.path, unread[0].text_for(source.path))
    named = [struct for each in judged for struct in each.structs.find(name)]
    if named:
        reason = named[0].problem
        label = f"{named[0].aggregate} {named[0].name}"
        undefined = f"{label} is declared but not defined"
        unreliable = f"the layout of {label} is unreliable: {reason}"
        raise ReadError(source.path, unreliable if reason else undefined)
    raise NoStruct(source.path, f"no struct {name}{missing_name_hint(name, (source.path,), options.read)}")


def _measurable_rules(judged: JudgedInput, struct: Struct) -> Iterator[tuple[Rule, Pack]]:
    for pack in judged.packs:
        for rule in pack.rules:
            if _is_about(rule, struct) and _refusal(rule, judged) is None:
                yield rule, pack


def _is_about(rule: Rule, struct: Struct) -> bool:
    return rule.struct != VARIABLES and struct.matches(rule.struct)


def _refusal(rule: Rule, judged: JudgedInput) -> str | None:
    """Return the reason why a rule cannot be measured in an input; None if it can."""
    if not isinstance(rule.kind, HasSides):
        return f"rules of the kind {rule.kind.name} do not say which fields are accessed"
    if rule.around:
        return "it is about the surroundings of the struct, and objects of the struct alone are measured"
    reason = judged.exclusion(rule.when)
    return f"it does not apply: {reason}" if reason else None


def _choose_rule(
    input_struct: InputStruct, request: Request, packs: tuple[Pack, ...]
) -> tuple[Rule, Pack] | None:
    """Return the rule to measure, with its pack; None if the caller names fields instead."""
    names = [rule.id for rule, _ in input_struct.rules]
    if request.rule is None:
        if request.uses.operations() or request.is_replay:
            return None
        if len(names) == 1:
            return input_struct.rules[0]
        hint = f"choose a rule by --rule: {', '.join(names)}" if names else "no rule on it can be measured"
        raise UsageError(f"struct {request.struct}: {hint}; or name fields with --write, --read, --lock")
    for rule, pack in input_struct.rules:
        if rule.id == request.rule:
            return rule, pack
    every = [rule for pack in (*input_struct.judged.packs, *packs) for rule in pack.rules]
    named = next((rule for rule in every if rule.id == request.rule), None)
    if named is None:
        known = names or [rule.id for rule in every]
        hint = did_you_mean(request.rule, known) or " (`--rules FILE` uses those of a file)"
        raise UsageError(f"no rule is called {request.rule!r}{hint}")
    if not _is_about(named, input_struct.struct):
        raise UsageError(f"the rule {named.id} is about {named.subject}, and not struct {request.struct}")
    reason = _refusal(named, input_struct.judged) or "the input does not have it"
    raise UsageError(f"the rule {named.id} cannot be measured: {reason}; name fields with --write, --read")


def _subject(
    input_struct: InputStruct, request: Request, chosen: tuple[Rule, Pack] | None, options: Options
) -> tuple[Subject, str, tuple[str, ...]]:
    """Return the subject, how its rule arranges the fields, and notes."""
    struct, path = input_struct.struct, input_struct.source.path
    try:
        where = _placements(input_struct, chosen, options)
        context, notes = _context(struct, where)
        notes += () if options.slabs is None else slab_placements.refusals((struct,), options.slabs)
        _refuse_other_lines(context, chosen, request, path)
        if chosen is None:
            subject = _subject_of(input_struct, context, None)
            named = () if request.is_replay else named_sides(context, request.uses)
            return replace(subject, sides=named), "apart", notes
        rule = chosen[0]
        assert isinstance(rule.kind, HasSides)
        verdict = judge_placements(rule, rule.kind.check, context)
        sides = rule.kind.sides(context)
        own = _used_sides(sides, context, request.uses)
        return replace(_subject_of(input_struct, context, verdict), sides=own.sides), own.arranges, notes
    except CannotTell as error:
        raise ReadError(path, str(error)) from None


def _used_sides(sides: Sides, context: Context, uses: Uses) -> Sides:
    try:
        return replace(sides, sides=override(sides.sides, context, uses))
    except NotNamed as error:
        raise UsageError(f"{error}; without --rule, fields are measured as named") from None


def _subject_of(input_struct: InputStruct, context: Context, verdict: object) -> Subject:
    from layoutlint.judgement.verdict import Verdict

    own = verdict if isinstance(verdict, Verdict) else None
    placements = context.placements
    why = placements.basis(own.bases if own is not None else ())
    return Subject(
        input_struct.source.label, input_struct.source.path, input_struct.struct, context, own, (), why
    )


def _placements(
    input_struct: InputStruct, chosen: tuple[Rule, Pack] | None, options: Options
) -> RulePlacements:
    """Return the placements of the rule's pack; without a rule, of the first pack that declares one."""
    judged, size, align = input_struct.judged, options.line_size, options.min_align
    if chosen is not None:
        rule, pack = chosen
        return PlacementTable(pack, judged.reading, judged.surroundings, size, align).select(rule)
    packs = [pack.select_for(judged.reading) for pack in judged.packs]
    declaring = [pack for pack in packs if pack.stated_storage(input_struct.struct) is not None]
    nothing = slab_placements.with_slabs((Pack("", "", ()),), judged.reading, options.slabs)
    return RulePlacements((*declaring, *nothing)[0], judged.surroundings, size, align)


def _context(struct: Struct, where: RulePlacements) -> tuple[Context, tuple[str, ...]]:
    """Return the context with the likeliest placements, and a note if others are possible.

    Raises CannotTell, also if the order of the fields is unknown.
    """
    if where.surroundings.shape(struct) is not None:
        raise CannotTell(f"the order of the fields of {struct.aggregate} {struct.name} is not known")
    cases = where.cases(cached_layout(struct))
    if len(cases) > 1:
        struct = where.surroundings.settle(struct)
        cases = where.add_shown_places(cached_layout(struct), where.usual_cases(cached_layout(struct), True))
    case = cases[0]
    context = where.context(cached_layout(struct), case.placements)
    if len(cases) == 1:
        return context, ()
    name = f"{struct.aggregate} {struct.name}"
    note = f"the alignment of {name} or its containers is not known; measured is the likeliest"
    return context, (f"{note}: {case.placements.basis(())}",)


def _refuse_other_lines(
    context: Context, chosen: tuple[Rule, Pack] | None, request: Request, path: str
) -> None:
    """Raise ReadError if the lines of the rule are not those of the machine."""
    size, own = context.placements.line_size, request.line_size
    is_pair = chosen is not None and context.placements.in_pairs
    if size != (2 * own if is_pair else own):
        raise ReadError(
            path,
            f"its objects are judged on lines of {size} bytes, and the lines of this machine have {own}; "
            f"measure on such a machine, or give --line-size {own}",
        )
