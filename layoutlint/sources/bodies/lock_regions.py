"""The locks that a function holds at a place: taken and not released on every way that leads there."""

from __future__ import annotations

from collections.abc import Iterable

from layoutlint.model.uses import Lock, Spot
from layoutlint.sources.bodies.lock_names import Operation, stem

Held = tuple[Lock, ...] | None
"""The locks; None where control does not come, as after `return`."""

_MOST = 6
"""The most locks of which a place is recorded."""
UNKNOWN = Spot("", "")


class LockRegions:
    """The state of the locks, which a walk over statements changes."""

    def __init__(self) -> None:
        self.held: Held = ()
        self._tried: tuple[int, Lock, bool] | None = None
        self._breaks: list[Held] = []
        self._switches: list[tuple[Held, bool]] = []
        self._guards: list[Lock] = []
        self._labels: dict[int, Held] = {}
        self._exits: Held = None

    @property
    def locks(self) -> tuple[Lock, ...]:
        """The locks that are held."""
        return self.held or ()

    @property
    def kept(self) -> tuple[Lock, ...]:
        """The locks that are held wherever the function returns, once all of it was walked."""
        return join(self._exits, self.held) or ()

    def call(self, place: int, callee: str, what: Operation, spots: Iterable[Spot]) -> None:
        """Take or release a lock by the call of a function; `place` tells calls apart."""
        if self.held is None:
            return
        lock = Lock(callee, next(iter(spots), UNKNOWN))
        if what is Operation.RELEASE:
            self._release(lock)
        elif what is Operation.TAKE:
            self._take(lock)
        else:
            self._tried = place, lock, what is Operation.TRY_ZERO

    def _take(self, lock: Lock) -> None:
        if self.held is not None and lock not in self.held and len(self.held) < _MOST:
            self.held = (*self.held, lock)

    def _release(self, lock: Lock) -> None:
        held = self.held or ()
        word = _stem_of(lock)
        same = [each for each in held if each.spot == lock.spot and lock.spot != UNKNOWN]
        some = same or [each for each in held if UNKNOWN in (each.spot, lock.spot) and _stem_of(each) == word]
        if some:
            self.held = tuple(each for each in held if each is not some[-1])

    def store(self, spots: Iterable[Spot]) -> None:
        """Release the locks that a plain store sets free."""
        if self.held:
            freed = set(spots)
            self.held = tuple(each for each in self.held if each.spot not in freed)

    def forget_try(self) -> None:
        """Begin a condition."""
        self._tried = None

    @property
    def tried(self) -> int | None:
        """The call in the condition that tries to take a lock."""
        return None if self._tried is None else self._tried[0]

    def split(self, results: tuple[bool | None, bool | None]) -> tuple[Held, Held]:
        """Return the locks where a condition holds and where it does not.

        `results` say whether the call that tries to take a lock returned anything but zero in these.
        """
        tried, before = self._tried, self.held
        self._tried = None
        if tried is None or before is None:
            return before, before
        _, lock, is_zero = tried
        with_lock = before if lock in before else (*before, lock)[:_MOST]
        is_held = [result is not None and result is not is_zero for result in results]
        return with_lock if is_held[0] else before, with_lock if is_held[1] else before

    @property
    def guards(self) -> int:
        """The number of locks that the end of a block around releases."""
        return len(self._guards)

    def guard(self) -> None:
        """Make the end of the block release the lock that was taken last."""
        self._guards += self.locks[-1:]

    def end_guards(self, before: int) -> None:
        """End a block: release the guards but for the first ones, which are of blocks around it."""
        if len(self._guards) > before:
            ended = self._guards[before:]
            del self._guards[before:]
            self.held = None if self.held is None else tuple(each for each in self.held if each not in ended)

    def leave(self) -> None:
        """Return from the function."""
        held = self.held
        if held and self._guards:
            held = tuple(each for each in held if each not in self._guards)
        self._exits = join(self._exits, held)
        self.held = None

    def stop(self) -> None:
        """Go on elsewhere, where the locks are known from another way."""
        self.held = None

    def end_round(self, start: Held, after: Held) -> Held:
        """Return the locks after a loop: of those `after` it without a round, what a round keeps."""
        if start is None or after is None or self.held is None:
            return after
        lost = set(start).difference(self.held)
        return tuple(each for each in after if each not in lost) if lost else after

    def enter_switch(self) -> None:
        """Begin the body of a switch."""
        self._switches.append((self.held, False))
        self.enter_breakable()
        self.held = None

    def case(self, is_default: bool) -> None:
        """Come to a case, from the one before it or from the beginning of the switch."""
        if self._switches:
            start, has_default = self._switches[-1]
            self._switches[-1] = start, has_default or is_default
            self.held = join(self.held, start)

    def leave_switch(self) -> None:
        """End the body of a switch."""
        start, has_default = self._switches.pop()
        held = join(self.held, self.leave_breakable())
        self.held = held if has_default else join(held, start)

    def enter_breakable(self) -> None:
        """Begin a loop or a switch."""
        self._breaks.append(None)

    def leave_breakable(self) -> Held:
        """End a loop or a switch; return the locks that are held at its breaks."""
        return self._breaks.pop()

    def break_out(self) -> None:
        """Leave a loop or a switch."""
        if self._breaks:
            self._breaks[-1] = join(self._breaks[-1], self.held)
        self.held = None

    def jump(self, label: int) -> None:
        """Go to a label."""
        self._labels[label] = join(self._labels.get(label), self.held)
        self.held = None

    def arrive(self, label: int) -> None:
        """Come to a label. What jumps back to it later holds the same locks, it is taken."""
        self.held = join(self.held, self._labels.get(label))
        self.held = () if self.held is None else self.held


def _stem_of(lock: Lock) -> str:
    return stem(lock.taker.partition("@")[0])


def join(first: Held, second: Held) -> Held:
    """Return the locks that are held on both ways."""
    if first is None or first == second:
        return second
    if second is None:
        return first
    same = {_identity(each) for each in second}
    return tuple(each for each in first if _identity(each) in same)


def _identity(lock: Lock) -> Spot | str:
    """Return what tells locks apart: where they are, or how the functions are called that take them."""
    return _stem_of(lock) if lock.spot == UNKNOWN else lock.spot
