"""Values in C text that tell threads, processors and processes apart: where an expression gets them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from fnmatch import translate
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from layoutlint.model.uses import THREAD_OBJECTS, THREAD_STARTERS
from layoutlint.sources.source_uses.element_writes import calls
from layoutlint.sources.source_uses.functions import Function, SourceFunctions, closing, split_arguments

_DEEPEST = 8
"""The most assignments and calls through which a value is followed."""
_MOST_CALLERS = 40
_MOST_CALLS = 100
"""The most calls of a function in one other, and the most values that it returns, that are looked at."""
_LONGEST_VALUE = 2000
"""The most characters of a value that is returned."""
_WHO = "thread|thr|lcore|core|cpu|worker|processor|backend"
_NUMBER = "id|idx|index|num|no|nr|number|slot"
_IDENTIFIES = re.compile(
    rf"(?:\w*_)?(?:get_?)?(?:this_|current_|curr_|cur_|my_|own_)?(?:{_WHO}|process|proc)_?(?:{_NUMBER}|self)(?:_get)?|"
    r"sched_getcpu|getpid|gettid|pthread_self|thrd_current|(?:raw_|__)*smp_processor_id|get_cpu|"
    r"omp_get_thread_num|GetCurrent(?:Thread|Process|Processor)(?:Id|Number)",
    re.IGNORECASE,
)
"""Functions without a body here that return which thread, processor or process runs."""
_OF_THREAD = re.compile(r"RTE_PER_LCORE|(?:raw_|__)*this_cpu_(?:read|ptr)")
"""Macros that name a variable of the thread or processor."""
_STARTS_THREAD = re.compile(rf"\b(?:{THREAD_STARTERS.pattern})\s*\(")
_FIELD_OF_THREAD = re.compile(rf"(?:\w+_)?(?:{_WHO})_?(?:{_NUMBER})|tid|lcore|wid")
"""The fields of objects of a thread that have its number, whoever has the object."""
_FIELD = re.compile(rf"(?:\w+_)?(?:{_NUMBER}|self|rank)|me|cpu|core|lcore|worker|thread")
"""Those that have it in objects that are known to be of the thread."""
_GLOBAL = re.compile(
    rf"My[A-Z]\w*(?:Id|ID|Number|Num|No|Index|Idx|Slot)|my_?(?:\w+_)?(?:{_NUMBER}|rank|cpu|core|lcore)|"
    rf"(?:[a-z]+_)?(?:process|proc|worker|child|backend|thread)_?(?:{_NUMBER})"
)
"""Variables of a process that have its number among processes."""
_THREAD_LOCAL = r"\b(?:__thread|_Thread_local|thread_local"
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+([^\n\\]+)$", re.MULTILINE)
_COMPARES = re.compile(r"[?<>!]=?(?<!<)|==|&&|\|\|")
_CAST = re.compile(
    r"\(\s*(?:\b(?:const|volatile|unsigned|signed|(?:struct|union|enum)\s+\w{1,60}|long|short|int|char|void|bool|"
    r"size_t|\w{1,60}_[tT]|[A-Z]\w{0,60})\b\s*+){1,6}\**+\s*+\)\s*+(?=[\w(&*])"
)
_CONVERTS = re.compile(r"(?>\w*?_TO_)\w+|(?>\w*?2)(?>\w*?int)\w*|likely|READ_ONCE|abs")
_WORD = re.compile(r"[A-Za-z_]\w*")
_STEP = re.compile(r"\s*(?:(->|\.)\s*(\w+)|([\[(]))")
_STORES_THROUGH = re.compile(r"(?:^|[;{})(,=]|return)\s*\*+\s*\Z")
"""Before a pointer whose target gets a value, where a declaration has a type."""
_FOR_EACH = r"(?i:foreach|for_each)\w*\s*\(\s*(?:[^(),;]{0,80},\s*)?"


class _Primary(NamedTuple):
    """A name in an expression, with the members, subscripts and arguments behind it."""

    name: str
    steps: tuple[tuple[str, str], ...]
    """`.` or `->` with the name of a member, `[` with an index, `(` with the arguments."""


class ThreadValues:
    """Tells which expressions have values by which threads differ."""

    def __init__(self, functions: SourceFunctions, declared: Iterable[str] = ()) -> None:
        """`declared` are names or patterns of the project's functions that return such values."""
        self._functions = functions
        self._declared = re.compile("|".join(map(translate, declared)) or "(?!)")
        self._known: dict[tuple[str, str, str, int], str | None] = {}

    def origin(self, function: Function, expression: str, at: int, depth: int = 0) -> str | None:
        """Return where the value comes from by which threads differ; None for other values.

        The expression is at an offset of the function.
        """
        key = function.file, function.name, expression, at
        if key not in self._known:
            self._known[key] = None  # for values that depend on themselves
            if depth < _DEEPEST and len(expression) < 200:
                self._known[key] = self._find_origin(function, expression, at, depth)
        return self._known[key]

    def _find_origin(self, function: Function, expression: str, at: int, depth: int) -> str | None:
        for primary in _primaries(expression):
            origin = self._origin_of(function, primary, at, depth + 1)
            if origin is not None:
                return origin
        return None

    def _origin_of(self, function: Function, primary: _Primary, at: int, depth: int) -> str | None:
        name, steps = primary
        if not steps:
            return self._origin_of_variable(function, name, at, depth)
        kind, text = steps[-1]
        if kind == "(":
            return self._origin_of_call(function, name, text, at, depth) if len(steps) == 1 else None
        for number, (sign, inner) in enumerate(steps):
            if sign == "[" and all(later[0] != "->" for later in steps[number + 1 :]):
                origin = self.origin(function, inner, at, depth)
                if origin is not None:
                    return origin
        if kind not in (".", "->"):
            return None
        if _FIELD_OF_THREAD.fullmatch(text):
            return f"`{text}`, which names a thread"
        if _FIELD.fullmatch(text) and len(steps) == 1:
            owner = self._owner(function, name, at, depth)
            return None if owner is None else f"`{text}` of {owner}"
        return None

    def _origin_of_call(
        self, function: Function, name: str, arguments: str, at: int, depth: int
    ) -> str | None:
        if self._declared.match(name) or _OF_THREAD.fullmatch(name):
            return f"{name}()"
        if _CONVERTS.fullmatch(name):
            return self.origin(function, arguments, at, depth)
        bodies = [f for f in self._functions.functions_with_word(name) if f.name == name]
        for body in bodies[:2]:
            for value, offset in _returned_values(body):
                depends = set(_WORD.findall(value)).intersection(body.parameters)
                if not depends and self.origin(body, value, offset, depth) is not None:
                    return f"{name}()"
        return f"{name}()" if not bodies and _IDENTIFIES.fullmatch(name) else None

    def is_thread_local(self, name: str) -> bool:
        """Return whether each thread has a variable of a name of its own."""
        return name in self._thread_locals

    def is_thread_function(self, name: str) -> bool:
        """Return whether threads begin in a function."""
        return name in self._thread_functions

    # -- variables

    def _origin_of_variable(self, function: Function, name: str, at: int, depth: int) -> str | None:
        value, parameters = _last_value(function, name, at), function.parameters
        is_own = name in self._thread_locals and name not in parameters
        if is_own and not _is_declared(function, name):
            counts = value is not None and not value[0]
            return None if counts else f"`{name}`, of which each thread has its own"
        if value is not None:
            return self.origin(function, value[0], value[1], depth) if value[0] else None
        if name in parameters:
            return self._origin_of_parameter(function, parameters.index(name), depth)
        if _is_declared(function, name):
            return (
                f"`{name}` by getcpu()" if re.search(rf"\bgetcpu\s*\(\s*&{name}\b", function.text) else None
            )
        if name in self._macros:
            body = self._macros[name]
            return self.origin(function, body, at, depth) if name not in body else None
        return f"`{name}`, which names a process" if _GLOBAL.fullmatch(name) else None

    def _origin_of_parameter(self, function: Function, position: int, depth: int) -> str | None:
        if function.name in self._thread_functions:
            return f"the argument of {function.name}(), which threads run"
        passed = [
            self.origin(caller, argument, at, depth)
            for caller, argument, at in self._arguments(function, position)
        ]
        origins = [origin for origin in passed if origin is not None]
        if origins:  # functions on any element get these among other values
            return origins[0] if 2 * len(origins) >= len(passed) else None
        name = function.parameters[position]
        if not passed and not function.is_macro and _FIELD_OF_THREAD.fullmatch(name):
            return f"`{name}`, which names a thread"
        return None

    def _owner(self, function: Function, name: str, at: int, depth: int) -> str | None:
        """Return what a thread has that a pointer points to; None if others can have it."""
        if depth >= _DEEPEST:
            return None
        value = _last_value(function, name, at)
        if value is not None:
            text = _uncast(value[0]).strip()
            some = list(_primaries(text.lstrip("&")))
            if len(some) != 1:
                return None
            first = some[0]
            if not first.steps:
                return self._owner(function, first.name, value[1], depth + 1)
            if first.steps[-1][0] == "(":
                return (
                    f"{first.name}()"
                    if first.name in THREAD_OBJECTS or _OF_THREAD.fullmatch(first.name)
                    else None
                )
            return (
                self._origin_of(function, first, value[1], depth + 1) if first.steps[-1][0] == "[" else None
            )
        parameters = function.parameters
        if name in parameters:
            position = parameters.index(name)
            if function.name in self._thread_functions:
                return f"the argument of {function.name}(), which threads run"
            for caller, argument, place in self._arguments(function, position):
                simple = _uncast(argument).strip().lstrip("&")
                if _WORD.fullmatch(simple):
                    owner = self._owner(caller, simple, place, depth + 1)
                    if owner is not None:
                        return owner
            return None
        if name in self._thread_locals and not _is_declared(function, name):
            return f"`{name}`, of which each thread has its own"
        return None

    def _arguments(self, function: Function, position: int) -> Iterator[tuple[Function, str, int]]:
        """Yield what functions pass to another one in a position, with its offset."""
        for caller in sorted(self._functions.callers(function), key=lambda f: (f.file, f.line))[
            :_MOST_CALLERS
        ]:
            if caller.is_macro:
                continue
            given = (each for each in calls(caller) if each[0] == function.name)
            for _, arguments, at in islice(given, _MOST_CALLS):
                if position < len(arguments):
                    yield caller, arguments[position], at

    # -- what all files show

    @cached_property
    def _thread_functions(self) -> frozenset[str]:
        """The names of the functions in which threads begin."""
        names = set[str]()
        for text in self._functions.texts().values():
            if any(word in text for word in ("thread", "thrd", "remote_launch")):
                for call in _STARTS_THREAD.finditer(text):
                    names.update(_names_of_functions(text, call.end() - 1))
        return frozenset(names | self._given_to_starters(names))

    def _given_to_starters(self, names: set[str]) -> set[str]:
        """Return the arguments of the project's functions that pass a parameter to what starts threads."""
        given = set[str]()
        for word in sorted(names):
            for wrapper in self._functions.functions_with_word(word):
                if word in wrapper.parameters and _STARTS_THREAD.search(wrapper.text):
                    position = wrapper.parameters.index(word)
                    given.update(
                        argument.lstrip("&")
                        for _, argument, _ in self._arguments(wrapper, position)
                        if _WORD.fullmatch(argument.lstrip("&"))
                    )
        return given

    @cached_property
    def _thread_locals(self) -> frozenset[str]:
        """The names of variables of which each thread has its own."""
        words = "|".join(("", *map(re.escape, self._thread_local_macros)))
        declared = re.compile(rf"{_THREAD_LOCAL}{words})\b[^;(){{}}=\[]{{0,200}}?\b(\w+)\s*[=;\[]")
        texts = (text for text in self._functions.texts().values() if "hread" in text or "THREAD" in text)
        return frozenset(match[1] for text in texts for match in declared.finditer(text))

    @cached_property
    def _thread_local_macros(self) -> tuple[str, ...]:
        local = re.compile(rf"{_THREAD_LOCAL})\s*\Z")
        return tuple(name for name, body in self._macros.items() if local.match(body.strip()))

    @cached_property
    def _macros(self) -> dict[str, str]:
        """The short macros without parameters."""
        macros: dict[str, str] = {}
        for text in self._functions.texts().values():
            for match in _DEFINE.finditer(text):
                if len(match[2]) < 80:
                    macros.setdefault(match[1], match[2].partition("/*")[0].strip())
        return macros


