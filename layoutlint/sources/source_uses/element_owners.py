"""Arrays of which different threads write different elements, as C text shows it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import islice

from layoutlint.model.record import Record, replace
from layoutlint.model.uses import THREAD_STARTERS
from layoutlint.sources.source_uses.element_writes import (
    Element,
    Held,
    Manner,
    Write,
    Writes,
    call_around,
    calls,
    elements,
    locks,
)
from layoutlint.sources.source_uses.field_uses import declared_types
from layoutlint.sources.source_uses.functions import Function, SourceFunctions, closing
from layoutlint.sources.source_uses.thread_values import ThreadValues

_LOOP = re.compile(r"\b(?:for|while|(?>\w*?(?:foreach|FOREACH|for_each|FOR_EACH))\w*+)\s*+\(|\bdo\s*+\{")
_SUBSCRIPTED = re.compile(r"\b([A-Za-z_]\w*+)\s*\[")
_CALLS_BY_ADDRESS = re.compile(rf"\b(?:{THREAD_STARTERS.pattern})\s*+\(|atomic|__sync_", re.IGNORECASE)
_SUM = re.compile(r"\b([A-Za-z_]\w*+)\s*+\+\s*+[A-Za-z_]\w*+\s*+[,)]")
_ALIASES = re.compile(
    r"(?<![\w.>])(\w++)\s*+=\s*+(?:\([^()]*+\)\s*+)?(?:\w++\s*+(?:->|\.)\s*+)*+(\w++)\s*+[;,]"
)
_ARGUMENTS = re.compile(r"\b(\w++)\s*+\(([^()]*+)\)")
_LAST_WORDS = re.compile(r"\b(\w++)\s*+(?=,|\Z)")
_LAST_WORD = re.compile(r"(?:(?:\w++(?:->|\.))*?(\w++)(?:->|\.))?+(\w++)")
_INDEXED = re.compile(r"\b(\w++)\s*+\)?\s*+\[")
_UNCAST = re.compile(r"\(\s*+\w++\s*+\*?\s*+\)")
_NAME = re.compile(r"[A-Za-z_]")
"""In an index that can differ between threads."""
_VARIES = re.compile(r"(?<![\w.>])[a-z_]\w*(?!\w|\()")
"""In an index that is no constant."""
_DECLARES = re.compile(
    r"\s*(?!return\b|else\b|goto\b|case\b|do\b)"
    r"(?:\w+[\s*]+|\w+\s*(?:\[[^]]{0,80}\]\s*){0,3},[\s*]*){1,8}"
)
"""What is between the statement before and a name that a function declares."""
_LONGEST_DECLARATION = 1000
"""The most characters of that."""
_BEHIND_DECLARED = re.compile(r"\s*[][=;,]")
_LONGEST_LOOP = 100_000
"""The most characters of a loop."""
_MOST_WRITES = 50
"""The most writes of an array in a function that are looked at."""
_NEAR = 16
"""The most characters between a sign and what it is for."""
_DEEPEST = 4
"""The most calls between where a thread begins and a function that it runs once."""


class ArrayName(Record, frozen=True):
    """An array as the text names it: a variable, or a field of a struct."""

    name: str
    structs: tuple[str, ...] | None = None
    """The tag and typedefs of the struct; None for a variable."""
    is_unique: bool = True
    """Whether no other struct has an array of this name."""
    file: str = ""
    """The file that declares a variable; empty if it is not known."""


class ElementOwners:
    """Finds out whether threads write elements of their own, from the functions of C text."""

    def __init__(
        self, functions: SourceFunctions, is_setup: Callable[[str], bool], declared: tuple[str, ...] = ()
    ) -> None:
        """`is_setup` tells by the name of a function that it runs before threads use an object.

        `declared` are the project's functions that return what tells threads apart.
        """
        self._functions, self._is_setup = functions, is_setup
        self._writes = Writes(functions)
        self._values = ThreadValues(functions, declared)
        self._once: dict[str, bool] = {}
        self._locks: dict[Function, tuple[Held, ...]] = {}
        self._types: dict[tuple[Function | str, str], set[str]] = {}

    def reason(self, array: ArrayName) -> str | None:
        """Return the sentence that says which code shows it; None if none does."""
        is_local = array.structs is None and self._values.is_thread_local(array.name)
        if is_local or array.name not in self._subscripted:
            return None
        writes = tuple(self._all_writes(array))
        for function, write in writes:
            index = write.element.subscript
            origin = self._values.origin(function, index, write.at)
            if origin is not None:
                return f"{self._describe(function, write)}, with an index from {origin}"
        for function, write in self._writes_of_threads(array):
            return f"{self._describe(function, write)}, with its address as the argument of a thread"
        for function, write in writes:
            lock = self._lock(function, write)
            if lock is not None:
                return f"{self._describe(function, write)} under `{lock}`"
        for function, write in writes:
            index = write.element.subscript
            if write.manner is Manner.ATOMIC and _VARIES.search(index) and not _walks(function, index):
                return f"{self._describe(function, write, 'changed atomically')}"
        return None

    @cached_property
    def _subscripted(self) -> frozenset[str]:
        """The names of arrays, by what is behind them: few fields have a subscript, or are where one is."""
        texts = self._functions.texts().values()
        own = {name for text in texts for name in _SUBSCRIPTED.findall(text)}
        sums = {name for text in texts if _CALLS_BY_ADDRESS.search(text) for name in _SUM.findall(text)}
        aliased = {name for text in texts for alias, name in _ALIASES.findall(text) if alias in own}
        calls = (call for text in texts for call in _ARGUMENTS.findall(text) if call[0] in self._accessors)
        given = {name for _, names in calls for name in _LAST_WORDS.findall(names)}
        return frozenset(own | sums | aliased | given)

    @cached_property
    def _accessors(self) -> frozenset[str]:
        """The short functions and macros that subscript a parameter."""
        return frozenset(
            function.name
            for file in self._functions.texts()
            for function in self._functions.defined_functions(file)
            if function.is_accessor and set(function.parameters) & set(_INDEXED.findall(function.text))
        )

    def _describe(self, function: Function, write: Write, verb: str = "written") -> str:
        place = f"{os.path.basename(function.file)}:{function.line_at(write.at)}"
        return f"`{write.element.text}` is {verb} in {function.name} ({place})"

    def _all_writes(self, array: ArrayName) -> Iterator[tuple[Function, Write]]:
        """Yield the writes of an array that do more than set it up."""
        for function in self._functions.functions_with_word(array.name):
            if function.is_macro:
                continue
            writes = tuple(islice(self._writes_of(function, array), _MOST_WRITES))
            if writes and self._may_mean(function, array):
                yield from ((function, write) for write in writes if not self._sets_up(function, write))

    def _writes_of(self, function: Function, array: ArrayName) -> Iterator[Write]:
        for element in self._elements(function, array):
            yield from self._writes.of_element(function, element)
        for name, arguments, at in calls(function):
            if name in self._accessors:
                yield from self._writes_of_accessor(function, array, name, arguments, at)

    def _elements(self, function: Function, array: ArrayName) -> Iterator[Element]:
        """Yield the elements that a function names, also by other pointers to the array."""
        for element in elements(function, array.name):
            if _NAME.search(element.subscript) and self._is_of(function, element, array):
                yield element
        for alias, receiver in _aliases(function.text, array.name):
            if self._is_of(function, Element(array.name, receiver, "", 0, 0), array):
                for element in elements(function, alias):
                    if _NAME.search(element.subscript) and element.receiver is None:
                        yield element._replace(array=array.name)

    def _writes_of_accessor(
        self, function: Function, array: ArrayName, name: str, arguments: tuple[str, ...], start: int
    ) -> Iterator[Write]:
        """Yield the writes of elements by a short function, or a macro, that gets the array."""
        given = [_LAST_WORD.fullmatch(each) for each in arguments]
        own = [at for at, each in enumerate(given) if each is not None and each[2] == array.name]
        receivers = [None if each is None else each[1] for each in given]
        for body in self._functions.functions_with_word(name) if own else ():
            words = dict(zip(body.parameters, arguments, strict=False))
            for position in own if body.name == name else ():
                parameter = body.parameters[position] if position < len(body.parameters) else ""
                plain = _without_parentheses(body, parameter)
                for element in elements(plain, parameter) if parameter else ():
                    index = _in_words_of_caller(element.subscript, words)
                    mine = Element(array.name, receivers[position], index, start, start)
                    if _NAME.search(index) and self._is_of(function, mine, array):
                        some = self._writes.of_element(plain, element)
                        yield from (Write(mine, start, write.manner) for write in some)

    def _writes_of_threads(self, array: ArrayName) -> Iterator[tuple[Function, Write]]:
        """Yield the writes by functions that threads run with the address of an element as the argument."""
        for function in self._functions.functions_with_word(array.name):
            for element in self._elements(function, array) if not function.is_macro else ():
                is_given = _is_address(function.text, element) and _VARIES.search(element.subscript)
                call = call_around(function.text, element.start) if is_given else None
                if call is None:
                    continue
                for name in self._thread_functions_of(function, call[0], element.start):
                    for body in self._functions.functions_with_word(name):
                        places = self._writes.through_parameter(body, 0) if body.name == name else ()
                        for at, manner in places:
                            write = Write(element, at, manner)
                            if not self._sets_up(body, write):
                                yield body, write

    def _thread_functions_of(self, function: Function, call: str, at: int) -> list[str]:
        """Return the functions in which threads begin, among the arguments of the call around an offset."""
        given = [arguments for name, arguments, start in calls(function) if name == call and start < at][-1:]
        names = (_UNCAST.sub("", each).strip().lstrip("&") for arguments in given for each in arguments)
        return [name for name in names if self._values.is_thread_function(name)]

    def _is_of(self, function: Function, element: Element, array: ArrayName) -> bool:
        receiver = element.receiver
        if array.structs is None or receiver is None:
            return array.structs is None and receiver is None
        if array.is_unique:
            return True
        types = self._types_in(function, receiver) or self._types_in(function.file, receiver)
        return bool(types.intersection(array.structs))

    def _types_in(self, place: Function | str, receiver: str) -> set[str]:
        """Return the types that a function or a file declares a name with."""
        key = place, receiver
        if key not in self._types:
            text = self._functions.code(place) if isinstance(place, str) else place.text
            self._types[key] = declared_types(text, receiver)
        return self._types[key]

    def _may_mean(self, function: Function, array: ArrayName) -> bool:
        """Return whether a name of a variable means this one in a function."""
        if array.structs is not None:
            return True
        if _is_declared(array.name, function.text) or array.name in function.parameters:
            return False
        if not array.file or os.path.basename(function.file) == os.path.basename(array.file):
            return True
        own = re.compile(
            rf"^(?!extern\b)\w[\w\s*]{{0,200}}\b{array.name}\s*(?:\[[^;{{}}]{{0,200}})?[;=]", re.MULTILINE
        )
        return own.search(self._functions.code(function.file)) is None

    def _sets_up(self, function: Function, write: Write) -> bool:
        """Return whether a write happens once for each thread or object, before others see it."""
        if write.manner is Manner.STORE:
            if self._is_setup(function.name):
                return True
            if self._values.is_thread_function(function.name):
                return not _is_in_loop(function.text, write.at)
        return self._runs_once(function, 0) and not _is_in_loop(function.text, write.at)

    def _runs_once(self, function: Function, depth: int) -> bool:
        """Return whether only functions that set up call a function, or threads where they begin."""
        if function.name not in self._once:
            self._once[function.name] = False  # of functions that call one another
            callers = self._functions.callers(function) if depth < _DEEPEST else set()
            self._once[function.name] = bool(callers) and all(
                self._calls_once(caller, function, depth) for caller in callers
            )
        return self._once[function.name]

    def _calls_once(self, caller: Function, function: Function, depth: int) -> bool:
        if self._values.is_thread_function(caller.name):
            places = [at for name, _, at in calls(caller) if name == function.name]
            return not any(_is_in_loop(caller.text, at) for at in places)
        return self._is_setup(caller.name) and self._runs_once(caller, depth + 1)

    # -- locks

    def _lock(self, function: Function, write: Write) -> str | None:
        """Return the lock of the same index that is held at a write; None without one."""
        index = write.element.subscript
        if _walks(function, index):
            return None
        for held in self._find_locks(function):
            if held.lock.subscript == index and held.lock.array != write.element.array and held.at < write.at:
                return held.lock.text
        for caller in sorted(self._functions.callers(function), key=lambda f: (f.file, f.line)):
            lock = self._lock_of_caller(caller, function, index, write.element.array)
            if lock is not None:
                return lock
        return None

    def _lock_of_caller(self, caller: Function, function: Function, index: str, array: str) -> str | None:
        """Return the lock that a caller holds whose index is the same in its words."""
        held = self._find_locks(caller)
        if not held:
            return None
        for name, arguments, at in calls(caller):
            if name != function.name:
                continue
            own = _in_words_of_caller(index, dict(zip(function.parameters, arguments, strict=False)))
            for each in held:
                is_other = each.lock.array != array
                if is_other and each.at < at and each.lock.subscript == own and not _walks(caller, own):
                    return each.lock.text
        return None

    def _find_locks(self, function: Function) -> tuple[Held, ...]:
        if function not in self._locks:
            self._locks[function] = (*locks(function), *self._locks_by_calls(function))
        return self._locks[function]

    def _locks_by_calls(self, function: Function) -> Iterator[Held]:
        """Yield the locks that a function takes by calling one that only takes it: `lock_bucket(i)`."""
        for name, arguments, at in calls(function):
            if "lock" not in name.lower() or "unlock" in name.lower():
                continue
            for taker in self._functions.functions_with_word(name):
                if taker.name == name and taker.is_accessor and taker != function:
                    words = dict(zip(taker.parameters, arguments, strict=False))
                    for held in locks(taker):
                        index = _in_words_of_caller(held.lock.subscript, words)
                        yield Held(held.lock._replace(subscript=index), at)


def _aliases(text: str, name: str) -> Iterator[tuple[str, str | None]]:
    """Yield the pointers that a function makes point to an array, with the receiver of the array."""
    if f"{name};" in text or f"{name}," in text:
        value = rf"(?:\([^()]*+\)\s*+)?(?:(\w++)\s*+(?:->|\.)\s*+)*+{name}\s*+[;,]"
        for match in re.finditer(rf"(?<![\w.>])(\w++)\s*+=\s*+{value}", text):
            if match[1] != name:
                yield match[1], match[2]


def _is_address(text: str, element: Element) -> bool:
    """Return whether an expression is the address of an element, and of none of its members."""
    before = text[max(0, element.start - _NEAR) : element.start].rstrip()
    return element.is_address or (before.endswith("&") and text[element.end - 1] == "]")


def _without_parentheses(function: Function, name: str) -> Function:
    """Return a macro without parentheses around a parameter."""
    text = re.sub(rf"\(\s*+{name}\s*+\)(?=\s*+\[)", name, function.text) if name else function.text
    return replace(function, text=text)


def _is_declared(name: str, text: str) -> bool:
    """Return whether a function declares a name."""
    for use in re.finditer(rf"\b{name}\b", text):
        if _BEHIND_DECLARED.match(text, use.end()):
            least = max(0, use.start() - _LONGEST_DECLARATION)
            end = max(text.rfind(sign, least, use.start()) for sign in ";{}")
            if end >= 0 and _DECLARES.fullmatch(text, end + 1, use.start()):
                return True
    return False


def _in_words_of_caller(index: str, words: dict[str, str]) -> str:
    """Return an index with arguments in place of parameters, without spaces."""
    text = re.sub(r"(?<![\w.>])[A-Za-z_]\w*", lambda match: words.get(match[0], match[0]), index)
    return re.sub(r"\s+|^\((\w+)\)$", lambda match: match[1] or "", text)


def _walks(function: Function, index: str) -> bool:
    """Return whether a function counts a variable of an index: it then goes over all elements."""
    return any(
        re.search(
            rf"\bfor\s*\([^;]{{0,200}}\b{name}\s*=|(?:\+\+|--)\s*{name}\b|(?<![\w.>]){name}\s*(?:\+\+|--)|"
            rf"(?:foreach|for_each)\w{{0,64}}+\s*+\([^;()]{{0,200}}\b{name}\b",
            function.text,
            re.IGNORECASE,
        )
        for name in set(re.findall(r"(?<![\w.>])[A-Za-z_]\w*", index))
    )


def _is_in_loop(text: str, at: int) -> bool:
    """Return whether an offset is in the body of a loop."""
    for loop in _LOOP.finditer(text, 0, at):
        end = loop.end() if text[loop.end() - 1] == "{" else closing(text, loop.end() - 1) + 1
        body = re.compile(r"\s*\{").match(text, end - 1 if text[end - 1] == "{" else end)
        last = closing(text, body.end() - 1, _LONGEST_LOOP) if body is not None else text.find(";", end)
        if at < last:
            return True
    return False
