"""The kernel's functions and macros for allocation, Linux 2.6.22 to 7.2, and what each makes of its
arguments. `user_space` has those of other programs.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from layoutlint.model.record import Record
from layoutlint.model.storage import ANY, PAGE
from layoutlint.sources.allocations.expressions import (
    ObjectSize,
    Tokens,
    compound_size,
    number,
    size,
    spell,
    split,
    strip_parentheses,
    tokens,
)

FLAGS = frozenset(
    (
        *("SLAB_HWCACHE_ALIGN", "SLAB_TYPESAFE_BY_RCU", "SLAB_DESTROY_BY_RCU", "SLAB_PANIC", "SLAB_ACCOUNT"),
        *("SLAB_RECLAIM_ACCOUNT", "SLAB_MEM_SPREAD", "SLAB_CACHE_DMA", "SLAB_CACHE_DMA32", "SLAB_NO_MERGE"),
        *("SLAB_NOLEAKTRACE", "SLAB_TEMPORARY", "SLAB_KASAN", "SLAB_NO_USER_FLAGS", "SLAB_FAILSLAB"),
        *("SLAB_DEBUG_OBJECTS", "SLAB_NO_OBJ_EXT", "SLAB_SKIP_KFENCE", "SLAB_NOTRACK"),
    )
)
"""Flags of slab caches that add nothing to an object; those for debugging do."""
_BY_RCU = ("SLAB_TYPESAFE_BY_RCU", "SLAB_DESTROY_BY_RCU")
_ON_LINES = ("L1_CACHE_BYTES", "SMP_CACHE_BYTES")
_WORDS = tuple(tokens(f"sizeof({word})") for word in ("void *", "long", "unsigned long", "int", "u64", "u32"))
"""Alignments that every cache provides anyway."""
_ALIGNOF = ("__alignof__", "_Alignof", "alignof", "__alignof")


_CACHE_ARGS = re.compile(r"struct\s+kmem_cache_args\s+(\w+)\s*=\s*\{([^{}]{0,2000})\}")


class Making(Record, frozen=True):
    """The objects that a call makes: what `size` names, in memory with this placement."""

    size: ObjectSize
    word: str = ""
    """The word of `placement`; empty if it cannot be derived."""
    align: int | None = None
    has_constructor: bool = False
    details: tuple[str, ...] = ()
    problem: str = ""


class Arguments:
    """The arguments of a call, and the text around it."""

    def __init__(self, texts: list[str], text: str, at: int) -> None:
        self.values, self.text, self.at = [tokens(argument) for argument in texts], text, at

    def __getitem__(self, index: int) -> Tokens:
        return self.values[index]

    def __len__(self) -> int:
        return len(self.values)


Maker = Callable[[Arguments], Making | None]
"""Returns None for a call that makes no object of a type."""


def sized_call(
    word: str, at: int, *, align: int | None = None, count: int | None = None, length: int = 0
) -> Maker:
    """Return the Maker of a function that takes a size, and perhaps a count, at some positions.

    Calls with fewer than `length` arguments are of another function.
    """

    def make(arguments: Arguments) -> Making | None:
        if len(arguments) < max(length, at + 1):
            return None
        object_size = size(arguments[at], None if count is None else arguments[count])
        return None if object_size is None else Making(object_size, word, align)

    return make


def objects(word: str, at: int = 0, *, align: int | None = None, count: int | None = None) -> Maker:
    """Return the Maker of a macro that takes a type or an expression of it, and perhaps a count."""

    def make(arguments: Arguments) -> Making | None:
        if len(arguments) <= max(at, count or 0):
            return None
        length = None if count is None else number(arguments[count]) or ANY
        return Making(_size_of_type(arguments[at], None if length == 1 else length), word, align)

    return make


def _unknown(at: int, reason: str) -> Maker:
    def make(arguments: Arguments) -> Making | None:
        object_size = size(arguments[at]) if len(arguments) > at else None
        return None if object_size is None else Making(object_size, problem=reason)

    return make


def _variable(word: str, align: int | None = None) -> Maker:
    """Return the Maker of `DEFINE_PER_CPU(type, name)` and similar macros."""

    def make(arguments: Arguments) -> Making | None:
        if len(arguments) != 2 or not arguments[1]:
            return None
        return Making(_size_of_type(arguments[0], _length(arguments[1][1:])), word, align)

    return make


def _size_of_type(type_tokens: Tokens, count: int | None) -> ObjectSize:
    """Return the size of objects of a type, which can itself be an array: `struct x[4]`."""
    if type_tokens[:1] in (("struct",), ("union",)) and type_tokens[2:3] == ("[",):
        length = _length(type_tokens[2:])
        return ObjectSize(type_tokens[:2], length if count is None else ANY)
    return ObjectSize(type_tokens, count)


def _length(brackets: Tokens) -> int | None:
    """Return the length between brackets; ANY if it is not a number, None without brackets."""
    if brackets[:1] != ("[",):
        return None
    return number(brackets[1:-1]) or ANY if brackets.count("[") == 1 else ANY


def _cache(arguments: Arguments) -> Making | None:
    """Return what `KMEM_CACHE(tag, flags)` makes: objects aligned as the struct."""
    if len(arguments) < 2 or len(arguments[0]) != 1:
        return None
    return _slab(ObjectSize(("struct", arguments[0][0])), (), arguments[1], None)


def _cache_create(arguments: Arguments) -> Making | None:
    """Return what `kmem_cache_create` makes, with five arguments, or since Linux 6.12 with four."""
    if len(arguments) not in (4, 5, 7) or arguments[0][:2] == ("const", "char"):
        return None
    object_size = size(arguments[1])
    if object_size is None:
        return (
            Making(compound_size(arguments[1]), "slab")
            if any(word[0].isalpha() for word in arguments[1])
            else None
        )
    if len(arguments) == 4:
        return _cache_with_args(object_size, arguments)
    return _slab(object_size, arguments[2], arguments[3], arguments[-1])


def _cache_create_rcu(arguments: Arguments) -> Making | None:
    """Return what `kmem_cache_create_rcu(name, size, freeptr_offset, flags)` makes (Linux 6.11).

    The free pointer lies within the object.
    """
    object_size = size(arguments[1]) if len(arguments) == 4 else None
    return None if object_size is None else _slab(object_size, (), arguments[3], None, is_pointer_inside=True)


def _cache_with_args(object_size: ObjectSize, arguments: Arguments) -> Making:
    """Return the objects of a cache that a `struct kmem_cache_args` describes."""
    argument = strip_parentheses(arguments[2])
    if argument in (("NULL",), ("0",)):
        return _slab(object_size, (), arguments[3], None)
    fields = _initialiser_fields(argument, arguments)
    if fields is None:
        return Making(object_size, problem=f"what `{spell(argument)}` says is set elsewhere")
    inside = fields.get("use_freeptr_offset", ()) in (("true",), ("1",))
    return _slab(
        object_size, fields.get("align", ()), arguments[3], fields.get("ctor"), is_pointer_inside=inside
    )


def _initialiser_fields(argument: Tokens, arguments: Arguments) -> dict[str, Tokens] | None:
    """Return the fields of a compound literal, or of a variable that is initialised and not changed later."""
    if "{" in argument:
        return _fields(argument[argument.index("{") + 1 : -1])
    if len(argument) != 2 or argument[0] != "&":
        return None
    initialisers = _cache_args(arguments.text).get(argument[1], [])
    earlier = [body for body, at in initialisers if at < arguments.at]
    return _fields(tokens(earlier[0])) if len(earlier) == 1 else None


@lru_cache(maxsize=1)
def _cache_args(text: str) -> dict[str, list[tuple[str, int]]]:
    """Return the initialisers of each variable that describes a cache, with their offsets; at most two
    differing.

    Variables with a field that is assigned elsewhere are left out.
    """
    initialisers: dict[str, list[tuple[str, int]]] = {}
    for definition in _CACHE_ARGS.finditer(text):
        bodies = initialisers.setdefault(definition[1], [])
        if len(bodies) < 2 and all(definition[2] != body for body, _ in bodies):
            bodies.append((definition[2], definition.end()))
    for assignment in re.finditer(r"\b(\w+)\s*\.\s*\w+\s*=[^=]", text) if initialisers else ():
        initialisers.pop(assignment[1], None)
    return initialisers


def _fields(body: Tokens) -> dict[str, Tokens] | None:
    parts = [part for part in split(body, ",") if part]
    if any(part[2:3] != ("=",) for part in parts):  # not `.name =`
        return None
    return {part[1]: part[3:] for part in parts}


def _slab(
    object_size: ObjectSize,
    align: Tokens,
    flags: Tokens,
    constructor: Tokens | None,
    *,
    is_pointer_inside: bool = False,
) -> Making:
    """Return the objects of a cache with this alignment, these flags and this constructor."""
    names = [strip_parentheses(part) for part in split(strip_parentheses(flags), "|")]
    unknown = [
        " ".join(name) for name in names if not (number(name) == 0 or (len(name) == 1 and name[0] in FLAGS))
    ]
    if unknown:
        return Making(object_size, problem=f"what flags `{unknown[0]}` means is not known")
    set_flags = [name[0] for name in names if number(name) is None]
    has_constructor = constructor is not None and strip_parentheses(constructor) not in (("NULL",), ("0",))
    details = (*(flag for flag in set_flags if flag in ("SLAB_HWCACHE_ALIGN", *_BY_RCU)),)
    details += ("a constructor",) if has_constructor else ()
    has_free_pointer = (
        has_constructor or any(flag in _BY_RCU for flag in set_flags)
    ) and not is_pointer_inside
    word, alignment, problem = _alignment(align)
    if problem:
        return Making(object_size, problem=problem)
    if "SLAB_HWCACHE_ALIGN" in set_flags or word == "line":
        return Making(
            object_size,
            "line",
            details=details if "SLAB_HWCACHE_ALIGN" in set_flags else (*details, "aligned to a line"),
        )
    return Making(object_size, "slab", alignment, has_free_pointer, details)


def _alignment(argument: Tokens) -> tuple[str, int | None, str]:
    """Return the placement word for an alignment, its bytes, and why it is unknown."""
    argument = strip_parentheses(argument)
    if not argument or argument[0] in _ALIGNOF or argument in _WORDS:
        return "slab", None, ""
    if len(argument) == 1 and argument[0] in _ON_LINES:
        return "line", None, ""
    if argument == ("cache_line_size", "(", ")"):
        return "line", None, ""
    value = number(argument)
    if value is None or value & (value - 1):
        return "", None, f"`{spell(argument)}` is not a known alignment"
    return "slab", value or None, ""


_DEVRES = "a block of devm_ begins with a header, whose size the configuration decides"
MAKERS: dict[str, Maker] = {
    "KMEM_CACHE": _cache, "KMEM_CACHE_USERCOPY": _cache,
    "kmem_cache_create": _cache_create, "kmem_cache_create_usercopy": _cache_create,
    "kmem_cache_create_rcu": _cache_create_rcu,
    **{f"{kv}{z}alloc{node}": sized_call("kmalloc", 0, length=2)
       for kv in ("k", "kv") for z in ("m", "z") for node in ("", "_node")},
    **{f"{kv}{name}{node}": sized_call("kmalloc", 1, count=0, length=3)
       for kv in ("k", "kv") for name in ("malloc_array", "calloc") for node in ("", "_node")},
    "kmemdup": sized_call("kmalloc", 1, length=3), "krealloc": sized_call("kmalloc", 1, length=3),
    "krealloc_array": sized_call("kmalloc", 2, count=1, length=4),
    **{f"{kv}{z}alloc_{name}": objects("kmalloc", count=1 if name == "objs" else None)
       for kv in ("k", "kv") for z in ("m", "z") for name in ("obj", "objs", "flex")},
    "vmalloc": sized_call("aligned", 0, align=PAGE), "vzalloc": sized_call("aligned", 0, align=PAGE),
    "devm_kzalloc": _unknown(1, _DEVRES), "devm_kmalloc": _unknown(1, _DEVRES),
    "devm_kcalloc": _unknown(2, _DEVRES),
    "alloc_percpu": objects("percpu"), "alloc_percpu_gfp": objects("percpu"),
    "DEFINE_PER_CPU": _variable("percpu"), "DEFINE_PER_CPU_READ_MOSTLY": _variable("percpu"),
    "DEFINE_PER_CPU_FIRST": _variable("percpu"), "DEFINE_PER_CPU_DECRYPTED": _variable("percpu"),
    "DEFINE_PER_CPU_CACHE_HOT": _variable("percpu"), "DEFINE_PER_CPU_PAGE_ALIGNED": _variable("percpu", PAGE),
    "DEFINE_PER_CPU_SHARED_ALIGNED": _variable("line"), "DEFINE_PER_CPU_ALIGNED": _variable("line"),
}  # fmt: skip
"""By the name of a function or macro: what a call of it makes."""
