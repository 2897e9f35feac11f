"""The locks that functions of a program hold: those that they take, and those that all their callers hold."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property

from layoutlint.model.uses import Call, Effect, Lock, Spot, plain_name
from layoutlint.sources.bodies.lock_names import operation, stem
from layoutlint.sources.whole_program.known_functions import KnownFunctions
from layoutlint.sources.whole_program.program import Program

_MOST_ROUNDS = 30
_DEEPEST = 4
"""The most functions between the one that is called for a lock and the one that takes it."""
_NEAR = 1

Locks = frozenset[Spot]


class HeldLocks:
    """Tells which locks are held at places in functions."""

    def __init__(self, program: Program, known: KnownFunctions) -> None:
        self._program, self._known = program, known
        self._unplaced: dict[str, Locks] = {}
        self._possible: dict[tuple[str, int], Locks] = {}

    def locks_at(self, function: str, locks: Iterable[Lock]) -> Locks:
        """Return the locks at a place in a function that has taken some itself."""
        own = {spot for lock in locks for spot in self._spots(lock, _DEEPEST)}
        if function not in self._unplaced:
            self._unplaced[function] = frozenset(self._unplaced_locks(function))
        return self._everywhere.get(function, frozenset()).union(own, self._unplaced[function])

    def possible(self, function: str, calls: int = _NEAR) -> Locks:
        """Return the locks that some callers of a function hold."""
        if (function, calls) not in self._possible:
            sites = self.sites.get(function, ())
            result = {lock for caller, call in sites for lock in self.locks_at(caller, call.locks)}
            if calls:
                callers = dict.fromkeys(caller for caller, _ in sites)
                result.update(*(self.possible(caller, calls - 1) for caller in callers))
            self._possible[function, calls] = frozenset(result)
        return self._possible[function, calls]

    @cached_property
    def callers(self) -> dict[str, set[str]]:
        """The functions that call a function, by its key."""
        callers: dict[str, set[str]] = defaultdict(set)
        for key, sites in self.sites.items():
            callers[key] = {caller for caller, _ in sites}
        return callers

    @cached_property
    def addressed(self) -> frozenset[str]:
        """The functions whose address goes where calls are not followed."""
        pairs = (pair for function in self._program.functions.values() for pair in function.targets)
        return frozenset(key for key, spot in pairs if spot is None)

    @cached_property
    def sites(self) -> dict[str, list[tuple[str, Call]]]:
        """The calls of each function, by other functions."""
        sites: dict[str, list[tuple[str, Call]]] = defaultdict(list)
        for key, function in self._program.functions.items():
            for call in function.calls:
                for target in self._program.targets(call):
                    if target != key:
                        sites[target].append((key, call))
        return sites

    @cached_property
    def _everywhere(self) -> dict[str, Locks]:
        """The locks that a function holds from beginning to end, as all its callers do."""
        held: dict[str, Locks | None] = {
            key: None if self.sites.get(key) and key not in self.addressed else frozenset()
            for key in self._program.functions
        }
        pending = [key for key, locks in held.items() if locks is None]
        own = {
            id(call): frozenset(spot for lock in call.locks for spot in self._spots(lock, _DEEPEST))
            for key in pending
            for _, call in self.sites[key]
        }
        for _ in range(_MOST_ROUNDS):
            before = dict(held)
            for key in pending:
                some = [
                    locks | own[id(call)]
                    for caller, call in self.sites[key]
                    if (locks := held[caller]) is not None
                ]
                if some:
                    held[key] = frozenset.intersection(*some)
            if held == before:
                break
        return {key: locks for key, locks in held.items() if locks}

    def _unplaced_locks(self, key: str) -> Iterator[Spot]:
        """Yield the locks that a function takes by calls whose names do not say so: where is not known."""
        for call in self._program.functions[key].calls:
            name = plain_name(call.callee)
            if not name or operation(name) is not None:
                continue
            known, callee = self._known.find(name), self._program.functions.get(call.callee)
            if known is None and callee is not None:
                for lock in callee.kept:
                    yield from self._spots(lock, _DEEPEST)
            elif known is not None and known.effect is Effect.LOCK and self._known.is_own(name):
                yield next((spot for _, spot, _ in call.arguments), Spot("", name))

    def takes(self, function: str) -> bool:
        """Return whether a function can take a lock: it is known, has no body here, or changes one."""
        known = self._known.find(plain_name(function))
        if known is not None:
            return known.effect is not None
        if function not in self._program.functions:
            return True
        effects = self._program.parameter_effects(function)
        return any(effect in (Effect.ATOMIC, Effect.LOCK, Effect.SHARED_STORE) for _, _, effect in effects)

    def _spots(self, lock: Lock, calls: int) -> Iterator[Spot]:
        """Yield the locks that the call of a function takes."""
        function = self._program.functions.get(lock.taker)
        unknown = Spot("", f"?{stem(plain_name(lock.taker))}")
        known = self._known.find(plain_name(lock.taker))
        if function is None or known is not None or not function.kept or not calls:
            if self.takes(lock.taker):
                yield unknown if lock.spot == Spot("", "") or isinstance(lock.spot.root, int) else lock.spot
            return
        for kept in function.kept:
            is_given = isinstance(kept.spot.root, int)
            yield from self._spots(kept._replace(spot=lock.spot) if is_given else kept, calls - 1)