def _uncast(expression: str) -> str:
    """Return an expression without casts."""
    return _CAST.sub("", expression) if "(" in expression else expression


def _primaries(expression: str) -> Iterator[_Primary]:
    """Yield the names whose values an arithmetic expression combines; none for comparisons."""
    text = _uncast(expression)
    if _COMPARES.search(text.replace("->", "  ").replace(">>", "  ").replace("<<", "  ")):
        return
    at = 0
    while (word := _WORD.search(text, at)) is not None:
        if text[word.start() - 1 : word.start()].isdigit():  # a suffix, as in 1UL
            at = word.end()
            continue
        steps, at = _steps(text, word.end())
        if word[0] != "sizeof":
            yield _Primary(word[0], steps)


def _steps(text: str, at: int) -> tuple[tuple[tuple[str, str], ...], int]:
    steps: list[tuple[str, str]] = []
    while (step := _STEP.match(text, at)) is not None:
        if step[3]:
            end = closing(text, step.start(3))
            steps.append((step[3], text[step.start(3) + 1 : end]))
            at = end + 1
        else:
            steps.append((step[1], step[2]))
            at = step.end()
    return tuple(steps), at


def _last_value(function: Function, name: str, at: int) -> tuple[str, int] | None:
    """Return the value that a variable of a function gets last before an offset, with its own offset.

    The value is empty for one that counts or walks over all; None if it gets none there.
    """
    text, last = function.text, None
    pattern = re.compile(
        rf"(?<![\w.>])(?:{_FOR_EACH}(?P<each>{name})\b|(?P<count>\+\+|--)\s*{name}\b|{name}\s*(?:(?P<step>\+\+|--|[-+]=)|=(?!=)))"
    )
    for match in pattern.finditer(text, 0, at):
        if _STORES_THROUGH.search(text, max(0, match.start() - 40), match.start()):
            continue
        if match["each"] or match["count"] or match["step"]:
            last = last if last is not None and last[0] and not match["each"] else ("", match.start())
            continue
        value = text[match.end() : _end_of_value(text, match.end())]
        last = value.strip(), match.start()
    return last


