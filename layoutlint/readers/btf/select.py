"""Selection of the requested types of a blob: names compared, typedefs resolved, equal definitions merged."""

from __future__ import annotations

from collections.abc import Iterable

from layoutlint.model.overlaps import Overlaps
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Struct, Unstated
from layoutlint.model.target import Target
from layoutlint.model.wanted import Wanted
from layoutlint.readers.btf import blob
from layoutlint.readers.btf.annotation_tags import Annotations
from layoutlint.readers.btf.blob import Blob, Damaged, TypeEntry
from layoutlint.readers.btf.doubts import Doubts
from layoutlint.readers.btf.holders import Holders, unnamed_alone
from layoutlint.readers.btf.types import AGGREGATES, DEEPEST, TRANSPARENT, UNSTATED, Decoder

_Key = tuple[str, int]
_NAMING = frozenset((blob.STRUCT, blob.UNION, blob.FWD, blob.TYPEDEF))
_TYPEDEFS = frozenset((blob.TYPEDEF,))


class _Target(Record, frozen=True):
    """A struct that a name refers to."""

    name: str
    record: TypeEntry
    alias: str | None

    @property
    def is_tagged(self) -> bool:
        """Whether the name is the tag."""
        return bool(self.record.name)


def structs(
    source: Blob, wanted: Wanted, target: Target, origin: str, is_kernel: bool = False,
    by_gcc: bool = False, is_raw: bool = False,
) -> tuple[Struct, ...]:  # fmt: skip
    """Return the requested structs of a blob, in its order; incomplete ones only without a definition.

    `by_gcc`: gcc may have written it, which omits the typedef of a struct in an atomic type. `is_raw`: it is
    no section of an ELF file. Raises Damaged.
    """
    decoder = Decoder(source, target, is_kernel)
    doubts = Doubts(source, decoder, by_gcc, is_raw and not is_kernel)
    annotations = Annotations(source) if wanted.annotated else None
    owners = annotations.owners if annotations else frozenset()
    overlaps = Overlaps()
    complete: dict[tuple[str, int], Struct] = {}
    incomplete: dict[_Key, Struct] = {}
    left_out = UNSTATED | Unstated.ATOMIC_NAME if by_gcc else UNSTATED
    for selected in _select(source, wanted, owners, by_gcc):
        if selected.record.kind == blob.FWD:
            if _is_requested(wanted, selected.alias or selected.name):
                _add(incomplete, (selected.name, 0), selected, _incomplete(selected, target, origin))
        else:
            key = selected.name, selected.record.id
            definition = complete.get(key) or _complete(selected, decoder, target, origin, overlaps, left_out)
            if (doubt := doubts.problem(definition, selected.record.id)) is not None:
                definition = complete[key] = replace(definition, problem=doubt)
            if annotations and not definition.annotations and selected.record.id in owners:
                definition = complete[key] = replace(
                    definition, annotations=tuple(annotations.annotations_of(selected.record))
                )
            _add(complete, key, selected, definition)
            if not is_kernel and (selected.alias or not selected.is_tagged):
                complete[key] = replace(complete[key], unstated=left_out | Unstated.TYPEDEF)
    return merge((*complete.values(), *incomplete.values()))


def merge(structs: Iterable[Struct]) -> tuple[Struct, ...]:
    """Return the definitions of one or several blobs, each once; incomplete ones only if undefined."""
    definitions = list(structs)
    names = {definition.name for definition in definitions if definition.bit_size is not None}
    return _distinct([each for each in definitions if each.bit_size is not None or each.name not in names])


def names(source: Blob) -> frozenset[str]:
    """Return the names of the structs of a blob, and of typedefs that refer to one. Raises Damaged."""
    tags = {source.text(name, type_id) for type_id, name in source.own_types(frozenset(AGGREGATES)) if name}
    typedefs = (source.record(type_id) for type_id, _ in source.own_types(_TYPEDEFS))
    return frozenset(
        (*tags, *(typedef.name for typedef in typedefs if _follow_typedefs(source, typedef)[1] is not None))
    )


