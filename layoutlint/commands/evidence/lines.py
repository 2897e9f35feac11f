"""The objects on the cache lines of a profile: placed by address, or by the offsets that code touched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, partial

from layoutlint.commands.evidence.code_types import Objects, expected_objects, parts_of
from layoutlint.errors import ReadError
from layoutlint.geometry.access_masks import Masks, TooLarge, access_masks, field_at, parts_mask
from layoutlint.geometry.layout import Layout
from layoutlint.geometry.line_search import Candidate, Expectation, Search, best
from layoutlint.judgement.evidence import (
    Certainty,
    FieldTouch,
    Identity,
    Option,
    PlacedLine,
    RefusedTouch,
    UnplacedLine,
    sharing_of,
)
from layoutlint.model.record import Record, field, replace
from layoutlint.model.structs import Source, Struct
from layoutlint.readers.profiles.records import Code, LineBlock, Profile, Touch

_MOST_OPTIONS = 8
"""Places of an unplaced line that are reported."""
_MOST_TRIED = 16
"""Places of a struct that are compared with code, to say what contradicts them."""
_MOST_SEARCHED, _MOST_SEARCHED_BY_RULES = 2_000, 200
"""Lines that are searched for one struct, and for all structs of rules; perf lists the hottest first."""


class ObjectType(Record, frozen=True, dict=True):
    """A struct whose objects are looked for."""

    struct: Struct
    is_kernel: bool = False
    """Whether it is one of Linux itself, as the input states."""

    @cached_property
    def layout(self) -> Layout:
        """The geometry of the struct."""
        return Layout(self.struct)

    @cached_property
    def masks(self) -> Masks | None:
        """Where accesses can start; None for a struct that is too large."""
        try:
            return access_masks(self.layout)
        except TooLarge:
            return None

    @cached_property
    def _masks_of_objects(self) -> dict[Objects, int]:
        return {}

    def mask_of(self, objects: Objects) -> int:
        """Return the bytes of the struct that code on such objects accesses; all of one that is too large."""
        masks = self._masks_of_objects
        if objects not in masks:
            try:
                masks[objects] = parts_mask(self.layout, partial(parts_of, objects=objects))
            except TooLarge:
                masks[objects] = -1
        return masks[objects]


class LineResult(Record):
    """The placed and unplaced lines of all profiles."""

    placed: list[tuple[ObjectType, PlacedLine]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unplaced: list[UnplacedLine] = field(default_factory=list)


def line_size_of(profile: Profile, default: int, stated: int | None) -> int:
    """Return the size of the lines of a report in bytes: the target's, or a pair of them (`--double-cl`).

    Raises ReadError if the report has other lines.
    """
    size = stated or default
    largest = max((touch.offset for block in profile.blocks for touch in block.touches), default=0)
    if (
        stated is None
        and size <= largest < 2 * size
        and all(b.address % (2 * size) == 0 for b in profile.blocks)
    ):
        size *= 2
    for block in profile.blocks:
        if block.address % size:
            raise ReadError(
                Source(profile.path, block.line),
                f"{block.address:#x} starts no line of {size} bytes; state the size with --line-size",
            )
        wrong = next((touch for touch in block.touches if touch.offset >= size), None)
        if wrong is not None:
            raise ReadError(
                Source(profile.path, wrong.lines[0]),
                f"no line of {size} bytes has offset {wrong.offset:#x}; state the size with --line-size",
            )
    return size


def place_by_address(
    profile: Profile,
    line_size: int,
    kind: ObjectType,
    addresses: Sequence[int],
    result: LineResult,
    variable: str = "",
) -> None:
    """Place the lines of objects whose addresses are known; `variable` names the only one."""
    for block in profile.blocks:
        for address in addresses:
            if address < block.address + line_size and block.address < address + kind.layout.size:
                candidate = Candidate(block.address - address, True, True)
                line = _place_line(profile.path, block, line_size, kind, candidate, ("given", "base"))
                result.placed.append((kind, replace(line, variable=variable)))


_HIGH_KERNELS = ("x86_64", "aarch64", "riscv64", "powerpc64", "powerpc64le")
"""Targets whose kernels have the upper half of the addresses (Documentation/arch of Linux)."""


def place_by_offsets(
    profile: Profile, line_size: int, kinds: Sequence[ObjectType], result: LineResult, names_only: bool
) -> None:
    """Place the lines that only one place of one struct explains.

    `names_only` says that the structs were not chosen by the user, so that a line needs code that fits.
    """
    limit = _MOST_SEARCHED_BY_RULES if names_only else _MOST_SEARCHED
    if len(profile.blocks) > limit:
        every = len(profile.blocks)
        result.notes.append(f"{profile.path}: only the first {limit:,} of {every:,} lines are searched")
    for block in profile.blocks[:limit]:
        reason = None if kinds else "no struct was searched for; choose one with --struct"
        if kinds and _is_outside(block, kinds):
            reason = "the address is one of a program, and the input is a kernel"
        if reason is not None:
            other = UnplacedLine(profile.path, block.line, block.address, block.counts, reason)
            result.unplaced.append(replace(other, sharing=sharing_of(block.touches)))
            continue
        matches: list[tuple[ObjectType, Candidate, int]] = []
        objections: list[tuple[ObjectType, Candidate, tuple[Code, ...]]] = []
        for kind in kinds:
            candidates, chosen = _search(block, line_size, kind)
            matches += [(kind, each, len(candidates)) for each in chosen]
            if not chosen:
                objections += [
                    (kind, each, _codes(block, kind, each)[1]) for each in candidates[:_MOST_TRIED]
                ]
        if len(matches) == 1 and (not names_only or _codes(block, matches[0][0], matches[0][1])[0]):
            kind, candidate, number = matches[0]
            is_sole = number == 1 and len(kind.layout.alignments) == 1
            certainty: Certainty = "unique" if is_sole else "likely"
            identity: Identity = "code" if _codes(block, kind, candidate)[0] else "struct"
            line = _place_line(profile.path, block, line_size, kind, candidate, (certainty, identity))
            result.placed.append((kind, replace(line, others=number - 1)))
        elif block.touches:
            result.unplaced.append(
                _unplaced_line(profile.path, block, line_size, matches, objections, names_only)
            )


def _is_outside(block: LineBlock, kinds: Sequence[ObjectType]) -> bool:
    """Return whether the objects are a kernel's, and the address is not."""
    is_low = block.address < 1 << 63
    return is_low and any(k.is_kernel and k.struct.target.name in _HIGH_KERNELS for k in kinds[:1])


