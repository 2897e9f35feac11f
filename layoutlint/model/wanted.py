"""The structs that a reader is asked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from fnmatch import translate
from functools import lru_cache

from layoutlint.model.paths import is_pattern
from layoutlint.model.reading import Reading
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Struct


@lru_cache(maxsize=64)
def _join(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """Return one expression for several patterns: a rule file has hundreds, and a unit thousands of names."""
    return re.compile("|".join(map(translate, patterns)))


class Wanted(Record, frozen=True):
    """The requested structs and variables; readers return no others."""

    names: frozenset[str] = frozenset()
    patterns: tuple[str, ...] = ()
    everything: bool = False
    headers: tuple[tuple[str, str], ...] = ()
    """(struct, header that defines it), from rule files; for source trees."""
    kernel: frozenset[str] = frozenset()
    """The names and patterns that are requested in Linux kernels only."""
    annotated: bool = False
    """Whether structs with annotations are requested as well."""
    files: frozenset[str] = frozenset()
    """Structs declared in these files are requested as well; as much of each path as is known."""
    with_containers: frozenset[str] = frozenset()
    """Structs that are requested together with all that embed them, at any depth."""
    embedded: tuple[str, ...] = ()
    """Names and patterns of structs whose containers are requested also if these have no name, or are local
    to functions."""
    variables: tuple[str, ...] = ()
    near: int = 0
    """The distance in bytes around the variables in `variables` (names and patterns) that is requested; 0 for
    none."""
    arrays: Callable[[Reading], bool] | None = None
    """Returns whether all variables that are arrays are requested, for a reading; None for never."""
    counted: frozenset[int] = frozenset()
    """Sizes of structs in bytes: variables of such a size are requested, and arrays that can be of them."""
    misplaced: Callable[[Reading], frozenset[tuple[int, int]]] | None = None
    """Returns sizes and alignments of structs in bytes, for a reading: variables of that size at other
    addresses are requested, and arrays of them with elements at other addresses."""
    unless: tuple[tuple[str, Callable[[Reading], bool]], ...] = ()
    """Names and patterns, each with a function that returns whether a reading makes them unnecessary."""

    symbols_suffice: bool = False
    """Whether an input with a symbol table, and no debug information, counts as one without structs."""
    names_only: bool = False
    """Whether only `Reading.names` is requested: the names of all structs, and typedefs that refer to one."""

    @property
    def is_by_name(self) -> bool:
        """Whether nothing but structs is requested, each by its name."""
        others = (
            self.patterns, self.everything, self.files, self.with_containers, self.embedded, self.variables,
            self.arrays, self.counted, self.misplaced, self.names_only,
        )  # fmt: skip
        return bool(self.names) and not any(others)

    def matches(self, name: str) -> bool:
        """Return whether a struct of this name is requested."""
        if self.everything or name in self.names or name in self.with_containers:
            return True
        return self.matches_pattern(name)

    def matches_pattern(self, name: str) -> bool:
        """Return whether one of the patterns matches a name."""
        return bool(self.patterns) and _join(self.patterns).match(name) is not None

    def wants(self, struct: Struct) -> bool:
        """Return whether a struct is requested by its name, a typedef, or a struct that it embeds."""
        if struct.is_hidden:
            return bool(self.embedded)
        return (
            bool(self.with_containers)
            or self.matches(struct.name)
            or not self.names.isdisjoint(struct.aliases)
        )

    def names_embedded(self, structs: Iterable[Struct]) -> frozenset[str]:
        """Return the names in `embedded`, and those of some structs that match its patterns."""
        exact = frozenset(name for name in self.embedded if not is_pattern(name))
        wanted = Wanted(patterns=self.embedded)
        return exact | {struct.name for struct in structs if self.embedded and wanted.matches(struct.name)}

    def includes(self, struct: Struct) -> bool:
        """Return whether a struct is requested, also by its annotations or its file."""
        if self.wants(struct) or (self.annotated and struct.annotations):
            return True
        return struct.source is not None and self.is_declared_in(struct.source.file)

    def wants_arrays(self, reading: Reading) -> bool:
        """Return whether the variables that are arrays are requested from an input."""
        return self.arrays is not None and self.arrays(reading)

    def is_declared_in(self, file: str) -> bool:
        """Return whether a file, as an input names it, is one of `files`."""
        name = file.rpartition("/")[2]
        return any(
            path == file or file.endswith(f"/{path}") or path.endswith(f"/{file}")
            for path in self.files
            if path.rpartition("/")[2] == name
        )

    def with_everything(self) -> Wanted:
        """Return a request for everything, for readers that find embedding structs only after reading all."""
        named = self.names | self.with_containers
        return (
            replace(self, everything=True, names=named, with_containers=frozenset())
            if self.with_containers
            else self
        )

    def narrow(self, is_kernel: bool) -> Wanted:
        """Return what is requested from an input: outside of Linux, without the names of kernel packs."""
        if is_kernel:
            return self
        patterns = tuple(pattern for pattern in self.patterns if pattern not in self.kernel)
        return replace(self, names=self.names - self.kernel, patterns=patterns, kernel=frozenset())
