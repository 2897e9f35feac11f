"""Constructs of C++ in headers that have the suffix of C, by the errors that they cause."""

from __future__ import annotations

import re

REASON = "layoutlint reads only C, also in the DWARF of a program"
# What is named, the error that libclang reports for it in C, and the text at the place of the error.
_CONSTRUCTS = tuple(
    (name, re.compile(message), re.compile(text))
    for name, message, text in (
        ("class", "unknown type name 'class'", rb"class\s+(?:\w+\s+)*\w+\s*[{:;]"),
        ("namespace", "unknown type name 'namespace'", rb"namespace\b[\s\w:]*\{"),
        ("template", "unknown type name 'template'", rb"template\s*<"),
        ("using", "unknown type name 'using'", rb"using\s+(?:namespace\s+)?[\w:]+\s*[=;]"),
        ("virtual", "unknown type name 'virtual'", rb"virtual\s+[\w~]"),
        ("public:", "unknown type name|type name requires", rb"(?:public|private|protected)\s*:"),
        ("::", r"unknown type name '\w+'", rb"\w+\s*::\s*\w"),
        ('extern "C"', r"expected identifier or '\('", rb'"C"'),
        ('extern "C++"', r"expected identifier or '\('", rb'"C\+\+"'),
        ("a base class", r"expected identifier or '\('", rb":\s*(?:p\w+\s+)*[\w:]+[^{};()]{0,80}\{"),
    )
)
_HEADERS = frozenset(
    (
        "algorithm", "any", "array", "atomic", "bit", "bitset", "cassert", "cctype", "cerrno", "cfloat",
        "charconv", "chrono", "cinttypes", "climits", "clocale", "cmath", "compare", "complex",
        "concepts", "condition_variable", "coroutine", "csetjmp", "csignal", "cstdarg", "cstddef",
        "cstdint", "cstdio", "cstdlib", "cstring", "ctime", "cwchar", "deque", "exception",
        "filesystem", "format", "forward_list", "fstream", "functional", "future", "initializer_list",
        "iomanip", "ios", "iosfwd", "iostream", "istream", "iterator", "limits", "list", "locale",
        "map", "memory", "memory_resource", "mutex", "new", "numeric", "optional", "ostream", "queue",
        "random", "ranges", "ratio", "regex", "scoped_allocator", "set", "shared_mutex", "span",
        "sstream", "stack", "stdexcept", "streambuf", "string", "string_view", "system_error", "thread",
        "tuple", "type_traits", "typeindex", "typeinfo", "unordered_map", "unordered_set", "utility",
        "valarray", "variant", "vector", "version",
    )
)  # fmt: skip
"""The headers of the C++ library, which have no suffix."""
LONGEST = 200
"""The bytes of text that `construct` needs."""


def construct(message: str, text: bytes) -> str | None:
    """Return the construct of C++ that an error is about, from the text at its place; None for another."""
    for name, error, source in _CONSTRUCTS:
        if error.match(message) and source.match(text):
            return name
    return None


def is_possible(message: str) -> bool:
    """Return whether C++ can cause an error."""
    return any(error.match(message) for _, error, _ in _CONSTRUCTS)


def is_library_header(name: str) -> bool:
    """Return whether a header belongs to the C++ library."""
    return name in _HEADERS
