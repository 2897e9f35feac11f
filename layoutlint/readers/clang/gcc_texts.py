"""What libclang reads in place of the text of a unit of gcc: pragmas and alignments as gcc has them.

An array of a typedef that is aligned above its size is an error to libclang. gcc forgets the alignment in an
array of qualified or atomic elements, and takes the last of several. Such alignments are blanked, and stay
known from the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from layoutlint.model.reading import InputText
from layoutlint.model.record import Record, replace
from layoutlint.readers.clang import libclang, pack_pragmas
from layoutlint.readers.clang.flags import Doubt
from layoutlint.readers.clang.libclang import Cursor, Spot
from layoutlint.readers.clang.struct_texts import Attribute, end_of_parentheses

if TYPE_CHECKING:
    from layoutlint.readers.clang.parse import Unit

_ELEMENT = re.compile(r"size of array element of type '([^']*)'.* isn't a multiple of its alignment")
_TOO_SMALL = re.compile(r"requested alignment is less than minimum alignment of ")
_TARGET_PRAGMA = re.compile(rb"GCC[ \t]+target\b")
_LAYOUT_PRAGMA = re.compile(
    rb"GCC[ \t]+optimize(?:[^\nG]|G(?!CC))*?(?:pack-struct|short-(?:enums|wchar|double))"
)
_MACRO = re.compile(rb"define[ \t]+(\w+)")
_OF_PRAGMA = Doubt(
    "`#pragma GCC target`",
    r"__(?:MMX|S?SSE\w+|SSE|AVX\w*|FMA4?|F16C|BMI2?|POPCNT|LZCNT|AES|PCLMUL|SHA\w*|GFNI|VAES|VPCLMULQDQ)__",
)
"""gcc defines macros for what the pragma states, and clang ignores it."""
MOST_PASSES = 8
"""The most parses of one unit: each shows errors that earlier ones hid."""
Place = tuple[str, int]
"""A file as libclang names it, and an offset in bytes."""


class BlankedAttribute(Record, frozen=True):
    """An attribute that libclang does not see."""

    declaration: Place
    """Where the name is that it aligns."""
    attribute: Attribute


def blank_rejected(
    lib: Any, handle: int, unit: Unit, attributes_of: Callable[[Cursor], list[Attribute]]
) -> Unit | None:
    """Return the unit without the alignments that libclang rejects in it; None if nothing can be blanked.

    Attributes that a macro hides stay.
    """
    elements, places = _find_rejected(lib, handle)
    if not elements and not places:
        return None
    found: dict[Place, list[Attribute]] = {}
    for declaration in _declarations(lib, handle, elements, places):
        at = Spot(lib, lib.clang_getCursorLocation(declaration))
        if at.file is not None:
            own = [each for each in attributes_of(declaration) if each.kind == libclang.ALIGNED]
            found[libclang.file_name(lib, at.file), at.offset] = own
    if any(each.argument is None or each.offset < 0 for own in found.values() for each in own):
        return None
    texts = _texts(lib, handle, found)
    return _with_texts(unit, texts, found) if texts else None


def translate_pragmas(lib: Any, handle: int, unit: Unit) -> Unit | None:
    """Return the unit with pragmas as gcc understands them; None if clang does so."""
    contents = {name: libclang.contents(lib, handle, file) for name, file in _files(lib, handle).items()}
    pragmas = {name: text for name, text in contents.items() if b"ragma" in text}
    if _OF_PRAGMA not in unit.doubts and any(map(_sets_target, pragmas.items())):
        return replace(unit, doubts=(*unit.doubts, _OF_PRAGMA))
    if unit.problem is None and any(map(_LAYOUT_PRAGMA.search, pragmas.values())):
        return replace(unit, problem="a `#pragma GCC optimize` in it has a flag that changes layouts")
    packing = {name: text for name, text in pragmas.items() if pack_pragmas.may_align(text)}
    if not packing:
        return None
    pushed = frozenset[bytes]().union(*map(pack_pragmas.labels, packing.values()))
    macros = pushed.intersection(_macro_names(unit.flags, contents.values())) if pushed else pushed
    translated = {name: pack_pragmas.as_gcc(text, pushed, macros) for name, text in packing.items()}
    texts = {name: text for name, text in translated.items() if text != packing[name]}
    return _with_texts(unit, texts, {}) if texts else None


def _sets_target(named: tuple[str, bytes]) -> bool:
    """Return whether a file, given by its name and text, has such a pragma, and is not the system's."""
    name, text = named
    return not name.startswith("/usr/") and _TARGET_PRAGMA.search(text) is not None


