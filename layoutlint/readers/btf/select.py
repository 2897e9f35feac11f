"""Selection of the requested types of a blob: names compared, typedefs resolved, equal definitions merged,
annotations (BTF_KIND_DECL_TAG, Documentation/bpf/btf.rst of Linux) added.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from layoutlint.model.overlaps import Overlaps
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import ANNOTATION, Annotation, Struct, Unstated
from layoutlint.model.target import Target
from layoutlint.model.wanted import Wanted
from layoutlint.readers.btf import blob
from layoutlint.readers.btf.blob import Blob, Damaged, TypeEntry
from layoutlint.readers.btf.doubts import Doubts
from layoutlint.readers.btf.types import AGGREGATES, DEEPEST, TRANSPARENT, UNSTATED, BtfDecoder

_Key = tuple[str, int]
_NAMING = frozenset((blob.STRUCT, blob.UNION, blob.FWD, blob.TYPEDEF))
_TYPEDEFS = frozenset((blob.TYPEDEF,))
_TAGS: Final = frozenset((blob.DECL_TAG,))
_AGGREGATES: Final = frozenset((blob.STRUCT, blob.UNION))
_NAMELESS: Final = frozenset((blob.CONST, blob.VOLATILE, blob.RESTRICT, blob.TYPE_TAG, blob.ARRAY))
"""Kinds between a member and the struct defined in its declaration."""
_WHOLE: Final = 0xFFFFFFFF
"""component_idx of a tag on the type itself, not on a member."""
_DEEPEST: Final = 100
_Texts = dict[int, list[str]]
_NAMED = frozenset((*AGGREGATES, blob.TYPEDEF))
_REFER = frozenset((blob.PTR, blob.VAR, blob.FUNC_PROTO))
_BETWEEN = frozenset((*TRANSPARENT, blob.TYPEDEF, blob.ARRAY))


class _Target(Record, frozen=True):
    """A struct that a name refers to."""

    name: str
    record: TypeEntry
    alias: str | None

    @property
    def is_tagged(self) -> bool:
        """Whether the name is the tag."""
        return bool(self.record.name)


class _AnnotationTags:
    """The annotations of one blob, by struct."""

    def __init__(self, source: Blob) -> None:
        """Read the tags. Raises Damaged."""
        self._blob = source
        self._tags: dict[int, _Texts] = {}
        for type_id, name in source.own_types(_TAGS):
            text = source.text(name, type_id)
            if text.startswith(ANNOTATION):
                record = source.record(type_id)
                texts = self._tags.setdefault(record.value, {}).setdefault(record.words[0], [])
                texts.append(text.removeprefix(ANNOTATION))
        self.owners = self._owners()
        """The structs with annotations, on themselves or on structs defined inside of them."""

    def _owners(self) -> frozenset[int]:
        if not self._tags:
            return frozenset()
        ids = [type_id for type_id, _ in self._blob.own_types(_AGGREGATES)]
        return frozenset(type_id for type_id in ids if any(self.annotations_of(self._blob.record(type_id))))

    def annotations_of(self, record: TypeEntry, prefix: str = "", depth: int = 0) -> Iterator[Annotation]:
        """Yield the annotations of a struct and of the structs defined inside of it. Raises Damaged."""
        if not self._tags:
            return
        if depth > _DEEPEST:
            raise Damaged(f"type {record.id} is nested {_DEEPEST} types deep")
        texts = self._tags.get(record.id, {})
        for text in texts.get(_WHOLE, ()):
            yield Annotation(prefix.removesuffix("."), text)
        for number, (name, type_id, _) in enumerate(record.elements(3)):
            path = prefix + self._blob.text(name, record.id)
            for text in texts.get(number, ()):
                yield Annotation(path.removesuffix("."), text)
            inner = self._unnamed_struct(type_id)
            if inner is not None:
                yield from self.annotations_of(inner, f"{path}." if name else prefix, depth + 1)

    def _unnamed_struct(self, type_id: int) -> TypeEntry | None:
        """Return the unnamed struct that a member is declared with; None for other types."""
        for _ in range(_DEEPEST):
            if not type_id:
                return None
            record = self._blob.record(type_id)
            if record.kind in _AGGREGATES:
                return None if record.name else record
            if record.kind not in _NAMELESS:
                return None
            type_id = record.words[0] if record.kind == blob.ARRAY else record.value
        raise Damaged(f"type {type_id} and others refer to one another in a circle")


def structs(
    source: Blob, wanted: Wanted, target: Target, origin: str, is_kernel: bool = False,
    by_gcc: bool = False, is_raw: bool = False,
) -> tuple[Struct, ...]:  # fmt: skip
    """Return the requested structs of a blob, in its order; incomplete ones only without a definition.

    `by_gcc`: gcc may have written it, which omits the typedef of a struct in an atomic type. `is_raw`: it is
    no section of an ELF file. Raises Damaged.
    """
    decoder = BtfDecoder(source, target, is_kernel)
    doubts = Doubts(source, decoder, by_gcc, is_raw and not is_kernel)
    annotations = _AnnotationTags(source) if wanted.annotated else None
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


def _unnamed_alone(source: Blob) -> frozenset[int]:
    """Return the structs of a blob without a name that are not only the type of a member. Raises Damaged."""
    in_members, elsewhere, named = set[int](), set[int](), set[int]()
    for type_id, _ in source.own_types(frozenset((*AGGREGATES, *_REFER, blob.TYPEDEF))):
        record = source.record(type_id)
        if record.kind in AGGREGATES:
            in_members.update(_struct_of(source, part) for part in source.parts(type_id))
        elif record.kind == blob.TYPEDEF:
            named.add(_struct_of(source, record.value, TRANSPARENT))
            elsewhere.add(_struct_of(source, record.value))  # a typedef of an array names no struct
        else:
            parameters = record.elements(2) if record.kind == blob.FUNC_PROTO else ()
            elsewhere.update(_struct_of(source, each) for each in (record.value, *(p[1] for p in parameters)))
    unnamed = {type_id for type_id, name in source.own_types(frozenset(AGGREGATES)) if not name}
    return frozenset(unnamed - named - (in_members - elsewhere))


def _struct_of(source: Blob, type_id: int, between: frozenset[int] = _BETWEEN) -> int:
    """Return the id of the type behind qualifiers, typedefs and arrays. Raises Damaged."""
    for _ in range(DEEPEST):
        record = source.record(type_id) if type_id else None
        if record is None or record.kind not in between:
            return type_id
        type_id = source.parts(type_id)[0]
    raise Damaged(f"type {type_id} goes through more than {DEEPEST} others, or in a circle")


class _Holders:
    """Finds structs by name, and the types that embed them, at any depth."""

    def __init__(self, source: Blob, names: frozenset[str], omits_typedefs: bool = False) -> None:
        """Mark the named structs. Raises Damaged.

        `omits_typedefs`: any struct without a tag can be one of the same size that a typedef names.
        """
        self._source = source
        self._is_holder: dict[int, bool] = {0: True}
        """Pahole writes `void` for types that it cannot express: a member of it can embed anything."""
        while source.base is not None:
            self._mark(source, names)
            source = source.base
        self._mark(source, names)
        if omits_typedefs:
            self._mark_lookalikes(source)

    def _mark_lookalikes(self, source: Blob) -> None:
        """Mark the structs without a tag that have the size of one that a typedef names."""
        untagged = [
            source.record(type_id) for type_id, name in source.own_types(frozenset(AGGREGATES)) if not name
        ]
        typedefs = (
            source.record(type_id).value for type_id, _ in source.own_types(frozenset((blob.TYPEDEF,)))
        )
        named = set(typedefs)
        sizes = {(record.kind, record.value) for record in untagged if record.id in named}
        lookalikes = (r for r in untagged if r.id not in named and (r.kind, r.value) in sizes)
        self._is_holder.update((record.id, True) for record in lookalikes)

    def _mark(self, source: Blob, names: frozenset[str]) -> None:
        """Mark the structs of these names, and those that typedefs of these names refer to."""
        for record in source.records_named(_NAMED, names):
            target: TypeEntry | None = record
            for _ in range(DEEPEST):
                if target is None or (target.kind != blob.TYPEDEF and target.kind not in TRANSPARENT):
                    break
                target = source.record(target.value) if target.value else None
            if target is not None and target.kind in AGGREGATES:
                self._is_holder[target.id] = True

    def ids(self) -> frozenset[int]:
        """Return the ids of types that embed such a struct, and of all types that these contain. Raises
        Damaged.

        The contained types decide which struct a field's typedef refers to, if several have the same members.
        """
        ids: set[int] = set()
        pending = [type_id for type_id, _ in self._source.own_types(_NAMED) if self._holds(type_id)]
        while pending:
            type_id = pending.pop()
            if type_id not in ids:
                ids.add(type_id)
                pending += self._source.parts(type_id)
        return frozenset(ids)

    def _holds(self, type_id: int, depth: int = 0) -> bool:
        is_holder = self._is_holder.get(type_id)
        if is_holder is None:
            self._is_holder[type_id] = True  # a type that contains itself is reported when it is decoded
            parts = self._source.parts(type_id)
            is_holder = depth > DEEPEST or any(self._holds(part, depth + 1) for part in parts)
            self._is_holder[type_id] = is_holder
        return is_holder


def _select(source: Blob, wanted: Wanted, annotated: frozenset[int], by_gcc: bool) -> list[_Target]:
    """Return the structs of requested names, and the annotated structs."""
    matches: dict[int, bool] = {0: False}
    holders: frozenset[int] = frozenset()
    if wanted.with_containers:
        holders = _Holders(source, wanted.with_containers, by_gcc).ids()
    targets = []
    if wanted.embedded:
        alone = _unnamed_alone(source)
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
    selected: _Target,
    decoder: BtfDecoder,
    target: Target,
    origin: str,
    overlaps: Overlaps,
    unstated: Unstated,
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
