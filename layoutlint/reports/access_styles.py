"""The declared accesses of fields in pictures: which fields have some, with which colours and dashes.

The colours are those of Okabe and Ito, which people with colour blindness tell apart. Dashes say the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from layoutlint.geometry.field_types import TYPE, Finder
from layoutlint.geometry.layout import Layout, Place
from layoutlint.judgement.context import Access
from layoutlint.judgement.rule import Pack
from layoutlint.model.paths import is_pattern
from layoutlint.model.record import Record
from layoutlint.model.structs import Struct


class AccessStyle(Record, frozen=True):
    """The look of one access."""

    access: str
    color: str
    """The colour of the bar, for light and dark backgrounds."""
    dashes: str
    """The value of `stroke-dasharray` of the bar; empty for a solid one."""


_PREDEFINED = (
    AccessStyle("hot-write", "#d55e00", ""),
    AccessStyle("hot-read", "#0072b2", "14 3"),
    AccessStyle("read-mostly", "#56b4e9", "6 3"),
    AccessStyle("cold", "#999999", "2 4"),
)
_FURTHER = (("#cc79a7", "14 3 2 3"), ("#009e73", "6 3 2 3"), ("#b8a500", "2 2"))
"""For the words of a project, in the order in which they are used; more words share them."""


def access_styles(accesses: Iterable[str]) -> tuple[AccessStyle, ...]:
    """Return the styles of some accesses, each once: the predefined ones first, then others by name."""
    used = dict.fromkeys(accesses)
    others = sorted(used.keys() - {style.access for style in _PREDEFINED})
    return (
        *(style for style in _PREDEFINED if style.access in used),
        *(AccessStyle(name, *_FURTHER[number % len(_FURTHER)]) for number, name in enumerate(others)),
    )


def pack_accesses(packs: Iterable[Pack], struct: Struct) -> tuple[Access, ...]:
    """Return the accesses that some packs declare for a struct, each once."""
    return tuple(dict.fromkeys(access for pack in packs for access in pack.accesses(struct)))


def declared_fields(layout: Layout, accesses: Iterable[Access]) -> dict[Place, tuple[Access, ...]]:
    """Return the fields with their declared accesses; a field's own declaration overrides a pattern's.

    Declarations of missing fields are skipped.
    """
    finder = Finder()
    by_side: dict[tuple[Place, str], Access] = {}
    for access in sorted(accesses, key=lambda access: not is_pattern(access.path)):
        if not access.access:
            continue
        by_type = access.path.startswith(TYPE)
        places = finder.find_fields(layout, (access.path,)) if by_type else layout.match(access.path)
        by_side.update(((place, access.side), access) for place in places)
    fields: dict[Place, tuple[Access, ...]] = {}
    for (place, _), access in by_side.items():
        fields[place] = (*fields.get(place, ()), access)
    return fields


def strongest(accesses: Sequence[Access]) -> str:
    """Return the access that a picture shows of a field with several."""
    words = [access.access for access in accesses]
    return next((style.access for style in _PREDEFINED if style.access in words), words[0])


def access_text(accesses: Sequence[Access]) -> str:
    """Return the declared accesses of a field in words: `hot-write, contended; hot-read on tx`."""
    return "; ".join(
        f"{access.access}{', contended' if access.contended else ''}"
        f"{f' on {access.side}' if access.side else ''}"
        for access in accesses
    )
