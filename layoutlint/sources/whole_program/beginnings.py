"""Where threads of a program begin, which objects they get, and what was done before the first of them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from layoutlint.model.uses import (
    ELEMENT,
    FUNCTION,
    GLOBAL_POINTER,
    LOCAL,
    PARAMETER,
    THREAD_GROUPS,
    THREAD_STARTERS,
    Argument,
    Call,
    plain_name,
    started_at,
)
from layoutlint.sources.whole_program.program import Program

_DEEPEST = 4
"""The most functions between the one that knows what a thread runs and the one that starts it."""
_SCOPE = " in "
"""Before the key of the function whose object it is."""
_LOOP = 1.5
"""The weight of a call that is made several times."""

Sites = Mapping[str, Sequence[tuple[str, Call]]]


class Start(NamedTuple):
    """A place at which threads are started."""

    function: str
    """The key of the function that they run."""
    object: str
    """What its argument points to, with the function that has it if it is one of that; empty if not known."""
    is_repeated: bool
    """Whether several threads are started there."""
    gives_one: bool
    """Whether these get the same object."""


class Beginnings:
    """Finds what threads run, through the functions that start them for others."""

    def __init__(self, program: Program, sites: Sites) -> None:
        self._program, self._sites = program, sites
        self._many: dict[str, bool] = {}
        self._early: dict[str, bool] = {}
        self._once: dict[str, bool] = {}
        self._trampolines: set[str] = set()

    @cached_property
    def starts(self) -> tuple[Start, ...]:
        """All places at which threads start."""
        return tuple(start for key in self._program.functions for start in self._starts_in(key))

    @cached_property
    def begins(self) -> dict[str, bool]:
        """The functions in which threads begin, and whether there is only one such thread."""
        single: dict[str, bool] = {}
        for start in self.starts:
            single[start.function] = not start.is_repeated and start.function not in single
        return single

    @cached_property
    def only_begun(self) -> frozenset[str]:
        """These functions, and those that only call one of them in a new thread."""
        return frozenset(self.begins) | self._trampolines

    @cached_property
    def sharing(self) -> frozenset[str]:
        """Those of these functions whose argument is an object that several threads get."""
        getters: dict[str, int] = {}
        for start in self.starts:
            getters[start.object] = getters.get(start.object, 0) + 1 + start.gives_one
        return frozenset(
            start.function
            for start in self.starts
            if start.object and not start.object.endswith(ELEMENT) and getters[start.object] > 1
        )

    # -- what is started

    def _starts_in(self, key: str) -> Iterator[Start]:
        for call in self._program.functions[key].calls:
            name = plain_name(call.callee)
            if name and THREAD_STARTERS.fullmatch(name):
                position, is_group = started_at(name), THREAD_GROUPS.fullmatch(name) is not None
                function, given = call.pointer(position), call.pointer(position + 1)
                found = list(self._follow(key, call, function, given, is_group, _DEEPEST))
                yield from found or self._unknown_starts(key, call, is_group)

    def _unknown_starts(self, key: str, call: Call, is_group: bool) -> Iterator[Start]:
        """Yield the functions whose address a function gives away, if the text shows no other."""
        is_repeated = is_group or call.weight >= _LOOP
        for target, spot in self._program.functions[key].targets:
            if spot is None and target in self._program.functions:
                yield Start(target, "", is_repeated, False)

    def _follow(
        self,
        key: str,
        call: Call,
        function: Argument | None,
        given: Argument | None,
        repeats: bool,
        depth: int,
    ) -> Iterator[Start]:
        """Yield what a call starts with a function and its argument, which the caller `key` has."""
        if function is None or not depth:
            return
        repeats = repeats or call.weight >= _LOOP
        if function.is_parameter:
            for caller, site in self._sites.get(key, ()):
                outer = site.pointer(int(function.object[1:]))
                is_of_caller = given is not None and given.is_parameter
                own = _of_caller(site, given) if is_of_caller else _in_scope(key, given)
                yield from self._follow(caller, site, outer, own, repeats, depth - 1)
            return
        object_, gives_one = self._object(key, given, repeats, depth)
        repeats = repeats or self._runs_often(key, depth)
        for target in self._functions_of(function):
            callbacks = list(self._trampoline(key, target, repeats, depth))
            self._trampolines.update((target,) if callbacks else ())
            yield from callbacks or (Start(target, object_, repeats, gives_one),)

    def _functions_of(self, function: Argument) -> tuple[str, ...]:
        if function.object.startswith(FUNCTION):
            own = function.object[1:]
            return (own,) if own in self._program.functions else ()
        return () if function.through is None else self._program.stored.get(function.through, ())

    def _object(self, key: str, given: Argument | None, repeats: bool, depth: int) -> tuple[str, bool]:
        """Return the object that threads get, and whether all that one place starts get it."""
        if given is None or not given.object or given.object.startswith(FUNCTION):
            return "", False
        if given.is_parameter:
            some = {
                self._object(caller, _of_caller(site, given), repeats or site.weight >= _LOOP, depth - 1)
                for caller, site in (self._sites.get(key, ()) if depth > 1 else ())
            }
            return next(iter(some)) if len(some) == 1 else ("", False)
        scoped = _in_scope(key, given)
        if scoped == given and _is_own(given):
            return given.object, False  # of a function between: each call of it has another one
        is_given_often = repeats or (not _is_own(given) and self._runs_often(key, depth))
        return "" if scoped is None else scoped.object, is_given_often

    def _trampoline(self, key: str, target: str, repeats: bool, depth: int) -> Iterator[Start]:
        """Yield what threads run that begin in a function which calls what its starter has stored for it."""
        kept = self._program.functions[key].kept_parameters
        called = {call.through for call in self._program.functions[target].calls if call.through is not None}
        for position, spot in kept:
            if spot in called:
                given = next((at for at, other in kept if other.root == spot.root and at != position), None)
                for caller, site in self._sites.get(key, ()):
                    own = None if given is None else site.pointer(given)
                    yield from self._follow(caller, site, site.pointer(position), own, repeats, depth - 1)

    def _runs_often(self, key: str, depth: int) -> bool:
        """Return whether several calls, or one in a loop, lead to a function."""
        if key not in self._many:
            self._many[key] = False  # of functions that call one another
            sites = self._sites.get(key, ())
            self._many[key] = (
                len(sites) > 1
                or any(site.weight >= _LOOP for _, site in sites)
                or (depth > 0 and any(self._runs_often(caller, depth - 1) for caller, _ in sites))
            )
        return self._many[key]

    # -- what is before

    @cached_property
    def _first_starts(self) -> dict[str, int]:
        """For functions that start threads, also by others, the number of calls before the first start."""
        functions, waiting = self._program.functions, []
        first: dict[str, int] = {}
        for key, function in functions.items():
            for at, call in enumerate(function.calls):
                if call.callee and THREAD_STARTERS.fullmatch(plain_name(call.callee)):
                    first[key] = at
                    waiting.append(key)
                    break
        while waiting:
            for caller in {caller for caller, _ in self._sites.get(waiting.pop(), ())}:
                if caller not in first:
                    calls = enumerate(functions[caller].calls)
                    leading = [at for at, call in calls if call.callee in first]
                    if leading:
                        first[caller] = leading[0]
                        waiting.append(caller)
        return first

    def early_calls(self, key: str) -> int:
        """Return how many calls a function makes before the first thread begins.

        -1 for one that threads can run beside; as many as it has, or more, for one that is over then.
        """
        first = self._first_starts.get(key)
        if first is None:
            return sys.maxsize if self._is_all_early(key) else -1
        return first if self._is_once(key) else -1

    def _is_all_early(self, key: str) -> bool:
        """Return whether a function runs before the first thread starts, and then never."""
        starts = self._first_starts
        if not starts or key in starts or key in self.begins or key in self._addressed:
            return False
        if key not in self._early:
            self._early[key] = False  # of functions that call one another
            sites = self._sites.get(key, ())
            self._early[key] = bool(sites) and all(self._is_early_site(*each) for each in sites)
        return self._early[key]

    def _is_early_site(self, caller: str, site: Call) -> bool:
        calls = self._program.functions[caller].calls
        at = max(number for number, call in enumerate(calls) if call is site or call == site)
        first = self._first_starts.get(caller)
        return self._is_all_early(caller) if first is None else at < first and self._is_once(caller)

    def _is_once(self, key: str) -> bool:
        """Return whether a function runs once, as `main` does."""
        if key not in self._once:
            self._once[key] = False
            sites = self._sites.get(key, ())
            is_called_once = len(sites) == 1 and sites[0][1].weight < _LOOP and key not in self._addressed
            self._once[key] = plain_name(key) == "main" or (is_called_once and self._is_once(sites[0][0]))
        return self._once[key]

    @cached_property
    def _addressed(self) -> frozenset[str]:
        """The functions whose address is taken."""
        own = (key for function in self._program.functions.values() for key, _ in function.targets)
        return frozenset(own) | self._program.referenced


def _is_own(given: Argument) -> bool:
    """Return whether an object is one of the function that gives it, or found by a parameter of it."""
    return given.object.lstrip(GLOBAL_POINTER)[:1] in (LOCAL, PARAMETER)


def _of_caller(site: Call, given: Argument | None) -> Argument | None:
    """Return what a caller gives, if that is what its callee gives on."""
    return site.pointer(int(given.object[1:])) if given is not None and given.is_parameter else None


def _in_scope(key: str, given: Argument | None) -> Argument | None:
    """Return an object of a function as others know it."""
    if given is None or not _is_own(given) or _SCOPE in given.object:
        return given
    ending = ELEMENT if given.object.endswith(ELEMENT) else ""
    return given._replace(object=f"{given.object.removesuffix(ELEMENT)}{_SCOPE}{key}{ending}")
