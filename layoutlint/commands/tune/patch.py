"""Format `patch` of `tune`: the change as a diff for `git apply`."""

from __future__ import annotations

from layoutlint.commands.tune.result import Tuned


def render(result: Tuned) -> str:
    """Return the diff; empty without a change of the text."""
    patch = result.suggestion.patch
    return "" if patch is None else patch.diff
