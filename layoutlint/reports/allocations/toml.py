"""Format `toml` of `allocations`: tables for a rule file, with the place of each fact behind it."""

from __future__ import annotations

from collections.abc import Iterator

from layoutlint import escapes
from layoutlint.readers.allocations.proposals import Listing, Proposal, Proposed, described, keys

_SHOWN = 3


def render(listing: Listing) -> Iterator[str]:
    """One table for each struct; of proposals that contradict one another none is chosen."""
    for proposed in listing.structs:
        if proposed.proposals:
            yield escapes.lines((f"[struct.{escapes.toml_key(proposed.struct)}]", *_lines(proposed), ""))


def _lines(proposed: Proposed) -> Iterator[str]:
    if len(proposed.proposals) == 1:
        yield from _said(proposed.proposals[0])
    else:
        yield "# These contradict one another; choose the one that your rules are about."
        for proposal in proposed.proposals:
            yield from (f"# {line}" for line in _said(proposal))
    for call in proposed.untold[:_SHOWN]:
        yield f"# cannot be told: {call.source} ({described(call)}): {call.problem}"
    if len(proposed.untold) > _SHOWN:
        yield f"# and {len(proposed.untold) - _SHOWN} more that cannot be told"


def _said(proposal: Proposal) -> Iterator[str]:
    places = [f"{call.source} ({described(call)})" for call in proposal.places[:_SHOWN]]
    more = len(proposal.places) - len(places)
    said = ", ".join(places) + (f" and {more} more" if more else "")
    first, *rest = keys(proposal.storage)
    yield f"{first}  # {said}"
    yield from rest
