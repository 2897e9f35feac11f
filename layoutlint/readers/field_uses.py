"""The functions of C sources that use a field, and whether all code that uses one field uses another."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from layoutlint import files
from layoutlint.model.record import Record
from layoutlint.readers.c_tokens import blank_comments, blank_out

_LARGEST = 1 << 24
"""The most bytes of a C file."""
_MOST_BYTES = 1 << 28
"""The most bytes of all files; PostgreSQL has 35 million."""
_MOST_FUNCTIONS = 200
"""The most functions that use a field; a name in more tells nothing."""
_MOST_FILES = 300
"""The most files with a word; a word in more tells nothing."""
_FEW_STATEMENTS = 2
_NO_CALLS = frozenset(("if", "while", "for", "switch", "return", "sizeof"))
_NO_TYPES = frozenset(("return", "else", "goto", "case", "sizeof"))
_READS = re.compile("read|load|get|peek|is_", re.IGNORECASE)
_WRITES = re.compile("lock|add|inc|dec|sub|set|xchg|exchange|swap|cas|put", re.IGNORECASE)
"""In the names of functions that change what they read: `atomicGetIncr`, `rte_rwlock_read_lock`."""
_BRACE = re.compile(r"[{};]|^\}", re.MULTILINE)
_LINKAGE = re.compile(r'\bextern\s*"[^"\n]*"\s*\{')
_CALLED = re.compile(r"\b(\w++)\s*\(")
_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w++)\(([^\n\\]|\\\r?\n|\\)*+", re.MULTILINE)


class Function(Record, frozen=True):
    """A function or a macro with parameters, in a C file."""

    name: str
    file: str
    text: str
    is_macro: bool = False

    @property
    def is_accessor(self) -> bool:
        """Whether it has at most two statements, so that its callers are the code to look at."""
        return self.is_macro or self.text.count(";") <= _FEW_STATEMENTS


class FieldName(Record, frozen=True):
    """A field by its name."""

    name: str
    structs: tuple[str, ...] = ()
    """The tag and typedefs of its struct."""
    is_unique: bool = True
    """Whether no other struct has a field of this name."""


class FieldUses:
    """The functions that change fields, by the names of the fields. Files are read when they are needed."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths = tuple(paths)
        self._texts: dict[str, str] | None = None
        self._functions: dict[str, tuple[Function, ...]] = {}
        self._code: dict[str, str] = {}
        self._mentions: dict[str, tuple[Function, ...]] = {}
        self._values: dict[str, bool] = {}

    def is_always_with(self, field: FieldName, other: FieldName) -> bool:
        """Return whether all code that changes a field changes another as well; false if none changes it.

        Code does if a function changes both, or if the functions that call it change the other.
        """
        users = self._changing_functions(field, is_certain=False)
        others = self._changing_functions(other, is_certain=True) if users else set()
        return bool(others) and all(user in others or self._is_called_by(user, others) for user in users)

    def _is_called_by(self, function: Function, some: set[Function]) -> bool:
        """Return whether only some functions call a function, and no table contains it."""
        callers = self._callers(function)
        return bool(callers) and callers <= some and not self._is_value(function.name)

    def _changing_functions(self, field: FieldName, is_certain: bool) -> set[Function]:
        """Return the functions that change a field; in place of those that only do that, their callers.

        If other structs have a field of the name, and the text does not show of which struct it is, it counts
        unless `is_certain`. The result is empty if too many functions change it.
        """
        users = [f for f in self._functions_with_word(field.name) if _changes(f, field, is_certain)]
        if len(users) > _MOST_FUNCTIONS:
            return set()
        changing = set[Function]()
        for user in users:
            changing |= (self._callers(user) if user.is_accessor else set()) or {user}
        return changing

    def _callers(self, function: Function) -> set[Function]:
        """Return the functions that call a function, without itself."""
        call = re.compile(rf"\b{function.name}\s*\(")
        return {
            each
            for each in self._functions_with_word(function.name)
            if each != function and call.search(each.text) and self._may_mean(each.file, function)
        }

    def _may_mean(self, file: str, function: Function) -> bool:
        """Return whether the name of a function can mean it in a file, which may define another."""
        return file == function.file or all(
            each.name != function.name for each in self._defined_functions(file)
        )

    def _is_value(self, name: str) -> bool:
        """Return whether a name is used without a call: as a callback, or in a table."""
        if name not in self._values:
            value = re.compile(rf"\b{name}\b(?!\s*\()")
            self._values[name] = any(
                name in text and value.search(self._blank_text(file)) for file, text in self._read().items()
            )
        return self._values[name]

    def _functions_with_word(self, word: str) -> tuple[Function, ...]:
        """Return the functions with a word in their text; none if the word is in too many files."""
        if word not in self._mentions:
            some = [file for file, text in self._read().items() if word in text]
            defined = (f for file in some if len(some) <= _MOST_FILES for f in self._defined_functions(file))
            self._mentions[word] = tuple(function for function in defined if word in function.text)
        return self._mentions[word]

    def _defined_functions(self, file: str) -> tuple[Function, ...]:
        if file not in self._functions:
            text = self._read()[file]
            macros = (Function(m[1], file, m[0], True) for m in _MACRO.finditer(blank_comments(text)))
            self._functions[file] = (*functions(self._blank_text(file), file), *macros)
        return self._functions[file]

    def _blank_text(self, file: str) -> str:
        if file not in self._code:
            self._code[file] = blank_out(self._read()[file])
        return self._code[file]

    def _read(self) -> dict[str, str]:
        if self._texts is None:
            self._texts, left = {}, _MOST_BYTES
            for path in self._paths:
                try:
                    data = files.read_all(path, _LARGEST)
                except OSError:
                    continue
                left -= len(data)
                if left < 0:
                    self._texts = {}
                    break
                self._texts[path] = data.decode("latin-1")
        return self._texts


