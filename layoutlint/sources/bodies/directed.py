"""The statements of a body behind directives of OpenMP: what threads run is a function of its own."""

from __future__ import annotations

from layoutlint.model.uses import (
    FUNCTION,
    PARAMETER,
    VARIABLE,
    Argument,
    Call,
    Effect,
    Function,
    Lock,
    Spot,
    is_variable,
)
from layoutlint.sources.bodies.directives import Directive, Manner
from layoutlint.sources.bodies.lock_names import Operation
from layoutlint.sources.bodies.lock_regions import LockRegions
from layoutlint.sources.bodies.places import BytePlace
from layoutlint.sources.bodies.statements import Statements
from layoutlint.sources.bodies.trees import Node

_STARTER, _LOCK = "GOMP_parallel", "omp_set_lock"
"""What a compiler calls to start the threads, and a function that takes a lock."""


class Directed(Statements):
    """Walks statements behind directives; what threads run is a function of its own, as compilers make it."""

    def __init__(self) -> None:
        super().__init__()
        self.inner: list[Function] = []
        """The functions of parts that several threads run."""
        self._key, self._file = "", ""
        self._is_at_once = False
        self._private: set[int] | None = None
        """The variables that a part for several threads declares; None outside of one."""
        self._uses: dict[tuple[Spot, Effect, str, tuple[Lock, ...]], list[float]] = {}
        self._calls: list[Call] = []
        self._targets: dict[tuple[str, Spot | None], None] = {}
        self._parameters: dict[int, int] = {}
        self._pointees: dict[int, BytePlace] = {}

    def _result(self, key: str, file: str, line: int) -> Function:
        raise NotImplementedError

    def _is_local(self, variable: int) -> bool:
        """Return whether a variable of the function is one that other threads do not see."""
        return self._private is None or variable in self._private

    def _find_directives(self, every: tuple[Directive, ...], first: int, last: int) -> None:
        """Keep the directives between two lines."""
        self._directives = tuple(each for each in every if first <= each.line < last)

    def _obey(self, node: Node, weight: float) -> None:
        directive, *rest = self._directives
        self._directives = tuple(rest)
        if directive.manner is Manner.BY_THREADS:
            self._of_threads(node, weight)
        elif directive.manner is Manner.ALONE:
            lock = (Spot("", f"critical {directive.name}"),)
            self._regions.call(0, _LOCK, Operation.TAKE, lock)
            self._statement(node, weight)
            self._regions.call(0, _LOCK, Operation.RELEASE, lock)
        else:
            before, self._is_at_once = self._is_at_once, True
            self._statement(node, weight)
            self._is_at_once = before

    def _of_threads(self, node: Node, weight: float) -> None:
        """Walk what several threads run: objects from outside are those of all."""
        before = self._uses, self._calls, self._targets, self._regions, self._pointees, self._private
        self._uses, self._calls, self._targets, self._regions = {}, [], {}, LockRegions()
        self._pointees = {variable: _of_all(place) for variable, place in self._pointees.items()}
        self._private = set()
        self._statement(node, 1.0)
        name = f"{self._key.partition('@')[0]}._omp_fn.{len(self.inner)}@{self._file}"
        self.inner.append(self._result(name, self._file, node.spot[1]))
        self._uses, self._calls, self._targets, self._regions, self._pointees, self._private = before
        every = range(len(self._parameters))
        given = tuple((each, Spot(each, ""), f"{PARAMETER}{each}") for each in every)
        started = Argument(0, f"{FUNCTION}{name}", None), Argument(1, f"{VARIABLE}{name}", None)
        self._targets[name, None] = None
        self._calls.append(Call(_STARTER, None, weight, (), pointers=started))
        self._calls.append(Call(name, None, weight, given))  # the thread that starts them runs it, too


def _of_all(place: BytePlace) -> BytePlace:
    """Return an object that a function has made before as one that several threads see."""
    maker = place.maker if is_variable(place.maker) else ""
    return place._replace(maker=maker, is_local=False)
