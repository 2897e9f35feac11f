"""The names of the atomic loads and stores of a function.

libclang shows `__atomic_load(from, to, order)` like `__atomic_store(to, from, order)`, and like
`__atomic_store_n(to, pointer, order)`. clang prints their names with the function, macros expanded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from layoutlint.readers.c_tokens import LONE_QUOTE, STRING
from layoutlint.readers.clang import libclang
from layoutlint.readers.clang.libclang import Cursor
from layoutlint.sources.bodies import syntax
from layoutlint.sources.bodies.trees import Node

_NAME = re.compile(
    rf"""{STRING}|{LONE_QUOTE}|\b(?P<name>__c11_atomic_store|__(?:scoped_)?atomic_(?:load|store|store_n))\(""",
    re.DOTALL,
)
"""The builtins that return nothing and have three operands, and literals, in which no name counts."""


def match(lib: Any, function: Cursor, body: Node) -> dict[int, str]:
    """Return the names of builtins by the identities of their nodes; none if clang prints others."""
    printed = libclang.pretty_print(lib, function, is_terse=False)
    names = [each["name"] for each in _NAME.finditer(printed) if each["name"]]
    nodes = list(_candidates(body))
    if len(names) != len(nodes):
        return {}
    return {id(node): name for node, name in zip(nodes, names, strict=True)}


def is_candidate(node: Node) -> bool:
    """Return whether a node can be such a load, or a store."""
    return node.kind == syntax.UNEXPOSED and len(node.children) == 3 and node.type_kind == syntax.VOID


def _candidates(node: Node) -> Iterator[Node]:
    """Yield the loads and stores below a node in the order of the text."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if is_candidate(each):
            yield each
        waiting += reversed(each.children)
