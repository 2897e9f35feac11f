"""The threads of a program: where each begins, and which of them run a function.

Calls alone say too little: a thread for a part of the work often calls functions that lead to all of it. But
a plain store to an object that exists once races with a second thread that does the same. So if the main
thread runs a function with such a store, others do not, and calls from there do not count for them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cached_property

from layoutlint.model.uses import plain_name
from layoutlint.sources.whole_program.beginnings import Beginnings, Sites
from layoutlint.sources.whole_program.heat import EntryPoints, edges_of, entry_weights, spread
from layoutlint.sources.whole_program.program import Program

_MOST_THREADS = 12
_LOOP = 1.5
"""The weight of a call that is made several times."""
_SURENESS = 2
"""The heat of threads is an estimate: what few of them do counts less."""
_MAIN = ""
_MAPS = re.compile(r"mmap(?:64)?|shm_open|shmget|shmat|memfd_create")
"""The functions that make memory which processes can share."""
_EXECUTES = re.compile(r"f?exec(?:l|v|ve|le|vp|lp|vpe)").fullmatch


class Threads:
    """The functions in which threads begin, and how much of the work of each function they do."""

    def __init__(
        self,
        program: Program,
        sites: Sites,
        stores_alone: Iterable[str],
        entries: EntryPoints,
    ) -> None:
        """`stores_alone` are the functions with plain stores to objects that exist once, without a lock."""
        self._program, self._entries = program, entries
        self._stores_alone = stores_alone
        self.beginnings = Beginnings(program, sites)
        self._shares: dict[str, tuple[float, ...]] = {}

    def separation(self, function: str, other: str) -> float:
        """Return how often two functions run in different threads, from 0 to 1; 1 if no threads are known."""
        if not self.begins:
            return 1.0
        pairs = zip(self._share(function), self._share(other), self._are_single, strict=True)
        return (1.0 - sum(first * second for first, second, is_single in pairs if is_single)) ** _SURENESS

    def never_meet(self, function: str, other: str) -> bool:
        """Return whether no thread runs both functions, as far as calls show it."""
        pairs = zip(self._share(function), self._share(other), strict=True)
        known = any(self._share(function)) and any(self._share(other))
        return bool(self.begins) and known and all(first * second == 0 for first, second in pairs)

    def heat(self) -> dict[str, float]:
        """Return the heat of each function, that of all threads together."""
        total: dict[str, float] = {}
        for heat in self._heats.values():
            for key, amount in heat.items():
                total[key] = total.get(key, 0.0) + amount
        return total

    @property
    def begins(self) -> Mapping[str, bool]:
        """The functions in which threads begin, and whether there is only one such thread."""
        return self.beginnings.begins

    @cached_property
    def _are_single(self) -> tuple[bool, ...]:
        """Whether each group of threads, the main one first, is one thread."""
        return not self._are_processes, *(self.begins[key] for key in self._heats if key != _MAIN)

    @cached_property
    def _heats(self) -> dict[str, dict[str, float]]:
        """How often each thread runs each function, by the function in which it begins."""
        begun = self.beginnings.only_begun
        edges = {
            key: {
                target: weight
                for target, weight in targets.items()
                if target not in begun or self._calls(key, target)
            }
            for key, targets in edges_of(self._program, is_kernel=False).items()
        }
        own = entry_weights(self._program, edges, self._entries)
        main = spread({key: 0.0 if key in begun else weight for key, weight in own.items()}, edges)
        alone = {key for key in self._stores_alone if main.get(key, 0.0) > 0}
        others = {
            key: {target: weight for target, weight in targets.items() if target not in alone}
            for key, targets in edges.items()
        }
        heats = {_MAIN: main}
        for key in [*self.begins][:_MOST_THREADS]:
            heats[key] = spread({key: 1.0}, others)
        return heats

    @cached_property
    def _are_processes(self) -> bool:
        """Whether the main thread is one of several processes that share memory.

        They are forked in a loop, and run no other program. One that is forked alone is a daemon, or saves
        what it has.
        """
        functions = self._program.functions
        names = {key: {plain_name(call.callee) for call in each.calls} for key, each in functions.items()}
        if not any(map(_MAPS.fullmatch, set().union(*names.values()))):
            return False
        forking = {
            key for key, called in names.items() if "fork" in called and not any(map(_EXECUTES, called))
        }
        return any(
            call.weight >= _LOOP and (call.callee in forking or (key in forking and call.callee == "fork"))
            for key, function in functions.items()
            for call in function.calls
        )

    def _calls(self, key: str, target: str) -> bool:
        """Return whether a function calls another one itself, rather than giving its address away."""
        return any(target in self._program.targets(call) for call in self._program.functions[key].calls)

    def _share(self, function: str) -> tuple[float, ...]:
        if function not in self._shares:
            amounts = [heat.get(function, 0.0) for heat in self._heats.values()]
            total = sum(amounts)
            self._shares[function] = tuple(amount / total if total else 0.0 for amount in amounts)
        return self._shares[function]

