"""The elements of arrays that functions of C text write, and those whose locks they take."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from enum import Enum
from operator import attrgetter
from typing import NamedTuple

from layoutlint.model.uses import words_of
from layoutlint.sources.source_uses.functions import Function, SourceFunctions, closing, split_arguments

_DEEPEST = 3
"""The most calls through which the address of an element is followed."""
_MOST_TARGETS = 3
"""The most functions of one name that are looked at."""
_SUBSCRIPT = re.compile(r"\b([A-Za-z_]\w*)\s*\[")
_LONGEST_INDEX = 400
"""The most characters of an index."""
_FAR = 120
"""The number of characters before the address of an element that can be a call, or what it is assigned to."""
_WORD_END = re.compile(r"(?<!\w)\w++\Z")
_STORE = re.compile(r"\s*(?:[-+*/%&|^]?=(?!=)|<<=|>>=|\+\+|--)")
_MEMBER = re.compile(r"\s*\.\s*\w+")
_OPEN = re.compile(r"\s*\[")
_ALIAS = re.compile(r"(?<!\w)(\w++)\s*+=\s*+(?:\([^()]*+\)\s*+)?\Z")
_CHANGES = re.compile(
    r"(?<![cb])lock|add|inc|dec|sub|set|xchg|exchange|swap|cas|put|push|pop|append|insert|remove|update|write|store|"
    r"count|start|stop|memcpy|sprintf",
    re.IGNORECASE,
)
"""In the names of functions without a body here that change what they get the address of."""
_ATOMIC = re.compile(r"atomic|(?:^|_)(?:cmp)?xchg|^__sync_|(?:^|_)CAS(?:_|$)", re.IGNORECASE)
_ONLY_READS = re.compile(r"(?:^|_)(?:load|read|init)(?:_|$)|(?:^|_)(?:get|peek)$|(?:^|_)atomic_fetch$")
"""In the words of those atomics."""
_SETS_UP = re.compile(r"(?:^|_)(?:init|initialize|destroy|free|attr)(?:_|$)", re.IGNORECASE)
_READS = re.compile(r"(?:^|_)(?:read|load|get|peek|is|count|print\w*|memcmp|dump|show)(?:_|$)", re.IGNORECASE)
_POINTED = re.compile(r"\s*+\){0,32}+\s*+(?:->\s*+\w++|\[)")
_ASSIGNED = re.compile(r"\s*=(?!=)")
_ENDS_VALUE = re.compile(r"\s*+[;,]")
_CLOSED = re.compile(r"\s*+\)")
_CALL = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
_NO_CALLS = frozenset(("if", "while", "for", "switch", "return", "sizeof", "defined", "assert", "Assert"))
_LOCK = re.compile(
    r"(?:^|_)(?:try|timed|rd|wr|read|write|spin|mutex)?_?lock(?:_\w{1,64})?\Z|(?:^|_)(?:acquire|enter)(?:_|\Z)|"
    r"lock\Z|Acquire\w{0,64}\Z|Lock\Z"
)
_NO_LOCK = re.compile(r"un_?lock|release|init|destroy|is_lock|wait", re.IGNORECASE)


class Element(NamedTuple):
    """An element of an array that an expression names: `stats.packets[i]`."""

    array: str
    """The name of the array: of a variable, or of a member."""
    receiver: str | None
    """The name before that of a member; None for a variable."""
    subscript: str
    """The index, without spaces."""
    start: int
    """The offset of the whole expression, and of its end, with the members of the element."""
    end: int
    is_address: bool = False
    """Whether the expression is the address of the element: `array + i`."""

    @property
    def text(self) -> str:
        """The element as notes name it."""
        return f"{self.array}[{self.subscript}]"


class Manner(Enum):
    """The way in which an element is written."""

    STORE = "store"
    """A plain `=`, with which objects are also set up."""
    CHANGE = "change"
    """By an operator as `+=`, or a function that gets the address."""
    ATOMIC = "atomic"


class Write(NamedTuple):
    """A write of an element."""

    element: Element
    at: int
    """The offset of the write in the function."""
    manner: Manner


def elements(function: Function, name: str | None = None) -> Iterator[Element]:
    """Yield the elements of arrays that a function names, or of those with one name."""
    text = function.text
    pattern = _SUBSCRIPT if name is None else re.compile(rf"({name})\s*\[")
    for match in pattern.finditer(text):
        if _is_inside_word(text, match.start()):
            continue
        end = closing(text, match.end() - 1, _LONGEST_INDEX) + 1
        if end - match.end() >= _LONGEST_INDEX:
            continue
        index = "".join(text[match.end() : end - 1].split())
        start, receiver = _beginning(text, match.start())
        if index and receiver != "":
            yield Element(match[1], receiver, index, start, _end_of(text, end))
    if name is not None and "+" in text:
        yield from _sums(text, name)


def _sums(text: str, name: str) -> Iterator[Element]:
    """Yield the elements of an array whose addresses are sums."""
    for match in re.finditer(rf"({name})\s*+\+(?![+=])\s*+([^,;()+=]++)(?=[,;)])", text):
        if not _is_inside_word(text, match.start()):
            start, receiver = _beginning(text, match.start())
            before = text[max(0, start - _FAR) : start].rstrip()
            if receiver != "" and before.endswith(("(", ",", "=", ")")) and not before.endswith(("*(", "==")):
                yield Element(match[1], receiver, "".join(match[2].split()), start, match.end(), True)


def _is_inside_word(text: str, at: int) -> bool:
    """Return whether a word goes on at an offset. An expression that begins with a word is found faster."""
    before = text[at - 1 : at]
    return before.isalnum() or before == "_"


def _beginning(text: str, at: int) -> tuple[int, str | None]:
    """Return where the expression with a name begins, and the name before a member.

    None if the name is that of a variable; empty if the member is that of something without a name.
    """
    receiver: str | None = None
    while (length := _arrow_before(text, at)) is not None:
        place = (
            len(text[:at].rstrip()) - length
            if at < _FAR
            else at - _FAR + len(text[at - _FAR : at].rstrip()) - length
        )
        while (sign := text[place - 1 : place]) and (sign.isspace() or sign in ")]"):
            opening = _opening(text, place - 1) if sign == "]" else place - 1
            if opening is None:
                return at, "" if receiver is None else receiver
            place = opening
        word = _WORD_END.search(text, max(0, place - _FAR), place)
        if word is None:
            return at, "" if receiver is None else receiver
        receiver, at = receiver or word[0], word.start()
    return at, receiver


def _arrow_before(text: str, at: int) -> int | None:
    """Return the length of the `->` or `.` before an offset; None without one."""
    before = text[max(0, at - _FAR) : at].rstrip()
    return 2 if before.endswith("->") else 1 if before.endswith(".") else None


def _opening(text: str, at: int) -> int | None:
    """Return the offset of the bracket that the one at an offset closes; None if it is far away."""
    depth = 0
    for place in range(at, max(-1, at - _FAR), -1):
        depth += {"]": 1, "[": -1}.get(text[place], 0)
        if depth == 0:
            return place
    return None


def _sign_before(text: str, at: int) -> tuple[str, int]:
    """Return the `&`, `*`, `++` or `--` before an expression, through parentheses, with its offset.

    The sign is empty if there is none.
    """
    before = text[max(0, at - _FAR) : at].rstrip(" \t\n(")
    sign = next((each for each in ("&&", "++", "--", "&", "*") if before.endswith(each)), "")
    return sign, max(0, at - _FAR) + len(before) - len(sign)


def _end_of(text: str, at: int) -> int:
    """Return the end of an element with its members: of `a[i].b[2]`, not beyond a pointer in it."""
    while True:
        member, more = _MEMBER.match(text, at), _OPEN.match(text, at)
        if member is not None:
            at = member.end()
        elif more is not None:
            at = closing(text, more.end() - 1) + 1
        else:
            return at


_Place = tuple[int, Manner]
"""The offset of a write, and its manner."""


class Writes:
    """The writes of elements in some functions."""

    def __init__(self, functions: SourceFunctions) -> None:
        self._functions = functions
        self._changed: dict[tuple[Function, int, int], bool] = {}

    def of_element(self, function: Function, element: Element) -> Iterator[Write]:
        """Yield the writes of an element, also through pointers to it."""
        for at, manner in self._writes_of(function, element):
            yield Write(element, at, manner)

    def _writes_of(self, function: Function, element: Element) -> Iterator[_Place]:
        text = function.text
        sign, place = ("&", element.start) if element.is_address else _sign_before(text, element.start)
        stored = _manner_of_store(text, element.end, sign)
        if stored is not None:
            yield element.start, stored
        elif sign == "&":
            alias = _ALIAS.search(text, max(0, place - _FAR), place)
            if alias is not None:
                yield from self._writes_through(function, alias[1], element.end, 0)
            else:
                changed = self._manner_of_call(function, element.start, 0)
                yield from () if changed is None else ((element.start, changed),)

    def _writes_through(self, function: Function, pointer: str, start: int, depth: int) -> Iterator[_Place]:
        """Yield the writes of what a pointer points to, up to the next value that it gets."""
        text = function.text
        for match in re.compile(rf"{pointer}\b").finditer(text, start):
            if _is_inside_word(text, match.start()) or _arrow_before(text, match.start()) is not None:
                continue
            sign, place = _sign_before(text, match.start())
            access = _POINTED.match(text, match.end())
            end = match.end() if access is None else _end_of(text, _end_of_pointed(text, access))
            is_object = access is not None or sign == "*"
            if not is_object and _ASSIGNED.match(text, match.end()) and not sign:
                return
            alias = _ALIAS.search(text, max(0, match.start() - _FAR), match.start())
            is_copied = alias is not None and not is_object and _ENDS_VALUE.match(text, match.end())
            if is_copied and alias is not None and depth < _DEEPEST:
                yield from self._writes_through(function, alias[1], match.end(), depth + 1)
                continue
            manner = _manner_of_store(text, *_whole_object(text, end, sign, place)) if is_object else None
            if manner is None and (not is_object or sign == "&"):
                manner = self._manner_of_call(function, match.start(), depth)
            if manner is not None:
                yield match.start(), manner

    def through_parameter(self, function: Function, position: int, depth: int = 1) -> Iterator[_Place]:
        """Yield the writes of what a parameter of a function points to."""
        parameters = function.parameters
        if position < len(parameters) and parameters[position]:
            start = function.text.find("{") if not function.is_macro else len(function.name) + 8
            yield from self._writes_through(function, parameters[position], start, depth)

    def _manner_of_call(self, function: Function, at: int, depth: int) -> Manner | None:
        """Return how the call that gets the address at an offset changes the object; None if it does not."""
        call = call_around(function.text, at)
        if call is None or depth >= _DEEPEST or _SETS_UP.search(call[0]):
            return None
        name, position = call
        if _ATOMIC.search(name):
            return None if _ONLY_READS.search(words_of(name)) else Manner.ATOMIC
        targets = [f for f in self._functions.functions_with_word(name) if f.name == name]
        if not targets:
            return Manner.CHANGE if _CHANGES.search(name) and not _READS.search(name) else None
        is_changed = any(self._changes_argument(each, position, depth) for each in targets[:_MOST_TARGETS])
        return Manner.CHANGE if is_changed else None

    def _changes_argument(self, function: Function, position: int, depth: int) -> bool:
        key = function, position, depth
        if key not in self._changed:
            self._changed[key] = any(True for _ in self.through_parameter(function, position, depth + 1))
        return self._changed[key]


def _end_of_pointed(text: str, access: re.Match[str]) -> int:
    """Return the end of `pointer->member` or `pointer[index]`."""
    return access.end() if access[0][-1] != "[" else closing(text, access.end() - 1) + 1


def _whole_object(text: str, end: int, sign: str, place: int) -> tuple[int, str]:
    """Return the end of `*pointer` with parentheses around it, and the sign before."""
    if sign != "*":
        return end, sign
    before = text[max(0, place - _FAR) : place].rstrip()
    closed = _CLOSED.match(text, end)
    if closed is not None and before.endswith("(") and not before[-2:-1].isalnum():
        return closed.end(), sign
    return end, before[-2:] if before.endswith(("++", "--")) else sign


def _manner_of_store(text: str, end: int, sign: str) -> Manner | None:
    """Return how an expression with an end, and a sign before it, is written; None if it is not."""
    store = _STORE.match(text, end)
    if store is None:
        return Manner.CHANGE if sign in ("++", "--") else None
    return Manner.STORE if store[0].strip() == "=" else Manner.CHANGE


def call_around(text: str, at: int) -> tuple[str, int] | None:
    """Return the function that gets what is at an offset, and the position of the argument."""
    depth, position = 0, 0
    for offset in range(at - 1, max(-1, at - 400), -1):
        sign = text[offset]
        if sign in ")]":
            depth += 1
        elif sign in "([":
            if depth == 0:
                name = re.search(r"\b([A-Za-z_]\w*+)\s*+\Z", text[max(0, offset - _FAR) : offset])
                if sign == "[" or (name is not None and name[1] in _NO_CALLS):
                    return None
                if name is not None:
                    return name[1], position
                position = 0
            else:
                depth -= 1
        elif depth == 0 and sign == ",":
            position += 1
        elif sign in ";{}":
            return None
    return None


_START = attrgetter("start")


class Held(NamedTuple):
    """A lock of an array that a function takes."""

    lock: Element
    at: int


def locks(function: Function) -> Iterator[Held]:
    """Yield the elements of arrays that a function takes as locks, or whose lock it takes."""
    text = function.text
    takers = [each for each in _CALL.finditer(text) if _LOCK.search(each[1]) and not _NO_LOCK.search(each[1])]
    some = sorted(elements(function), key=_START) if takers else []
    for call in takers:
        first = bisect_left(some, call.end(), key=_START)
        if first < len(some) and some[first].start < closing(text, call.end() - 1):
            yield Held(some[first], call.start())


def calls(function: Function) -> Iterator[tuple[str, tuple[str, ...], int]]:
    """Yield the calls in a function: the name, the arguments, and the offset."""
    start = function.text.find("{")
    for call in _CALL.finditer(function.text, max(0, start)):
        if call[1] not in _NO_CALLS:
            yield call[1], split_arguments(function.text, call.end() - 1), call.start()
