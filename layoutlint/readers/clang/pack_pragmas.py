"""`#pragma pack` in the text of a file: libclang states that one is in force, and neither which nor where."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from layoutlint.readers.c_tokens import number

_PRAGMA = re.compile(rb"#\s*pragma\s+pack\s*\(([^)]{0,400})\)|\b_Pragma\b")
_BLANK = rb"(?:[ \t]|/\*(?:[^*]|\*(?!/)){0,400}+\*/|\\\r?\n)"
_BLANKS = re.compile(_BLANK)
_ALIGNING = re.compile(
    rb"""(?P<start>(?:(?:\#|%:)BLANK*+pragmaBLANK++|\b_Pragma[ \t]*+\([ \t]*+L?"[ \t]*+))
    (?P<pragma>packBLANK*+\((?P<words>(?:BLANK|[^()"\n])*+)\)|optionsBLANK++alignBLANK*+=[^"\n]*+)""".replace(
        b"BLANK", _BLANK
    ),
    re.VERBOSE,
)
_LASTING = re.compile(rb"pragma[ \t]++(?:ms_struct|clang[ \t]++attribute)\b")
_NUMBER = re.compile(rb"(?:0[xX][\da-fA-F]+|\d+)[uUlL]*")
_VALUES = (0, 1, 2, 4, 8, 16)
_OF_MINGW = b"_CRT_PACKING"
"""A label to gcc and 8 to clang: each header of mingw has it, and its structs are laid out alike."""
_DIRECTIVE = re.compile(rb"^[ \t]*#[ \t]*(?:if|el|endif|include|import)", re.MULTILINE)

Pragma = tuple[int, bytes]
"""The offset of a `#pragma pack`, and what is in its parentheses without blanks; `?` for a `_Pragma`."""


def pragmas(text: bytes) -> tuple[Pragma, ...]:
    """Return the offset and text of each `#pragma pack` of a file; `?` for a `_Pragma`."""
    if b"ragma" not in text:
        return ()
    return tuple(
        (pragma.start(), b"?" if pragma[1] is None else b"".join(pragma[1].split()))
        for pragma in _PRAGMA.finditer(text)
    )


def may_hold(pragmas_in_file: Iterable[Pragma], offset: int) -> bool:
    """Return whether a `#pragma pack` may be in force at an offset, if all earlier ones are compiled."""
    stack: list[bytes] = []
    current = b""
    for at, text in pragmas_in_file:
        if at >= offset:
            break
        words = text.split(b",")
        if words[0] == b"push":
            stack.append(current)
            current = words[-1] if len(words) > 1 else current
        elif words[0] == b"pop":
            current = stack.pop() if stack else b""
        else:
            current = text
    return bool(current) or bool(stack)


def last(text: bytes) -> bool:
    """Return whether pragmas in a text can decide about the layouts of structs behind it."""
    if b"ragma" not in text:
        return False
    words = ((found.start(), found["words"]) for found in _ALIGNING.finditer(text))
    aligning = [(at, b"?" if each is None else b"".join(each.split())) for at, each in words]
    return may_hold(aligning, len(text)) or _LASTING.search(text) is not None


def is_balanced(inside: Sequence[Pragma]) -> bool:
    """Return whether pragmas inside the braces of a struct leave in force what was in force before them.

    clang packs a struct by what is in force at its opening brace, and gcc at the closing one.
    """
    stack: list[bool] = []
    is_same = True
    for _, text in inside:
        words = text.split(b",")
        if words[0] == b"push":
            stack.append(is_same)
            is_same = is_same and len(words) == 1
        elif words[0] == b"pop" and len(words) == 1 and stack:
            is_same = stack.pop()
        else:
            return False
    return is_same and not stack


def stated_before(pragmas_in_file: Sequence[Pragma], text: bytes, offset: int) -> int | None:
    """Return the value that is in force at an offset in bytes, if the text states it; else None.

    It counts the pragmas that are compiled if the offset is: no directive between could leave them out.
    """
    stack: list[tuple[bytes, int | None]] = []
    current: int | None = None
    start = max((each.end() for each in _DIRECTIVE.finditer(text, 0, offset)), default=0)
    for _, words in (each for each in pragmas_in_file if start <= each[0] < offset):
        first, *rest = words.split(b",")
        label = rest[0] if rest and not rest[0].isdigit() else b""
        value = (rest or [first])[-1]
        if first == b"pop":
            while stack and label and stack[-1][0] != label:
                stack.pop()
            current = stack.pop()[1] if stack else None
        elif first == b"push":
            stack.append((label, current))
        elif not value.isdigit():
            current = None if value else 0
        current = number(value.decode()) if value.isdigit() else current
    return current


def labels(text: bytes) -> frozenset[bytes]:
    """Return the labels with which the pragmas of a text save what is in force."""
    found = (_words(each) for each in _ALIGNING.finditer(text) if each["words"])
    return frozenset(words[1] for words in found if words[0] == b"push" and len(words) > 1)


def as_gcc(text: bytes, pushed: frozenset[bytes], macros: frozenset[bytes]) -> bytes:
    """Return a text in which clang takes the pragmas as gcc does (handle_pragma_pack); lines stay the same.

    gcc replaces no macros in them, has no `options align`, and ignores values that clang takes or warns of.
    `pushed` has the labels of the whole unit, and `macros` those of them that are macros.
    """

    def translate(found: re.Match[bytes]) -> bytes:
        pragma = found["pragma"]
        if found["words"] is None:
            return found["start"] + _blank(pragma)
        return found["start"] + _translate(pragma, _words(found), pushed, macros)

    return _ALIGNING.sub(translate, text)


def _words(pragma: re.Match[bytes]) -> list[bytes]:
    return _BLANKS.sub(b"", pragma["words"]).split(b",")


def _blank(text: bytes) -> bytes:
    return re.sub(rb"[^\n\\]", b" ", text)


def may_align(text: bytes) -> bool:
    """Return whether a text may have such pragmas."""
    return b"ragma" in text and _ALIGNING.search(text) is not None


def _translate(
    pragma: bytes, words: list[bytes], pushed: frozenset[bytes], macros: frozenset[bytes]
) -> bytes:
    """Return a `pack(...)` with some words as clang has to read it."""
    action, *rest = words
    numbers = [word for word in rest if _NUMBER.fullmatch(word)]
    names = [word for word in rest if not _NUMBER.fullmatch(word)]
    is_value = not rest and (not action or _is_value(action))
    is_push = action == b"push" and len(rest) == len(names[:1]) + len(numbers[:1])
    is_push = is_push and all(map(_is_value, numbers))
    is_pop = action == b"pop" and len(rest) <= 1 and not numbers
    if not (is_value or is_push or is_pop):
        return _blank(pragma)
    (label,) = names or [b""]
    if is_pop and label and label not in pushed:
        return b"pack(pop)"
    if label in macros and label != _OF_MINGW:
        return pragma.replace(label, b"layoutlint_" + label)
    return pragma


def _is_value(word: bytes) -> bool:
    if not _NUMBER.fullmatch(word):
        return False
    return number(word.decode()) in _VALUES
