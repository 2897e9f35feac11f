"""Arrays behind pointers: fields and variables whose elements threads write, as the C sources show."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from types import MappingProxyType

from layoutlint.judgement.lookup import Structs
from layoutlint.model.ctype import CType
from layoutlint.model.reading import AllocatedArray, Reading
from layoutlint.model.record import replace
from layoutlint.model.storage import ANY, Storage
from layoutlint.model.structs import Field, Source, Struct, fields_in_braces
from layoutlint.sources.source_uses.element_owners import ArrayName

Reason = Callable[[ArrayName], str | None]
Typedefs = Callable[[str], str | None]
_MOST_TYPEDEFS = 10
_NUMBERS = {
    "char": 1, "short": 2, "short int": 2, "int": 4, "long long": 8, "long long int": 8,
    "float": 4, "double": 8,
}  # fmt: skip
_WORDS = frozenset((
    "long", "long int", "size_t", "ssize_t", "ptrdiff_t", "intptr_t", "uintptr_t", "ulong", "off_t", "time_t",
))  # fmt: skip
"""The numbers that are as large as a pointer."""
_ATOMIC = re.compile(r"atomic_(?:u|s)?(?=char|short|int\b|long|llong)|atomic_(?=\w)")
_OTHERS = {"llong": "long long", "bool": "char"}
_FIXED = re.compile(r"u?int(?:_least|_fast)?(8|16|32|64)_t|[us]?(8|16|32|64)")
_QUALIFIED = re.compile(r"\b(?:const|volatile|unsigned|signed|_Atomic) ?")
_IN_MALLOC = "malloc"


def is_pointer(field: Field) -> bool:
    """Return whether a field can point to an array: it is a pointer, but not to a function or an array."""
    return field.type.left.endswith("*") and not field.type.right and not field.dims


def pointed_arrays(
    reading: Reading,
    reason: Reason,
    is_unique: Callable[[str], bool],
    typedefs: Typedefs = MappingProxyType[str, str]({}).get,
) -> Iterator[tuple[AllocatedArray, str]]:
    """Yield the arrays behind the pointers of an input, each with the code that shows which elements
    threads write.

    They start where malloc puts them; `is_unique` tells whether one struct alone has a field of a name,
    `typedefs` what a name stands for.
    """
    structs = Structs(reading.structs)
    for struct in reading.structs:
        for _, field in fields_in_braces(struct.fields):
            if field.name and is_pointer(field):
                names = (struct.name, *struct.aliases)
                name = ArrayName(field.name, names, is_unique(field.name))
                label = f"the array that `{field.name}` of {struct.aggregate} {struct.name} points to"
                yield from _array(field, name, label, struct, structs, reason, typedefs)
    for variable in reading.variables:
        if variable.name and is_pointer(variable) and reading.structs:
            file = variable.source.file if variable.source is not None else ""
            name = ArrayName(variable.name, None, True, file)
            label = f"the array that `{variable.name}` points to"
            yield from _array(variable, name, label, reading.structs[0], structs, reason, typedefs)


def _array(
    pointer: Field,
    name: ArrayName,
    label: str,
    around: Struct,
    structs: Structs,
    reason: Reason,
    typedefs: Typedefs,
) -> Iterator[tuple[AllocatedArray, str]]:
    element = _element(pointer, around, structs, typedefs)
    if element is None or (element.align or 1) >= element.target.line_size:
        return  # who aligns the type to a line allocates it so
    shown = reason(name)
    if shown is not None:
        source = pointer.source or around.source or Source("", 0)
        array = replace(element, source=source, label=label)
        yield AllocatedArray(array, Storage(_IN_MALLOC, source, array=ANY)), shown


def _size_of_number(text: str, typedefs: Typedefs, word: int) -> int | None:
    """Return the bytes of a type that is a number or a pointer; None for others."""
    for _ in range(_MOST_TYPEDEFS):
        text = _QUALIFIED.sub("", text).strip()
        if (atomic := _ATOMIC.match(text)) is not None:
            text = _OTHERS.get(text[atomic.end() :], text[atomic.end() :])
        fixed = _FIXED.fullmatch(text)
        if text in _WORDS or text.endswith("*"):
            return word
        if fixed is not None:
            return int(fixed[1] or fixed[2]) // 8
        if text in _NUMBERS or (following := typedefs(text)) is None:
            return _NUMBERS.get(text)
        text = following
    return None


def _element(pointer: Field, around: Struct, structs: Structs, typedefs: Typedefs) -> Struct | None:
    """Return what a pointer points to, a number as a struct with one field; None if its size is unknown."""
    text = _QUALIFIED.sub("", pointer.type.left[:-1]).strip()
    target = around.target
    size = _size_of_number(text, typedefs, target.pointer_size)
    if size is not None:
        whole = Field("", CType(text), 0, 8 * size)
        return replace(
            around, name=pointer.name or "", aliases=(), bit_size=8 * size, align=size, fields=(whole,)
        )
    named = structs.find(re.sub(r"^(?:struct|union) ", "", text))
    return next((each for each in named if each.bit_size and each.problem is None), None)
