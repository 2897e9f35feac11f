"""Format `json` of `suggest --smallest` without STRUCT (schema `layoutlint/smallest/1`, docs/json.md)."""

from __future__ import annotations

from collections.abc import Sequence

from layoutlint.commands.suggest.candidates import Candidate, Smaller, Waste
from layoutlint.model.json_object import JsonObject
from layoutlint.reports.json_values import document_text, file_and_line
from layoutlint.suggestion.orders.result import Refusal


class Document(JsonObject, frozen=True, tag_field="schema", tag="layoutlint/smallest/1"):
    """The structs of an input that could be smaller.

    An unknown value is null.
    """

    input: str
    """The input, as given."""
    searched: int
    """The number of structs whose orders were searched."""
    candidates: Sequence[CandidateJson]
    """The structs that could be smaller, the most bytes first."""
    not_searched: Sequence[NotSearchedJson]
    """The structs with unused bytes whose members do not explain their layout."""


class CandidateJson(JsonObject, frozen=True):
    """A struct that could be smaller."""

    struct: str
    """The struct's tag, or the typedef that names it."""
    file: str | None
    """The file that defines it."""
    line: int | None
    """The line of its definition."""
    origin: str
    """The unit or file in which it was read."""
    size: int
    """Its size."""
    least: int
    """The least size that was found for an order of its own members."""
    bound: int
    """No order of its own members is smaller. `least` is proved if it is the same."""
    align: int
    """Its alignment."""
    largest_align: int
    """The largest alignment that it can have: more than `align` if the input does not state it."""
    bytes_saved: int
    """The bytes that each object loses: 0 if only orders inside of members save some."""
    nested_bytes: int
    """The bytes that orders inside of members save, whose types are declared in its braces. Padding of the
    struct can take some of them."""
    objects: int | None
    """The objects in variables of the input, also in arrays and other structs. Null if the input does not
    show variables."""
    bytes_in_all: int | None
    """The bytes that these lose. Null if they are not known."""
    arrays: Sequence[ArrayJson]
    """The structs and unions that hold several objects, those with the most first."""
    moves: int
    """The number of members that move. Bit-fields in a row move as one."""
    is_fewest: bool
    """Whether it is proved that no order of the size `least` moves fewer."""
    moved: Sequence[MovedJson]
    """The members that move, from the start of the struct on."""
    order: Sequence[str]
    """All members in the order that has the size `least`. A member without a name is called by the first name
    in it, in braces."""
    lines: tuple[int, int]
    """The cache lines that an object at the start of a line needs, before and after."""
    blocks: tuple[str, str]
    """The block of the allocator for an object, before and after: kmalloc's for a kernel, else that of
    `malloc` of glibc."""
    holes: Sequence[int]
    """The bytes of each hole, in the declared order."""
    padding: int
    """The bytes at its end."""
    nested: Sequence[Waste]
    """The unused bytes inside of members, at any depth, except in unions."""
    aligned: Sequence[str]
    """The members that start a line by an alignment of their own, perhaps on purpose."""
    refusals: Sequence[RefusalJson]
    """What depends on the order, as far as the struct itself shows it. Sources are not searched. Empty for a
    proposal."""


class NotSearchedJson(JsonObject, frozen=True):
    """A struct that was not searched."""

    struct: str
    """Its name."""
    reason: str
    """Why orders could not be searched."""
    file: str | None
    """The file that defines it, or the unit in which it was read."""
    line: int | None
    """The line of its definition."""


class ArrayJson(JsonObject, frozen=True):
    """A struct with several objects in it."""

    struct: str
    """The struct or union that holds them."""
    count: int
    """How many are in one."""


class MovedJson(JsonObject, frozen=True):
    """A member that moves."""

    member: str
    """The member; of bit-fields in a row, the first."""
    behind: str | None
    """The member behind which it stands. Null for the start."""


class RefusalJson(JsonObject, frozen=True):
    """A fact that forbids the order."""

    kind: str
    """The kind of fact, such as `packed`, `uapi`, `fixed-endian` or `kabi`."""
    reason: str
    """What depends on the order."""
    file: str | None
    """The file."""
    line: int | None
    """The line."""
    members: Sequence[str]
    """The members concerned. Empty for all."""


def render(result: Smaller) -> str:
    """Return the structs as one JSON object, the most bytes first."""
    document = Document(
        input=result.input,
        searched=result.searched,
        candidates=[_candidate(one) for one in result.candidates],
        not_searched=[
            NotSearchedJson(
                struct=each.members[0], reason=each.reason, file=each.file or None, line=each.line
            )
            for each in result.not_searched
        ],
    )
    return document_text(document)


def _candidate(one: Candidate) -> CandidateJson:
    return CandidateJson(
        struct=one.name,
        **file_and_line(one.source),
        origin=one.origin,
        size=one.size,
        least=one.least,
        bound=one.bound,
        align=one.align,
        largest_align=one.largest_align,
        bytes_saved=one.bytes_saved,
        nested_bytes=one.nested_bytes,
        objects=one.objects,
        bytes_in_all=one.bytes_in_all,
        arrays=[ArrayJson(struct=outer, count=count) for outer, count in one.arrays],
        moves=len(one.moves),
        is_fewest=one.is_fewest,
        moved=[MovedJson(member=move.member, behind=move.behind) for move in one.moves],
        order=one.order,
        lines=one.lines,
        blocks=one.blocks,
        holes=one.holes,
        padding=one.padding,
        nested=one.nested,
        aligned=one.aligned,
        refusals=[_refusal(each) for each in one.refusals],
    )


def _refusal(each: Refusal) -> RefusalJson:
    return RefusalJson(
        kind=each.kind,
        reason=each.reason,
        file=each.file or None,
        line=each.line,
        members=each.members,
    )
