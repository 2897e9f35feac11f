"""Which structs a run asks its inputs for: those that rules name, and others that may say something."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from layoutlint.errors import UsageError
from layoutlint.judgement.condition import ALWAYS, When, excluded
from layoutlint.judgement.rule import VARIABLES, Pack, Rule
from layoutlint.model.paths import is_pattern
from layoutlint.model.reading import Reading
from layoutlint.model.wanted import Wanted

_MOST_PATTERNS = 1_000
"""Each is held against every name of an input."""


def of_run(
    packs: tuple[Pack, ...],
    kernel_packs: tuple[Pack, ...],
    only: str | None,
    headers: Mapping[str, str],
    annotations: bool,
    sources: tuple[str, ...],
) -> Wanted:
    """All that a run asks for: by packs, in kernels by `kernel_packs` as well, in `headers` by comments.

    With `annotations` also what says something itself, in the files below folders of `sources` too.
    """
    own, every = (
        besides(wanted(asking, only), asking, only, headers, annotations)
        for asking in (packs, packs + kernel_packs)
    )
    kernel = frozenset((*every.names, *every.patterns)) - {*own.names, *own.patterns}
    files = mentioning(sources) if annotations else frozenset()
    return replace(every, kernel=kernel, annotated=annotations, files=files)


def wanted(packs: tuple[Pack, ...], only: str | None = None) -> Wanted:
    """The structs that the packs' rules name; `only` narrows a pattern that it is or a name that it means.

    Raises UsageError for too many patterns.
    """
    rules = [rule for pack in packs for rule in pack.rules]
    named = {rule.struct for rule in rules if rule.struct != VARIABLES}
    if only is not None:
        named = {name for name in named if is_pattern(name) or Wanted(patterns=(only,)).matches(name)}
    headers = {i.struct: i.header for pack in packs for i in pack.structs if i.header}
    patterns = tuple(sorted(name for name in named if is_pattern(name)))
    if len(patterns) > _MOST_PATTERNS:
        many = f"the rules name structs by {len(patterns):,} patterns, and {_MOST_PATTERNS:,} are the most"
        raise UsageError(f"{many}; name the structs, or write wider patterns")
    found = Wanted(
        frozenset(named - set(patterns)),
        patterns,
        headers=tuple(sorted(headers.items())),
        unless=tuple(_unless(rules)),
    )
    if len(rules) == sum(rule.struct != VARIABLES for rule in rules):
        return found
    from layoutlint.lint import variables

    return variables.wanted(found, packs)


def _unless(rules: Iterable[Rule]) -> Iterator[tuple[str, Callable[[Reading], bool]]]:
    """The structs that all rules on them can leave out, with what says whether they do."""
    whens: dict[str, set[When]] = {}
    for rule in rules:
        whens.setdefault(rule.struct, set()).add(rule.when)
    for struct, found in sorted(whens.items()):
        if ALWAYS not in found:
            yield struct, partial(_are_left_out, tuple(found))


def _are_left_out(whens: tuple[When, ...], reading: Reading) -> bool:
    return all(excluded(when, reading) for when in whens)


def besides(
    asked: Wanted, packs: tuple[Pack, ...], only: str | None, headers: Mapping[str, str], annotations: bool
) -> Wanted:
    """Those as well that `headers` names, each with its file, and with `annotations` those of tables."""
    known = set(headers)
    if annotations:
        known |= {intent.struct for pack in packs for intent in pack.structs if intent.annotated}
    if only is not None:
        known = {name for name in known if Wanted(patterns=(only,)).matches(name)}
        known |= {only} if annotations else set()
    patterns = {name for name in known if is_pattern(name)}
    return replace(
        asked,
        names=asked.names | known - patterns,
        patterns=tuple(sorted({*asked.patterns, *patterns})),
        headers=tuple(sorted({**headers, **dict(asked.headers)}.items())),
        unless=tuple((name, left_out) for name, left_out in asked.unless if name not in known),
    )


def narrowed(reading: Reading, wanted: Wanted) -> Reading:
    """An input without the structs that are there for other reasons."""
    return replace(reading, structs=tuple(struct for struct in reading.structs if wanted.wants(struct)))


def mentioning(folders: tuple[str, ...]) -> frozenset[str]:
    """The C files that have annotations, below folders with the sources of inputs."""
    if not folders:
        return frozenset()
    from layoutlint.intent.annotations.comments import Sources

    return frozenset(Sources(folders).mentioning())
