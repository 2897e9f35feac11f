"""The signs that several threads of a program use a field at once.

In C, a plain store races with every other use of the object, unless a lock orders them. A program without
races therefore marks what its threads share: by atomics, by stores through volatile pointers, or by
locks that the functions hold. What bears no such sign has one thread at a time.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Container
from functools import cached_property

from layoutlint.inference.known_functions import KnownFunctions
from layoutlint.inference.phases import Phase, phase_of
from layoutlint.inference.program import FieldUse, Program
from layoutlint.model.uses import Call, Effect, plain_name, words_of

_DEEPEST = 4
"""The most calls between the function that takes a lock and the one that stores under it."""
_RELEASES = re.compile(
    r"(?:^|_)(?:unlock|release|post|signal|broadcast|wake|complete|up|init|destroy|free)(?:_|$)"
)
_TAKES = re.compile(
    r"(?:^|_)(?:try|timed|rd|wr|read|write)?lock$|"
    r"(?:^|_)(?:lock_(?:acquire|take|get)|(?:acquire|take|get)_lock|tas|test_and_set)(?:_|$)"
)
"""In the words of the name of a function that no table knows."""
_IS_ABOUT_LOCKS = re.compile(r"(?:^|_)(?:\w*lock|acquire|enter)(?:_|$)")
"""In those of a function that can return with the lock that it takes."""


_STARTS = re.compile(
    r"pthread_create|thrd_create|g_thread_(?:try_)?new|g_thread_create|uv_thread_create\w*|rte_eal_remote_launch"
)
"""The functions that start a thread, with the address of what it runs."""


class Guards:
    """The functions of a program that hold locks, and those that only they call."""

    def __init__(self, program: Program, known: KnownFunctions) -> None:
        self._program, self._known = program, known
        self._acquiring: dict[str, bool] = {}

    def holds_lock(self, function: str) -> bool:
        """Return whether a function takes a lock itself, or only functions that do so call it."""
        return self._is_within(function, self._takers, _DEEPEST)

    def is_within(self, function: str, some: Container[str]) -> bool:
        """Return whether a function is one of some, or only these call it."""
        return self._is_within(function, some, _DEEPEST)

    def meets_others(self, use: FieldUse) -> bool:
        """Return whether a write in normal work has a sign that other threads use the field at once."""
        is_signed = use.effect is not Effect.WRITE or use.is_marked or self.holds_lock(use.function)
        return is_signed and phase_of(plain_name(use.function)) is Phase.NORMAL

    def run_apart(self, function: str, other: str) -> bool:
        """Return whether two functions never run in the same thread, as far as calls show it."""
        threads = self._threads
        own, others = threads.get(function, frozenset()), threads.get(other, frozenset())
        return bool(own) and bool(others) and own.isdisjoint(others)

    @cached_property
    def _threads(self) -> dict[str, frozenset[str]]:
        """The functions in which threads begin, `main` among them, that reach a function by calls."""
        begins = self._thread_functions()
        reached: dict[str, set[str]] = defaultdict(set)
        for root in {key for key in self._program.functions if plain_name(key) == "main"} | begins:
            pending = [root] if begins else []
            while pending:
                key = pending.pop()
                if root not in reached[key]:
                    reached[key].add(root)
                    pending += self._followers(key, begins)
        return {key: frozenset(roots) for key, roots in reached.items()}

    def _followers(self, key: str, begins: set[str]) -> set[str]:
        """Return the functions that a function calls or gives away, except those that begin threads."""
        function = self._program.functions[key]
        called = {target for call in function.calls for target in self._program.targets(call)}
        given = {target for target, _ in function.targets}
        return called | (given.intersection(self._program.functions) - begins)

    def _thread_functions(self) -> set[str]:
        """Return the functions whose address goes to one that starts threads, also through one between."""
        starters = {key for key in self._program.functions if self._starts(key)}
        between = {key for key in starters if self._starts(key, from_parameter=True)}
        near = starters.union(*(self._callers.get(key, set()) for key in between))
        pairs = ((key, pair) for key in near for pair in self._program.functions[key].targets)
        return {target for _, (target, spot) in pairs if spot is None and target in self._program.functions}

    def _starts(self, key: str, from_parameter: bool = False) -> bool:
        calls = [
            call
            for call in self._program.functions[key].calls
            if _STARTS.fullmatch(plain_name(call.callee))
        ]
        places = (spot for call in calls for _, spot, _ in call.arguments)
        return any(isinstance(spot.root, int) for spot in places) if from_parameter else bool(calls)

    def _is_within(self, function: str, some: Container[str], calls: int) -> bool:
        if function in some:
            return True
        callers = self._callers.get(function, ())
        if not calls or not callers or function in self._addressed:
            return False
        return all(self._is_within(each, some, calls - 1) for each in callers)

    @cached_property
    def _takers(self) -> frozenset[str]:
        return frozenset(key for key in self._program.functions if self._takes_lock(key))

    @cached_property
    def _callers(self) -> dict[str, set[str]]:
        callers: dict[str, set[str]] = defaultdict(set)
        for key, function in self._program.functions.items():
            for call in function.calls:
                for target in self._program.targets(call):
                    if target != key:
                        callers[target].add(key)
        return callers

    @cached_property
    def _addressed(self) -> frozenset[str]:
        """The functions whose address goes where calls are not followed."""
        pairs = (pair for function in self._program.functions.values() for pair in function.targets)
        return frozenset(key for key, spot in pairs if spot is None)

    def _takes_lock(self, key: str) -> bool:
        return any(self._acquires(call) for call in self._program.functions[key].calls)

    def _acquires(self, call: Call) -> bool:
        """Return whether a call takes a lock: by its name, or because the function takes one and keeps it."""
        name = plain_name(call.callee)
        if not name:
            return False
        words, known = words_of(name), self._known.find(name)
        if known is not None:
            return known.effect is Effect.LOCK and not _RELEASES.search(words)
        if _RELEASES.search(words):
            return False
        return _TAKES.search(words) is not None or self._keeps_lock(call.callee)

    def _keeps_lock(self, key: str) -> bool:
        function = self._program.functions.get(key)
        if function is None or not _IS_ABOUT_LOCKS.search(words_of(plain_name(key))):
            return False
        if key not in self._acquiring:
            self._acquiring[key] = False  # of functions that call one another
            releases = any(_RELEASES.search(words_of(plain_name(call.callee))) for call in function.calls)
            self._acquiring[key] = not releases and any(map(self._acquires, function.calls))
        return self._acquiring[key]