def _end_of_value(text: str, at: int) -> int:
    depth = 0
    for sign in re.compile(r"[][(){},;]").finditer(text, at):
        if sign[0] in "([{":
            depth += 1
        elif sign[0] in ")]}":
            depth -= 1
        if depth < 0 or (depth == 0 and sign[0] in ",;"):
            return sign.start()
    return len(text)


def _is_declared(function: Function, name: str) -> bool:
    """Return whether a function declares a variable of a name."""
    before = r"\b(?!return\b|else\b|goto\b|case\b)\w+(?:\s*\*+\s*|\s+)(?:\w+\s*,\s*\**){0,9}"
    body = function.text[function.text.find("{") :]
    return re.search(rf"{before}{name}\s*[=;,\[]", body) is not None


def _returned_values(function: Function) -> Iterator[tuple[str, int]]:
    """Yield the values that a function returns, or what a macro means, with their offsets."""
    if function.is_macro:
        head = re.match(r"\s*#\s*define\s+\w+\([^)]*\)", function.text)
        if head is not None:
            yield function.text[head.end() :].replace("\\\n", " ").strip(), head.end()
        return
    values = re.finditer(rf"\breturn\b([^;]{{0,{_LONGEST_VALUE}}}+);", function.text)
    for match in islice(values, _MOST_CALLS):
        yield match[1].strip(), match.start()


def _names_of_functions(text: str, at: int) -> Iterator[str]:
    """Yield the arguments that can be functions, between the parenthesis at an offset and its end."""
    for argument in split_arguments(text, at):
        word = re.sub(r"\(\s*+\w++\s*+\*?\s*+\)", "", argument).strip().lstrip("&")
        if _WORD.fullmatch(word) and word != "NULL":
            yield word
