"""Files in C++, assembly and Rust: which of them name a struct, and what in them depends on its order."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from layoutlint.readers.c_tokens import blank_out
from layoutlint.sources.order_uses import scan
from layoutlint.sources.order_uses.facts import OrderUse
from layoutlint.sources.order_uses.sources import ASSEMBLY, CPLUSPLUS, Corpus
from layoutlint.sources.order_uses.subject import Subject


def naming(sources: Corpus, subject: Subject) -> list[str]:
    """Return the files that name the struct, or cannot be read."""
    word = re.compile(rf"\b(?:{_alternatives(subject.names)})\b")
    return [path for path, text in _texts(sources) if text is None or word.search(text)]


def uses(
    sources: Corpus, subject: Subject, functions: Sequence[str], objects: Sequence[str]
) -> Iterator[OrderUse]:
    """Yield what depends on the order.

    `functions` get objects of the struct and are not defined in C; `objects` are variables that are one.
    """
    for path, text in _texts(sources):
        if text is None:
            continue
        if path.endswith(CPLUSPLUS):
            yield from _values(path, text, subject)
        elif path.endswith(ASSEMBLY):
            yield from _assembly(path, text, functions, objects)
        elif path.endswith(".rs"):
            yield from _copies(path, text, subject)


def _texts(sources: Corpus) -> Iterator[tuple[str, str | None]]:
    for path in sources.other_language:
        try:
            yield path, scan.read(path).decode("latin-1")
        except OSError:
            yield path, None


def _alternatives(names: Sequence[str]) -> str:
    return "|".join(map(re.escape, names)) or "(?!)"


def _line(text: str, match: re.Match[str]) -> int:
    return text.count("\n", 0, match.start()) + 1


def _values(path: str, text: str, subject: Subject) -> Iterator[OrderUse]:
    """Yield the initial values in C++: those with designators too must have the order of the members."""
    names = _alternatives(subject.names)
    pattern = re.compile(
        rf"(?:\b(?:{names})\s++\w++\s*+(?:\[[^\]]{{0,200}}+\]\s*+){{0,9}}+(?:=\s*+)?"
        rf"|(?<!struct )\b(?:{names})\s*(?:\)\s*)?|\(\s*struct\s+(?:{names})\s*\)\s*)\{{\s*[^\s}}]"
    )
    for match in pattern.finditer(blank_out(text)):
        reason = "C++ has initial values in the order of the members"
        yield OrderUse("positional-initialiser", path, _line(text, match), reason)


def _assembly(path: str, text: str, functions: Sequence[str], objects: Sequence[str]) -> Iterator[OrderUse]:
    """Yield the functions in assembly that get objects, and the objects that it names."""
    pattern = rf"^[ \t]*(?:{_alternatives(functions)})[ \t]*:|\b(?:{_alternatives(objects)})\b"
    if (match := re.search(pattern, text, re.MULTILINE)) is not None:
        yield OrderUse("asm-offset", path, _line(text, match), "assembly gets an object")


def _copies(path: str, text: str, subject: Subject) -> Iterator[OrderUse]:
    """Yield the declarations of the struct in Rust with C's layout."""
    names = _alternatives(subject.names)
    pattern = rf"#\[repr\(C\b[^\]]{{0,200}}+\][^{{}};]{{0,400}}?\bstruct\s+(?:{names})\b"
    for match in re.finditer(pattern, text):
        yield OrderUse("struct-cast", path, _line(text, match), "Rust declares the struct once more")
