"""What functions of the C library keep, return, hand to other functions, and do behind addresses."""

from __future__ import annotations

import re
from abc import abstractmethod

from layoutlint.model.flows import Access, Address, Count, Move, Slot
from layoutlint.readers.clang.libclang import Type
from layoutlint.sources.bodies import syntax
from layoutlint.sources.bodies.flow_types import SCALARS
from layoutlint.sources.bodies.text_calls import TextCalls
from layoutlint.sources.bodies.trees import Node, skip_layers

_KEY_MAKERS = frozenset(("pthread_key_create", "tss_create"))
_KEY_WRITES = frozenset(("pthread_setspecific", "tss_set"))
_KEY_READS = frozenset(("pthread_getspecific", "tss_get"))
"""The functions that keep a pointer for each thread, by a key, and those that return it."""
_TREES = frozenset(("tsearch", "tfind", "tdelete"))
"""The functions that keep pointers in a tree, whose root is the second argument, and return their place."""
_TREE_WALKS = frozenset(("twalk", "twalk_r", "tdestroy"))
FREES = frozenset((
    "free", "kfree", "kfree_sensitive", "kfree_const", "kvfree", "kvfree_sensitive", "vfree", "vfree_atomic",
    "kfree_call_rcu", "kvfree_call_rcu", "kmem_cache_free", "mempool_free", "free_percpu", "devm_kfree",
))  # fmt: skip
"""The functions that get an address only to free the memory, of C and of Linux."""
_LINUX_MAKES = re.compile(
    r"_*(?:devm_)?(?:k|v|kv)[mzc]alloc(?:_\w+)?|_*kmem_cache_z?alloc(?:_\w+)?|mempool_alloc\w*|kmemdup\w*"
)
MAKES = frozenset(("malloc", "calloc", "realloc", "aligned_alloc", "alloca", "__builtin_alloca"))
_QUEUES = frozenset(("insque", "remque"))
"""The functions that take the first two words of an object for pointers to others."""


def makes_memory(name: str) -> bool:
    """Return whether a function returns memory that nothing else has, by its name, in C or in Linux."""
    return name in MAKES or _LINUX_MAKES.fullmatch(name.partition("@")[0]) is not None


class LibraryCalls(TextCalls):
    """Notes what calls of functions do whose bodies are not in the unit."""

    @abstractmethod
    def _slot(self, node: Node) -> Slot | None:
        """Return the slot that an lvalue is; None for others."""

    @abstractmethod
    def _give(self, key: str, number: int, type_: Type, given: Address, at: Node) -> None:
        """Note that a parameter of a type gets an address of no type."""

    def _kept_addresses(
        self, node: Node, name: str, arguments: list[Node], values: list[list[Address]]
    ) -> list[Address]:
        """Note what a function keeps behind a key or in a tree; return what it returns of it."""
        if name in _QUEUES:
            word = self._word
            every = [each.shift(step) for each in values[0] for step in (0, word)] if values else []
            self.flows.accesses += [Access(each, word, *self._place(node)) for each in every]
        if len(arguments) < 1 + (name not in _KEY_READS):
            return []
        if name in _KEY_READS or name in _KEY_WRITES or name in _KEY_MAKERS:
            return self._keyed_addresses(node, name, arguments, values)
        if name in _TREES or name in _TREE_WALKS:
            root = self._kept_slot(arguments[name in _TREES])
            if name == "tsearch":
                self.flows.moves += [Move(root, each) for each in values[0]]
            if name in _TREE_WALKS:
                kept = Address(root, 0) if name == "tdestroy" else Address(root.address, 0)
                self._give_first(arguments[1], kept)
            return [Address(root.address, 0)] if name in _TREES else []
        return []

    def _keyed_addresses(
        self, node: Node, name: str, arguments: list[Node], values: list[list[Address]]
    ) -> list[Address]:
        slot = self._kept_slot(arguments[0])
        if name in _KEY_WRITES:
            self.flows.moves += [Move(slot, each) for each in values[1]]
        elif name in _KEY_MAKERS:
            self._give_first(arguments[1], Address(slot, 0))
        return [Address(slot, 0)] if name in _KEY_READS else []

    def _kept_slot(self, node: Node) -> Slot:
        """Return the slot for what a variable is a key for, or the root of; `&key` is the same one."""
        node = skip_layers(node)
        if node.kind == syntax.UNARY and node.children:
            node = node.children[0]
        slot = self._slot(node)
        return (Slot("variable", "", 0) if slot is None else slot).behind

    def _give_first(self, function: Node, address: Address) -> None:
        """Note that the first parameter of a function that is an argument gets an address."""
        target = self._facts.function_in(function)
        types = [] if target is None else self._parameter_types(target)
        if target is not None and types:
            self._give(self._facts.key(target.reference), 0, self._canonical(types[0]), address, function)

    def _access_elsewhere(self, node: Node, target: Node, position: int, addresses: list[Address]) -> None:
        """Note that a function without a body uses as many bytes as its parameter's type has."""
        declared = self._lib.clang_Cursor_getArgument(target.reference, position)
        type_ = self._lib.clang_getCursorType(declared)
        canonical = self._canonical(type_)
        if canonical.kind == syntax.POINTER:
            type_ = canonical = self._pointee(canonical)
        elif canonical.kind not in syntax.ARRAYS:
            return
        element = self._element(canonical) if canonical.kind in syntax.ARRAYS else canonical
        if element.kind not in SCALARS and element.kind != syntax.POINTER:
            return
        size = int(self._lib.clang_Type_getSizeOf(type_))
        if size > 1:
            self.flows.accesses += [Access(each, size, *self._place(node)) for each in addresses]

    def _count_bytes(self, number: Node, addresses: list[Address], is_index: bool = False) -> None:
        """Note that as many bytes at an address are taken as a parameter says, or the one behind them."""
        parameter = self._numbers.parameter(number)
        if parameter is not None:
            slot = self._variable_slot(parameter.reference)
            self.flows.counts += [Count(each, slot, 1, is_index) for each in addresses]

    def _count_recursion(self, name: str, arguments: list[Node], values: list[list[Address]]) -> None:
        """Note that a function which calls itself moves a pointer and counts down as a loop does."""
        counted = [slot for each in arguments if (slot := self._counted_down(each)) is not None]
        for position, addresses in enumerate(values):
            own = Slot("parameter", name, position)
            steps = [each.offset for each in addresses if each.term == own and each.offset]
            self.flows.counts += [Count(Address(own, 0), slot, step) for slot in counted for step in steps]

    def _counted_down(self, argument: Node) -> Slot | None:
        """Return the parameter that an argument is less 1; None for others."""
        argument = skip_layers(argument)
        if argument.kind != syntax.BINARY or argument.binary_operator != syntax.SUBTRACT:
            return None
        left, right = argument.children
        parameter = self._numbers.parameter(left) if self._number(right) == 1 else None
        return None if parameter is None else self._variable_slot(parameter.reference)
