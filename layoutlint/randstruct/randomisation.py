"""Layouts that a build randomises: the orders that compilers generate from a seed
(docs/randomised-layouts.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from layoutlint.errors import ReadError, UsageError
from layoutlint.model.ctype import UNTAGGED
from layoutlint.model.overlaps import is_overlapping
from layoutlint.model.reading import Reading
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Field, Struct
from layoutlint.model.target import Target
from layoutlint.randstruct import marked_linux
from layoutlint.randstruct.c_abi import CannotLayOut
from layoutlint.randstruct.gcc_order import Behaviour
from layoutlint.randstruct.gcc_plugin import ANY, Plugin, plugin_of_version
from layoutlint.randstruct.marked import MarkedNames, Marks
from layoutlint.randstruct.relayout import NAMELESS, Input, Relayouter
from layoutlint.randstruct.scheme import CLANG, Scheme
from layoutlint.randstruct.seed import DIGITS, Seed
from layoutlint.randstruct.variants import StructType, Way, type_of_struct

__all__ = ["Plugin", "Randomisation", "Seed", "embedded_names", "relay_structs"]


class Randomisation(Record, frozen=True):
    """How a build randomises, from the options of the command line."""

    mode: str
    """One of kernel_tree.MODES."""
    seed: Seed | None
    """None for any seed, and so every order."""
    plugin: Plugin = ANY
    """The plugin of GCC."""
    names: MarkedNames | None = None
    """The marked structs, for inputs without attributes; None if none were given."""
    notes: tuple[str, ...] = ()
    """Sentences on the sources of these facts."""

    def settle(self, reading: Reading) -> Randomisation:
        """Return the randomisation with facts from an input. Raises UsageError or ReadError for another
        build's.
        """
        self._refuse_other_build(reading)
        if self.plugin is not ANY or reading.kernel is None:
            return self
        kernel = ".".join(map(str, (*reading.kernel, 0)[:3]))
        # The distributor is unknown, and so whether it contains later changes.
        return replace(self, plugin=replace(plugin_of_version(f"{kernel}-"), name=kernel))

    def _refuse_other_build(self, reading: Reading) -> None:
        """Raise UsageError, or ReadError for a seed, if an input contradicts the randomisation."""
        shuffled = reading.shuffled
        if shuffled is None:
            return
        if shuffled.by == "clang":
            raise UsageError(
                f"{shuffled.sign}, and clang's debug information has the order of its build: "
                "leave --randstruct out",
                reading.path,
            )
        if self.mode.startswith("clang") or shuffled.mode not in (None, self.mode):
            raise UsageError(
                f"--randstruct {self.mode}: {reading.path} was built with {shuffled.mode or 'GCC'} "
                f"({shuffled.sign})"
            )
        if self.seed is not None and shuffled.seed not in (None, self.seed.hash):
            raise ReadError(reading.path, self.seed.describe_mismatch(shuffled.seed or ""))

    @property
    def named_structs(self) -> frozenset[str]:
        """The structs whose marks are given."""
        return self.names.structs if self.names else frozenset()

    def with_unused_notes(self, readings: Iterable[Reading]) -> Randomisation:
        """Return the randomisation with a note on each name without a struct in any input."""
        if self.names is None:
            return self
        unused = self.names.describe_unused(struct for reading in readings for struct in reading.structs)
        return replace(self, notes=(*self.notes, *unused))

    @property
    def scheme(self) -> Scheme:
        """The likeliest scheme; without a seed, a seed of zeros stands for any."""
        return self._schemes[-1]

    @property
    def alternatives(self) -> tuple[Scheme, ...]:
        """The other possible schemes; the last are those of `Plugin.earlier`."""
        return (
            *self._schemes[:-1],
            *(replace(self.scheme, behaviour=behaviour) for behaviour in self._earlier),
        )

    @property
    def _earlier(self) -> tuple[Behaviour, ...]:
        return self.plugin.earlier if self.mode.startswith("gcc") else ()

    @property
    def _schemes(self) -> tuple[Scheme, ...]:
        behaviours = self.plugin.behaviours if self.mode.startswith("gcc") else CLANG
        seed = self.seed or Seed("0" * DIGITS)
        return tuple(Scheme(self.mode, seed, behaviour) for behaviour in behaviours)

    def doubt(self, struct: Struct, differ: Sequence[bool]) -> str | None:
        """Return a note on a struct's orders if some of the `alternatives` give different ones.

        Raises CannotLayOut if the right one is unknown.
        """
        name = f"{struct.aggregate} {struct.name}"
        if not any(differ):
            return None
        if not self.scheme.is_gcc:
            return _CLANGS.format(name)
        if any(differ[: len(differ) - len(self._earlier)]):
            raise CannotLayOut(_VERSIONS if self.plugin.name is None else _SERIES.format(self.plugin.name))
        return _RELEASES.format(name, self.plugin.name)


class RelaidStructs(Record, frozen=True):
    """Structs as a build lays them out, and the assumptions, as sentences."""

    structs: tuple[Struct, ...]
    notes: tuple[str, ...]


def embedded_names(structs: Iterable[Struct]) -> frozenset[str]:
    """Return the tags and typedefs of the types that structs embed, at all depths."""
    names: set[str] = set()
    todo = [field for struct in structs for field in struct.fields]
    while todo:
        field = todo.pop()
        if field.aggregate is not None and field.members:
            name = _type_name(field)
            if name is not None:
                names.add(name)
            todo += field.members
    return frozenset(names)


def relay_structs(reading: Reading, context: Iterable[Reading], how: Randomisation) -> RelaidStructs:
    """Return the structs of a reading as the build lays them out; `context` are readings of the types they
    embed.

    A struct whose layout cannot be computed has a `problem`. Raises UsageError for the name of a missing
    member.
    """
    how = how.settle(reading)
    is_marked_known, all_redoers = make_redoers(reading, context, how)
    redoer = _RelayoutComparison(how, all_redoers)
    structs = tuple(redoer.relay(struct, is_marked_known) for struct in reading.structs)
    hidden = notes_on_unstated(reading) if any(struct.randomised for struct in structs) else ()
    return RelaidStructs(
        structs, tuple(dict.fromkeys((*how.notes, *redoer.notes, *packing_notes(redoer.assumed), *hidden)))
    )


def packing_notes(assumed: Iterable[str]) -> tuple[str, ...]:
    """Return the note on structs that are assumed not to be packed."""
    names = sorted(set(assumed), key=lambda name: (name == NAMELESS, name))
    return (_PACKED.format(", ".join(names)),) if names else ()


def notes_on_unstated(reading: Reading) -> tuple[str, ...]:
    """Return notes on the properties of randomised structs that an input does not state."""
    hidden = _HIDDEN.get(reading.reader, ())
    return (*hidden, _LISTED.format(marked_linux.VERSION)) if _is_listed(reading) else hidden


def _is_listed(reading: Reading) -> bool:
    """Return whether the list of structs that Linux marks replaces the attributes of an input."""
    return reading.declared is None and (reading.is_kernel or reading.shuffled is not None)


def make_redoers(
    reading: Reading, context: Iterable[Reading], how: Randomisation
) -> tuple[bool, list[Relayouter]]:
    """Return whether the marks of a reading are known, and one Redoer for each possible scheme.

    Raises UsageError for the name of a missing member.
    """
    readings = (reading, *context)
    definitions = _Definitions(struct for item in readings for struct in item.structs)
    linux_marks = marked_linux.linux_names().marks(definitions.find_all) if _is_listed(reading) else Marks()
    given_marks = how.names.marks(definitions.find_all) if how.names else Marks()
    given_marks = Marks(
        (linux_marks.randomised | given_marks.randomised) - given_marks.unrandomised,
        (linux_marks.unrandomised | given_marks.unrandomised) - given_marks.randomised,
    )
    declarations = [declared for one in readings for declared in one.declared or ()]
    is_marked_known = reading.declared is not None or how.names is not None or _is_listed(reading)
    tells = Input(reading.declared is not None, reading.reader != "btf")
    return is_marked_known, [
        Relayouter(one, given_marks, declarations, tells, definitions.find)
        for one in (how.scheme, *how.alternatives)
    ]


def with_advice(struct: Struct) -> Struct:
    """Return a struct whose members overlap, which says why they may in a build of GCC's plugin."""
    return replace(struct, problem=f"{struct.problem or 'members overlap'}; {_SHRUNK}")


