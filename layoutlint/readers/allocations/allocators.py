"""What the kernel's functions and macros for allocation make of their arguments, Linux 2.6.22 to 7.2."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from layoutlint.model.storage import ANY, PAGE
from layoutlint.readers.allocations.expressions import (
    Size,
    Tokens,
    bare,
    not_alone,
    number,
    size,
    spelled,
    split,
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
"""Flags of slab caches that put nothing beside an object; those for debugging do."""
_BY_RCU = ("SLAB_TYPESAFE_BY_RCU", "SLAB_DESTROY_BY_RCU")
_ON_LINES = ("L1_CACHE_BYTES", "SMP_CACHE_BYTES")
_WORDS = tuple(tokens(f"sizeof({word})") for word in ("void *", "long", "unsigned long", "int", "u64", "u32"))
"""No more than what every cache gives."""
_ALIGNOF = ("__alignof__", "_Alignof", "alignof", "__alignof")


_CACHE_ARGS = re.compile(r"struct\s+kmem_cache_args\s+(\w+)\s*=\s*\{([^{}]{0,2000})\}")


@dataclass(frozen=True, slots=True)
class Making:
    """What a call makes: objects of what `size` names, in memory that starts so."""

    size: Size
    word: str = ""
    """As `placement` has it; empty where it cannot be told."""
    align: int | None = None
    has_constructor: bool = False
    details: tuple[str, ...] = ()
    problem: str = ""


class Arguments:
    """The arguments of a call, and the text around it."""

    def __init__(self, given: list[str], text: str, at: int) -> None:
        self.given, self.text, self.at = [tokens(each) for each in given], text, at

    def __getitem__(self, index: int) -> Tokens:
        return self.given[index]

    def __len__(self) -> int:
        return len(self.given)


Maker = Callable[[Arguments], Making | None]
"""None for a call that makes no object of a type."""


def _sized(
    word: str, at: int, *, align: int | None = None, count: int | None = None, length: int = 0
) -> Maker:
    """A function that is given a size, and perhaps how many."""

    def make(given: Arguments) -> Making | None:
        if len(given) < max(length, at + 1):
            return None
        found = size(given[at], None if count is None else given[count])
        return None if found is None else Making(found, word, align)

    return make


def _objects(word: str, *, count: int | None = None) -> Maker:
    """A macro that is given a type or an expression of it, and perhaps how many."""

    def make(given: Arguments) -> Making | None:
        if not given.given or (count is not None and len(given) <= count):
            return None
        many = None if count is None else number(given[count]) or ANY
        return Making(_of_type(given[0], many), word)

    return make


def _unknown(at: int, reason: str) -> Maker:
    def make(given: Arguments) -> Making | None:
        found = size(given[at]) if len(given) > at else None
        return None if found is None else Making(found, problem=reason)

    return make


def _variable(word: str, align: int | None = None) -> Maker:
    """`DEFINE_PER_CPU(type, name)` and its kin."""

    def make(given: Arguments) -> Making | None:
        if len(given) != 2 or not given[1]:
            return None
        return Making(_of_type(given[0], _length(given[1][1:])), word, align)

    return make


def _of_type(said: Tokens, count: int | None) -> Size:
    """Objects of a type, which can be an array itself: `struct x[4]`."""
    if said[:1] in (("struct",), ("union",)) and said[2:3] == ("[",):
        length = _length(said[2:])
        return Size(said[:2], length if count is None else ANY)
    return Size(said, count)


def _length(said: Tokens) -> int | None:
    """The length between brackets; ANY where it is no number, None where there are none."""
    if said[:1] != ("[",):
        return None
    return number(said[1:-1]) or ANY if said.count("[") == 1 else ANY


def _cache(given: Arguments) -> Making | None:
    """`KMEM_CACHE(tag, flags)`: aligned as the struct is."""
    if len(given) < 2 or len(given[0]) != 1:
        return None
    return _slab(Size(("struct", given[0][0])), (), given[1], None)


def _created(given: Arguments) -> Making | None:
    """`kmem_cache_create`, with five arguments, or since Linux 6.12 with four."""
    if len(given) not in (4, 5, 7) or given[0][:2] == ("const", "char"):
        return None
    found = size(given[1])
    if found is None:
        return Making(not_alone(given[1]), "slab") if any(word[0].isalpha() for word in given[1]) else None
    if len(given) == 4:
        return _with_args(found, given)
    return _slab(found, given[2], given[3], given[-1])


def _created_for_rcu(given: Arguments) -> Making | None:
    """`kmem_cache_create_rcu(name, size, freeptr_offset, flags)`, 6.11: the pointer is in the object."""
    found = size(given[1]) if len(given) == 4 else None
    return None if found is None else _slab(found, (), given[3], None, is_pointer_inside=True)


def _with_args(found: Size, given: Arguments) -> Making:
    """The cache that a `struct kmem_cache_args` describes."""
    said = bare(given[2])
    if said in (("NULL",), ("0",)):
        return _slab(found, (), given[3], None)
    fields = _initialised(said, given)
    if fields is None:
        return Making(found, problem=f"what `{spelled(said)}` says is set elsewhere")
    inside = fields.get("use_freeptr_offset", ()) in (("true",), ("1",))
    return _slab(found, fields.get("align", ()), given[3], fields.get("ctor"), is_pointer_inside=inside)


def _initialised(said: Tokens, given: Arguments) -> dict[str, Tokens] | None:
    """The fields of a compound literal, or of a variable that is initialised and not changed later."""
    if "{" in said:
        return _fields(said[said.index("{") + 1 : -1])
    if len(said) != 2 or said[0] != "&":
        return None
    known = _cache_args(given.text).get(said[1], [])
    before = [body for body, at in known if at < given.at]
    return _fields(tokens(before[0])) if len(before) == 1 else None


@lru_cache(maxsize=1)
def _cache_args(text: str) -> dict[str, list[tuple[str, int]]]:
    """What each variable that describes a cache is initialised with, and where: two that differ tell enough.

    Without those of which a field is set elsewhere.
    """
    found: dict[str, list[tuple[str, int]]] = {}
    for each in _CACHE_ARGS.finditer(text):
        bodies = found.setdefault(each[1], [])
        if len(bodies) < 2 and all(each[2] != body for body, _ in bodies):
            bodies.append((each[2], each.end()))
    for changed in re.finditer(r"\b(\w+)\s*\.\s*\w+\s*=[^=]", text) if found else ():
        found.pop(changed[1], None)
    return found


def _fields(said: Tokens) -> dict[str, Tokens] | None:
    parts = [part for part in split(said, ",") if part]
    if any(part[0] != "." or part[2:3] != ("=",) for part in parts):
        return None
    return {part[1]: part[3:] for part in parts}


def _slab(
    found: Size, align: Tokens, flags: Tokens, constructor: Tokens | None, *, is_pointer_inside: bool = False
) -> Making:
    """What a cache of objects of a size does with its alignment, its flags and its constructor."""
    names = [bare(part) for part in split(bare(flags), "|")]
    strange = [
        " ".join(name) for name in names if not (number(name) == 0 or (len(name) == 1 and name[0] in FLAGS))
    ]
    if strange:
        return Making(found, problem=f"what flags `{strange[0]}` means is not known")
    has = [name[0] for name in names if number(name) is None]
    has_constructor = constructor is not None and bare(constructor) not in (("NULL",), ("0",))
    details = (*(flag for flag in has if flag in ("SLAB_HWCACHE_ALIGN", *_BY_RCU)),)
    details += ("a constructor",) if has_constructor else ()
    behind = (has_constructor or any(flag in _BY_RCU for flag in has)) and not is_pointer_inside
    word, least, problem = _alignment(align)
    if problem:
        return Making(found, problem=problem)
    if "SLAB_HWCACHE_ALIGN" in has or word == "line":
        return Making(
            found, "line", details=details if "SLAB_HWCACHE_ALIGN" in has else (*details, "aligned to a line")
        )
    return Making(found, "slab", least, behind, details)


def _alignment(said: Tokens) -> tuple[str, int | None, str]:
    """The word for an alignment, or its bytes, or why it is not known."""
    said = bare(said)
    if not said or said[0] in _ALIGNOF or said in _WORDS:
        return "slab", None, ""
    if len(said) == 1 and said[0] in _ON_LINES:
        return "line", None, ""
    if said == ("cache_line_size", "(", ")"):
        return "line", None, ""
    value = number(said)
    if value is None or value & (value - 1):
        return "", None, f"what alignment `{spelled(said)}` is, is not known"
    return "slab", value or None, ""


_DEVRES = "a block of devm_ begins with a header, whose size the configuration decides"
MAKERS: dict[str, Maker] = {
    "KMEM_CACHE": _cache, "KMEM_CACHE_USERCOPY": _cache,
    "kmem_cache_create": _created, "kmem_cache_create_usercopy": _created,
    "kmem_cache_create_rcu": _created_for_rcu,
    **{f"{kv}{z}alloc{node}": _sized("kmalloc", 0, length=2)
       for kv in ("k", "kv") for z in ("m", "z") for node in ("", "_node")},
    **{f"{kv}{name}{node}": _sized("kmalloc", 1, count=0, length=3)
       for kv in ("k", "kv") for name in ("malloc_array", "calloc") for node in ("", "_node")},
    "kmemdup": _sized("kmalloc", 1, length=3), "krealloc": _sized("kmalloc", 1, length=3),
    "krealloc_array": _sized("kmalloc", 2, count=1, length=4),
    **{f"{kv}{z}alloc_{name}": _objects("kmalloc", count=1 if name == "objs" else None)
       for kv in ("k", "kv") for z in ("m", "z") for name in ("obj", "objs", "flex")},
    "vmalloc": _sized("aligned", 0, align=PAGE), "vzalloc": _sized("aligned", 0, align=PAGE),
    "devm_kzalloc": _unknown(1, _DEVRES), "devm_kmalloc": _unknown(1, _DEVRES),
    "devm_kcalloc": _unknown(2, _DEVRES),
    "alloc_percpu": _objects("percpu"), "alloc_percpu_gfp": _objects("percpu"),
    "DEFINE_PER_CPU": _variable("percpu"), "DEFINE_PER_CPU_READ_MOSTLY": _variable("percpu"),
    "DEFINE_PER_CPU_FIRST": _variable("percpu"), "DEFINE_PER_CPU_DECRYPTED": _variable("percpu"),
    "DEFINE_PER_CPU_CACHE_HOT": _variable("percpu"), "DEFINE_PER_CPU_PAGE_ALIGNED": _variable("percpu", PAGE),
    "DEFINE_PER_CPU_SHARED_ALIGNED": _variable("line"), "DEFINE_PER_CPU_ALIGNED": _variable("line"),
}  # fmt: skip
"""By name: what a call of it makes."""