_BEFORE = re.compile(
    r"(?:(?P<call>\w+)\s*\(\s*&?\(*|(?P<sign>\+\+|--|&))?\s*"
    r"(?P<receiver>\w+)?\)*(?:\[[^\]\n]*\]\s*)?(?:(?:->|\.)\s*\w+\s*(?:\[[^\]\n]*\]\s*)?)*\s*\Z"
)
"""The text before `->field`, from the call that it is an argument of, or from an operator."""
_FAR = 120
"""The number of characters before a field that can be of its expression."""


def _receivers_of_changes(body: str, field: str) -> Iterator[str | None]:
    """Yield the receiver of each change of a field: `q` in `q->count++` and `lock(&q->count)`."""
    for use in re.finditer(rf"(?:->|\.)\s*{field}\b\s*([-+*/%&|^]?=(?!=)|\+\+|--|<<=|>>=)?", body):
        before = _BEFORE.search(body, max(0, use.start() - _FAR), use.start())
        if before is not None and (use[1] or before["sign"] or _is_change(before["call"])):
            yield before["receiver"]


def _is_change(call: str | None) -> bool:
    """Return whether a function changes what is handed to it, by its name."""
    if not call or call in _NO_CALLS:
        return False
    return _READS.search(call) is None or _WRITES.search(call) is not None


def _changes(function: Function, field: FieldName, is_certain: bool) -> bool:
    """Return whether a function changes a field, as far as its declarations show of which struct it is."""
    for receiver in _receivers_of_changes(function.text, field.name):
        if field.is_unique:
            return True
        structs = _declared_types(function.text, receiver)
        if structs & set(field.structs) or not (structs or is_certain):
            return True
    return False


def _declared_types(text: str, name: str | None) -> set[str]:
    """Return the type with which a function declares a name, as a set; an empty one if it does not."""
    if name is None:
        return set()
    for match in re.finditer(rf"\b(\w++)(?:\s*\*+\s*(?:\w+\s+)?|\s+){name}\s*[=;,)\[]", text):
        return set() if match[1] in _NO_TYPES else {match[1]}
    return set()


def functions(code: str, file: str) -> Iterator[Function]:
    """Yield the functions that a text without comments and directives defines.

    A closing brace at the start of a line ends a function, also where branches of `#if` open more than they
    close.
    """
    code = _LINKAGE.sub(lambda match: " " * len(match[0]), code)
    depth, head, start = 0, 0, 0
    for brace in _BRACE.finditer(code):
        at = brace.start()
        if brace[0] == "{":
            start = at if depth == 0 else start
            depth += 1
        elif brace[0] == "}":
            depth = 0 if at == 0 or code[at - 1] == "\n" else max(0, depth - 1)
            if depth == 0:
                name = _defined_name(code[head:start]) if start >= head else ""
                if name:
                    yield Function(name, file, code[head:at])
                head = start = at + 1
        elif depth == 0:
            head = start = at + 1


def _defined_name(head: str) -> str:
    """Return the name of the function that a text before a brace declares; empty if it declares none."""
    if "=" in head or ")" not in head:
        return ""
    depth, names = 0, list[str]()
    for match in re.finditer(r"\b(\w++)\s*\(|[()]", head):
        if match[0] != ")":
            if depth == 0 and match[1] and not match[1].startswith("__"):
                names.append(match[1])
            depth += 1
        else:
            depth = max(0, depth - 1)
    return names[-1] if names else ""