class DeclaredStruct(Record, frozen=True):
    """A struct type, and the declarations that give it its layout."""

    fields: tuple[Field, ...]
    ways: tuple[Way, ...]
    """The likeliest first; never empty."""
    inner: Mapping[int, DeclaredStruct]
    """The structs without a name in it, by their position in `fields`, if a declaration explains them."""

    @property
    def pragmas(self) -> frozenset[int | None]:
        """The arguments of `#pragma pack` with which a declaration gives the layout."""
        return frozenset(way.rules.pragma for way in self.ways)

    def with_pragma(self, argument: int | None) -> DeclaredStruct:
        """Return the struct with its declarations under one argument of `#pragma pack`.

        Where none of a struct's declarations is, all remain.
        """
        ways = tuple(way for way in self.ways if way.rules.pragma == argument) or self.ways
        inner = {position: each.with_pragma(argument) for position, each in self.inner.items()}
        return replace(self, ways=ways, inner=inner)


def declared_struct(reading: Reading, context: Iterable[Reading], struct: Struct) -> DeclaredStruct:
    """Return the declarations that give a struct of a reading its layout.

    `context` are readings of the structs that it embeds. Raises CannotLayOut if none does.
    """
    readings = (reading, *context)
    definitions = _Definitions(struct for item in readings for struct in item.structs)
    declarations = [declared for one in readings for declared in one.declared or ()]
    tells = Input(reading.declared is not None, reading.reader != "btf")
    scheme = Randomisation("gcc-full", None).scheme  # no member is shuffled
    relayouter = Relayouter(scheme, Marks(), declarations, tells, definitions.find)
    return _declared_type(relayouter, type_of_struct(struct, struct.bit_size or 0), struct.target)


