"""Builds of a matrix, and short names for groups of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from layoutlint.model.reading import Version
from layoutlint.model.record import Record
from layoutlint.model.structs import Source

EVERY = "*"
"""Matches every value of an axis."""
_MOST_NAMES = 6
_MOST_AXES = 8
"""Builds with more axes are listed by name: each axis doubles the number of patterns."""


class RandomisationOptions(Record, frozen=True):
    """The options that describe how a build randomises layouts."""

    mode: str | None = None
    seed: str | None = None
    """Digits, or the name of a file."""
    kernel: str | None = None
    """A version of Linux, or a folder with its source."""
    marked: tuple[str, ...] = ()
    """Names of structs, or of files that list some."""


class Build(Record, frozen=True):
    """One build of a matrix: inputs that are read and judged on their own."""

    name: str
    source: Source
    """Where the matrix names it."""
    inputs: tuple[str, ...]
    values: tuple[str, ...] = ()
    """Its value on each axis, which make up its name; empty for a single build."""
    flags: tuple[str, ...] = ()
    target: str | None = None
    """A name of TARGETS; None if the inputs state it."""
    config: tuple[str, ...] | None = None
    """Kernel options that are on (`SMP`) or off (`!SMP`); None if not given."""
    line_size: int | None = None
    min_align: int | None = None
    randomised: RandomisationOptions = RandomisationOptions()
    """The options for randomised layouts."""
    kernel: Version | None = None
    """The version of kernels that do not state theirs."""

    @property
    def text(self) -> object:
        """Everything that decides what is read; builds with equal values are read once."""
        return self.inputs, self.flags, self.target, self.config, self.kernel, self.randomised


def short_name(chosen: Iterable[str], builds: tuple[Build, ...]) -> str:
    """Return a short name for some builds: `arm-*-lockdep, next (5)`, with a count if names are many."""
    wanted = set(chosen)
    selected = [build for build in builds if build.name in wanted]
    if len(selected) == len(builds) > 1:
        return f"all {len(builds)} builds"
    names: list[str] = []
    covered: set[str] = set()
    for name, members in _pattern_names(selected, builds):
        if len(names) == _MOST_NAMES:
            break
        names.append(name)
        covered |= members
    unnamed = len(wanted - covered)
    rest = f" and {unnamed} more" if unnamed else ""
    return ", ".join(names) + rest + (f" ({len(selected)})" if len(selected) > len(names) else "")


def _pattern_names(selected: list[Build], builds: tuple[Build, ...]) -> Iterator[tuple[str, set[str]]]:
    """Yield names with `*` for every value of an axis, the widest first, until each build is covered."""
    axes = max(len(build.values) for build in builds)
    has_patterns = 2 <= axes <= _MOST_AXES and len(selected) > 1
    totals = (
        Counter(pattern for build in builds for pattern in _patterns(build)) if has_patterns else Counter()
    )
    members: dict[tuple[str, ...], list[Build]] = {}
    for build in selected:
        for pattern in _patterns(build) if has_patterns else [build.values or (build.name,)]:
            members.setdefault(pattern, []).append(build)
    complete = {
        pattern: matches for pattern, matches in members.items() if len(matches) == totals.get(pattern, 1)
    }
    unnamed = {build.name for build in selected}
    for pattern, matches in sorted(complete.items(), key=lambda item: -len(item[1])):
        if any(build.name in unnamed for build in matches):
            name = matches[0].name if len(matches) == 1 else "-".join(pattern)
            yield name, {build.name for build in matches}
            unnamed.difference_update(build.name for build in matches)


def _patterns(build: Build) -> Iterator[tuple[str, ...]]:
    """Yield the values of a build with each subset of them replaced by `*`; without axes only its name."""
    if not build.values:
        yield (build.name,)
        return
    for mask in range(1 << len(build.values)):
        yield tuple(EVERY if mask >> at & 1 else value for at, value in enumerate(build.values))
