"""The `asm` statements of a function: what each does to its operands.

libclang 18 shows the operands, without their constraints and the instructions. clang prints them with the
function, macros expanded.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from layoutlint.model.uses import Effect
from layoutlint.readers.c_tokens import LONE_QUOTE, STRING
from layoutlint.readers.clang import libclang
from layoutlint.readers.clang.libclang import Cursor
from layoutlint.sources.bodies import syntax
from layoutlint.sources.bodies.trees import Node, find

_LITERAL = f"{STRING}|{LONE_QUOTE}"
_TOKEN = re.compile(
    rf"""{_LITERAL}|(?P<asm>\basm (?:volatile )?(?P<goto>goto )?\()|[()\[\]:]""",
    re.DOTALL,
)
_OUTSIDE = re.compile(
    rf"""{_LITERAL}|asm(?<!\wasm) (?P<asm>)(?:volatile )?(?:goto )?\(""", re.DOTALL
)
"""What begins an `asm` statement, and the texts in which that means nothing.

Each begins with a character that few others do, for which `re` searches fast.
"""
_ESCAPE = re.compile(r"\\[nrtvf]")
_MEMORY = frozenset("moVgQATZ")
"""The letters of constraints that allow memory: GCC's, `Q` of arm64 and s390, `A` of RISC-V, `Z` of POWER."""
_ATOMIC = re.compile(
    r"\block\b"  # x86
    r"|\bxchg[bwlq]?\b"  # x86, locked without a prefix
    r"|\b(?:ld|st)(?:a|l)?(?:x[rp]|rex)[bhd]?\b"  # arm: exclusive loads and stores
    r"|\b(?:(?:ld|st)(?:add|clr|eor|set|[su]max|[su]min)|swp|casp?)(?:a|l|al)?[bhp]?\b"  # arm64: LSE
    r"|\bamo[a-z.]+|\b(?:lr|sc)\.[wd]"  # RISC-V
    r"|\bl[bhwd]arx\b|\bst[bhwd]cx"  # POWER
    r"|\bla(?:a|al|n|o|x)g?\s+%|\bcd?sg?y?\s+%"  # s390
    r"|\b(?:ll|sc)[d.]?[wd]?\s+[%$]|\bam(?:add|swap|and|or|xor|cas|max|min)\w*\.[bhwd]"  # MIPS, LoongArch
)  # fmt: skip


class Assembly(NamedTuple):
    """An `asm` statement."""

    template: str
    outputs: tuple[str, ...]
    """The constraints."""
    inputs: tuple[str, ...]
    is_goto: bool = False

    def effects(self, operand: int) -> tuple[Effect, ...]:
        """Return what it does to an operand, outputs first, that is an object.

        An atomic instruction without an output in memory changes an input: Linux writes `set_bit` so.
        """
        is_atomic = _ATOMIC.search(self.template) is not None
        if operand < len(self.outputs):
            constraint = self.outputs[operand]
            if is_atomic and _is_memory(constraint):
                return (Effect.ATOMIC,)
            if not constraint.startswith("+"):
                return (Effect.WRITE,)
            return (Effect.READ, Effect.WRITE) if self.template.strip() else (Effect.READ,)
        is_input = operand - len(self.outputs) < len(self.inputs)
        changes = is_atomic and is_input and not any(map(_is_memory, self.outputs))
        is_changed = changes and _is_memory(self.inputs[operand - len(self.outputs)])
        return (Effect.ATOMIC,) if is_changed else (Effect.READ,)

    def fits(self, node: Node) -> bool:
        """Return whether a node has as many operands; the labels of `asm goto` follow these."""
        operands = len(self.outputs) + len(self.inputs)
        return operands <= len(node.children) if self.is_goto else operands == len(node.children)


def _is_memory(constraint: str) -> bool:
    return not _MEMORY.isdisjoint(constraint)


def match(lib: Any, function: Cursor, body: Node) -> dict[int, Assembly]:
    """Return the `asm` statements of a function by the identity of their nodes.

    Those that clang prints otherwise than libclang shows them are left out.
    """
    printed = parse(libclang.pretty_print(lib, function, is_terse=False))
    matches: dict[int, Assembly] = {}
    place = 0
    for node in find(body, syntax.ASM):
        fitting = (at for at in range(place, len(printed)) if printed[at].fits(node))
        at = next(fitting, None)
        if at is not None:
            matches[id(node)] = printed[at]
            place = at + 1
    return matches


class _Open:
    """An `asm` statement whose end was not reached: the strings of each section between colons."""

    def __init__(self, depth: int, is_goto: bool) -> None:
        self.depth, self.is_goto = depth, is_goto
        self.sections: list[list[str]] = [[]]

    def close(self) -> Assembly:
        template, outputs, inputs = (*self.sections, [], [])[:3]
        return Assembly(_ESCAPE.sub(" ", "".join(template)), tuple(outputs), tuple(inputs), self.is_goto)


def parse(text: str) -> list[Assembly]:
    """Return the `asm` statements in the text of a function, an outer one before those in its operands."""
    every: list[_Open] = []
    end = 0
    while found := _OUTSIDE.search(text, end):
        end = found.end() if found["asm"] is None else _parse_statement(text, found.start(), every)
    return [each.close() for each in every]


def _parse_statement(text: str, start: int, every: list[_Open]) -> int:
    """Add the `asm` statement that begins at a place, and those in its operands; return where it ends."""
    stack: list[_Open] = []
    depth = 0
    for token in _TOKEN.finditer(text, start):
        first = token[0][0]
        inner = stack[-1] if stack and stack[-1].depth == depth else None
        if token["asm"] or first in "([":
            depth += 1
            if token["asm"]:
                stack.append(_Open(depth, token["goto"] is not None))
                every.append(stack[-1])
        elif first in ")]":
            depth -= 1
            if inner is not None:
                stack.pop()
                if not stack:
                    return token.end()
        elif inner is not None and first == ":":
            inner.sections.append([])
        elif inner is not None and first == '"':
            inner.sections[-1].append(token[0][1:-1])
    return len(text)
