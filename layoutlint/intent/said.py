"""What structs say themselves of their fields, as rules: so far by marks of groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from layoutlint.markers import marker
from layoutlint.model import Field, Reading, Struct
from layoutlint.rule import Pack, Rule, StructIntent


def spoken(reading: Reading, packs: Iterable[Pack]) -> tuple[Pack, ...]:
    """The rules that the structs of an input state themselves, as a pack; none where they state none.

    What the packs say of these structs (where objects start, who uses which field) counts for them as well.
    """
    rules: list[Rule] = []
    intents: list[StructIntent] = []
    for struct in reading.structs:
        if struct.bit_size is not None and struct.problem is None and _marks(struct.fields):
            from layoutlint.intent import groups  # few structs mark any

            rules.append(groups.rule(struct, reading.path))
            intents += known(struct, packs)
    spoken = Pack("in structs", reading.path, tuple(dict.fromkeys(rules)), tuple(dict.fromkeys(intents)))
    return (spoken,) if rules else ()


def _marks(fields: tuple[Field, ...]) -> bool:
    """Whether members mark groups of fields."""
    return any(_marks(f.members) if f.name is None else marker(f.name) is not None for f in fields)


def known(struct: Struct, packs: Iterable[Pack]) -> Iterator[StructIntent]:
    """What packs say of a struct; where its objects start, the first that says so."""
    is_placed = False
    for pack in packs:
        intents = pack.about(struct)
        for intent in intents:
            yield replace(intent, placement=None) if is_placed else intent
        is_placed = is_placed or any(intent.placement is not None for intent in intents)
