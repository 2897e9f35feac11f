"""All functions of an input: whom each calls, and what it does to fields through those that it calls."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from layoutlint.model.uses import PARAMETER, Call, Effect, Function, Lock, Spot, is_variable, plain_name
from layoutlint.sources.whole_program.known_functions import KnownFunctions

_DEEPEST = 12
"""The most calls through which an argument is followed."""
_LONGEST_PATH = 5
_MOST_EFFECTS = 200
"""The most places of one argument that are followed."""

_ALLOCATES = re.compile(
    r"(?:^|_)(?:[kvdmz]*alloc\w*|calloc|malloc|kzalloc\w*|kmem_cache_alloc\w*|zalloc\w*|k?memdup\w*)(?:$|_)"
)
"""In the name of a function that returns a new object."""
_PER_CPU = re.compile(r"(?:^|_)(?:percpu|pcpu)(?:_|$)")
"""In the name of a function that returns an object for each processor."""

_Around = tuple[tuple[Lock, ...], str]
"""The locks that are held at a use, and the maker of the object."""
_ANYWHERE: _Around = ((), "")
_Uses = dict[tuple[str, str, Effect, _Around], list[float]]
"""By struct, path, effect and what is around: the weight, whether in a loop, and the line."""
_Effects = Mapping[tuple[int, str, Effect], float]


class UsePlace(NamedTuple):
    """Places in a function that use a field with the same locks, of an object with the same maker."""

    weight: float
    locks: tuple[Lock, ...]
    maker: str
    is_marked: bool


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
    ) -> None:
        """`tells_places` says whether uses have their places."""
        self._tells_places = tells_places
        self.functions: dict[str, Function] = {}
        for function in functions:
            self.functions.setdefault(function.key, function)
        self._known = known
        self._effects: dict[str, _Effects] = {}
        self._running: set[str] = set()
        self._makers: dict[str, bool] = {}
        self._expanded: dict[str, _Uses] = {}
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
        pairs = [*stored, *(pair for function in self.functions.values() for pair in function.targets)]
        for key, spot in pairs:
            if spot is not None and key in self.functions:
                holds[spot][key] = None
        return {spot: tuple(keys) for spot, keys in holds.items()}

    def targets(self, call: Call) -> tuple[str, ...]:
        """Return the functions that a call can reach; none of them if their bodies are not known."""
        if call.callee:
            return (call.callee,) if call.callee in self.functions else ()
        return () if call.through is None else self.stored.get(call.through, ())

    def uses(self) -> dict[str, dict[str, list[FieldUse]]]:
        """Return the uses of fields, by struct and path, without objects that the user has just made.

        What functions of headers do counts for those that call them.
        """
        result: dict[str, dict[str, list[FieldUse]]] = defaultdict(lambda: defaultdict(list))
        for key, function in self.functions.items():
            if not self._is_in_header(key):
                for (struct, path), uses in self._join_uses(key, self._own_uses(function)).items():
                    result[struct][path] += uses.values()
        return result

    def _join_uses(self, key: str, own: _Uses) -> dict[tuple[str, str], dict[Effect, FieldUse]]:
        """Return the uses of each field by a function, one for each effect."""
        result: dict[tuple[str, str], dict[Effect, FieldUse]] = defaultdict(dict)
        for (struct, path, effect, (locks, maker)), (weight, in_loop, line) in own.items():
            is_marked = effect is Effect.SHARED_STORE
            shown = Effect.WRITE if is_marked else effect
            uses = result[struct, path]
            before = uses.get(shown)
            places = (UsePlace(weight, locks, maker, is_marked),) if self._tells_places else ()
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
        for use in function.uses:
            if isinstance(use.spot.root, str) and use.spot.path and not self.is_new(use.maker):
                around = (use.locks, use.maker) if self._tells_places else _ANYWHERE
                place = use.spot.root, use.spot.path, use.effect, around
                _add(uses, place, use.weight, use.in_loop, use.line)
        for call in function.calls:
            self._add_call(uses, function, call)
        if self._is_in_header(function.key) and len(uses) > _MOST_EFFECTS:
            uses = dict(sorted(uses.items(), key=lambda item: -item[1][0])[:_MOST_EFFECTS])
        self._expanded[function.key] = uses
        return uses

    def _add_call(self, uses: _Uses, function: Function, call: Call) -> None:
        name = plain_name(call.callee)
        if self._is_in_header(call.callee) and not self._known.find(name):
            inner = self._own_uses(self.functions[call.callee])
            for (struct, path, effect, around), (weight, in_loop, _) in inner.items():
                place = struct, path, effect, self._around_call(call, around)
                _add(uses, place, weight * call.weight, in_loop, function.line)
        for position, spot, maker in call.arguments:
            if isinstance(spot.root, str) and spot.path and not self.is_new(maker):
                for (path, effect), weight in self._effects_on(call, position).items():
                    if spot.path.count(".") + path.count(".") < _LONGEST_PATH:
                        joined = f"{spot.path}.{path}" if path else spot.path
                        around = (call.locks, maker) if self._tells_places else _ANYWHERE
                        _add(uses, (spot.root, joined, effect, around), weight, 0, function.line)

    def _around_call(self, call: Call, inner: _Around) -> _Around:
        """Return what is around a use in a called function."""
        if not self._tells_places:
            return _ANYWHERE
        locks, maker = inner
        if maker.startswith(PARAMETER):
            maker = argument_maker(call, int(maker[1:]))
        return tuple(dict.fromkeys((*call.locks, *locks))), maker

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
                return {("", known.effect): call.weight}
        targets = self.targets(call)
        if not targets:
            return {("", Effect.ADDRESS): call.weight}
        weights: dict[tuple[str, Effect], float] = defaultdict(float)
        for target in targets[:8]:
            for (parameter, path, effect), weight in self.parameter_effects(target).items():
                if parameter == position:
                    weights[path, effect] += weight * call.weight / len(targets)
        return weights

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
