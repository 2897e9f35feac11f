"""Which structs are asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from layoutlint.model.reading import Reading
from layoutlint.model.structs import Struct


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which structs are asked for; readers produce no others."""

    names: frozenset[str] = frozenset()
    patterns: tuple[str, ...] = ()
    everything: bool = False
    headers: tuple[tuple[str, str], ...] = ()
    """(struct, header that defines it) where a rule file says so; for source trees."""
    kernel: frozenset[str] = frozenset()
    """Those of the names and patterns that are asked for in Linux kernels only."""
    annotated: bool = False
    """Structs that carry annotations are asked for as well."""
    files: frozenset[str] = frozenset()
    """So are those that are declared in these files, which are named as far as is known."""
    held: frozenset[str] = frozenset()
    """Names of structs that are asked for with all that holds them by value, at any depth."""
    variables: tuple[str, ...] = ()
    near: int = 0
    """Names and patterns of variables, and how many bytes around them are asked for; 0 for nothing."""
    misplaced: frozenset[tuple[int, int]] = frozenset()
    """Sizes and alignments of structs in bytes: variables of such a size that start elsewhere are wanted."""
    unless: tuple[tuple[str, Callable[[Reading], bool]], ...] = ()
    """Names and patterns with what says whether an input, its structs aside, is not asked for them."""

    names_only: bool = False
    """Only `Reading.names`: what all structs are called, and typedefs that stand for one."""

    def matches(self, name: str) -> bool:
        """Whether a struct called `name` is asked for."""
        if self.everything or name in self.names or name in self.held:
            return True
        return any(fnmatchcase(name, pattern) for pattern in self.patterns)

    def wants(self, struct: Struct) -> bool:
        """Whether a struct that was read is asked for by its name, by a typedef's, or by what it holds."""
        return bool(self.held) or self.matches(struct.name) or not self.names.isdisjoint(struct.aliases)

    def is_declared_in(self, file: str) -> bool:
        """Whether a file, as an input names it, is one of those whose structs are asked for."""
        name = file.rpartition("/")[2]
        return any(
            known == file or file.endswith(f"/{known}") or known.endswith(f"/{file}")
            for known in self.files
            if known.rpartition("/")[2] == name
        )

    def widened(self) -> Wanted:
        """For readers that cannot tell what holds a struct before they have read everything."""
        named = self.names | self.held
        return replace(self, everything=True, names=named, held=frozenset()) if self.held else self

    def outside_kernels(self) -> Wanted:
        """What is asked for in an input that is no Linux kernel."""
        patterns = tuple(pattern for pattern in self.patterns if pattern not in self.kernel)
        return replace(self, names=self.names - self.kernel, patterns=patterns, kernel=frozenset())
