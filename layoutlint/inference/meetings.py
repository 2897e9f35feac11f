"""The signs that several threads of a program use a field at once.

In C, a plain store races with every other use of the object, unless a lock orders them. A program without
races therefore marks what its threads share: by atomics, by stores through volatile pointers, or by
locks that are held at the store. What bears no such sign has one thread at a time.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from enum import Enum
from functools import cached_property
from typing import NamedTuple

from layoutlint.model.uses import (
    ELEMENT,
    GLOBAL_POINTER,
    PARAMETER,
    THREAD_OBJECTS,
    THREAD_VARIABLE,
    VARIABLE,
    Call,
    Effect,
    Spot,
    plain_name,
)
from layoutlint.sources.bodies.lock_names import Operation, is_primitive, operation
from layoutlint.sources.whole_program import rare_work
from layoutlint.sources.whole_program.heat import EntryPoints
from layoutlint.sources.whole_program.held_locks import HeldLocks, Locks
from layoutlint.sources.whole_program.known_functions import KnownFunctions
from layoutlint.sources.whole_program.phases import Phase, phase_of
from layoutlint.sources.whole_program.program import FieldUse, Program, argument_maker
from layoutlint.sources.whole_program.threads import Threads

_DEEPEST = 4
"""The most calls between a function and those that only it calls, and those that an argument goes through."""
_NEAR = 1
"""The most calls between the callers of a function that reads, and one that takes a lock."""
_TAKES = (Operation.TAKE, Operation.TRY, Operation.TRY_ZERO)
_MOST_SPOTS = 4
"""The most fields that one argument can be, each of a struct around it."""
_CONDITIONAL = 0.0
"""What is left for a lock that is taken under a condition only: in another mode than the usual one."""
_NEARBY = 0.9
"""How sure it is that a call of a function in one that reads is on the same way through it."""
_FREES = re.compile(r"free$|(?:^|_)free_\w{1,64}$")
_ONCE = (VARIABLE, GLOBAL_POINTER)
_OWN_SHARE = 0.5
"""How much a read counts in a function that writes the other field as well: it may own the line already."""


class Owner(Enum):
    """Whose an object is."""

    UNKNOWN = "unknown"
    SELF = "self"
    """Of the thread, or the process, that runs the function."""
    POINTED = "pointed"
    """A variable of a process points to it: its own object, or one for all processes."""
    SHARED = "shared"


class Access(NamedTuple):
    """Uses of a field in a function, with the same locks and through the same pointer."""

    function: str
    amount: float
    """How hot they are."""
    weight: float
    """How often they are made for each call of the function."""
    maker: str
    """What gives the object, as for uses."""
    locks: Locks
    owner: Owner
    is_signed: bool
    """Whether a write has a sign that other threads use the field at once."""
    is_normal: bool
    """Whether it is in normal work."""
    is_plain: bool
    """Whether it is a store that neither a lock nor an atomic makes, nor one that others are meant to see."""
    is_volatile: bool = False
    """Whether it is a store to a field that is declared volatile."""

    @property
    def is_bare(self) -> bool:
        """Whether it is such a store, without a lock, in normal work."""
        return self.is_plain and self.is_normal and not self.is_signed


class Meetings:
    """Tells which uses of fields in a program meet: in different threads, and not in turns."""

    def __init__(self, program: Program, known: KnownFunctions, entries: EntryPoints) -> None:
        self._program, self._entries = program, entries
        self._held = HeldLocks(program, known)
        self._frees: dict[str, dict[str, float]] = {}
        self._shares: dict[str, float] = {}
        self._own: dict[tuple[str, int], Owner] = {}

    @cached_property
    def threads(self) -> Threads:
        """The threads of the program."""
        return Threads(self._program, self._held.sites, self._lone_stores(), self._entries)

    def _lone_stores(self) -> frozenset[str]:
        """Return the functions with plain stores, without a lock, to objects that exist once."""
        return frozenset(
            key
            for key, function in self._program.functions.items()
            if not self._held.locks_at(key, ())
            and any(
                use.effect is Effect.WRITE and use.maker[:1] in _ONCE and not use.locks
                and use.maker and not use.maker.endswith(ELEMENT)
                for use in function.uses
            )
        )  # fmt: skip

    def accesses(self, use: FieldUse, heat: float) -> Iterator[Access]:
        """Yield what a use of a field is to other threads; `heat` is that of each of it."""
        function = use.function
        for place in use.places:
            if place.is_early or min(1.0, place.weight) <= self._ends_of(function).get(place.maker, 0.0):
                continue  # nobody else runs yet, or sees the object any more
            locks = self._held.locks_at(function, place.locks)
            is_plain = use.effect is Effect.WRITE and not place.is_marked
            is_normal = phase_of(plain_name(function)) is Phase.NORMAL
            is_signed = bool(not is_plain or locks) and is_normal
            owner = self._owner(function, place.maker, _DEEPEST)
            amount = heat * place.weight * self._share_of(function)
            if place.weight <= 1.0 and (plain_name(function) == "main" or function in self.threads.begins):
                amount *= rare_work.ONCE
            kind = is_signed, is_normal, is_plain, place.is_volatile
            yield Access(function, amount, place.weight, place.maker, locks, owner, *kind)

    def hand_over(self, accesses: Iterable[Access]) -> bool:
        """Return whether different threads use a field that one of them stores, by some of its accesses."""
        every = list(accesses)
        return bool(self.threads.begins) and any(
            self.threads.separation(each.function, other.function) > 0
            for each in every
            if each.is_volatile
            for other in every
        )

    def with_possible_locks(self, access: Access) -> Access:
        """Return a use by a function that stores without a lock, with the locks that some callers hold.

        It has the object alone otherwise.
        """
        return access._replace(locks=access.locks | self._held.possible(access.function))

    def _ends_of(self, function: str) -> dict[str, float]:
        """Return the parameters whose objects a function frees, as makers, and how often it does."""
        if function not in self._frees:
            self._frees[function] = {
                f"{PARAMETER}{spot.root}": call.weight
                for call in self._program.functions[function].calls
                if _FREES.search(plain_name(call.callee))
                for _, spot, _ in call.arguments
                if isinstance(spot.root, int) and not spot.path
            }
        return self._frees[function]

    def _share_of(self, function: str) -> float:
        if function not in self._shares:
            self._shares[function] = rare_work.share(self._program.functions[function])
        return self._shares[function]

    @cached_property
    def locks(self) -> frozenset[Spot]:
        """All fields that functions take as locks."""
        return frozenset(spot for _, spot in self._lock_calls)

    @cached_property
    def _lock_calls(self) -> tuple[tuple[Call, Spot], ...]:
        """The calls that take a lock, or try to, with each field that it can be."""
        calls = (call for each in self._program.functions.values() for call in each.calls)
        return tuple(
            (call, spot)
            for call in calls
            if operation(plain_name(call.callee)) in _TAKES and self._held.takes(call.callee)
            for _, spot, _ in call.arguments[:_MOST_SPOTS]
            if isinstance(spot.root, str)
        )

    @cached_property
    def certain_locks(self) -> frozenset[Spot]:
        """Those that are held somewhere whatever a condition says."""
        functions = self._program.functions.values()
        taken = (use.locks for each in functions for use in each.uses)
        called = (call.locks for each in functions for call in each.calls)
        held = frozenset(lock.spot for locks in (*taken, *called) for lock in locks)
        return held.union(spot for spot, weight in self._tried_locks.items() if weight >= 1.0)

    @cached_property
    def _tried_locks(self) -> dict[Spot, float]:
        """Those for which no function waits, with how often a call of a function tries to take them."""
        tried: dict[Spot, float] = {}
        for call, spot in self._lock_calls:
            name = plain_name(call.callee)
            weight = 0.0 if operation(name) is Operation.TAKE or is_primitive(name) else call.weight
            tried[spot] = max(weight, tried.get(spot, weight)) if weight and tried.get(spot) != 0.0 else 0.0
        return {spot: weight for spot, weight in tried.items() if weight}

    def share(self, write: Access, read: Access, writers: Collection[str], lock: Spot | None) -> float:
        """Return how often a write disturbs a read, from 0 to 1.

        `writers` are the functions that write the field of the write, `lock` is that field if it is a lock.
        """
        if write.locks & read.locks or lock in read.locks or write.owner is read.owner is Owner.SELF:
            return 0.0
        if not write.is_signed:
            return float(self.threads.never_meet(write.function, read.function))
        if write.is_plain and read.locks:
            return 0.0
        apart = self.threads.separation(write.function, read.function)
        if lock in self.locks and lock not in self.certain_locks:
            apart *= _CONDITIONAL
        if lock is not None and lock not in self._tried_locks:  # who takes it next waits for it anyway
            return apart * (1.0 - self._tie(read.function, read.weight, writers, _NEAR))
        return apart * (_OWN_SHARE if self._is_within(read.function, writers, _DEEPEST) else 1.0)

    def _is_within(self, function: str, some: Collection[str], calls: int) -> bool:
        """Return whether a function is one of some, or only these call it."""
        if function in some:
            return True
        callers = self._held.callers.get(function, ())
        if not calls or not callers or function in self._held.addressed:
            return False
        return all(self._is_within(each, some, calls - 1) for each in callers)

    def _tie(self, function: str, weight: float, writers: Collection[str], calls: int) -> float:
        """Return how often a use has a call of one of some functions nearby; `weight` is for each call."""
        if function in writers or self._is_within(function, writers, _DEEPEST):
            return 1.0
        called = (call.weight for call in self._program.functions[function].calls if call.callee in writers)
        tie = _NEARBY * min(1.0, sum(called) / weight)
        callers = self._held.callers.get(function, ())
        if not calls or not callers or function in self._held.addressed:
            return tie
        return max(tie, min(self._tie_of_caller(each, function, writers, calls - 1) for each in callers))

    def _tie_of_caller(self, caller: str, function: str, writers: Collection[str], calls: int) -> float:
        if plain_name(caller) == "main" or caller in self.threads.begins:
            return 0.0
        made = self._program.functions[caller].calls
        weights = [call.weight for call in made if function in self._program.targets(call)]
        return self._tie(caller, max(weights), writers, calls)

    def _owner(self, function: str, maker: str, calls: int) -> Owner:
        """Return whose an object is that a variable, parameter or function gives."""
        kind = maker[:1]
        if kind == THREAD_VARIABLE:
            return Owner.SELF
        if kind == GLOBAL_POINTER and not maker.endswith(ELEMENT):
            return Owner.SHARED if self.threads.begins else Owner.POINTED
        if kind == PARAMETER:
            return self._owner_of_argument(function, int(maker[1:]), calls)
        if not maker or kind == VARIABLE:
            return Owner.UNKNOWN
        made = self._program.functions.get(maker)
        if made is None:
            return Owner.SELF if maker in THREAD_OBJECTS else Owner.UNKNOWN
        some = (self._owner(maker, each, calls - 1) for each in made.makers)
        return _only_owner(some) if calls else Owner.UNKNOWN

    def _owner_of_argument(self, function: str, position: int, calls: int) -> Owner:
        key = function, position
        if key not in self._own:
            self._own[key] = Owner.UNKNOWN  # of functions that call one another
            self._own[key] = self._find_owner_of_argument(function, position, calls)
        return self._own[key]

    def _find_owner_of_argument(self, function: str, position: int, calls: int) -> Owner:
        if function in self.threads.begins:
            is_shared = function in self.threads.beginnings.sharing
            return Owner.UNKNOWN if position else Owner.SHARED if is_shared else Owner.SELF
        if not calls or function in self._held.addressed:
            return Owner.UNKNOWN
        return _only_owner(
            self._owner(caller, argument_maker(call, position), calls - 1)
            for caller, call in self._held.sites.get(function, ())
        )


def _only_owner(owners: Iterable[Owner]) -> Owner:
    """Return the owner that all of them are; unknown if they differ."""
    distinct = set(owners)
    return distinct.pop() if len(distinct) == 1 else Owner.UNKNOWN
