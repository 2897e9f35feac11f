"""The functions and macros that C sources define, as text, and the calls between them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from layoutlint import files
from layoutlint.model.record import Record
from layoutlint.readers.c_tokens import blank_comments, blank_out

_LARGEST = 1 << 24
"""The most bytes of a C file."""
_MOST_BYTES = 1 << 28
"""The most bytes of all files; PostgreSQL has 35 million."""
_MOST_FILES = 300
"""The most files with a word; a word in more tells nothing."""
_FEW_STATEMENTS = 2
_BRACE = re.compile(r"[{};]|^\}", re.MULTILINE)
_WORD = re.compile(r"[A-Za-z_]\w*+")
_FUNCTION_POINTER = re.compile(r"\(\s*\*\s*(\w+)\s*\)")
_BRACKET = re.compile(r"[][(){}]")
_BRACKET_OR_COMMA = re.compile(r"[][(){},]")
_LINKAGE = re.compile(r'\bextern\s*"[^"\n]*"\s*\{')
_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w++)\(([^\n\\]|\\\r?\n|\\)*+", re.MULTILINE)


class Function(Record, frozen=True):
    """A function or a macro with parameters, in a C file."""

    name: str
    file: str
    text: str
    """From its declaration to the brace that closes it."""
    is_macro: bool = False
    line: int = 0
    """The line at which the text begins."""

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of its parameters."""
        start = re.search(rf"\b{self.name}\s*\(", self.text)
        if start is None:
            return ()
        some = split_arguments(self.text, start.end() - 1)
        return tuple(_declared_name(each) for each in some)

    def line_at(self, offset: int) -> int:
        """Return the line of a place in the text."""
        return self.line + self.text.count("\n", 0, offset)

    @property
    def is_accessor(self) -> bool:
        """Whether it has at most two statements, so that its callers are the code to look at."""
        return self.is_macro or self.text.count(";") <= _FEW_STATEMENTS


class SourceFunctions:
    """The functions of some C files. Files are read when they are needed."""

    def __init__(self, paths: Iterable[str], read: Mapping[str, str] | None = None) -> None:
        """`read` has the texts of files that are not read from their paths."""
        self._paths = tuple(paths)
        self._read = read or {}
        self._texts: dict[str, str] | None = None
        self._functions: dict[str, tuple[Function, ...]] = {}
        self._code: dict[str, str] = {}
        self._mentions: dict[str, tuple[Function, ...]] = {}
        self._values: dict[str, bool] = {}

    def callers(self, function: Function) -> set[Function]:
        """Return the functions that call a function, without itself."""
        call = re.compile(rf"\b{function.name}\s*\(")
        return {
            each
            for each in self.functions_with_word(function.name)
            if each != function and call.search(each.text) and self._may_mean(each.file, function)
        }

    def _may_mean(self, file: str, function: Function) -> bool:
        """Return whether the name of a function can mean it in a file, which may define another."""
        return file == function.file or all(
            each.name != function.name for each in self.defined_functions(file)
        )

    def is_value(self, name: str) -> bool:
        """Return whether a name is used without a call: as a callback, or in a table."""
        if name not in self._values:
            value = re.compile(rf"\b{name}\b(?!\s*\()")
            self._values[name] = any(
                name in text and value.search(self.code(file)) for file, text in self.texts().items()
            )
        return self._values[name]

    def functions_with_word(self, word: str) -> tuple[Function, ...]:
        """Return the functions with a word in their text; none if the word is in too many files."""
        if word not in self._mentions:
            some = self._files_by_word.get(word, ())
            defined = (f for file in some if len(some) <= _MOST_FILES for f in self.defined_functions(file))
            self._mentions[word] = tuple(function for function in defined if word in function.text)
        return self._mentions[word]

    @cached_property
    def _files_by_word(self) -> Mapping[str, Sequence[str]]:
        """The files with a word, in the order of the files."""
        files_by_word: dict[str, list[str]] = defaultdict(list)
        for file, text in self.texts().items():
            for word in set(_WORD.findall(text)):
                files_by_word[word].append(file)
        return files_by_word

    def defined_functions(self, file: str) -> tuple[Function, ...]:
        """Return the functions of a file, then its macros with parameters."""
        if file not in self._functions:
            text = self.texts()[file]
            plain = blank_comments(text)
            macros = (
                Function(m[1], file, m[0], True, plain.count("\n", 0, m.start()) + 1)
                for m in _MACRO.finditer(plain)
            )
            self._functions[file] = (*functions(self.code(file), file), *macros)
        return self._functions[file]

    def code(self, file: str) -> str:
        """Return the text of a file without comments, strings and directives."""
        if file not in self._code:
            self._code[file] = blank_out(self.texts()[file])
        return self._code[file]

    def texts(self) -> dict[str, str]:
        """Return the text of each file; none of them if they are too many bytes."""
        if self._texts is None:
            self._texts, left = {}, _MOST_BYTES
            for path in self._paths:
                try:
                    text = self._read.get(path) or files.read_all(path, _LARGEST).decode("latin-1")
                except OSError:
                    continue
                left -= len(text)
                if left < 0:
                    self._texts = {}
                    break
                self._texts[path] = text
        return self._texts


def functions(code: str, file: str) -> Iterator[Function]:
    """Yield the functions that a text without comments and directives defines.

    A closing brace at the start of a line ends a function, also where branches of `#if` open more than they
    close.
    """
    code = _LINKAGE.sub(lambda match: " " * len(match[0]), code)
    depth, head, start, line, counted = 0, 0, 0, 1, 0
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
                    line, counted = line + code.count("\n", counted, head), head
                    yield Function(name, file, code[head:at], line=line)
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


def _declared_name(parameter: str) -> str:
    """Return the name of a parameter; empty without one."""
    function = _FUNCTION_POINTER.search(parameter)
    names = [function[1]] if function is not None else _WORD.findall(parameter.partition("[")[0])
    return names[-1] if names else ""


def closing(text: str, at: int, most: int = 2000) -> int:
    """Return the offset of the bracket that closes the one at an offset.

    If there is none within so many characters, return the end of what was searched.
    """
    depth = 0
    for bracket in _BRACKET.finditer(text, at, at + most):
        depth += 1 if bracket[0] in "([{" else -1
        if depth == 0:
            return bracket.start()
    return min(len(text), at + most)


def split_arguments(text: str, at: int) -> tuple[str, ...]:
    """Return the arguments between the parenthesis at an offset and the one that closes it."""
    end, start, depth, some = closing(text, at), at + 1, 0, list[str]()
    for sign in _BRACKET_OR_COMMA.finditer(text, at + 1, end):
        if sign[0] == ",":
            if depth == 0:
                some.append(text[start : sign.start()].strip())
                start = sign.end()
        else:
            depth += 1 if sign[0] in "([{" else -1
    return (*some, text[start:end].strip())
