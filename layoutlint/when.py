"""The circumstances in which a rule holds."""

from __future__ import annotations

from dataclasses import dataclass

from layoutlint.model import Reading, Version, Wanted


@dataclass(frozen=True, slots=True)
class Versions:
    """A range of versions of Linux."""

    first: Version = ()
    below: Version | None = None
    """The first one that is no longer in it."""

    def __contains__(self, version: Version) -> bool:
        it = in_full(version)
        return in_full(self.first) <= it and (self.below is None or it < in_full(self.below))

    def __str__(self) -> str:
        ends = [f"from {dotted(self.first)} on"] if self.first else []
        return " and ".join([*ends, f"before {dotted(self.below)}"] if self.below else ends)


def in_full(version: Version) -> Version:
    """A version with all its numbers: 6.8 is 6.8.0."""
    return (*version, 0, 0, 0)[:3]


def dotted(version: Version) -> str:
    """A version as one writes it: `6.12.107`."""
    return ".".join(map(str, version))


@dataclass(frozen=True, slots=True)
class When:
    """The circumstances in which a rule holds."""

    config: tuple[str, ...] = ()
    """Kernel options that must be on (`SMP`) or off (`!SMP`)."""
    arch: tuple[str, ...] = ()
    """Names of targets (`x86_64`), any of which will do; fnmatch patterns."""
    kernel: Versions | None = None
    """The versions of Linux for which it holds."""


ALWAYS = When()


def excluded(when: When, reading: Reading) -> str | None:
    """Why a rule is not for an input; None when it is, or nothing says otherwise."""
    name = reading.target.name
    if when.arch and not any(Wanted(patterns=(arch,)).matches(name) for arch in when.arch):
        return f"for {', '.join(when.arch)}, not {name}"
    if when.kernel is not None and reading.kernel is not None and reading.kernel not in when.kernel:
        return f"for Linux {when.kernel}, not {dotted(reading.kernel)}"
    if reading.config is None:
        return None
    for option in when.config:
        if (option.removeprefix("!") in reading.config) == option.startswith("!"):
            return f"for a configuration with {option}, which {reading.path} has not"
    return None
