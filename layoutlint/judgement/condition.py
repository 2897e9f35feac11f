"""The conditions under which a rule applies."""

from __future__ import annotations

from fnmatch import fnmatchcase

from layoutlint.model.reading import Reading, Version
from layoutlint.model.record import Record
from layoutlint.model.target import TARGETS, Target


class Versions(Record, frozen=True):
    """A range of versions of Linux."""

    first: Version = ()
    below: Version | None = None
    """The first version after the range."""

    def __contains__(self, version: Version) -> bool:
        full = full_version(version)
        return full_version(self.first) <= full and (self.below is None or full < full_version(self.below))

    def admits(self, version: Version) -> bool | None:
        """Return whether a version is in the range; None if it has two numbers and the third decides."""
        ends = [full_version(end) for end in (self.first, self.below) if end]
        if len(version) < 3 and any(end[:2] == version[:2] and end[2] for end in ends):
            return None
        return version in self

    def __str__(self) -> str:
        ends = [f"from {format_version(self.first)} on"] if self.first else []
        return " and ".join([*ends, f"before {format_version(self.below)}"] if self.below else ends)


def full_version(version: Version) -> Version:
    """Return a version with three numbers: 6.8 as 6.8.0."""
    return (*version, 0, 0, 0)[:3]


def format_version(version: Version) -> str:
    """Format a version: `6.12.107`."""
    return ".".join(map(str, version))


class When(Record, frozen=True):
    """The conditions under which a rule applies."""

    config: tuple[str, ...] = ()
    """Kernel options that must be on (`SMP`) or off (`!SMP`)."""
    arch: tuple[str, ...] = ()
    """Names of targets (`x86_64`) or fnmatch patterns, any of which is enough."""
    kernel: Versions | None = None
    """The Linux versions to which it applies."""
    outside_linux: bool = False
    """Whether it applies to programs other than Linux kernels only."""

    @property
    def some_version(self) -> Version | None:
        """A version to which it applies; None without a condition on versions."""
        return None if self.kernel is None else full_version(self.kernel.first)


ALWAYS = When()


def exclusion_reason(when: When, reading: Reading) -> str | None:
    """Return why a rule does not apply to an input; None if it applies or the input does not
    state otherwise.
    """
    if when.outside_linux and reading.is_kernel:
        return "for programs other than Linux"
    if _matches_machine(when, reading.target) is False:
        return f"for {', '.join(when.arch)}, not {reading.target.name}"
    if when.kernel is not None and reading.kernel is not None and when.kernel.admits(reading.kernel) is False:
        return f"for Linux {when.kernel}, not {format_version(reading.kernel)}"
    for option in when.config:
        if _is_configured(option, reading) is False:
            return f"for a configuration with {option}, which {reading.path} has not"
    return None


def assumed_conditions(when: When, reading: Reading) -> tuple[str, ...]:
    """Return the conditions of a rule that an input does not state, and that are taken to hold."""
    conditions = [f"`{option}`" for option in when.config if _is_configured(option, reading) is None]
    if when.arch and _matches_machine(when, reading.target) is None:
        conditions.append(f"{' or '.join(when.arch)}")
    if when.kernel is not None and (reading.kernel is None or when.kernel.admits(reading.kernel) is None):
        conditions.append(f"Linux {when.kernel}")
    return tuple(conditions)


def _is_configured(option: str, reading: Reading) -> bool | None:
    """Return whether an option is set as a rule requires; None if the input does not state it."""
    name, wants_on = option.removeprefix("!"), not option.startswith("!")
    if reading.config is not None:
        return (name in reading.config) == wants_on
    if name in reading.options or f"!{name}" in reading.options:
        return (name in reading.options) == wants_on
    return None


def _matches_machine(when: When, target: Target) -> bool | None:
    """Return whether a rule applies to a target; None if the input names no machine, but a matching one is
    possible.
    """
    if not when.arch or _matches(when, target):
        return True
    if not target.name.startswith("unknown"):
        return False
    shape = target.pointer_size, target.little_endian
    fitting = (row for row in TARGETS if (row.pointer_size, row.little_endian) == shape)
    return None if any(_matches(when, row) for row in fitting) else False


def _matches(when: When, target: Target) -> bool:
    return any(fnmatchcase(target.name, arch) for arch in when.arch)
