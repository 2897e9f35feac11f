"""What a compiler says about itself (`--query-driver`), and the flags with which libclang imitates it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import cache

from layoutlint.model.record import Record

_DEFINITION = re.compile(r"#define (?P<name>\w+)(?P<parameters>\([\w, .]*\))?(?: (?P<text>.*))?")
_ALONE = ("-undef", "-nostdinc")
"""Flags for libclang: it has no macros and no folders of its own."""
_SIZES = {
    "SHORT": "short", "INT": "int", "LONG": "long", "LONG_LONG": "long long", "FLOAT": "float",
    "DOUBLE": "double", "LONG_DOUBLE": "long double", "POINTER": "void *", "SIZE_T": "__SIZE_TYPE__",
    "PTRDIFF_T": "__PTRDIFF_TYPE__", "WCHAR_T": "L' '", "INT128": "__int128",
}  # fmt: skip
"""Types, or expressions of them, whose size is in `__SIZEOF_NAME__`."""
_FIRST_WITH_FLOATS = 7
"""The first version of GCC with types such as _Float32."""
ANNOTATING = ("annotate", "btf_decl_tag")
"""Attributes that hold rules of layoutlint: read for every compiler, as they change no layout."""
_SHOWN = '__attribute__((annotate("layoutlint:" {})))'
SHOWING = (
    f"-DLAYOUTLINT_SHOWN(text)={_SHOWN.format('text')}",
    f"-DLAYOUTLINT_STRUCT(...)={_SHOWN.format('#__VA_ARGS__')}",
)
"""Flags under which layoutlint.h shows annotations for a compiler without `__has_attribute`, for which it
asks.
"""
_HAS = ("__has_attribute", "__has_builtin")
_BUILT_IN = (
    *_HAS, "__has_feature", "__has_extension", "__has_include", "__has_include_next", "__has_c_attribute",
    "__has_warning", "__is_identifier", "__has_declspec_attribute", "__has_constexpr_builtin",
    "__is_target_arch", "__is_target_vendor", "__is_target_os", "__is_target_environment",
    "__is_target_variant_os", "__is_target_variant_environment", "__building_module", "__MODULE__",
)  # fmt: skip
"""Macros that are built into libclang."""
OWN_PREFIX = "__layoutlint_"
"""Before the names of macros that hold answers."""
_LACKS = f"{OWN_PREFIX}lacks"
_OWN_HEADER = re.compile(r".*/gcc[^/]*/[^/]+/[^/]+/include(?:-fixed)?/.*")
_IEEE, _X87 = "113", "64"
"""Digits of the mantissa of `long double`."""
_ELEMENTS = {
    "int8": ("signed char", 1), "int16": ("short", 2), "int32": ("int", 4), "int64": ("long long", 8),
    "uint8": ("unsigned char", 1), "uint16": ("unsigned short", 2), "uint32": ("unsigned", 4),
    "uint64": ("unsigned long long", 8), "poly8": ("unsigned char", 1), "poly16": ("unsigned short", 2),
    "poly64": ("unsigned long long", 8), "float16": ("__fp16", 2), "float32": ("float", 4),
    "float64": ("double", 8), "bfloat16": ("short", 2),
}  # fmt: skip
"""Elements of the vectors of ARM, with their sizes; bfloat16 has the size of `short`."""
_ARM_SCALARS = {
    "di": "long long", "udi": "unsigned long long", "poly8": "unsigned char", "poly16": "unsigned short",
    "poly64": "unsigned long long", "poly128": "__attribute__((vector_size(16))) unsigned long long",
}  # fmt: skip
_AARCH64_SCALARS = {
    "__Poly8_t": "unsigned char", "__Poly16_t": "unsigned short", "__Poly64_t": "unsigned long long",
    "__Poly128_t": "unsigned __int128",
}  # fmt: skip


class CompilerAnswer(Record, frozen=True):
    """What a compiler printed for some flags."""

    asked: tuple[str, ...]
    """The flags of the command that it got."""
    target: str
    """As it spells it: `arm-none-eabi`."""
    folders: tuple[str, ...]
    """The folders in which it searches `#include <...>`."""
    definitions: str
    """Its predefined macros, as `-dM` prints them."""

    @property
    def macros(self) -> dict[str, str]:
        """The text of each macro by its name, with parameters if it has any."""
        return _macros(self.definitions)

    @property
    def flags(self) -> tuple[str, ...]:
        """The flags for libclang behind those of the command: no folders but those of the compiler."""
        return (*_ALONE, *(word for folder in self.folders for word in ("-isystem", folder)))

    @property
    def definition_flags(self) -> tuple[str, ...]:
        """The flags for libclang before those of the command: they define what the compiler defines."""
        return _definition_flags(self.definitions)

    @property
    def type_flags(self) -> tuple[str, ...]:
        """The flags of GCC and clang that choose the types which its macros state."""
        macros = self.macros
        enums = macros.get("__ARM_SIZEOF_MINIMAL_ENUM")
        return (
            *(() if enums is None else ("-fshort-enums" if enums == "1" else "-fno-short-enums",)),
            "-funsigned-char" if "__CHAR_UNSIGNED__" in macros else "-fsigned-char",
            *(("-fshort-wchar",) if macros.get("__SIZEOF_WCHAR_T__") == "2" else ()),
        )

    def is_asked(self, flag: str) -> bool:
        """Return whether a flag took part in the question."""
        return flag in self.asked

    def without_specs(self, words: tuple[str, ...]) -> tuple[str, ...]:
        """Return words without those that took part, and change nothing but macros and folders."""
        joined = re.sub(r"(?:(?<=\0)|^)-?(-specs)[\0=]", r"\1=", "\0".join(words)).split("\0")
        return tuple(word for word in joined if not word.startswith("-specs=") or word not in self.asked)

    def is_own_header(self, path: str) -> bool:
        """Return whether a file is one of GCC's own headers, whose bodies call what only GCC has."""
        return path.startswith(self.folders) and bool(_OWN_HEADER.fullmatch(path))

    @property
    def version(self) -> tuple[int, ...]:
        """The numbers of its version."""
        names = ("__clang_major__", "__clang_minor__", "__clang_patchlevel__")
        if not self.is_clang:
            names = ("__GNUC__", "__GNUC_MINOR__", "__GNUC_PATCHLEVEL__")
        return tuple(_number(self.macros, name) for name in names)

    @property
    def is_clang(self) -> bool:
        """Whether it is clang; else it is GCC."""
        return "__clang__" in self.macros

    def sizes(self) -> tuple[tuple[str, str, str], ...]:
        """Return each type with the macro for its size, and the size."""
        macros = self.macros
        sizes = ((macros.get(kind, kind), f"__SIZEOF_{name}__") for name, kind in _SIZES.items())
        return tuple((kind, name, macros[name]) for kind, name in sizes if name in macros)


