"""A run of `evidence`: read reports of a profiler and an input, and put the accesses at fields of structs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Literal

from layoutlint.commands.evidence.lines import (
    LineResult,
    ObjectType,
    line_size_of,
    object_types,
    place_by_address,
    place_by_offsets,
)
from layoutlint.commands.evidence.objects import Variables, find_variables, place_objects, type_names
from layoutlint.commands.evidence.types import TypeResult, names_of_types, place_types
from layoutlint.errors import EXIT_FINDINGS, EXIT_KEPT, EXIT_UNKNOWN, ReadError, UsageError
from layoutlint.geometry.access_masks import LARGEST
from layoutlint.judgement.evidence import (
    Contradiction,
    EvidenceReport,
    PlacedLine,
    ReportSummary,
    RuleEvidence,
    SampleSummary,
    StructEvidence,
)
from layoutlint.judgement.finding import Finding
from layoutlint.judgement.rule import VARIABLES, Pack
from layoutlint.lint import intents, query
from layoutlint.lint.evidence_rules import contradictions, rule_evidence
from layoutlint.lint.judge import judge_all
from layoutlint.lint.judged_input import JudgedInput
from layoutlint.lint.missing_name import missing_name_hint
from layoutlint.lint.options import Options
from layoutlint.lint.reading import embedded_names, read_inputs
from layoutlint.model.reading import Reading, Unread
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Source, Struct
from layoutlint.phrases import quantity
from layoutlint.readers.linux import version
from layoutlint.readers.profiles.read import read
from layoutlint.readers.profiles.records import Profile, Samples
from layoutlint.readers.profiles.samples import COLUMNS, line_blocks

_MOST_UNPLACED = 50
"""Lines without a place that are reported one by one; perf lists the hottest first."""
_LONGEST_LINE = 256


class Request(Record, frozen=True):
    """The reports, the input and the structs of a run."""

    reports: tuple[str, ...]
    input: str
    struct: str | None = None
    """The struct that is looked for; None for those of rules, and all types of the profile."""
    bases: tuple[int, ...] = ()
    """The addresses of objects of the struct."""
    symbol_addresses: tuple[tuple[str, int], ...] = ()
    """Addresses of symbols of the input."""
    fields: frozenset[str] | None = None
    """The columns of samples; None tells them by their form."""
    build_id: str | None = None
    """The build id of the program that was profiled, if the user states it."""
    fail_on: frozenset[str] = frozenset()
    """`measured`, `contradiction`: what makes the exit status 1."""


def collect(
    request: Request, packs: tuple[Pack, ...], kernel_packs: tuple[Pack, ...], options: Options
) -> EvidenceReport:
    """Read reports and the input, and return the evidence. Raises ReadError if the input cannot be read."""
    profiles, failures = _read_profiles(request)
    notes: list[str] = []
    variables = _find_variables(request, profiles, options, failures, notes)
    judged, findings, unread = _judge(request, profiles, variables, packs, kernel_packs, options)
    reading = judged.reading
    failures += unread
    kinds = [
        kind for kind in object_types(reading.structs, reading.is_kernel) if _is_wanted(kind.struct, request)
    ]
    failures += _struct_failures(request, reading, kinds, options)
    lines, types = LineResult(), TypeResult()
    summaries = []
    profiles = [_with_sampled_lines(each, variables[each.path], judged, options) for each in profiles]
    for profile in profiles:
        try:
            summaries.append(_summary(profile, reading, request))
            own = variables[profile.path]
            _place_lines(profile, kinds, request, judged, options, lines, own)
            place_types(profile, kinds, types)
        except ReadError as error:
            failures.append(Unread.of_error(error))
    areas = [area for each in variables.values() for area in each.areas]
    evidence = _group_by_struct([*kinds, *areas], lines, types)
    rules = tuple(rule_evidence(findings, evidence))
    against = tuple(dict.fromkeys(contradictions(evidence, judged.packs, reading, types.events)))
    if not failures and not any(each.lines or each.counts for each in evidence):
        failures.append(_reason_for_no_place(request, profiles, lines))
    return EvidenceReport(
        (reading,),
        tuple(summaries),
        tuple(types.events),
        tuple(evidence),
        tuple(lines.unplaced[:_MOST_UNPLACED]),
        max(0, len(lines.unplaced) - _MOST_UNPLACED),
        rules,
        against,
        tuple(failures),
        (*notes, *lines.notes, *_notes(profiles, types)),
        _exit_status(failures, rules, against, request, options),
    )


def _read_profiles(request: Request) -> tuple[list[Profile], list[Unread]]:
    profiles: list[Profile] = []
    failures: list[Unread] = []
    for path in dict.fromkeys(request.reports):
        try:
            keep = partial(_is_near, request.bases) if request.bases else None
            profiles.append(read(path, keep, request.fields))
        except ReadError as error:
            failures.append(Unread.of_error(error))
    return profiles, failures


def _is_near(bases: tuple[int, ...], address: int) -> bool:
    """Return whether an object at one of the addresses can have bytes on a line."""
    return any(base - _LONGEST_LINE < address < base + LARGEST for base in bases)


def _find_variables(
    request: Request,
    profiles: list[Profile],
    options: Options,
    failures: list[Unread],
    notes: list[str],
) -> dict[str, Variables]:
    """Return the touched variables for each report of samples; what contradicts the input is dropped."""
    variables: dict[str, Variables] = {}
    for profile in list(profiles):
        try:
            variables[profile.path] = find_variables(
                profile, request.input, request.symbol_addresses, options.read, notes
            )
        except ReadError as error:
            failures.append(Unread.of_error(error))
            profiles.remove(profile)
    return variables


def _judge(
    request: Request,
    profiles: Sequence[Profile],
    variables: dict[str, Variables],
    packs: tuple[Pack, ...],
    kernel_packs: tuple[Pack, ...],
    options: Options,
) -> tuple[JudgedInput, list[Finding], list[Unread]]:
    """Read the structs of rules and profiles from the input, and judge them."""
    names = {
        name
        for profile in profiles
        for name in names_of_types(profile) | type_names(profile, variables[profile.path])
    }
    names = {request.struct} if request.struct is not None else names
    options = replace(options, only=() if request.struct is None else (request.struct,))
    wanted = query.structs_to_read(packs, kernel_packs, {}, options)
    wanted = replace(wanted, names=wanted.names | names, kernel=wanted.kernel - names)
    result = read_inputs((request.input,), wanted, embedded_names(packs + kernel_packs), options.read)
    if not result.readings:
        raise ReadError(result.unread[0].origin, result.unread[0].reason)
    reading = result.readings[0]
    if reading.shuffled is not None:
        raise ReadError(
            request.input,
            "its compiler randomised layouts: neither its debug information nor perf has the offsets",
        )
    (judged,) = intents.add(replace(result, readings=[reading]), packs, kernel_packs, options).inputs
    findings = judge_all([judged], options) if judged.rules else []
    return judged, findings, list(result.unread)


def _is_wanted(struct: Struct, request: Request) -> bool:
    return request.struct is None or struct.matches(request.struct)


def _struct_failures(
    request: Request, reading: Reading, kinds: Sequence[ObjectType], options: Options
) -> list[Unread]:
    """Return why the requested struct cannot be used."""
    name = request.struct
    if name is None or kinds:
        return []
    own = [struct for struct in reading.structs if struct.matches(name)]
    if not own:
        hint = missing_name_hint(name, (request.input,), options.read)
        return [Unread(request.input, f"no struct {name}{hint}")]
    reason = (
        f"its layout is unreliable: {own[0].problem}" if own[0].problem else "it is declared but not defined"
    )
    return [Unread(request.input, f"struct {name}: {reason}")]


def _summary(profile: Profile, reading: Reading, request: Request) -> ReportSummary:
    """Return what a report is, after comparing the builds; raises ReadError for another build."""
    build, note = _compare_builds(profile, reading, request)
    return ReportSummary(
        profile.path, profile.formats, profile.header, profile.listed, len(profile.blocks), profile.omitted,
        profile.is_peer, build, note, _sample_summary(profile),
    )  # fmt: skip


def _sample_summary(profile: Profile) -> SampleSummary | None:
    samples = profile.samples
    if samples is None:
        return None
    scanner = samples.scanner
    undecoded = samples.undecoded if "data_src" in samples.columns else None
    return SampleSummary(
        [name for name in COLUMNS if name in samples.columns], scanner.samples, scanner.without_address,
        undecoded, scanner.dropped, samples.lost,
    )  # fmt: skip


def _compare_builds(
    profile: Profile, reading: Reading, request: Request
) -> tuple[Literal["same", "unverified"], str]:
    """Compare build ids, and releases of Linux. Raises ReadError for another build."""
    own = (reading.build_id or "").lower()
    if request.build_id is not None and own:
        if request.build_id.lower() != own:
            raise ReadError(
                profile.path, f"is of build {request.build_id}, and {reading.path} is build {own}"
            )
        return "same", ""
    if own and any(build_id == own for build_id, _, _ in profile.header.build_ids):
        return "same", ""
    for build_id, path, line in profile.header.build_ids:
        is_kernel_line = path.startswith("[kernel") or path.rpartition("/")[2].startswith("vmlinux")
        is_own = is_kernel_line if reading.is_kernel else _name(path) == _name(reading.path)
        if own and is_own:
            raise ReadError(
                Source(profile.path, line), f"{path} is build {build_id}, and {reading.path} is build {own}"
            )
    if not own:
        return "unverified", "the input has no build id"
    release = version.release_version(profile.header.release or "")
    stated = reading.kernel or ()
    common = min(len(release or ()), len(stated))
    if reading.is_kernel and release and common and release[:common] != stated[:common]:
        text = ".".join(map(str, stated))
        return (
            "unverified",
            f"it was recorded on Linux {profile.header.release}, and the input is Linux {text}",
        )
    return (
        "unverified",
        "the report states no build id of the input; prepend `perf buildid-list`, or give --build-id",
    )


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _with_sampled_lines(
    profile: Profile, variables: Variables, judged: JudgedInput, options: Options
) -> Profile:
    """Return a profile with the cache lines of its samples, if it has any."""
    if profile.samples is None:
        return profile
    line_size = options.line_size or judged.reading.target.line_size
    blocks, omitted = line_blocks(
        profile.samples, line_size, lambda address: variables.find(address) is not None
    )
    return replace(profile, blocks=blocks, omitted=omitted)


def _place_lines(
    profile: Profile,
    kinds: Sequence[ObjectType],
    request: Request,
    judged: JudgedInput,
    options: Options,
    result: LineResult,
    variables: Variables,
) -> None:
    """Place the cache lines of a profile; raises ReadError if its lines have another size."""
    if not profile.blocks:
        return
    default = judged.reading.target.line_size
    line_size = line_size_of(profile, default, options.line_size or (default if profile.samples else None))
    if request.bases:
        if len(kinds) > 1:
            number = f"{len(kinds)} structs of the input are called {request.struct}"
            raise ReadError(request.input, f"{number}: it is unknown which is at --base")
        for kind in kinds:
            _refuse_misaligned(kind, request.bases)
            place_by_address(profile, line_size, kind, request.bases, result)
        return
    names = frozenset(_rule_structs(judged) if request.struct is None else (request.struct,))
    others = place_objects(
        profile, line_size, variables, kinds, names, result, names_only=request.struct is not None
    )
    profile = replace(profile, blocks=others)
    if request.struct is None:
        named = {id(struct) for name in names for struct in judged.structs.find(name)}
        kinds = [kind for kind in kinds if id(kind.struct) in named]
    place_by_offsets(profile, line_size, kinds, result, names_only=request.struct is None)


def _refuse_misaligned(kind: ObjectType, bases: tuple[int, ...]) -> None:
    """Raise UsageError for an address at which no object of the struct can start."""
    align = min(kind.layout.alignments)
    for base in bases:
        if base % align:
            name = f"{kind.struct.aggregate} {kind.struct.name}"
            raise UsageError(f"{base:#x} is not a multiple of {align}, the alignment of {name}", "--base")


def _rule_structs(judged: JudgedInput) -> dict[str, None]:
    """Return the names of the structs that a rule for this input is about."""
    rules = (rule for rule in judged.rules if rule.struct != VARIABLES and not judged.exclusion(rule.when))
    return dict.fromkeys(rule.struct for rule in rules)


def _group_by_struct(
    kinds: Sequence[ObjectType], lines: LineResult, types: TypeResult
) -> list[StructEvidence]:
    """Return the accesses to each struct that has any, in the order of the input."""
    placed: dict[int, list[PlacedLine]] = defaultdict(list)
    for kind, line in lines.placed:
        placed[id(kind)].append(line)
    every = (
        StructEvidence(kind.struct, tuple(placed[id(kind)]), tuple(types.counts[n]), tuple(types.refused[n]))
        for n, kind in enumerate(kinds)
    )
    return sorted(
        (each for each in every if each.lines or each.counts or each.refused),
        key=lambda each: each.struct.name,
    )


def _reason_for_no_place(request: Request, profiles: Sequence[Profile], lines: LineResult) -> Unread:
    """Return the reason why no access was put at a field."""
    origin = ", ".join(profile.path for profile in profiles) or request.input
    if all(not profile.blocks and not profile.events for profile in profiles):
        if any(profile.omitted for profile in profiles):
            return Unread(origin, "no cache line of the report has bytes of an object at --base")
        if any(profile.listed for profile in profiles):
            return Unread(origin, "the report ends after the table of lines, which has no offsets")
        return Unread(origin, _reason_for_no_line(profiles))
    if request.bases and not lines.placed:
        return Unread(origin, "no cache line of the report has bytes of an object at --base")
    if lines.unplaced:
        name = f"of struct {request.struct}" if request.struct else "of a struct of the rules"
        remedy = "--base" if request.struct else "--struct"
        if any(profile.samples for profile in profiles):
            remedy += ", or the program whose variables were sampled as the input"
        return Unread(origin, f"no cache line could be placed as one {name}; give {remedy}")
    if all((event.unknown or 0) > 99 for profile in profiles for event in profile.events):
        return Unread(
            origin,
            "perf found the type of no sample: -F alone looks for none. Write the report with "
            "`perf report -s type,typeoff -n --stdio`",
        )
    return Unread(origin, "no type of the profile is a struct of the input")


def _reason_for_no_line(profiles: Sequence[Profile]) -> str:
    """Return why reports have neither cache lines nor types."""
    profile = next((each for each in profiles if "perf c2c" in each.formats), None)
    if profile is None or profile.records == 0:
        return "the tables of the report are empty: no load or store was sampled"
    if not profile.has_line_tables:
        return "the report has only statistics; write it with `perf c2c report --stdio`, without --stats"
    what = "peer snoop" if profile.is_peer else "HITM"
    return (
        f"the report lists no cache line, because none has a {what}, which is inconclusive: a recording can "
        "lack them. `perf c2c report --stdio --show-all` lists lines with stores too"
    )


def _notes(profiles: Sequence[Profile], types: TypeResult) -> Iterator[str]:
    for profile in profiles:
        has_hits = profile.samples is None or "data_src" in profile.samples.columns
        is_quiet = has_hits and not any(block.counts.contended_loads for block in profile.blocks)
        if is_quiet and profile.blocks:
            what = "peer snoop" if profile.is_peer else "HITM"
            yield f"{profile.path}: no line has a {what}, which is inconclusive: a recording can lack them"
        if profile.omitted:
            yield f"{profile.path}: {quantity(profile.omitted, 'more cache line')} not searched"
        if profile.samples is not None:
            yield from _notes_on_samples(profile.samples)
    for event in types.events:
        if event.role == "any" and event.placed:
            name = f"`{event.name}`" if event.name else "the event"
            yield f"{event.report}: {name} does not distinguish loads and stores"


_COSTS = {
    "data_src": "which are loads and stores, and which hit a modified line, is not known",
    "cpu": "which CPUs touched a field is not known",
    "weight": "the cost of loads is not known",
}
"""What a missing column of samples costs."""


def _notes_on_samples(samples: Samples) -> Iterator[str]:
    """Yield what the samples of a report do not tell."""
    for column, cost in _COSTS.items():
        if column not in samples.columns:
            yield f"{samples.path}: without the column {column}, {cost}"
    scanner = samples.scanner
    if scanner.dropped:
        yield (
            f"{samples.path}: {quantity(scanner.dropped, 'sample')} of the least sampled addresses were "
            "dropped, so that counts can be too low"
        )
    if not scanner.has_all_uses:
        yield f"{samples.path}: too many threads used too many addresses, so that who used which is not known"
    if samples.lost:
        yield f"{samples.path}: perf lost {quantity(samples.lost, 'sample')}"


def _exit_status(
    failures: Sequence[Unread],
    rules: Sequence[RuleEvidence],
    against: Sequence[Contradiction],
    request: Request,
    options: Options,
) -> int:
    if failures and not options.strictness.allow_unknown:
        return EXIT_UNKNOWN
    has_measured = any(each.state == "measured" for each in rules)
    fails = "measured" in request.fail_on and has_measured
    return EXIT_FINDINGS if fails or ("contradiction" in request.fail_on and against) else EXIT_KEPT