def _select(source: Blob, wanted: Wanted, annotated: frozenset[int], by_gcc: bool) -> list[_Target]:
    """Return the structs of requested names, and the annotated structs."""
    matches: dict[int, bool] = {0: False}
    holders: frozenset[int] = frozenset()
    if wanted.with_containers:
        holders = Holders(source, wanted.with_containers, by_gcc).ids()
    targets = []
    if wanted.embedded:
        alone = unnamed_alone(source)
        shown = sorted(alone & holders if wanted.with_containers else alone)
        targets += [
            _Target(f"(unnamed, type {type_id} of BTF)", source.record(type_id), None) for type_id in shown
        ]
    for type_id, name in source.own_types(_NAMING):
        if name not in matches:
            matches[name] = wanted.matches(source.text(name, type_id))
        is_wanted = matches[name] or (name and type_id in holders)
        if is_wanted or (annotated and name and _is_among(source, source.record(type_id), annotated)):
            target = _resolve(source, source.record(type_id), wanted)
            if target is not None:
                targets.append(target)
    return targets


def _is_among(source: Blob, record: TypeEntry, ids: frozenset[int]) -> bool:
    """Return whether a type is one of some structs, or the typedef of an untagged one. Raises Damaged."""
    if record.kind != blob.TYPEDEF:
        return record.id in ids
    _, target = _follow_typedefs(source, record)
    return target is not None and not target.name and target.id in ids


def _resolve(source: Blob, record: TypeEntry, wanted: Wanted) -> _Target | None:
    """Return the struct that a requested name refers to; None for a typedef of anything else."""
    name = record.name
    if record.kind != blob.TYPEDEF:
        return _Target(name, record, None)
    naming, target = _follow_typedefs(source, record)
    if target is None:
        return None
    own = target.name or naming
    if own == name:
        return _Target(own, target, None)
    if (wanted.everything or wanted.with_containers) and name not in wanted.names | wanted.with_containers:
        return None  # only requested names become aliases
    return _Target(own, target, name)


def _follow_typedefs(source: Blob, record: TypeEntry) -> tuple[str, TypeEntry | None]:
    """Return the struct or union that a typedef refers to, and the name of the last typedef; None for other
    types.
    """
    naming, first = record.name, record.id
    for _ in range(DEEPEST):
        if record.value == 0:
            return naming, None
        record = source.record(record.value)
        if record.kind in AGGREGATES or record.kind == blob.FWD:
            return naming, record
        if record.kind == blob.TYPEDEF:
            naming = record.name or naming
        elif record.kind not in TRANSPARENT:
            return naming, None
    raise Damaged(f"type {first} goes through more than {DEEPEST} others, or in a circle")


def _is_requested(wanted: Wanted, name: str) -> bool:
    """Return whether a name is requested by itself, not as a part of everything."""
    return Wanted(wanted.names | wanted.with_containers, wanted.patterns).matches(name)


def _complete(
    selected: _Target, decoder: Decoder, target: Target, origin: str, overlaps: Overlaps, unstated: Unstated
) -> Struct:
    record = selected.record
    fields = decoder.type_at(record.id).members
    problem = overlaps.first_overlap(fields, record.kind == blob.UNION)
    kind, size = AGGREGATES[record.kind], record.value * 8
    tagged = selected.is_tagged
    return Struct(
        selected.name,
        kind,
        size,
        None,
        fields,
        target,
        None,
        origin,
        (),
        problem,
        (),
        tagged,
        unstated=unstated,
    )


def _incomplete(selected: _Target, target: Target, origin: str) -> Struct:
    aggregate = "union" if selected.record.flag else "struct"
    return Struct(selected.name, aggregate, None, None, (), target, None, origin)  # type: ignore[arg-type]


def _add(definitions: dict[_Key, Struct], key: _Key, selected: _Target, definition: Struct) -> None:
    existing = definitions.setdefault(key, definition)
    if selected.alias is not None and selected.alias not in existing.aliases:
        definitions[key] = replace(existing, aliases=tuple(sorted((*existing.aliases, selected.alias))))


def _distinct(structs: list[Struct]) -> tuple[Struct, ...]:
    """Return the definitions without those that equal an earlier one of the same name."""
    distinct, by_name = [], dict[str, list[Struct]]()
    for struct in structs:
        alternatives = by_name.setdefault(struct.name, [])
        if struct not in alternatives:
            alternatives.append(struct)
            distinct.append(struct)
    return tuple(distinct)
