"""Functions and macros of a project that allocate by a function that is known: `zmalloc(sizeof(client))`.

Their definitions are sought from the calls down: of the names that calls with the size of a struct have, then
of those in their bodies.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from layoutlint.model.record import Record, replace
from layoutlint.sources.allocations.allocators import FLAGS, Arguments, Maker, Making
from layoutlint.sources.allocations.definitions import Definition
from layoutlint.sources.allocations.expressions import ObjectSize, Tokens, closing_index, size, split
from layoutlint.sources.allocations.returned_values import Call, Given, ReturnedValues, Values
from layoutlint.sources.allocations.user_space import names_alignment
from layoutlint.sources.c_text import arguments

_DEEPEST = 6
"""The number of calls from a wrapper down to the function that is known."""
_LONGEST = 400
"""The most tokens of an expression whose macros are replaced."""
_VALUE = re.compile(r"(?:=|\breturn\b|\))\s*+(\w++)\s*+\(")
"""A call whose result is used."""


_SIZE_OF_ARGUMENT = re.compile(r"sizeof [( ]*\$")


class Wrapper(Record, frozen=True):
    """A function or macro whose result is that of functions that are known."""

    name: str
    file: str
    """The only file whose calls mean it; empty for all others."""
    parameters: tuple[str, ...]
    calls: tuple[Call, ...]
    """What it can return, with `$0` for its first parameter; empty if it does not allocate."""
    problem: str = ""
    """What else it can return."""
    definers: frozenset[str] = frozenset()
    """The files that define it, and what it calls."""


def valued_calls(code: str, is_wanted: Callable[[str], bool]) -> Iterator[tuple[int, str, list[str]]]:
    """Yield offset, name and arguments of the calls of wanted functions whose result is used."""
    for call in _VALUE.finditer(code):
        parsed = arguments(code, call.end() - 1) if is_wanted(call[1]) else None
        if parsed is not None:
            yield call.start(1), call[1], parsed[0]


def find(
    names: frozenset[str],
    known: Mapping[str, Maker],
    seek: Callable[[frozenset[str]], list[Definition]],
) -> tuple[Wrapper, ...]:
    """Return the wrappers among some names; `seek` returns all definitions of names in the sources."""
    library, sought = _Library(known), names
    found: tuple[Wrapper, ...] = ()
    for _ in range(_DEEPEST):
        if not sought:
            break
        library.add(sought, seek(sought))
        found = tuple(library.wrappers(names))
        sought = frozenset(library.missing)
    return found


class _Library:
    """Definitions of names, and those that are missing for an answer."""

    def __init__(self, known: Mapping[str, Maker]) -> None:
        self._known = known
        self._definitions: dict[str, list[Definition]] = {}
        self._asked: set[str] = set()
        self._used: set[str] = set()
        """Names of functions that the sources call or declare."""
        self._wrappers: dict[tuple[str, str], Wrapper | None] = {}
        self._identities: dict[tuple[str, str], int | None] = {}
        self.missing: set[str] = set()
        """Names whose definitions an answer needs, and which were not sought yet."""

    def add(self, names: frozenset[str], found: list[Definition]) -> None:
        """Add all definitions of some names."""
        self._asked |= names
        self.missing.clear()
        self._wrappers.clear()
        self._identities.clear()
        for each in found:
            if each.body or each.is_macro:
                self._definitions.setdefault(each.name, []).append(each)
            else:
                self._used.add(each.name)

    def wrappers(self, names: frozenset[str]) -> Iterator[Wrapper]:
        """Yield what the definitions show of some names: for all files, and for those with their own."""
        for name in sorted(names):
            own = {each.file for each in self._definitions.get(name, ()) if each.is_own}
            for file in ("", *sorted(own)):
                wrapper = self._wrapper(name, file)
                if wrapper is not None:
                    problem = wrapper.problem or _size_problem(wrapper, self._known)
                    yield replace(wrapper, file=file, problem=problem)
                elif file:
                    yield Wrapper(name, file, (), ())

    def _visible(self, name: str, file: str) -> list[Definition]:
        """Return the definitions that a name can mean in a file."""
        if name not in self._asked:
            self.missing.add(name)
        found = self._definitions.get(name, [])
        return [each for each in found if each.file == file] or [each for each in found if not each.is_own]

    def _wrapper(self, name: str, file: str) -> Wrapper | None:
        """Return what a name allocates by; None if no definition of it allocates, or it calls itself."""
        if (name, file) not in self._wrappers:
            self._wrappers[name, file] = None
            self._wrappers[name, file] = self._of_definitions(name, self._visible(name, file))
        return self._wrappers[name, file]

    def _of_definitions(self, name: str, definitions: list[Definition]) -> Wrapper | None:
        if len(definitions) > 1:
            definitions = [each for each in definitions if not self._is_renaming(each)]
        each = [self._of_definition(definition) for definition in definitions]
        found = [wrapper for wrapper in each if wrapper is not None]
        if not found:
            return None
        calls = tuple(dict.fromkeys(call for wrapper in found for call in wrapper.calls))
        problem = next((wrapper.problem for wrapper in found if wrapper.problem), "")
        counts = {len(wrapper.parameters) for wrapper in found}
        if len(found) < len(each) or len(counts) > 1:
            problem = f"not every definition of {name} allocates"
        own = frozenset(each.file for each in definitions)
        definers = own.union(*(wrapper.definers for wrapper in found))
        return Wrapper(name, "", found[0].parameters, calls, problem, definers)

    def _is_renaming(self, definition: Definition) -> bool:
        """Return whether a macro gives the function of its name another name for the linker."""
        body = definition.body
        if definition.parameters is not None or len(body) != 1 or body[0] in self._known:
            return False
        return not self._visible(body[0], definition.file) and not {body[0]} & (self._used | self.missing)

    def _of_definition(self, definition: Definition) -> Wrapper | None:
        if definition.parameters is None:
            return self._alias(definition)
        calls: dict[Call, None] = {}
        problems: list[str] = []
        definers: frozenset[str] = frozenset()
        for value in sorted(self._values(definition), key=repr):
            inner = self._inner(value, definition) if isinstance(value, Call) else None
            if inner is not None:
                calls.update(dict.fromkeys(inner.calls))
                definers |= inner.definers
            if inner is None:
                problems.append(f"{definition.name} can also return `{value}`")
            elif inner.problem:
                problems.append(inner.problem)
        if not calls:
            return None
        places = {name: (f"${index}",) for index, name in enumerate(definition.parameters)}
        own = tuple(_substitute_call(call, places) for call in calls)
        problem = problems[0] if problems else ""
        return Wrapper(definition.name, "", definition.parameters, own, problem, definers)

    def _alias(self, definition: Definition) -> Wrapper | None:
        """Return what a macro without parameters allocates by, if it is another name of a function."""
        body = definition.body
        if len(body) != 1 or body[0] == definition.name or not body[0].isidentifier():
            return None
        return self._wrapper(body[0], definition.file)

    def _inner(self, call: Call, definition: Definition) -> Wrapper | None:
        """Return the known calls behind a call in a body, in terms of the body's parameters."""
        if not any(name in argument for name in definition.parameters or () for argument in call.arguments):
            return None
        if call.function not in self._known:
            wrapper = self._wrapper(call.function, definition.file)
        elif (wrapper := self._redefinition(call, definition)) is None:
            return Wrapper(call.function, "", (), (call,))
        if wrapper is None or len(wrapper.parameters) > len(call.arguments):
            return None
        given = {f"${index}": argument for index, argument in enumerate(call.arguments)}
        return replace(wrapper, calls=tuple(_substitute_call(each, given) for each in wrapper.calls))

    def _redefinition(self, call: Call, user: Definition) -> Wrapper | None:
        """Return what a known name means if macros of the same file replace it: `malloc` by `je_malloc`."""
        visible = self._visible(call.function, user.file)
        own = [each for each in visible if each.is_macro and each.file == user.file]
        found = [self._of_definition(each) for each in own]
        if not own:
            return None
        calls = dict.fromkeys(each for wrapper in found if wrapper is not None for each in wrapper.calls)
        if not user.is_compiled:
            calls[Call(call.function, tuple((f"${index}",) for index in range(len(call.arguments))))] = None
        problem = "" if None not in found else f"`{call.function}` is a macro"
        return Wrapper(call.function, "", (), tuple(calls), problem)

    def _values(self, definition: Definition) -> Values:
        names = frozenset(definition.parameters or ())

        def expand(words: Tokens) -> Tokens:
            return self._expand(words, definition.file, names, _DEEPEST)

        def identity(name: str) -> int | None:
            return None if name in self._known else self._identity(name, definition.file)

        return ReturnedValues(definition, expand, identity).values()

    def _identity(self, name: str, file: str) -> int | None:
        """Return the index of the parameter that all definitions of a function return."""
        if (name, file) not in self._identities:
            results = {_given_index(each) for each in self._visible(name, file)}
            self._identities[name, file] = results.pop() if len(results) == 1 else None
        return self._identities[name, file]

    def _expand(self, words: Tokens, file: str, parameters: frozenset[str], depth: int) -> Tokens:
        """Return an expression with the macros replaced that have one definition."""
        parts: list[str] = []
        at = 0
        while at < len(words):
            end, body = self._replacement(words, at, file, parameters) if depth else (at + 1, None)
            inner = words[at:end] if body is None else self._expand(body, file, parameters, depth - 1)
            parts += inner
            at = end
        return tuple(parts) if len(parts) <= _LONGEST else words

    def _replacement(
        self, words: Tokens, at: int, file: str, parameters: frozenset[str]
    ) -> tuple[int, Tokens | None]:
        """Return where the use of a macro at an index ends, and what replaces it; None if it is none."""
        name, is_call = words[at], words[at + 1 : at + 2] == ("(",)
        is_kept = name in parameters or name in self._known or name in FLAGS or names_alignment(name)
        if is_kept or not name.isidentifier() or not (is_call or name.isupper()) or name == "sizeof":
            return at + 1, None
        visible = {(each.is_macro, each.parameters, each.body) for each in self._visible(name, file)}
        if len(visible) != 1:
            return at + 1, None
        is_macro, names, body = visible.pop()
        if not is_macro or (names is not None and not is_call):
            return at + 1, None
        if names is None:
            return at + 1, ("(", *body, ")")
        end = closing_index(words, at + 1)
        given = split(words[at + 2 : end], ",")
        if len(given) != len(names):
            return at + 1, None
        return end + 1, ("(", *_substitute(body, dict(zip(names, given, strict=True))), ")")