@cache
def _macros(definitions: str) -> dict[str, str]:
    matches = filter(None, map(_DEFINITION.fullmatch, definitions.splitlines()))
    return {match["name"] + (match["parameters"] or ""): match["text"] or "" for match in matches}


@cache
def _definition_flags(definitions: str) -> tuple[str, ...]:
    macros = _macros(definitions)
    if "__clang__" in macros:
        return (*_built_in_flags(macros), *(f"-D{name}={text}" for name, text in macros.items()))
    annotating = (f"{OWN_PREFIX}has_attribute_{name}" for own in ANNOTATING for name in (own, f"__{own}__"))
    defined = {**_gcc_types(macros), **macros, **dict.fromkeys(annotating, "1")}
    showing = SHOWING if f"{_LACKS}__has_attribute" in macros else ()
    return (*_built_in_flags(macros), *(f"-D{name}={text}" for name, text in defined.items()), *showing)


def _built_in_flags(macros: dict[str, str]) -> Iterator[str]:
    """Yield flags for macros that are built into libclang: as the compiler has them, or not at all."""
    for name in _BUILT_IN:
        if f"{_LACKS}{name}" in macros:
            yield f"-U{name}"
        elif name in _HAS:
            yield f"-D{name}(x)={OWN_PREFIX}{name[2:]}_##x"
    yield f"-Wundef-prefix={OWN_PREFIX}"


@cache
def feature_question() -> bytes:
    """Return C text after which macros say what a compiler has of all names that are asked."""
    with open(os.path.join(os.path.dirname(__file__), "asked_names.txt"), encoding="ascii") as file:
        names = [word for line in file if not line.startswith("#") for word in line.split()]
    attributes = [name for name in names if not name.startswith("__")]
    spellings = (*attributes, *(f"__{name}__" for name in attributes))
    functions = (name for name in names if name.startswith("__"))
    lacking = (f"#ifndef {name}\n#define {_LACKS}{name}\n#endif\n" for name in _BUILT_IN)
    texts = (*lacking, *map(_has_question, _HAS, (spellings, functions)))
    return "".join(texts).encode()


def _has_question(macro: str, names: Iterable[str]) -> str:
    """Return C text that asks for the names that a macro such as `__has_builtin` knows."""
    rows = (
        f"#if {macro}({name})\n#define {OWN_PREFIX}{macro[2:]}_{name} 1\n"
        f"#else\n#define {OWN_PREFIX}{macro[2:]}_{name} 0\n#endif\n"
        for name in names
    )
    return f"#ifdef {macro}\n{''.join(rows)}#endif\n"


def _number(macros: dict[str, str], name: str) -> int:
    text = macros.get(name, "0")
    return int(text) if text.isdecimal() else 0


def _gcc_types(macros: dict[str, str]) -> dict[str, str]:
    """Return types that GCC has and libclang does not, as macros for types of the same layout."""
    mantissa = macros.get("__LDBL_MANT_DIG__")
    widest = "long double" if mantissa == _IEEE else "__float128"
    types = {"_Float32": "float", "_Float64": "double", "_Float32x": "double"}
    if "__FLT128_MANT_DIG__" in macros:
        types["_Float128"] = widest
    if "__FLT64X_MANT_DIG__" in macros:
        types["_Float64x"] = "long double" if mantissa == _X87 else widest
    if mantissa == _X87:
        types["__float80"] = "long double"
    if _number(macros, "__GNUC__") < _FIRST_WITH_FLOATS:
        types = {name: text for name, text in types.items() if name == "__float80"}
    return types | (_vectors("__aarch64__" in macros) if "__ARM_NEON" in macros else {})


def _vectors(is_aarch64: bool) -> dict[str, str]:
    """Return the types with which GCC's arm_neon.h defines others."""
    types = dict(_AARCH64_SCALARS) if is_aarch64 else {
        f"__builtin_neon_{name}": text for name, text in _ARM_SCALARS.items()
    }  # fmt: skip
    for element, (text, size) in _ELEMENTS.items():
        for width in (8, 16):
            name = f"__simd{8 * width}_{element}_t"
            if is_aarch64:
                name = f"__{element.capitalize()}x{width // size}_t"
            types[name] = f"__attribute__((vector_size({width}))) {text}"
    return types
