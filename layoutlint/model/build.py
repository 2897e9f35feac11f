"""Builds of a matrix: what each one is, and how several of them are named in few words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from layoutlint.model.reading import Version
from layoutlint.model.structs import Source

EVERY = "*"
"""Stands for every value of an axis."""
_MOST_NAMES = 6
_MOST_AXES = 8
"""Names of builds with more axes are not put together: each axis doubles the work."""


@dataclass(frozen=True, slots=True)
class Randomised:
    """What is said of how a build randomises layouts, as the options of the command line say it."""

    mode: str | None = None
    seed: str | None = None
    """Digits, or a file."""
    kernel: str | None = None
    """A version of Linux, or a folder with its source."""
    marked: tuple[str, ...] = ()
    """Names of structs, or files of them."""


@dataclass(frozen=True, slots=True)
class Build:
    """One build of a matrix: inputs that are read and judged by themselves."""

    name: str
    source: Source
    """Where the matrix names it."""
    inputs: tuple[str, ...]
    values: tuple[str, ...] = ()
    """Its value on each axis, of which its name is made; none for a build that stands for itself."""
    flags: tuple[str, ...] = ()
    target: str | None = None
    """A name of TARGETS; None where the inputs tell."""
    config: tuple[str, ...] | None = None
    """Kernel options that are on (`SMP`) or off (`!SMP`); None where nothing is said."""
    line_size: int | None = None
    min_align: int | None = None
    randomised: Randomised = Randomised()
    """What is said of how it randomises layouts."""
    kernel: Version | None = None
    """The version of kernels that do not tell theirs."""

    @property
    def text(self) -> object:
        """What decides of all that is read for it, so that builds with the same are read once."""
        return self.inputs, self.flags, self.target, self.config, self.kernel, self.randomised


def named(chosen: Iterable[str], builds: tuple[Build, ...]) -> str:
    """Some builds in few words: `arm-*-lockdep, next (5)`, and how many more where there are many names."""
    asked = set(chosen)
    found = [build for build in builds if build.name in asked]
    if len(found) == len(builds) > 1:
        return f"all {len(builds)} builds"
    names: list[str] = []
    covered: set[str] = set()
    for name, members in _together(found, builds):
        if len(names) == _MOST_NAMES:
            break
        names.append(name)
        covered |= members
    left = len(asked - covered)
    more = f" and {left} more" if left else ""
    return ", ".join(names) + more + (f" ({len(found)})" if len(found) > len(names) else "")


def _together(found: list[Build], builds: tuple[Build, ...]) -> Iterator[tuple[str, set[str]]]:
    """Names with `*` for every value of an axis, the widest first, until each build is in one."""
    axes = max(len(build.values) for build in builds)
    widened = 2 <= axes <= _MOST_AXES and len(found) > 1
    there = Counter(pattern for build in builds for pattern in _patterns(build)) if widened else Counter()
    members: dict[tuple[str, ...], list[Build]] = {}
    for build in found:
        for pattern in _patterns(build) if widened else [build.values or (build.name,)]:
            members.setdefault(pattern, []).append(build)
    whole = {pattern: those for pattern, those in members.items() if len(those) == there.get(pattern, 1)}
    left = {build.name for build in found}
    for pattern, those in sorted(whole.items(), key=lambda item: -len(item[1])):
        if any(build.name in left for build in those):
            name = those[0].name if len(those) == 1 else "-".join(pattern)
            yield name, {build.name for build in those}
            left.difference_update(build.name for build in those)


def _patterns(build: Build) -> Iterator[tuple[str, ...]]:
    """The values of a build with every choice of them left open; the name alone of one without."""
    if not build.values:
        yield (build.name,)
        return
    for mask in range(1 << len(build.values)):
        yield tuple(EVERY if mask >> at & 1 else value for at, value in enumerate(build.values))
