"""Rules made of the marks of field groups in structs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from layoutlint.geometry.group_marks import parse_marker
from layoutlint.geometry.layout import Layout
from layoutlint.judgement.rule import Pack, Rule, Severity, StructIntent
from layoutlint.model.reading import Reading
from layoutlint.model.record import replace
from layoutlint.model.structs import Field, Source, Struct

_WHY = "the struct marks groups of fields to keep written fields off the cache lines of read fields"


def group_mark_packs(reading: Reading, packs: Iterable[Pack]) -> tuple[Pack, ...]:
    """Return a pack with a rule for each struct of an input that marks groups; () if none does.

    The pack takes over what `packs` declare for these structs: placements and accesses.
    """
    rules: list[Rule] = []
    intents: list[StructIntent] = []
    for struct in reading.structs:
        if struct.bit_size is not None and struct.problem is None and _has_group_marks(struct.fields):
            rules.append(_rule(struct, reading.path))
            intents += intents_about(struct, packs)
    pack = Pack("in structs", reading.path, tuple(dict.fromkeys(rules)), tuple(dict.fromkeys(intents)))
    return (pack,) if rules else ()


def _has_group_marks(fields: tuple[Field, ...]) -> bool:
    """Return whether any field marks the start or end of a group."""
    return any(
        _has_group_marks(member.members) if member.name is None else parse_marker(member.name) is not None
        for member in fields
    )


def intents_about(struct: Struct, packs: Iterable[Pack]) -> Iterator[StructIntent]:
    """Yield what packs declare for a struct; only the first declared placement counts."""
    is_placed = False
    for pack in packs:
        intents = pack.intents_for(struct)
        for intent in intents:
            yield replace(intent, placement=None) if is_placed else intent
        is_placed = is_placed or any(intent.placement is not None for intent in intents)


def _rule(struct: Struct, path: str) -> Rule:
    """Return the rule for the marked groups of a struct; its source is `path` if the struct has none."""
    from layoutlint.geometry import groups  # few structs mark any
    from layoutlint.kinds.group import MarkedGroup

    struct_groups = groups.find_groups(Layout(struct))
    first = next((group.begin.field.source for group in struct_groups.complete), None) or struct.source
    return Rule(
        id=f"marks/{struct.name}",
        struct=struct.name,
        kind=MarkedGroup(),
        severity=Severity.WARNING,
        why=_WHY,
        source=first or Source(path),
        pack="in structs",
        by="marks in the struct",
    )
