"""Makes a struct that is read wrongly as small as it can be while it stays wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

_PIECES = (
    re.compile(r"^#pragma .*\n.*^#pragma .*\n?", re.MULTILINE | re.DOTALL),
    re.compile(r"^#pragma .*\n?", re.MULTILINE),
    re.compile(r"^typedef [^;{}]*;\n", re.MULTILINE),
    re.compile(r"^(?:typedef )?(?:struct|union|enum)[^\n]*;\n", re.MULTILINE),
    re.compile(r"[^;{}\n]*\{[^{}]*\}[^;{}\n]*;"),
    re.compile(r"(?<=[{;\n}])[^;{}\n#]*;"),
    re.compile(r"__attribute__\(\((?:[^()]|\([^()]*\))*\)\)"),
    re.compile(
        r"(?<=\(\()(?:packed|ms_struct|aligned\(\d+\)), |, (?:packed|ms_struct|gcc_struct|aligned\(\d+\))(?=\)\))"
    ),
    re.compile(r"_Alignas\([^()]*\)"),
    re.compile(r"\[\d+\]"),
    re.compile(r"\b(?:const|volatile|typedef) "),
)
_SWAPS = (
    (re.compile(r"\b(?:s|t)\d+(?:_t)? (?=m\d)"), "int "),
    (re.compile(r"(?:struct|union) s\d+ (?=m\d)"), "int "),
    (re.compile(r"\bu\d+ (?=m\d)"), "int "),
    (
        re.compile(
            r"\b(?:int|long|long long|double|float|_Bool|short|unsigned \w+|(?:const )?\w+ \*) ?(?=m\d+;)"
        ),
        "char ",
    ),
    (re.compile(r" : \d+"), " : 1"),
    (re.compile(r"\b(?:unsigned|signed) (?=char|int|short|long)"), ""),
    (re.compile(r"\b(?:struct|union) \{ ([^{};]*;) \} (?=;)"), r"\1"),
)


def reduce(text: str, is_wrong: Callable[[str], bool]) -> str:
    """Return the text with all that can go removed."""
    changed = True
    while changed:
        changed = False
        for candidate in _candidates(text):
            if candidate != text and is_wrong(candidate):
                text, changed = candidate, True
                break
    return re.sub(r" +", " ", text)


def _candidates(text: str) -> Iterator[str]:
    for piece in _PIECES:
        for match in piece.finditer(text):
            yield text[: match.start()] + text[match.end() :]
    for pattern, into in _SWAPS:
        for match in pattern.finditer(text):
            yield text[: match.start()] + match.expand(into) + text[match.end() :]