def _given_index(definition: Definition) -> int | None:
    """Return the index of the parameter that a short function returns; None if it returns anything else."""
    if definition.parameters is None or len(definition.body) > _LONGEST:
        return None
    values = ReturnedValues(definition, lambda words: words, lambda _: None).values()
    given = [value.name for value in values if isinstance(value, Given)]
    return definition.parameters.index(given[0]) if len(given) == len(values) == 1 else None


def _substitute(words: Tokens, values: Mapping[str, Tokens]) -> Tokens:
    parts: list[str] = []
    for word in words:
        value = values.get(word)
        parts += (word,) if value is None else value if len(value) == 1 else ("(", *value, ")")
    return tuple(parts)


def _substitute_call(call: Call, values: Mapping[str, Tokens]) -> Call:
    return Call(call.function, tuple(_substitute(argument, values) for argument in call.arguments))


def makers_in(file: str, wrappers: tuple[Wrapper, ...], known: Mapping[str, Maker]) -> dict[str, Maker]:
    """Return the Makers of the wrappers that calls in a file can mean."""
    visible = sorted((each for each in wrappers if each.file in ("", file)), key=lambda each: each.file)
    found = {each.name: each for each in visible}
    return {name: _maker(each, known) for name, each in found.items() if each.calls}


def _maker(wrapper: Wrapper, known: Mapping[str, Maker]) -> Maker:
    def make(given: Arguments) -> Making | None:
        if len(given) < len(wrapper.parameters):
            return None
        makings = _makings(wrapper, given, known)
        first = next((making for making in makings if making is not None), None)
        operand = _operand(given)
        if first is None or not (operand or _takes_type(wrapper)):
            return None
        problem = wrapper.problem
        if not problem and len({making and replace(making, details=()) for making in makings}) > 1:
            problem = f"{wrapper.name} allocates in several ways"
        if problem:
            hint = f"`[allocators.{wrapper.name}]` in layoutlint.toml can declare it"
            return Making(ObjectSize(operand or first.size.operand), problem=f"{problem}; {hint}")
        return replace(first, allocator=wrapper.calls[0].function)

    return make


