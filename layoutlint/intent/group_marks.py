"""What structs say themselves of their fields, as rules: so far by marks of groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from layoutlint.geometry.group_marks import marker
from layoutlint.geometry.layout import Layout
from layoutlint.judgement.rule import Pack, Rule, Severity, StructIntent
from layoutlint.model.reading import Reading
from layoutlint.model.structs import Field, Source, Struct

_WHY = "the struct marks its fields so that those which are written take no line from those which are read"


def marks_packs(reading: Reading, packs: Iterable[Pack]) -> tuple[Pack, ...]:
    """The rules that the structs of an input state themselves, as a pack; none where they state none.

    What the packs say of these structs (where objects start, who uses which field) counts for them as well.
    """
    rules: list[Rule] = []
    intents: list[StructIntent] = []
    for struct in reading.structs:
        if struct.bit_size is not None and struct.problem is None and _marks(struct.fields):
            rules.append(_rule(struct, reading.path))
            intents += intents_about(struct, packs)
    spoken = Pack("in structs", reading.path, tuple(dict.fromkeys(rules)), tuple(dict.fromkeys(intents)))
    return (spoken,) if rules else ()


def _marks(fields: tuple[Field, ...]) -> bool:
    """Whether members mark groups of fields."""
    return any(_marks(f.members) if f.name is None else marker(f.name) is not None for f in fields)


def intents_about(struct: Struct, packs: Iterable[Pack]) -> Iterator[StructIntent]:
    """What packs say of a struct; where its objects start, the first that says so."""
    is_placed = False
    for pack in packs:
        intents = pack.about(struct)
        for intent in intents:
            yield replace(intent, placement=None) if is_placed else intent
        is_placed = is_placed or any(intent.placement is not None for intent in intents)


def _rule(struct: Struct, path: str) -> Rule:
    """What the marks of a struct ask for; `path` is the input, for a struct whose place is not known."""
    from layoutlint.geometry import groups  # few structs mark any
    from layoutlint.kinds.group import MarkedGroup

    found = groups.of(Layout(struct))
    first = next((group.begin.field.source for group in found.whole), None) or struct.source
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
