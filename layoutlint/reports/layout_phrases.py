"""Phrases of facts that every format for people uses in the same way; `judgement` has those of findings."""

from __future__ import annotations

from collections.abc import Sequence

from layoutlint.model.randomised import Randomised
from layoutlint.phrases import counted, some_of


def found_in(files: Sequence[str]) -> str:
    """The files that have a definition: `a.ko`, or `312 files: a.ko, b.ko, c.ko and 309 more`."""
    if len(files) < 2:
        return "".join(files)
    return f"{counted(len(files), 'file')}: {some_of(files)}"


def order(how: Randomised) -> str:
    """How the fields of a struct came into the order that is shown."""
    whose = (
        "in a random order" if how.is_own else "in declared order, those of structs inside in a random one"
    )
    kernel = f" of Linux {how.kernel}" if how.kernel else ""
    return f"its fields are {whose}: {how.mode}{kernel}, seed with SHA-256 {how.seed[:12]}..."