def _macro_names(flags: Iterable[str], texts: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the macros that flags and texts define."""
    words = " ".join(flags).replace("-D", "define ").encode(errors="surrogateescape")
    for text in (words, *texts):
        yield from _MACRO.findall(text)


def _find_rejected(lib: Any, handle: int) -> tuple[set[str], set[Place]]:
    """Return the typedefs that libclang rejects as elements, and the places of too small alignments."""
    elements, places = set[str](), set[Place]()
    for index in range(lib.clang_getNumDiagnostics(handle)):
        raw = lib.clang_getDiagnostic(handle, index)
        message = libclang.text(lib, lib.clang_getDiagnosticSpelling(raw))
        if element := _ELEMENT.match(message):
            elements.add(element[1].rpartition(" ")[2])
        elif _TOO_SMALL.match(message):
            at = Spot(lib, lib.clang_getDiagnosticLocation(raw))
            if at.file is not None:
                places.add((libclang.file_name(lib, at.file), at.offset))
        lib.clang_disposeDiagnostic(raw)
    return elements, places


def _declarations(lib: Any, handle: int, elements: set[str], places: set[Place]) -> Iterator[Cursor]:
    """Yield the typedefs of elements, those behind them, and declarations with attributes at some places."""
    typedefs: dict[str, list[Cursor]] = {}
    aligned: list[Cursor] = []

    def take(child: Cursor, parent: Cursor) -> int:
        if child.kind == libclang.TYPEDEF:
            typedefs.setdefault(libclang.spelling(lib, child), []).append(child)
        elif places and child.kind == libclang.ALIGNED and parent.kind == libclang.FIELD:
            at = Spot(lib, lib.clang_getCursorLocation(child))
            if at.file is not None and (libclang.file_name(lib, at.file), at.offset) in places:
                aligned.append(parent)
        return libclang.RECURSE

    libclang.visit(lib, lib.clang_getTranslationUnitCursor(handle), take)
    yield from aligned
    seen = set[str]()
    while elements - seen:
        seen.add(name := min(elements - seen))
        for declaration in typedefs.get(name, ()):
            yield declaration
            behind = libclang.text(
                lib, lib.clang_getTypeSpelling(lib.clang_getTypedefDeclUnderlyingType(declaration))
            )
            elements = elements | set(re.findall(r"\w+", behind))


def _texts(lib: Any, handle: int, found: dict[Place, list[Attribute]]) -> dict[str, bytes]:
    """Return the files without some attributes, by name; all else stays where it is."""
    handles = _files(lib, handle)
    texts: dict[str, bytes] = {}
    for (name, _), attributes in found.items():
        for attribute in attributes:
            text = texts.get(name) or libclang.contents(lib, handle, handles[name])
            end = attribute.offset + len(attribute.text.encode("utf-8", "replace"))
            opening = text.find(b"(", attribute.offset) if attribute.argument else -1
            end = end if opening < 0 else end_of_parentheses(text, opening + 1)
            blanks = re.sub(rb"[^\n]", b" ", text[attribute.offset : end])
            texts[name] = text[: attribute.offset] + blanks + text[end:]
    return texts


def _files(lib: Any, handle: int) -> dict[str, int]:
    """Return the files of a unit, by name."""
    files = {*libclang.included_files(lib, handle)}
    main = Spot(
        lib, lib.clang_getRangeStart(lib.clang_getCursorExtent(lib.clang_getTranslationUnitCursor(handle)))
    )
    return {libclang.file_name(lib, file): file for file in (*files, main.file) if file is not None}


def _with_texts(unit: Unit, texts: dict[str, bytes], found: dict[Place, list[Attribute]]) -> Unit:
    """Return a unit that is read with other texts."""
    unseen = [(place, replace(each, is_blanked=True)) for place, own in found.items() for each in own]
    blanked = tuple(BlankedAttribute(place, each) for place, each in unseen)
    given = {name: text.decode(errors="surrogateescape") for name, text in texts.items()}
    if unit.text is not None and unit.main in given:
        unit = replace(unit, text=given.pop(unit.main))
    others = tuple(each for each in unit.replaced if each.path not in given)
    replaced = (*others, *(InputText(name, text) for name, text in given.items()))
    return replace(unit, replaced=replaced, blanked=(*unit.blanked, *blanked))
