"""Notes on objects that were seen, and whose places are not used."""

from __future__ import annotations

from collections.abc import Iterator

from layoutlint.errors import RuleFileError
from layoutlint.geometry.seen_objects import SeenObjects
from layoutlint.lint.judged_input import JudgedInput


def seen_notes(judged: JudgedInput, objects: SeenObjects) -> tuple[str, ...]:
    """Return why the addresses of structs are not used that rules judge, or that none of them is judged."""
    names = {name for struct in judged.reading.structs for name in (struct.name, *struct.aliases)}
    if names.isdisjoint(objects.starts):
        return (f"{objects.label} has no object of a struct that is judged",)
    return tuple(dict.fromkeys(filter(None, _misfits(judged, objects))))


def _misfits(judged: JudgedInput, objects: SeenObjects) -> Iterator[str]:
    for struct in judged.reading.structs:
        for pack in judged.packs:
            if any(struct.matches(rule.struct) for rule in pack.rules):
                try:
                    stated = pack.select_for(judged.reading).stated_storage(struct)
                except RuleFileError:  # reported where the rule is judged
                    continue
                yield objects.misfit(struct, stated)
