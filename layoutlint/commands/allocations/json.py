"""Format `json` of `allocations`: one call on each line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

from msgspec import Meta

from layoutlint.model.json_object import JsonObject, Natural, Positive, both_or_neither, one_of
from layoutlint.model.storage import ANY, WORDS
from layoutlint.reports.json_values import row_text
from layoutlint.sources.allocations.allocation import Allocation
from layoutlint.sources.allocations.proposals import Listing

Word = Annotated[str, Meta(min_length=1)]
_PLACEMENT = f"^({'|'.join((*WORDS, 'array'))})(:[0-9]+)?$"
_KNOWN_OR_NOT = both_or_neither("placement", "constructor")


class Document(JsonObject, frozen=True, tag_field="schema", tag="layoutlint/allocations/1"):
    """The calls that allocate structs.

    Sizes and offsets are in bytes, unless the key says bits. An unknown value is null.
    """

    allocations: Sequence[Annotated[AllocationJson, _KNOWN_OR_NOT]]
    """Every call, by struct. Calls whose struct is unknown come last."""
    typedefs: Natural
    """The number of calls for types of one word. They are left out unless they are asked for by name."""
    unread: Sequence[UnreadJson]
    """The files that could not be read."""


class AllocationJson(JsonObject, frozen=True):
    """A call that allocates objects of a struct, or a variable."""

    struct: Word | None
    """The struct's tag or typedef. Null if it is unknown."""
    call: str
    """The function or macro. For a variable, its attribute."""
    file: str
    """The source."""
    line: Positive
    """Line number, from 1."""
    placement: Annotated[str, Meta(pattern=_PLACEMENT)] | None
    """The placement, as in a rule file; `array` if only the array is known. Null if it is unknown."""
    constructor: bool | None
    """True if the slab cache puts a pointer behind each object. Null if `placement` is null."""
    array: Positive | Annotated[bool, one_of(True)] | None
    """The number of elements of an array; true if it is unknown. Null if there is no array."""
    details: Sequence[str]
    """What decided about the call: `SLAB_HWCACHE_ALIGN`, `a constructor`."""
    problem: Word | None
    """Why the placement is unknown."""


class UnreadJson(JsonObject, frozen=True):
    """A file that could not be read."""

    path: str
    """The file."""
    reason: str
    """The cause."""


def render(listing: Listing) -> Iterator[str]:
    """Yield one JSON object with calls by struct; calls with an unknown struct come last."""
    calls = [
        call
        for struct in listing.structs
        for call in (
            *(place for proposal in struct.proposals for place in proposal.places),
            *struct.unresolved,
        )
    ]
    yield '{\n  "schema": "layoutlint/allocations/1",\n  "allocations": ['
    for number, call in enumerate((*calls, *listing.unresolved)):
        yield (",\n    " if number else "\n    ") + row_text(_row(call))
    unread = [UnreadJson(path=failure.origin, reason=failure.reason) for failure in listing.unread]
    yield f'\n  ],\n  "typedefs": {listing.typedefs},\n  "unread": {row_text(unread)}\n}}\n'


def _row(call: Allocation) -> AllocationJson:
    storage = call.storage
    array = storage.array if storage is not None else None
    return AllocationJson(
        struct=call.struct or None,
        call=call.call,
        file=call.source.file,
        line=call.source.line,  # type: ignore[arg-type]  # a call has one
        placement=storage.spelling if storage is not None else None,
        constructor=storage.has_constructor if storage is not None else None,
        array=True if array == ANY else array,
        details=call.details,
        problem=call.problem or None,
    )
