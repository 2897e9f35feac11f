"""All functions of an input: whom each calls, and what it does to fields through those that it calls."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple

from layoutlint.model.uses import (
    FUNCTION,
    PARAMETER,
    Call,
    Effect,
    Function,
    Lock,
    Spot,
    is_variable,
    plain_name,
)
from layoutlint.sources.whole_program.known_functions import KnownFunctions

_DEEPEST = 12
"""The most calls through which an argument is followed."""
_LONGEST_PATH = 5
_MOST_WRAPPERS = 4
"""The most functions through which a callback goes before it is stored."""
_MOST_EFFECTS = 200
"""The most places of one argument that are followed."""

_ALLOCATES = re.compile(
    r"(?:^|_)(?:[kvdmz]*alloc\w*|calloc|malloc|kzalloc\w*|kmem_cache_alloc\w*|zalloc\w*|k?memdup\w*)(?:$|_)"
)
"""In the name of a function that returns a new object."""
_PER_CPU = re.compile(r"(?:^|_)(?:percpu|pcpu)(?:_|$)")
"""In the name of a function that returns an object for each processor."""

_Around = tuple[tuple[Lock, ...], str, bool]
"""The locks that are held at a use, the maker of the object, and whether it is before threads start."""
_ANYWHERE: _Around = ((), "", False)
_Uses = dict[tuple[str, str, Effect, _Around], list[float]]
"""By struct, path, effect and what is around: the weight, whether in a loop, and the line."""
_Effects = Mapping[tuple[int, str, Effect], float]


class UsePlace(NamedTuple):
    """Places in a function that use a field with the same locks, of an object with the same maker."""

    weight: float
    locks: tuple[Lock, ...]
    maker: str
    is_marked: bool
    is_volatile: bool = False
    is_early: bool = False
    """Whether no other thread runs yet."""


class FieldUse(NamedTuple):
    """The use of a field by a function, also through functions that get the field's address."""

    function: str
    effect: Effect
    weight: float
    in_loop: bool
    line: int
    is_marked: bool = False
    """Whether a write is an atomic store, or one through a volatile pointer, which other threads may see."""
    places: tuple[UsePlace, ...] = ()
    """Where it is used, in a program."""


