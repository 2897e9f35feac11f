"""What the arguments of a call say: whose size is asked for, and how many of them."""

from __future__ import annotations

import re
from dataclasses import dataclass

_TOKEN = re.compile(r"\w+|->|<<|>>|&&|\|\||[^\s\w]")
_OPEN, _CLOSE = "([{", ")]}"
_NONE_BEHIND, _NONE_BEFORE = ("(", "[", ".", "->"), (")", "]", "[", ".", "->", ",", ";")
_MOST = 2000
"""Characters of a call that are looked at."""
_NUMBER = re.compile(r"(0[xX][0-9a-fA-F]{1,15}|0|[1-9][0-9]{0,17})[uUlL]*")
_OTHER = ("+", "-", "/", "%", "?", "|", "&", "<", ">", "<<", ">>", "==", "=", ",")
"""Signs with which a product is no product."""

Tokens = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Size:
    """The size of so many objects of what some tokens name."""

    operand: Tokens
    """A type or an expression, as it stands in `sizeof`."""
    count: int | None = None
    """How many; 0 where the text does not tell; None where it is no array."""
    problem: str = ""
    """Why it is not the size of objects alone."""


def tokens(text: str) -> Tokens:
    """A piece of C as its words and signs."""
    return tuple(_TOKEN.findall(text))


def spelled(said: Tokens) -> str:
    """Tokens as one writes them: no space in parentheses, before those of a call, or behind a lone star."""
    text, before = "", ""
    for at, token in enumerate(said):
        is_prefix = before in ("*", "&", "!", "-") and not _ends_operand(said[: at - 1])
        is_call = token == "(" and (before == "sizeof" or before.isidentifier())
        if text and not (is_prefix or is_call or before in _NONE_BEHIND or token in _NONE_BEFORE):
            text += " "
        text, before = text + token, token
    return text


def arguments(text: str, at: int) -> tuple[list[str], int] | None:
    """The arguments behind an opening parenthesis, and where they end; None when they do not end."""
    found: list[str] = []
    depth, start = 0, at + 1
    for sign in re.compile(r"[(){}\[\],;]").finditer(text, at, at + _MOST):
        if sign[0] in _OPEN:
            depth += 1
        elif sign[0] in _CLOSE:
            depth -= 1
            if depth == 0:
                return [*found, text[start : sign.start()]], sign.end()
        elif depth == 1 and sign[0] == ",":
            found.append(text[start : sign.start()])
            start = sign.end()
    return None


def number(said: Tokens) -> int | None:
    """A number that is written out; None for anything else."""
    said = bare(said)
    found = _NUMBER.fullmatch(said[0]) if len(said) == 1 else None
    return int(found[1], 0) if found is not None else None


def bare(said: Tokens) -> Tokens:
    """Tokens without parentheses around all of them."""
    while len(said) > 1 and said[0] == "(" and _closing(said, 0) == len(said) - 1:
        said = said[1:-1]
    return said


def size(said: Tokens, count: Tokens | None = None) -> Size | None:
    """What the size argument of an allocation means; None when it names no type.

    `count` is another argument: that of kcalloc, which says how many.
    """
    said = bare(said)
    found = _called(said) or _product(said)
    if found is None:
        return not_alone(said) if {"sizeof", "struct_size"} & set(said) else None
    if count is not None and found.count is None:
        return Size(found.operand, number(count) or 0, found.problem)
    return Size(found.operand, 0, found.problem) if count is not None else found


def not_alone(said: Tokens) -> Size:
    """A size that is no struct's alone; of one struct, if no more are named."""
    tags = [said[at : at + 3] for at, word in enumerate(said) if word in ("struct", "union")]
    named = {tag[:2] for tag in tags if tag[2:] == (")",)}
    return Size(named.pop() if len(named) == 1 else (), problem=f"the size is `{spelled(said)}`")


def _called(said: Tokens) -> Size | None:
    """`struct_size(p, member, n)` and `array_size(n, sizeof(*p))`."""
    if len(said) < 4 or said[1] != "(" or _closing(said, 1) != len(said) - 1:
        return None
    given = split(said[2:-1], ",")
    if said[0] == "struct_size" and len(given) == 3:
        return Size(("*", "(", *given[0], ")") if len(given[0]) > 1 else ("*", *given[0]))
    if said[0] == "struct_size_t" and len(given) == 3:
        return Size(given[0])
    if said[0] in ("array_size", "size_mul") and len(given) == 2:
        sized = [part for part in given if "sizeof" in part]
        inner = _product(bare(sized[0])) if len(sized) == 1 else None
        return None if inner is None else Size(inner.operand, 0 if inner.count else _times(given, sized[0]))
    return None


def _times(given: list[Tokens], sized: Tokens) -> int:
    other = given[1] if given[0] is sized else given[0]
    return number(other) or 0


def _product(said: Tokens) -> Size | None:
    """`sizeof(x)`, or that times something."""
    factors = split(said, "*", is_binary=True)
    sized = [factor for factor in factors if bare(factor)[:1] == ("sizeof",)]
    if len(sized) != 1 or any("sizeof" in factor for factor in factors if factor is not sized[0]):
        return None
    operand = _operand(bare(sized[0]))
    if operand is None or any(len(split(factor, sign)) > 1 for factor in factors for sign in _OTHER):
        return None
    if len(factors) == 1:
        return Size(operand)
    return Size(
        operand, (number(next(f for f in factors if f is not sized[0])) or 0) if len(factors) == 2 else 0
    )


def _operand(said: Tokens) -> Tokens | None:
    """What stands behind `sizeof`; None when more stands behind it."""
    rest = said[1:]
    if rest[:1] == ("(",):
        return bare(rest) if _closing(rest, 0) == len(rest) - 1 else None
    return rest if rest else None


def split(said: Tokens, sign: str, *, is_binary: bool = False) -> list[Tokens]:
    """Tokens cut at a sign outside of parentheses; a binary one has an operand before it."""
    parts, depth, start = [], 0, 0
    for at, token in enumerate(said):
        if token in _OPEN:
            depth += 1
        elif token in _CLOSE:
            depth -= 1
        elif depth == 0 and token == sign and (not is_binary or _ends_operand(said[start:at])):
            parts.append(said[start:at])
            start = at + 1
    return [*parts, said[start:]]


def _ends_operand(before: Tokens) -> bool:
    last = before[-1] if before else ""
    return last in (")", "]") or (last.isidentifier() and last != "sizeof") or last[:1].isdigit()


def _closing(said: Tokens, at: int) -> int:
    """Where the parenthesis that opens at a place closes; -1 when it does not."""
    depth = 0
    for here in range(at, len(said)):
        depth += (said[here] in _OPEN) - (said[here] in _CLOSE)
        if depth == 0:
            return here
    return -1
