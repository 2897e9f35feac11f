"""Format `toml` of `allocations`: tables for a rule file, with the source of each fact in a comment."""

from __future__ import annotations

from collections.abc import Iterator

from layoutlint import escapes
from layoutlint.sources.allocations.proposals import Listing, Proposal, StructProposals, describe_call, keys

_SHOWN = 3


def render(listing: Listing) -> Iterator[str]:
    """Yield a table for each struct; contradicting proposals are comments."""
    for proposed in listing.structs:
        if proposed.proposals:
            yield escapes.lines((f"[struct.{escapes.toml_key(proposed.struct)}]", *_lines(proposed), ""))


def _lines(proposed: StructProposals) -> Iterator[str]:
    if len(proposed.proposals) == 1:
        yield from _proposal_lines(proposed.proposals[0])
    else:
        yield "# These contradict each other: choose the one that your rules are about."
        for proposal in proposed.proposals:
            yield from (f"# {line}" for line in _proposal_lines(proposal))
    for call in proposed.unresolved[:_SHOWN]:
        yield f"# not determined: {call.source} ({describe_call(call)}): {call.problem}"
    if len(proposed.unresolved) > _SHOWN:
        yield f"# and {len(proposed.unresolved) - _SHOWN} more not determined"


def _proposal_lines(proposal: Proposal) -> Iterator[str]:
    places = [f"{call.source} ({describe_call(call)})" for call in proposal.places[:_SHOWN]]
    hidden = len(proposal.places) - len(places)
    places_text = ", ".join(places) + (f" and {hidden} more" if hidden else "")
    first, *rest = keys(proposal.storage)
    yield f"{first}  # {places_text}"
    yield from rest
