"""Which structs and variables a run reads from its inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from layoutlint.errors import UsageError
from layoutlint.judgement.condition import ALWAYS, When, exclusion_reason
from layoutlint.judgement.rule import VARIABLES, Pack, Rule
from layoutlint.lint.options import Options, Selection
from layoutlint.model.paths import is_pattern
from layoutlint.model.reading import Reading
from layoutlint.model.record import replace
from layoutlint.model.wanted import Wanted

_MOST_PATTERNS = 1_000
"""The most patterns of struct names; each is compared with every name of an input."""


def structs_to_read(
    packs: tuple[Pack, ...],
    kernel_packs: tuple[Pack, ...],
    headers: Mapping[str, str],
    options: Options,
) -> Wanted:
    """Return the structs and variables that a run reads.

    They are those of `packs`, in kernels also those of `kernel_packs`, and the structs in `headers`, by file,
    whose comments claim something. If the options ask for annotations, structs with some are read too.
    Raises UsageError for too many patterns.
    """
    selection, annotations = options.selection, options.intents.annotations
    of_packs, of_kernels = (
        _add_structs_with_intent(_structs_of_rules(own, selection), own, selection, headers, annotations)
        for own in (packs, packs + kernel_packs)
    )
    in_kernels = frozenset((*of_kernels.names, *of_kernels.patterns)) - {*of_packs.names, *of_packs.patterns}
    files = _files_with_annotations(options.read.sources) if annotations else frozenset()
    return replace(of_kernels, kernel=in_kernels, annotated=annotations, files=files)


def _structs_of_rules(packs: tuple[Pack, ...], selection: Selection) -> Wanted:
    """Return the structs that the rules of packs name, and the variables.

    Raises UsageError for too many patterns.
    """
    rules = [rule for pack in packs for rule in pack.rules]
    names = {rule.struct for rule in rules if rule.struct != VARIABLES}
    names = {name for name in names if selection.may_include(name)}
    headers = {i.struct: i.header for pack in packs for i in pack.structs if i.header}
    patterns = tuple(sorted(name for name in names if is_pattern(name)))
    if len(patterns) > _MOST_PATTERNS:
        raise UsageError(
            f"the rules name structs by {len(patterns):,} patterns; at most {_MOST_PATTERNS:,} are possible. "
            "Name the structs, or write wider patterns"
        )
    wanted = Wanted(
        frozenset(names - set(patterns)),
        patterns,
        headers=tuple(sorted(headers.items())),
        unless=tuple(_conditions(rules)),
    )
    if all(rule.struct != VARIABLES for rule in rules):
        return wanted
    from layoutlint.lint import variables

    return variables.add_variables(wanted, packs)


def _conditions(rules: Iterable[Rule]) -> Iterator[tuple[str, Callable[[Reading], bool]]]:
    """Yield structs whose rules all have a `when`, with a test whether none of them holds for an input."""
    conditions: dict[str, dict[When, None]] = {}  # in a fixed order, since the cache compares requests
    for rule in rules:
        conditions.setdefault(rule.struct, {})[rule.when] = None
    for struct, whens in sorted(conditions.items()):
        if ALWAYS not in whens:
            yield struct, partial(_are_all_excluded, tuple(whens))


def _are_all_excluded(whens: tuple[When, ...], reading: Reading) -> bool:
    return all(exclusion_reason(when, reading) for when in whens)


def _add_structs_with_intent(
    wanted: Wanted,
    packs: tuple[Pack, ...],
    selection: Selection,
    headers: Mapping[str, str],
    annotations: bool,
) -> Wanted:
    """Add the structs in `headers`, by file, and with `annotations` those that packs declare as annotated."""
    names = set(headers)
    if annotations:
        names |= {intent.struct for pack in packs for intent in pack.structs if intent.annotated}
    names = {name for name in names if selection.has_name(name)}
    if annotations:
        names.update(selection.globs)
    patterns = {name for name in names if is_pattern(name)}
    return replace(
        wanted,
        names=wanted.names | names - patterns,
        patterns=tuple(sorted({*wanted.patterns, *patterns})),
        headers=tuple(sorted({**headers, **dict(wanted.headers)}.items())),
        unless=tuple((name, is_excluded) for name, is_excluded in wanted.unless if name not in names),
    )


def narrow(reading: Reading, wanted: Wanted, keep_annotated: bool = True) -> Reading:
    """Return a reading with only the wanted structs and, with `keep_annotated`, those with annotations."""
    own = wanted.narrow(reading.is_kernel)
    structs = tuple(s for s in reading.structs if own.wants(s) or (keep_annotated and s.annotations))
    return reading if len(structs) == len(reading.structs) else replace(reading, structs=structs)


def _files_with_annotations(folders: tuple[str, ...]) -> frozenset[str]:
    """Return the C files with annotations below source directories."""
    if not folders:
        return frozenset()
    from layoutlint.intent.annotations.comments import Sources

    return frozenset(Sources(folders).annotated_files())
