"""Which types of a blob are asked for: names compared, typedefs followed, equal definitions merged."""

from __future__ import annotations

from dataclasses import dataclass, replace

from layoutlint.model.structs import Field, Struct, Unstated
from layoutlint.model.target import Target
from layoutlint.model.wanted import Wanted
from layoutlint.readers.btf import blob
from layoutlint.readers.btf.annotation_tags import Annotations
from layoutlint.readers.btf.blob import Blob, Damaged, Record
from layoutlint.readers.btf.holders import Holders
from layoutlint.readers.btf.types import AGGREGATES, DEEPEST, TRANSPARENT, UNSTATED, Decoder
from layoutlint.readers.overlaps import Overlaps

_Key = tuple[str, int]
_NAMING = frozenset((blob.STRUCT, blob.UNION, blob.FWD, blob.TYPEDEF))
_TYPEDEFS = frozenset((blob.TYPEDEF,))


@dataclass(frozen=True, slots=True)
class _Target:
    """A struct that a name leads to."""

    name: str
    record: Record
    alias: str | None

    @property
    def is_tagged(self) -> bool:
        """Whether the name is the tag."""
        return bool(self.record.name)


def structs(
    source: Blob, wanted: Wanted, target: Target, origin: str, is_kernel: bool = False,
    moves_first: bool = False,
) -> tuple[Struct, ...]:  # fmt: skip
    """The wanted structs of a blob, in its order; incomplete ones only where nothing completes them.

    `moves_first`: it can be of gcc's own, where the first member with a name is at 0 also behind bit-fields
    without one (ctf_add_member() in gcc/ctfc.cc). Raises Damaged.
    """
    decoder = Decoder(source, target, is_kernel)
    annotations = Annotations(source) if wanted.annotated else None
    owners = annotations.owners if annotations else frozenset()
    overlaps = Overlaps()
    complete: dict[tuple[str, int], Struct] = {}
    incomplete: dict[_Key, Struct] = {}
    for found in _found(source, wanted, owners):
        if found.record.kind == blob.FWD:
            if _asked_for(wanted, found.alias or found.name):
                _add(incomplete, (found.name, 0), found, _incomplete(found, target, origin))
        else:
            key = found.name, found.record.id
            built = complete.get(key) or _complete(found, decoder, target, origin, overlaps)
            if moves_first and built.problem is None and _may_be_moved(built.fields, built):
                built = complete[key] = replace(built, problem=_MOVED)
            if annotations and not built.annotations and found.record.id in owners:
                built = complete[key] = replace(built, annotations=tuple(annotations.of(found.record)))
            _add(complete, key, found, built)
            if not is_kernel and (found.alias or not found.is_tagged):
                complete[key] = replace(complete[key], unstated=UNSTATED | Unstated.TYPEDEF)
    names = {built.name for built in complete.values()}
    rest = [built for built in incomplete.values() if built.name not in names]
    return _distinct([*complete.values(), *rest])


def names(source: Blob) -> frozenset[str]:
    """What the structs of a blob are called, and typedefs that stand for some. Raises Damaged."""
    tags = {source.text(name, type_id) for type_id, name in source.own(frozenset(AGGREGATES)) if name}
    typedefs = (source.record(type_id) for type_id, _ in source.own(_TYPEDEFS))
    return frozenset((*tags, *(one.name for one in typedefs if _followed(source, one)[1] is not None)))


def _found(source: Blob, wanted: Wanted, annotated: frozenset[int]) -> list[_Target]:
    """Those of wanted names, and those of annotated structs."""
    matches: dict[int, bool] = {0: False}
    holders = Holders(source, wanted.held).ids() if wanted.held else frozenset()
    found = []
    for type_id, name in source.own(_NAMING):
        if name not in matches:
            matches[name] = wanted.matches(source.text(name, type_id))
        is_wanted = matches[name] or (name and type_id in holders)
        if is_wanted or (annotated and name and _is_one(source, source.record(type_id), annotated)):
            target = _resolved(source, source.record(type_id), wanted)
            if target is not None:
                found.append(target)
    return found


def _is_one(source: Blob, record: Record, ids: frozenset[int]) -> bool:
    """Whether a type is one of some structs, or the typedef of one without a tag. Raises Damaged."""
    if record.kind != blob.TYPEDEF:
        return record.id in ids
    _, target = _followed(source, record)
    return target is not None and not target.name and target.id in ids


def _resolved(source: Blob, record: Record, wanted: Wanted) -> _Target | None:
    """The struct that a wanted name means; None for a typedef of anything else."""
    name = record.name
    if record.kind != blob.TYPEDEF:
        return _Target(name, record, None)
    naming, target = _followed(source, record)
    if target is None:
        return None
    own = target.name or naming
    if own == name:
        return _Target(own, target, None)
    if (wanted.everything or wanted.held) and name not in wanted.names | wanted.held:
        return None  # everything has its own name already; only what is asked for gets others
    return _Target(own, target, name)


def _followed(source: Blob, record: Record) -> tuple[str, Record | None]:
    """The struct or union that a typedef stands for, and the typedef next to it; None for any other type."""
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


def _asked_for(wanted: Wanted, name: str) -> bool:
    """Whether a name is asked for by itself, not as a part of everything."""
    return Wanted(wanted.names | wanted.held, wanted.patterns).matches(name)


def _complete(found: _Target, decoder: Decoder, target: Target, origin: str, overlaps: Overlaps) -> Struct:
    record = found.record
    fields = decoder.at(record.id).members
    problem = overlaps.within(fields, record.kind == blob.UNION)
    kind, size = AGGREGATES[record.kind], record.value * 8
    tagged = found.is_tagged
    return Struct(
        found.name, kind, size, None, fields, target, None, origin, (), problem, (), tagged, unstated=UNSTATED
    )


_MOVED = "BTF of gcc does not tell whether unnamed bit-fields stand before its first member, or a member's"


def _may_be_moved(fields: tuple[Field, ...], of: Struct | Field) -> bool:
    """Whether the first member of a struct, or of one in it, has room behind it, and so can stand there."""
    if of.aggregate == "struct" and fields:
        end = fields[1].bit_offset if len(fields) > 1 else of.bit_size
        size = fields[0].bit_size
        if end is None or size is None or fields[0].bit_offset + size < end:
            return True
    return any(member.members and _may_be_moved(member.members, member) for member in fields)


def _incomplete(found: _Target, target: Target, origin: str) -> Struct:
    aggregate = "union" if found.record.flag else "struct"
    return Struct(found.name, aggregate, None, None, (), target, None, origin)  # type: ignore[arg-type]


def _add(known: dict[_Key, Struct], key: _Key, found: _Target, built: Struct) -> None:
    named = known.setdefault(key, built)
    if found.alias is not None and found.alias not in named.aliases:
        known[key] = replace(named, aliases=tuple(sorted((*named.aliases, found.alias))))


def _distinct(structs: list[Struct]) -> tuple[Struct, ...]:
    """Equal definitions of one name once; different ones each for itself."""
    of: dict[str, list[Struct]] = {}
    for struct in structs:
        same = of.setdefault(struct.name, [])
        if struct not in same:
            same.append(struct)
    kept = {id(struct) for same in of.values() for struct in same}
    return tuple(struct for struct in structs if id(struct) in kept)
