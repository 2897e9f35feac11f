"""The functions and macros that C sources define, as text, and the calls between them."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache

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
_LONGEST = 1 << 18
"""The most characters of a function; the longest of SQLite and Linux have about 200,000."""
_MANY = 2000
"""The number of functions in a file from which on they are searched by an index."""
_MOST_NAMESAKES = 20
"""The most functions of one name in a file; a name of more tells nothing."""
_BRACE = re.compile(r"[{};]|^\}", re.MULTILINE)
_WORD = re.compile(r"[A-Za-z_]\w*+")
_FUNCTION_POINTER = re.compile(r"\(\s*\*\s*(\w+)\s*\)")
_BRACKET = re.compile(r"[][(){}]")
_BRACKET_OR_COMMA = re.compile(r"[][(){},]")
_CALLED = re.compile(r"(?<!\w)(\w++)\s*+\(")
_TYPEDEF = re.compile(r"\btypedef\s++((?:\w++\s++){1,6}?)(\w++)\s*+;")
_LINKAGE = re.compile(r'\bextern\s*"[^"\n]*"\s*\{')
_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w++)\(([^\n\\]|\\\r?\n|\\)*+", re.MULTILINE)


class Function(Record, frozen=True, dict=True):
    """A function or a macro with parameters, in a C file."""

    name: str
    file: str
    text: str
    """From its declaration to the brace that closes it."""
    is_macro: bool = False
    line: int = 0
    """The line at which the text begins."""

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """The names of its parameters."""
        calls = (call for call in _CALLED.finditer(self.text) if call[1] == self.name)
        start = next(calls, None)
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
        self._by_word: dict[str, dict[str, list[Function]]] = {}
        self._namesakes: dict[str, Counter[str]] = {}

    def callers(self, function: Function) -> set[Function]:
        """Return the functions that call a function, without itself."""
        if self._count_namesakes(function.file)[function.name] > _MOST_NAMESAKES:
            return set()
        call = re.compile(rf"\b{function.name}\s*\(")
        return {
            each
            for each in self.functions_with_word(function.name)
            if each != function and call.search(each.text) and self._may_mean(each.file, function)
        }

    def _may_mean(self, file: str, function: Function) -> bool:
        """Return whether the name of a function can mean it in a file, which may define another."""
        return file == function.file or function.name not in self._count_namesakes(file)

    def _count_namesakes(self, file: str) -> Counter[str]:
        """Return the names that a file defines, with how often."""
        if file not in self._namesakes:
            self._namesakes[file] = Counter(each.name for each in self.defined_functions(file))
        return self._namesakes[file]

    def is_value(self, name: str) -> bool:
        """Return whether a name is used without a call: as a callback, or in a table."""
        if name not in self._values:
            value = re.compile(rf"\b{name}\b(?!\s*\()")
            self._values[name] = any(
                name in text and value.search(self.code(file)) for file, text in self.texts().items()
            )
        return self._values[name]

    def find_typedef(self, name: str) -> str | None:
        """Return the words for which a typedef stands that is no struct; None for other names."""
        return self._typedefs.get(name)

    @cached_property
    def _typedefs(self) -> Mapping[str, str]:
        texts = (text for text in self.texts().values() if "typedef" in text)
        return {match[2]: match[1] for text in texts for match in _TYPEDEF.finditer(text)}

    def functions_with_word(self, word: str) -> tuple[Function, ...]:
        """Return the functions with a word in their text; none if the word is in too many files."""
        if word not in self._mentions:
            some = self._files_by_word.get(word, ())
            files_with_word = some if len(some) <= _MOST_FILES else ()
            self._mentions[word] = tuple(f for file in files_with_word for f in self._mentioning(file, word))
        return self._mentions[word]

    def _mentioning(self, file: str, word: str) -> Sequence[Function]:
        """Return the functions of a file with a word in their text, of a file with many by an index."""
        defined = self.defined_functions(file)
        if len(defined) <= _MANY:
            return [function for function in defined if word in function.text]
        if file not in self._by_word:
            by_word = self._by_word[file] = defaultdict(list)
            for function in defined:
                for each in set(_WORD.findall(function.text)):
                    by_word[each].append(function)
        return self._by_word[file].get(word, ())

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
    """Yield the functions that a text without comments and directives defines, but for very long ones.

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
                if name and at - head <= _LONGEST:
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
    if len(text) > _LONGEST:
        return at + closing(text[at : at + most], 0, most)
    end = _brackets(text).get(at, len(text))
    return min(end, at + most)


@lru_cache(8)
def _brackets(text: str) -> dict[int, int]:
    """Return the offset of each bracket that is closed, with that of the one that closes it."""
    ends, opened = dict[int, int](), list[int]()
    for bracket in _BRACKET.finditer(text):
        if bracket[0] in "([{":
            opened.append(bracket.start())
        elif opened:
            ends[opened.pop()] = bracket.start()
    return ends


def split_arguments(text: str, at: int) -> tuple[str, ...]:
    """Return the arguments between the parenthesis at an offset and the one that closes it."""
    end, start, some = closing(text, at), at + 1, list[str]()
    place = start
    while sign := _BRACKET_OR_COMMA.search(text, place, end):
        place = sign.end() if sign[0] == "," else closing(text, sign.start()) + 1
        if sign[0] == ",":
            some.append(text[start : sign.start()].strip())
            start = place
    return (*some, text[start:end].strip())
