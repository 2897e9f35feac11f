"""The uses of struct fields by the functions of some inputs, and the heat of these functions."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from layoutlint.inference import ranking
from layoutlint.inference.meetings import Meetings
from layoutlint.inference.ranking import Pair, Traffic
from layoutlint.judgement.rule import Pack
from layoutlint.model.record import Record
from layoutlint.model.structs import Field, Source, Struct
from layoutlint.model.uses import Effect, plain_name, struct_key
from layoutlint.sources.bodies import Bodies
from layoutlint.sources.whole_program.heat import EntryPoints, heat_of_functions
from layoutlint.sources.whole_program.known_functions import KnownFunctions
from layoutlint.sources.whole_program.program import FieldUse, Program

_ONE_PER_PROCESSOR, _ON_STACK = 0.02, 0.02
_UNGUARDED = 0.005
"""What is left of a score for objects that others seldom see: one for each processor; variables of functions;
in a program, objects without a lock or an atomic, which another lock guards as a whole."""
_PLAIN = 0.1
"""What is left for a plain store to an object without a lock: it has one owner, who hands it on (a packet, a
request), even if a counter of references is in it. Outside kernels, for every plain store: most of
a program's data has one thread."""
_STRUCT = re.compile(r"struct (\w+)$")


class StructTraffic(Record, frozen=True):
    """How hot the uses of the fields of a struct are, and how much its notes count."""

    fields: tuple[Traffic, ...]
    share: float
    """What is left of a score, if others seldom see the objects."""
    plain: float
    """What is left for fields that are written without a lock or an atomic."""

    def weight(self, writer: Traffic) -> float:
        """Return what is left of the score of a written field."""
        return self.share * (self.plain if writer.is_plain else 1.0)

    def score(self, pair: Pair) -> float:
        """Return the score of a pair, which compares with those of other structs."""
        return self.weight(pair.writer) * pair.score


class Analysis(Record, frozen=True, dict=True):
    """The functions of some inputs together, with what they do to fields and how hot they are."""

    bodies: Bodies
    program: Program
    uses: Mapping[str, Mapping[str, Sequence[FieldUse]]]
    """By the key of the struct, and path."""
    heat: Mapping[str, float]
    meetings: Meetings | None
    """The signs of several threads in a program; None for a kernel, which runs on every processor."""

    def has_any(self, names: Iterable[str]) -> bool:
        """Return whether one of some names is that of a function."""
        own = {plain_name(key) for key in self.program.functions}
        return not own.isdisjoint(names)

    @cached_property
    def names(self) -> frozenset[str]:
        """The names of the structs whose fields are used."""
        return frozenset(map(plain_name, self.uses))

    def place(self, function: str) -> Source:
        """Return where a function is defined."""
        definition = self.program.functions[function]
        return Source(definition.file, definition.line)

    def struct_keys(self, struct: Struct) -> list[str]:
        """Return the keys of used structs that a struct can be: none, one, or several.

        Several of one name are distinguished by the end of the path of their files: sources and compiled
        files name one file by different folders.
        """
        keys = self._keys_by_name.get(struct.name, [])
        if len(keys) < 2 or struct.source is None:
            return keys
        file = struct.source.file
        exact = [key for key in keys if key == struct_key(struct.name, file)]
        base = file.rpartition("/")[2]
        return exact or [key for key in keys if key.rpartition("@")[2].rpartition("/")[2] == base]

    def traffic(self, key: str, struct: Struct) -> StructTraffic:
        """Return how hot the uses of the fields of a struct are that has a key."""
        fields = tuple(ranking.traffic(struct, self.uses[key], self.heat, self.meetings, key))
        share, is_kernel = self._shared_share(key), self.bodies.is_kernel
        written = [each for each in fields if each.written > 0]
        if not is_kernel and all(each.is_plain for each in written):
            share *= _UNGUARDED
        has_lock = any(each.kind is Effect.LOCK for each in written)
        return StructTraffic(fields, share, 1.0 if is_kernel and has_lock else _PLAIN)

    @cached_property
    def _keys_by_name(self) -> dict[str, list[str]]:
        by_name: dict[str, list[str]] = defaultdict(list)
        for key in self.uses:
            by_name[plain_name(key)].append(key)
        return by_name

    def _shared_share(self, struct: str) -> float:
        """Return how likely the objects of a struct are seen by several processors."""
        if struct in self.bodies.variables or struct in self.program.allocated:
            return 1.0
        if self._is_per_cpu(plain_name(struct), frozenset()):
            return _ONE_PER_PROCESSOR
        return _ON_STACK if struct in self.program.on_stack else 1.0

    def _is_per_cpu(self, name: str, inner: frozenset[str]) -> bool:
        """Return whether each processor has its own objects of a struct, itself or in those that embed it.

        `inner` are the structs below: namesakes could embed one another.
        """
        outer = self._outer_structs.get(name, set())
        if name in self._shared_names or name in inner or not (outer or name in self.bodies.per_cpu):
            return False
        return all(self._is_per_cpu(each, inner | {name}) for each in outer)

    @cached_property
    def _shared_names(self) -> frozenset[str]:
        """The names of the structs of variables, and of objects that functions allocate."""
        return frozenset(map(plain_name, (*self.bodies.variables, *self.program.allocated)))

    @cached_property
    def _outer_structs(self) -> Mapping[str, set[str]]:
        """The names of the structs that embed a struct, by its name."""
        outer: dict[str, set[str]] = defaultdict(set)
        for struct in self.bodies.structs:
            for name in _embedded_names(struct.fields):
                outer[name].add(struct.name)
        return outer


def _embedded_names(fields: Iterable[Field]) -> Iterator[str]:
    """Yield the names of the structs that a struct has as members."""
    for each in fields:
        types = (each.type, *each.underlying_types) if each.aggregate else ()
        name = next((match[1] for type in types if (match := _STRUCT.search(type.left))), None)
        if name is not None:
            yield name
        else:
            yield from _embedded_names(each.members)


def analyse(bodies: Bodies, packs: Sequence[Pack], profile: Mapping[str, float] | None = None) -> Analysis:
    """Return what functions do, with the known functions and entry points that packs state."""
    known = KnownFunctions(row for pack in packs for row in pack.known_functions)
    constant = dict(bodies.constant_parameters)
    program = Program(bodies.functions, bodies.stored, known, not bodies.is_kernel, constant)
    own = {name: weight for pack in packs for name, weight in pack.entries}
    entries = EntryPoints(bodies.is_kernel, own, profile or {})
    meetings = None if bodies.is_kernel else Meetings(program, known, entries)
    has_threads = meetings is not None and meetings.threads.begins
    of_threads = meetings.threads.heat() if meetings is not None and has_threads else None
    heat = heat_of_functions(program, entries, of_threads)
    uses = program.uses() if meetings is None else program.uses(meetings.threads.beginnings.early_calls)
    return Analysis(bodies, program, uses, heat, meetings)
