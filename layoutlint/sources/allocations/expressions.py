"""The size arguments of allocation calls: which object they name, and how many."""

from __future__ import annotations

import re

from layoutlint.model.record import Record

_TOKEN = re.compile(r"\w+|->|<<|>>|&&|\|\||[^\s\w]")
_OPEN, _CLOSE = "([{", ")]}"
_NONE_BEHIND, _NONE_BEFORE = ("(", "[", ".", "->"), (")", "]", "[", ".", "->", ",", ";")
_NUMBER = re.compile(r"(0[xX][0-9a-fA-F]{1,15}|0|[1-9][0-9]{0,17})[uUlL]*")
_OTHER = ("+", "-", "/", "%", "?", "|", "&", "<", ">", "<<", ">>", "==", "=", ",")
"""Operators that make a product no product."""

Tokens = tuple[str, ...]


class ObjectSize(Record, frozen=True):
    """The size of some objects of the type or expression that some tokens name."""

    operand: Tokens
    """The operand of `sizeof`: a type or an expression."""
    count: int | None = None
    """The number of objects; 0 if the text does not state it; None if they form no array."""
    problem: str = ""
    """Why it is not the size of objects alone."""


def tokens(text: str) -> Tokens:
    """Split C source into words and operators."""
    return tuple(_TOKEN.findall(text))


def spell(words: Tokens) -> str:
    """Return tokens as one writes them: no space in parentheses, before those of a call, or after a unary
    operator.
    """
    text, previous = "", ""
    for index, token in enumerate(words):
        is_prefix = previous in ("*", "&", "!", "-") and not _ends_operand(words[: index - 1])
        is_call = token == "(" and (previous == "sizeof" or previous.isidentifier())
        if text and not (is_prefix or is_call or previous in _NONE_BEHIND or token in _NONE_BEFORE):
            text += " "
        text, previous = text + token, token
    return text


def number(argument: Tokens) -> int | None:
    """Return the value of a literal number; None for anything else."""
    argument = strip_parentheses(argument)
    literal = _NUMBER.fullmatch(argument[0]) if len(argument) == 1 else None
    return int(literal[1], 0) if literal is not None else None


def strip_parentheses(words: Tokens) -> Tokens:
    """Return tokens without the parentheses around all of them."""
    while len(words) > 1 and words[0] == "(" and _closing_index(words, 0) == len(words) - 1:
        words = words[1:-1]
    return words


def size(argument: Tokens, count: Tokens | None = None) -> ObjectSize | None:
    """Return what the size argument of an allocation means; None if it names no type.

    `count` is the argument with the number of objects, as in kcalloc.
    """
    argument = strip_parentheses(argument)
    result = _size_macro(argument) or _product(argument)
    if result is None:
        return compound_size(argument) if {"sizeof", "struct_size"} & set(argument) else None
    if count is None or (result.count is not None and number(count) == 1):
        return result
    if result.count is None:
        length = number(count)
        return ObjectSize(result.operand, None if length == 1 else length or 0, result.problem)
    return ObjectSize(result.operand, 0, result.problem)


def compound_size(argument: Tokens) -> ObjectSize:
    """Return a size other than that of one struct; its operand is a struct if the size names only one."""
    tags = [argument[at : at + 3] for at, word in enumerate(argument) if word in ("struct", "union")]
    types = {tag[:2] for tag in tags if tag[2:] == (")",)}
    return ObjectSize(types.pop() if len(types) == 1 else (), problem=f"the size is `{spell(argument)}`")


def _size_macro(call: Tokens) -> ObjectSize | None:
    """Return the size that `struct_size(p, member, n)` or `array_size(n, sizeof(*p))` names."""
    if len(call) < 4 or call[1] != "(" or _closing_index(call, 1) != len(call) - 1:
        return None
    call_arguments = split(call[2:-1], ",")
    if call[0] == "struct_size" and len(call_arguments) == 3:
        return ObjectSize(
            ("*", "(", *call_arguments[0], ")") if len(call_arguments[0]) > 1 else ("*", *call_arguments[0])
        )
    if call[0] == "struct_size_t" and len(call_arguments) == 3:
        return ObjectSize(call_arguments[0])
    if call[0] in ("array_size", "size_mul") and len(call_arguments) == 2:
        sizes = [part for part in call_arguments if "sizeof" in part]
        inner = _product(strip_parentheses(sizes[0])) if len(sizes) == 1 else None
        return (
            None
            if inner is None
            else ObjectSize(inner.operand, 0 if inner.count else _count_factor(call_arguments, sizes[0]))
        )
    return None


def _count_factor(factors: list[Tokens], size_factor: Tokens) -> int:
    other = factors[1] if factors[0] is size_factor else factors[0]
    return number(other) or 0


def _product(expression: Tokens) -> ObjectSize | None:
    """Return the size that `sizeof(x)`, or a product with it, names."""
    factors = split(expression, "*", is_binary=True)
    sizes = [factor for factor in factors if strip_parentheses(factor)[:1] == ("sizeof",)]
    if len(sizes) != 1 or any("sizeof" in factor for factor in factors if factor is not sizes[0]):
        return None
    operand = _operand(strip_parentheses(sizes[0]))
    if operand is None or any(len(split(factor, sign)) > 1 for factor in factors for sign in _OTHER):
        return None
    if len(factors) == 1:
        return ObjectSize(operand)
    return ObjectSize(
        operand, (number(next(f for f in factors if f is not sizes[0])) or 0) if len(factors) == 2 else 0
    )


def _operand(expression: Tokens) -> Tokens | None:
    """Return the operand of `sizeof`; None if more tokens follow it."""
    rest = expression[1:]
    if rest[:1] == ("(",):
        return strip_parentheses(rest) if _closing_index(rest, 0) == len(rest) - 1 else None
    return rest if rest else None


def split(words: Tokens, sign: str, *, is_binary: bool = False) -> list[Tokens]:
    """Split tokens at an operator outside of parentheses; a binary one has an operand before it."""
    parts, depth, start = [], 0, 0
    for at, token in enumerate(words):
        if token in _OPEN:
            depth += 1
        elif token in _CLOSE:
            depth -= 1
        elif depth == 0 and token == sign and (not is_binary or _ends_operand(words[start:at])):
            parts.append(words[start:at])
            start = at + 1
    return [*parts, words[start:]]


def _ends_operand(words: Tokens) -> bool:
    last = words[-1] if words else ""
    return last in (")", "]") or (last.isidentifier() and last != "sizeof") or last[:1].isdigit()


def _closing_index(words: Tokens, at: int) -> int:
    """Return the index of the parenthesis that closes the one at `at`; -1 if there is none."""
    depth = 0
    for index in range(at, len(words)):
        depth += (words[index] in _OPEN) - (words[index] in _CLOSE)
        if depth == 0:
            return index
    return -1
