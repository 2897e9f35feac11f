"""Format `text` of `allocations`: every struct with the calls that allocate it."""

from __future__ import annotations

from collections.abc import Iterator

from layoutlint import escapes
from layoutlint.phrases import quantity
from layoutlint.sources.allocations.allocation import Allocation
from layoutlint.sources.allocations.proposals import Listing, StructProposals, describe_call, keys


def render(listing: Listing) -> Iterator[str]:
    """Yield a paragraph for each struct, and totals."""
    for proposed in listing.structs:
        yield escapes.lines((f"struct {proposed.struct}", *_rows(proposed), ""))
    for call in listing.unresolved if not listing.structs else ():
        yield escapes.lines((_unresolved_call(call),))
    yield escapes.lines(_end(listing))


def _rows(proposed: StructProposals) -> Iterator[str]:
    if len(proposed.proposals) > 1:
        yield f"  {len(proposed.proposals)} proposals contradict each other: choose one in the rule file"
    for proposal in proposed.proposals:
        yield f"  {', '.join(keys(proposal.storage))}"
        yield from (f"    {call.source}  {describe_call(call)}" for call in proposal.places)
    if proposed.unresolved:
        yield "  not determined"
        yield from (f"    {_unresolved_call(call)}" for call in proposed.unresolved)


def _unresolved_call(call: Allocation) -> str:
    return f"{call.source}  {describe_call(call)}: {call.problem}"


def _end(listing: Listing) -> Iterator[str]:
    proposals = sum(len(struct.proposals) for struct in listing.structs)
    yield f"{quantity(len(listing.structs), 'struct')}, {quantity(proposals, 'proposal')}"
    if listing.unresolved:
        number = quantity(len(listing.unresolved), "call")
        yield f"{number} whose struct is unknown (--format json lists them)"
    if listing.typedefs:
        number = quantity(listing.typedefs, "call")
        yield f"{number} for types named by one word (--struct NAME lists those of one type)"