class Program:
    """The functions of all units, each once, with the calls between them."""

    def __init__(
        self,
        functions: Iterable[Function],
        stored: Iterable[tuple[str, Spot | None]],
        known: KnownFunctions,
        tells_places: bool = False,
        constant_parameters: Mapping[str, tuple[int, ...]] = MappingProxyType({}),
    ) -> None:
        """`tells_places` says whether uses have their places.

        `constant_parameters` are the positions of parameters that point to const.
        """
        self._constant_parameters = constant_parameters
        self._tells_places = tells_places
        self.functions: dict[str, Function] = {}
        for function in functions:
            self.functions.setdefault(function.key, function)
        self._known = known
        self._effects: dict[str, _Effects] = {}
        self._running: set[str] = set()
        self._makers: dict[str, bool] = {}
        self._expanded: dict[str, _Uses] = {}
        self._early_calls: Callable[[str], int] = lambda _: -1
        initial = tuple(stored)
        self.stored = self._find_stored(initial)
        """The functions that each field can hold."""
        self.referenced = {key for key, _ in initial}.union(*self.stored.values())
        """The functions that a field, or the initial value of a variable, holds."""
        self.on_stack = {name for function in self.functions.values() for name in function.locals}
        """The structs of which functions have variables."""
        self.allocated = {
            struct
            for each in self.functions.values()
            for maker, struct in each.made
            if self.is_new(maker) and not _PER_CPU.search(plain_name(maker))
        }
        """The structs of objects that functions allocate, apart from those for each processor."""

    def _find_stored(self, stored: Iterable[tuple[str, Spot | None]]) -> dict[Spot, tuple[str, ...]]:
        """Return the functions that each field can hold."""
        holds: dict[Spot, dict[str, None]] = defaultdict(dict)
        own = (pair for function in self.functions.values() for pair in function.targets)
        for key, spot in (*stored, *own, *self._kept_callbacks):
            if spot is not None and key in self.functions:
                holds[spot][key] = None
        return {spot: tuple(keys) for spot, keys in holds.items()}

    @cached_property
    def _kept_callbacks(self) -> tuple[tuple[str, Spot], ...]:
        """The functions that callers give to others which store them in fields, and the fields."""
        found: dict[tuple[str, Spot], None] = {}
        for function in self.functions.values():
            for call in function.calls:
                for position, spot in self._kept.get(call.callee, ()):
                    given = call.pointer(position)
                    if given is not None and given.object.startswith(FUNCTION):
                        found[given.object[1:], spot] = None
        return tuple(found)

    @cached_property
    def _kept(self) -> dict[str, set[tuple[int, Spot]]]:
        """The parameters that functions store in fields, themselves or by others, and the fields."""
        kept = {key: {*each.kept_parameters} for key, each in self.functions.items() if each.kept_parameters}
        for _ in range(_MOST_WRAPPERS if kept else 0):
            before = sum(map(len, kept.values()))
            for key, function in self.functions.items():
                for call in function.calls:
                    for position, spot in tuple(kept.get(call.callee, ())):
                        given = call.pointer(position)
                        if given is not None and given.is_parameter:
                            kept.setdefault(key, set()).add((int(given.object[1:]), spot))
            if sum(map(len, kept.values())) == before:
                break
        return kept

    def is_followed(self, key: str, target: str) -> bool:
        """Return whether what a function does with the address of another one is known: calls lead to it."""
        places = {spot for each, spot in self.functions[key].targets if each == target and spot is not None}
        is_known = places <= self._called_through and bool(places)
        for callee, position in self._given_functions.get((key, target), ()):
            kept = {spot for at, spot in self._kept.get(callee, ()) if at == position}
            if not kept & self._called_through:
                return False
            is_known = True
        return is_known

    @cached_property
    def _given_functions(self) -> Mapping[tuple[str, str], list[tuple[str, int]]]:
        """The calls that get a function's address: by caller and function the callee and the position."""
        given: dict[tuple[str, str], list[tuple[str, int]]] = defaultdict(list)
        for key, function in self.functions.items():
            for call in function.calls:
                for each in call.pointers:
                    if each.object.startswith(FUNCTION):
                        given[key, each.object[1:]].append((call.callee, each.position))
        return given

    @cached_property
    def _called_through(self) -> frozenset[Spot]:
        """The fields and variables through which functions are called."""
        calls = (call for function in self.functions.values() for call in function.calls)
        return frozenset(call.through for call in calls if call.through is not None)

    def targets(self, call: Call) -> tuple[str, ...]:
        """Return the functions that a call can reach; none of them if their bodies are not known."""
        if call.callee:
            return (call.callee,) if call.callee in self.functions else ()
        return () if call.through is None else self.stored.get(call.through, ())

    def uses(self, early_calls: Callable[[str], int] = lambda _: -1) -> dict[str, dict[str, list[FieldUse]]]:
        """Return the uses of fields, by struct and path, without objects that the user has just made.

        What functions of headers do counts for those that call them. `early_calls` tells how many calls a
        function makes before the first thread begins; -1 for one that threads can run beside.
        """
        self._early_calls = early_calls
        result: dict[str, dict[str, list[FieldUse]]] = defaultdict(lambda: defaultdict(list))
        for key, function in self.functions.items():
            if not self._is_in_header(key):
                for (struct, path), uses in self._join_uses(key, self._own_uses(function)).items():
                    result[struct][path] += uses.values()
        return result

    def _join_uses(self, key: str, own: _Uses) -> dict[tuple[str, str], dict[Effect, FieldUse]]:
        """Return the uses of each field by a function, one for each effect."""
        result: dict[tuple[str, str], dict[Effect, FieldUse]] = defaultdict(dict)
        for (struct, path, effect, (locks, maker, is_early)), (weight, in_loop, line) in own.items():
            is_marked, is_volatile = effect is Effect.SHARED_STORE, effect is Effect.VOLATILE_STORE
            shown = Effect.WRITE if is_marked or is_volatile else effect
            uses = result[struct, path]
            before = uses.get(shown)
            place = UsePlace(weight, locks, maker, is_marked, is_volatile, is_early)
            places = (place,) if self._tells_places else ()
            use = FieldUse(key, shown, weight, in_loop > 0, int(line), is_marked, places)
            uses[shown] = use if before is None else _join_two(before, use)
        return result

    def _is_in_header(self, key: str) -> bool:
        """Return whether a function is static in a header, so that its callers have it."""
        function = self.functions.get(key)
        return function is not None and "@" in key and function.file.endswith(".h")

    def _own_uses(self, function: Function) -> _Uses:
        """Return what a function does to fields, itself and through header functions and arguments."""
        if function.key in self._expanded:
            return self._expanded[function.key]
        self._expanded[function.key] = {}  # of functions that call one another
        uses: _Uses = defaultdict(lambda: [0.0, 0, 0])
        early = self._early_calls(function.key)
        for use in function.uses:
            if isinstance(use.spot.root, str) and use.spot.path and not self.is_new(use.maker):
                around = (use.locks, use.maker, use.moment <= early) if self._tells_places else _ANYWHERE
                place = use.spot.root, use.spot.path, use.effect, around
                _add(uses, place, use.weight, use.in_loop, use.line)
        for at, call in enumerate(function.calls):
            self._add_call(uses, function, call, at < early)
        if self._is_in_header(function.key) and len(uses) > _MOST_EFFECTS:
            uses = dict(sorted(uses.items(), key=lambda item: -item[1][0])[:_MOST_EFFECTS])
        self._expanded[function.key] = uses
        return uses

    def _add_call(self, uses: _Uses, function: Function, call: Call, is_early: bool) -> None:
        name = plain_name(call.callee)
        if self._is_in_header(call.callee) and not self._known.find(name):
            inner = self._own_uses(self.functions[call.callee])
            for (struct, path, effect, around), (weight, in_loop, _) in inner.items():
                place = struct, path, effect, self._around_call(call, around, is_early)
                _add(uses, place, weight * call.weight, in_loop, function.line)
        for position, spot, maker in call.arguments:
            if isinstance(spot.root, str) and spot.path and not self.is_new(maker):
                for (path, effect), weight in self._effects_on(call, position).items():
                    if spot.path.count(".") + path.count(".") < _LONGEST_PATH:
                        joined = f"{spot.path}.{path}" if path else spot.path
                        around = (call.locks, maker, is_early) if self._tells_places else _ANYWHERE
                        _add(uses, (spot.root, joined, effect, around), weight, 0, function.line)

    def _around_call(self, call: Call, inner: _Around, is_early: bool) -> _Around:
        """Return what is around a use in a called function."""
        if not self._tells_places:
            return _ANYWHERE
        locks, maker, _ = inner
        if maker.startswith(PARAMETER):
            maker = argument_maker(call, int(maker[1:]))
        return tuple(dict.fromkeys((*call.locks, *locks))), maker, is_early

    def is_new(self, maker: str) -> bool:
        """Return whether a function returns an object that nobody else sees yet."""
        if not maker or is_variable(maker):
            return False
        if maker not in self._makers:
            self._makers[maker] = bool(_ALLOCATES.search(plain_name(maker)))
            function = self.functions.get(maker)
            if function is not None and not self._makers[maker]:
                self._makers[maker] = any(map(self.is_new, function.makers))
        return self._makers[maker]

    def _effects_on(self, call: Call, position: int) -> dict[tuple[str, Effect], float]:
        """Return what a call does to what an argument points to."""
        if call.callee:
            known = self._known.find(plain_name(call.callee))
            if known is not None:
                if position in known.reads:
                    return {("", Effect.READ): call.weight}
                if known.effect is None or (known.arguments and position not in known.arguments):
                    return {}
                is_read = known.effect.writes and self._only_reads(call.callee, position)
                return {("", Effect.READ if is_read else known.effect): call.weight}
        targets = self.targets(call)
        if not targets:
            return {("", Effect.ADDRESS): call.weight}
        weights: dict[tuple[str, Effect], float] = defaultdict(float)
        for target in targets[:8]:
            for (parameter, path, effect), weight in self.parameter_effects(target).items():
                if parameter == position:
                    weights[path, effect] += weight * call.weight / len(targets)
        return weights

    def _only_reads(self, key: str, position: int) -> bool:
        """Return whether a declaration or a body says that a function writes nothing behind an argument.

        They count more than the table, which goes by names.
        """
        if self._known.is_own(plain_name(key)):
            return False
        if position in self._constant_parameters.get(key, ()):
            return True
        if key not in self.functions:
            return False
        effects = {effect for at, _, effect in self.parameter_effects(key) if at == position}
        return effects == {Effect.READ}

    def parameter_effects(self, key: str) -> _Effects:
        """Return what a function does to what its parameters point to, by position, path and effect."""
        if key in self._effects:
            return self._effects[key]
        if key in self._running or len(self._running) >= _DEEPEST:
            return {}
        self._running.add(key)
        function = self.functions[key]
        effects: dict[tuple[int, str, Effect], float] = defaultdict(float)
        for use in function.uses:
            if isinstance(use.spot.root, int):
                effects[use.spot.root, use.spot.path, use.effect] += use.weight
        for call in function.calls:
            for position, spot, _ in call.arguments:
                if isinstance(spot.root, int):
                    for (path, effect), weight in self._effects_on(call, position).items():
                        if spot.path.count(".") + path.count(".") < _LONGEST_PATH:
                            joined = ".".join(part for part in (spot.path, path) if part)
                            effects[spot.root, joined, effect] += weight
        self._running.discard(key)
        kept = dict(sorted(effects.items(), key=lambda item: -item[1])[:_MOST_EFFECTS])
        self._effects[key] = kept
        return kept


def argument_maker(call: Call, position: int) -> str:
    """Return the maker of what an argument of a call points to; empty if it is not known."""
    for at, maker in call.makers:
        if at == position:
            return maker
    return next((maker for at, _, maker in call.arguments if at == position), "")


def _join_two(first: FieldUse, second: FieldUse) -> FieldUse:
    """Return two uses of a field by a function as one."""
    shown = second if second.is_marked and not first.is_marked else first
    weight, in_loop = first.weight + second.weight, first.in_loop or second.in_loop
    return shown._replace(weight=weight, in_loop=in_loop, places=(*first.places, *second.places))


def _add(
    uses: _Uses, spot: tuple[str, str, Effect, _Around], weight: float, in_loop: float, line: int
) -> None:
    entry = uses[spot]
    entry[0] += weight
    entry[1] += in_loop
    entry[2] = entry[2] or line