def _makings(wrapper: Wrapper, given: Arguments, known: Mapping[str, Maker]) -> list[Making | None]:
    """Return what each call behind a wrapper makes of arguments."""
    values = {f"${index}": argument for index, argument in enumerate(given.values)}
    calls = (_substitute_call(call, values) for call in wrapper.calls)
    texts = ([" ".join(argument) for argument in call.arguments] for call in calls)
    return [
        known[call.function](Arguments(each, given.text, given.at))
        for call, each in zip(wrapper.calls, texts, strict=True)
    ]


def _takes_type(wrapper: Wrapper) -> bool:
    """Return whether an argument is the type of the objects: `NEW(struct ring)`."""
    arguments = (" ".join(argument) for call in wrapper.calls for argument in call.arguments)
    return any(_SIZE_OF_ARGUMENT.search(argument) for argument in arguments)


def _operand(given: Arguments) -> Tokens:
    """Return the operand of the first size of an object among arguments."""
    found = (each.operand for each in map(size, given.values) if each is not None)
    return next(found, ())


def _size_problem(wrapper: Wrapper, known: Mapping[str, Maker]) -> str:
    """Return how a wrapper asks for a size that is none of its arguments; empty if it asks for one."""
    names = {f"${index}": (name or f"argument {index + 1}",) for index, name in enumerate(wrapper.parameters)}
    for probe in ("sizeof(struct s)", "struct s"):
        for at in range(len(wrapper.parameters)):
            texts = [probe if index == at else "1" for index in range(len(wrapper.parameters))]
            makings = _makings(wrapper, Arguments(texts, "", 0), known)
            if all(making is not None and not making.size.problem for making in makings):
                return ""
    call = _substitute_call(wrapper.calls[0], names)
    return f"{wrapper.name} calls `{call}`"