def _search(
    block: LineBlock, line_size: int, kind: ObjectType
) -> tuple[tuple[Candidate, ...], tuple[Candidate, ...]]:
    """Return all candidates, and those that nothing rules out."""
    masks = kind.masks
    if masks is None or not block.touches:
        return (), ()
    expectations = tuple(expectation for expectation, _ in _expectations(block, kind))
    offsets = tuple(touch.offset for touch in block.touches)
    search = Search(line_size, kind.layout.size, kind.layout.align.value, offsets, expectations)
    candidates = search.candidates(masks)
    return candidates, best(candidates)


def _expectations(block: LineBlock, kind: ObjectType) -> Iterator[tuple[Expectation, Code]]:
    for touch in block.touches:
        for code in touch.codes:
            for objects in expected_objects(code):
                yield Expectation(touch.offset, kind.mask_of(objects)), code


def _codes(
    block: LineBlock, kind: ObjectType, candidate: Candidate
) -> tuple[tuple[Code, ...], tuple[Code, ...]]:
    """Return the code that is at the types it accesses, and the code that is at other types."""
    met: dict[Code, None] = {}
    unmet: dict[Code, None] = {}
    for expectation, code in _expectations(block, kind):
        (met if expectation.holds(candidate.shift) else unmet)[code] = None
    return tuple(code for code in met if code not in unmet), tuple(unmet)


def _place_line(
    report: str,
    block: LineBlock,
    line_size: int,
    kind: ObjectType,
    candidate: Candidate,
    basis: tuple[Certainty, Identity],
) -> PlacedLine:
    touched = [_field_touch(kind, touch, candidate.shift + touch.offset) for touch in block.touches]
    return PlacedLine(
        report,
        block.line,
        block.address,
        line_size,
        block.counts,
        candidate.shift,
        *basis,
        0,
        len(block.touches),
        *_codes(block, kind, candidate),
        tuple(each for each in touched if isinstance(each, FieldTouch)),
        tuple(each for each in touched if isinstance(each, RefusedTouch)),
        block.covered,
    )


def refusal(kind: ObjectType, byte: int) -> str | None:
    """Return the reason why no access can start at a byte of a struct; None if one can."""
    if byte < 0:
        return "before the object"
    if byte >= kind.layout.size:
        array = kind.layout.open_end
        return f"in the flexible array `{array.path}`" if array is not None else "beyond the struct"
    place = field_at(kind.layout, byte)
    if place is None:
        return "in padding"
    masks = kind.masks
    if masks is not None and not masks.inside >> byte & 1:
        return f"inside `{place.path}`, which code accesses as a whole"
    return None


def _field_touch(kind: ObjectType, touch: Touch, byte: int) -> FieldTouch | RefusedTouch:
    reason = refusal(kind, byte)
    place = field_at(kind.layout, byte) if reason is None else None
    if place is None:
        return RefusedTouch(byte, reason or "in padding", touch.records, None, touch.lines[0])
    return FieldTouch(place.path, place.offset, place.size, byte, touch)


def _unplaced_line(
    report: str,
    block: LineBlock,
    line_size: int,
    matches: list[tuple[ObjectType, Candidate, int]],
    objections: list[tuple[ObjectType, Candidate, tuple[Code, ...]]],
    names_only: bool,
) -> UnplacedLine:
    objections = sorted(objections, key=lambda each: len(each[2]))
    places = [(kind, each) for kind, each, _ in matches] or [(kind, each) for kind, each, _ in objections]
    options = tuple(
        Option(kind.struct.name, each.base(line_size), each.shift) for kind, each in places[:_MOST_OPTIONS]
    )
    if matches:
        reason = _ambiguity(len(matches), names_only)
    elif objections:
        code = objections[0][2][0]
        where = f"`{code.symbol}`" + (f" ({code.source})" if code.source else "")
        reason = (
            f"where offsets fit, {where} would access a field of another type than it does: "
            "another struct, or another build"
        )
    else:
        reason = "no place explains all offsets"
    sharing = sharing_of(block.touches)
    return UnplacedLine(
        report, block.line, block.address, block.counts, reason, options, len(places), sharing
    )


def _ambiguity(number: int, names_only: bool) -> str:
    """Return why a line is not placed that one or several places explain."""
    if number == 1:
        return "one place explains the offsets, but no code shows whose line it is; choose it with --struct"
    remedy = "choose a struct with --struct" if names_only else "state the address of the object with --base"
    return f"{number:,} places explain the offsets; {remedy}"


def object_types(structs: Sequence[Struct], is_kernel: bool) -> Iterator[ObjectType]:
    """Yield the structs whose objects can be looked for: those with a layout that is known."""
    for struct in structs:
        if struct.problem is None and struct.bit_size and struct.address is None:
            yield ObjectType(struct, is_kernel)
