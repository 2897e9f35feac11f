"""Phrases on layouts, shared by the formats for people."""

from __future__ import annotations

from collections.abc import Sequence

from layoutlint.model.randomised import Randomisation
from layoutlint.phrases import first_few, quantity


def defining_files(files: Sequence[str]) -> str:
    """Return the files with a definition: `a.ko`, or `312 files: a.ko, b.ko, c.ko and 309 more`."""
    if len(files) < 2:
        return "".join(files)
    return f"{quantity(len(files), 'file')}: {first_few(files)}"


def order(how: Randomisation) -> str:
    """Return the origin of the field order of a randomised struct."""
    arrangement = (
        "in a random order" if how.is_own else "in declared order, those of embedded structs in a random one"
    )
    kernel = f" of Linux {how.kernel}" if how.kernel else ""
    seed = "seed not known" if how.seed is None else f"seed with SHA-256 {how.seed[:12]}..."
    return f"its fields are {arrangement}: {how.mode}{kernel}, {seed}"
