"""Where the slab caches of a kernel put the structs of an input, and notes on caches that are not used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from layoutlint.errors import ReadError, RuleFileError
from layoutlint.geometry import placement
from layoutlint.geometry.layout import cached_layout
from layoutlint.geometry.slab_caches import SlabCaches
from layoutlint.judgement.context import CannotTell
from layoutlint.judgement.rule import Pack
from layoutlint.lint.judged_input import JudgedInput
from layoutlint.lint.options import Options
from layoutlint.model.reading import Reading
from layoutlint.model.record import replace
from layoutlint.model.storage import EMBEDDED, Storage
from layoutlint.model.structs import Struct
from layoutlint.readers.linux.version import release_version

_UNKNOWN = "unknown"
"""Begins the names of targets that raw BTF has: it names no machine."""


def with_slabs(packs: tuple[Pack, ...], reading: Reading, slabs: SlabCaches | None) -> tuple[Pack, ...]:
    """Return packs that know the caches of a kernel, if an input is that kernel."""
    if slabs is None or misfit(reading, slabs):
        return packs
    return tuple(replace(pack, slabs=slabs) for pack in packs)


def misfit(reading: Reading, slabs: SlabCaches) -> str:
    """Return why the caches are not those of an input; empty if they can be."""
    document, label = slabs.slabs, f"the slab caches of {slabs.label}"
    if not reading.is_kernel:
        return f"{label} are not used: it is no Linux kernel"
    target = reading.target
    if document.target_name != target.name and not target.name.startswith(_UNKNOWN):
        return f"{label} are not used: they are of {document.machine}, and the input is for {target.name}"
    own = release_version(document.release)
    is_same = own is None or reading.kernel is None or reading.kernel == own[: len(reading.kernel)]
    if slabs.has_changed or is_same:
        return ""
    version = ".".join(map(str, reading.kernel or ()))
    return f"{label} are not used: they are of Linux {document.release}, and the input is Linux {version}"


def misfits(readings: Iterable[Reading], slabs: SlabCaches) -> tuple[str, ...]:
    """Return why the caches are not those of some inputs, which are listed together; empty if they can be."""
    return tuple(dict.fromkeys(filter(None, (misfit(each, slabs) for each in readings))))


def refuse_others(readings: Iterable[Reading], slabs: SlabCaches) -> None:
    """Raise ReadError for an input that is not the kernel of the caches, where none of its notes is shown."""
    for each in readings:
        reason = misfit(each, slabs)
        if reason:
            raise ReadError(each.path, reason)


def storages(
    structs: Iterable[Struct], stated: Mapping[str, Storage], slabs: SlabCaches
) -> dict[str, Storage]:
    """Return where caches have the objects of structs, by name, given what rule files state.

    Definitions of one name that are not all in the same caches are left out.
    """
    found: dict[str, set[Storage | None]] = {}
    for struct in structs:
        own = stated.get(struct.name)
        completed = slabs.complete(struct, own)
        found.setdefault(struct.name, set()).add(None if completed == own else completed)
    return {name: storage for name, (storage, *more) in found.items() if storage is not None and not more}


def refusals(structs: Iterable[Struct], slabs: SlabCaches) -> tuple[str, ...]:
    """Return notes on the caches that are not used for structs."""
    return tuple(dict.fromkeys(note for struct in structs for note in _refusals(struct, slabs)))


def slab_notes(judged: JudgedInput, options: Options) -> tuple[str, ...]:
    """Return notes on the caches of a kernel that are not used for the structs of an input."""
    slabs = options.slabs
    if slabs is None:
        return ()
    reason = misfit(judged.reading, slabs)
    if reason:
        return (reason,)
    lines = tuple(_notes_on_lines(judged.reading, slabs, options))
    notes = (note for each in judged.reading.structs for note in _notes_on(each, judged, slabs, options))
    return (*lines, *dict.fromkeys(notes))


def _notes_on_lines(reading: Reading, slabs: SlabCaches, options: Options) -> Iterator[str]:
    own, used = slabs.slabs.line_size, options.line_size or reading.target.line_size
    if own is not None and own != used:
        yield f"the machine of {slabs.label} has lines of {own} bytes: judge those with --line-size {own}"


def _notes_on(struct: Struct, judged: JudgedInput, slabs: SlabCaches, options: Options) -> Iterator[str]:
    """Yield why caches are not used for a struct that a rule is on."""
    packs = [pack for pack in judged.packs if any(struct.matches(rule.struct) for rule in pack.rules)]
    if not packs or struct.bit_size is None or struct.problem is not None:
        return
    yield from _refusals(struct, slabs)
    for pack in packs:
        pack = pack.select_for(judged.reading)
        try:
            stated = pack.stated_storage(struct)
            if stated is not None and stated.word == EMBEDDED:
                for way in judged.surroundings.containers(struct):
                    yield from _refusals(way.struct, slabs)
            elif stated is not None:
                yield from _contradiction(struct, stated, slabs, options)
        except (RuleFileError, CannotTell):  # reported where the rule is judged
            continue


def _refusals(struct: Struct, slabs: SlabCaches) -> Iterator[str]:
    for cache, reason in slabs.search(struct).refused:
        yield f"slab cache {cache} is not used for {struct.aggregate} {struct.name}: {reason}"


def _contradiction(struct: Struct, stated: Storage, slabs: SlabCaches, options: Options) -> Iterator[str]:
    """Yield a note if the caches have objects at places that the statement of a rule file excludes."""
    layout, shown = cached_layout(struct), slabs.complete(struct, None)
    if stated.word is None or shown is None or slabs.complete(struct, stated) != stated:
        return
    by_file, by_cache = (
        placement.placements(layout, options.line_size, options.min_align, each) for each in (stated, shown)
    )
    if not set(by_cache.bases) <= set(by_file.bases):
        name = f"{struct.aggregate} {struct.name}"
        yield f"{stated.source}: `{stated.spelling}` of {name} counts, and contradicts: {by_cache.why}"