def _declared_type(relayouter: Relayouter, type_: StructType, target: Target) -> DeclaredStruct:
    """Return a type with its declarations, and the structs without a name in it. Raises CannotLayOut."""
    ways = relayouter.ways(type_, [field.bit_size for field in type_.fields], False, target)
    inner = {}
    for position, field in enumerate(type_.fields):
        is_nameless = field.name is None and field.aggregate == "struct" and field.type.is_untagged
        if is_nameless and field.members and not field.dims:
            with suppress(CannotLayOut):
                own = relayouter.type_of(type_, position, field, 1)
                inner[position] = _declared_type(relayouter, own, target)
    return DeclaredStruct(type_.fields, tuple(ways), inner)


class _RelayoutComparison:
    """Lays out structs, and compares the results of all possible schemes."""

    def __init__(self, how: Randomisation, redoers: list[Relayouter]) -> None:
        self._how = how
        self._first, *self._others = redoers
        self.notes: list[str] = []
        self.assumed: list[str] = []

    def relay(self, struct: Struct, is_marked_known: bool) -> Struct:
        """Return a struct as the build lays it out, with a `problem` if that is unknown."""
        # A struct inside may have shrunk before this one was described.
        may_be_right = struct.problem is None or (self._how.scheme.is_gcc and is_overlapping(struct))
        if struct.bit_size is None or not may_be_right:
            return struct
        relaid = self._relay(replace(struct, problem=None), is_marked_known)
        return with_advice(struct) if is_overlapping(relaid) else relaid

    def _relay(self, struct: Struct, is_marked_known: bool) -> Struct:
        self._first.assumed.clear()
        try:
            relaid = self._first.relay_struct(struct)
            others = [redoer.relay_struct(struct) for redoer in self._others]
            differ = [(one.fields, one.bit_size) != (relaid.fields, relaid.bit_size) for one in others]
            doubt = self._how.doubt(struct, differ)
        except CannotLayOut as why:
            return replace(struct, problem=f"its randomised layout cannot be computed: {why}")
        if not is_marked_known and not (relaid.randomised and relaid.randomised.is_own):
            return replace(struct, problem=UNMARKED)
        if doubt is not None:
            self.notes.append(doubt)
        self.assumed += self._first.assumed
        if relaid.randomised is None or not self._how.scheme.is_gcc:
            return relaid
        return replace(relaid, randomised=replace(relaid.randomised, kernel=self._how.plugin.name))


_SHRUNK = "GCC may have moved the members of a struct inside it before it was described"
_CLANGS = (
    "{}: taken as of clang 16 to 19; clang 22 shuffles structs of function pointers that hold others, "
    "on which its layout depends"
)
UNMARKED = "this input does not show which structs are marked to be randomised: name them with --randomized"
_RELEASES = "{}: taken as of the last release of Linux {}, and earlier ones differ: give all three numbers"
_VERSIONS = "it depends on the version of Linux: give it with --kernel-version"
_SERIES = (
    "it depends on which changes of the plugin Linux {} has: give the number of a stable release, or the "
    "folder of its source, with --kernel-version"
)
_LISTED = (
    "which structs are marked is taken from Linux {}; --randomized adds names, and takes some away with `!`"
)
_UNSTATED = (
    "this input does not show {}: randomised structs are assumed to have only "
    "what their declared layout shows"
)
_HIDDEN = {
    "dwarf": (_UNSTATED.format("bit-fields without a name, and what is `packed`"),),
    "btf": (_UNSTATED.format("bit-fields without a name, and what is `packed` or `aligned`"),),
}
_PACKED = "taken as not packed, which this input does not show and on which randomised layouts depend: {}"


def _type_name(field: Field) -> str | None:
    """Return the tag or typedef of a field's type; None for an unnamed type."""
    words = [word for word in field.type.left.split() if word not in ("const", "volatile", "_Atomic")]
    return None if not words or words[-1] == UNTAGGED else words[-1]


class _Definitions:
    """Definitions by tags and typedefs."""

    def __init__(self, structs: Iterable[Struct]) -> None:
        self._by_name: dict[str, list[Struct]] = {}
        for struct in structs:
            for name in dict.fromkeys((struct.name, *struct.aliases)):
                self._by_name.setdefault(name, []).append(struct)

    def find_all(self, name: str) -> list[Struct]:
        """Return all definitions with a name."""
        return self._by_name.get(name, [])

    def find(self, field: Field) -> Struct | None:
        """Return the definition of a field's type; None for an unnamed type.

        Raises CannotLayOut if it is missing.
        """
        name = _type_name(field)
        if name is None:
            return None
        matches = [
            s for s in self.find_all(name) if s.aggregate == field.aggregate and s.fields == field.members
        ]
        if not matches:
            raise CannotLayOut(f"the definition of `{name}` was not found")
        return matches[0]
