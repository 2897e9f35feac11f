"""Types of Linux and of the C library that only a few functions access, by the names of these functions.

A profiler names the code that touched an offset. If it is `down_write`, the offset is in a `struct
rw_semaphore`. The tables name functions that access no other memory than such an object
(include/linux/rwsem.h, mutex.h, spinlock_api_smp.h, percpu_counter.h, errseq.h, rbtree_augmented.h;
pthread.h), and headers whose inlined code accesses only such objects. A slow path that also looks at the task
that owns a lock is in no table.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from layoutlint.model.ctype import CType
from layoutlint.model.structs import Field
from layoutlint.readers.profiles.records import Code


class Objects(NamedTuple):
    """Objects that code accesses."""

    types: frozenset[str]
    """Tags and typedefs, without `struct`."""
    members: frozenset[str] = frozenset()
    """The only members of such an object that it accesses; empty if it can access all."""


_SEMAPHORE = Objects(frozenset({"rw_semaphore"}))
_TAKEN_SEMAPHORE = _SEMAPHORE._replace(members=frozenset({"count", "owner"}))
_MUTEX = Objects(frozenset({"mutex"}), frozenset({"owner"}))
_SPINLOCK = Objects(
    frozenset(
        {
            "spinlock",
            "raw_spinlock",
            "qspinlock",
            "arch_spinlock_t",
            "rwlock_t",
            "qrwlock",
            "lockref",
            "mcs_spinlock",
            "qnode",
        }
    )
)
_TREE = Objects(frozenset({"rb_node", "rb_root", "rb_root_cached"}))
_LIST = Objects(frozenset({"list_head", "hlist_head", "hlist_node", "hlist_bl_head", "hlist_bl_node"}))
_LONG_ATOMIC = Objects(frozenset({"atomic64_t", "atomic_long_t"}))
_ATOMIC = Objects(_LONG_ATOMIC.types | {"atomic_t"})
_COUNT = Objects(frozenset({"refcount_t", "refcount_struct", "kref"}))
_QUEUE = Objects(frozenset({"optimistic_spin_queue", "optimistic_spin_node"}))
_COUNTER = Objects(frozenset({"percpu_counter"}))
_ERROR = Objects(frozenset({"errseq_t"}))
_ARRAY = Objects(frozenset({"xarray", "xa_node"}))

_KERNEL: tuple[tuple[str, Objects], ...] = (
    (r"down_(?:read|write)(?:_trylock|_killable|_interruptible)?", _TAKEN_SEMAPHORE),
    (r"up_(?:read|write)|downgrade_write", _SEMAPHORE),
    (r"mutex_(?:lock|unlock|trylock|lock_interruptible|lock_killable)", _MUTEX),
    (
        r"_raw_(?:spin|read|write)_(?:lock|unlock|trylock)\w*|queued_(?:spin|read|write)_lock_slowpath",
        _SPINLOCK,
    ),
    (r"native_queued_spin_lock_sl(?:owpath)?|do_raw_spin_lock", _SPINLOCK),  # perf c2c prints 26 characters
    (r"lockref_\w+", Objects(frozenset({"lockref"}))),
    (r"refcount_\w+", _COUNT),
    (r"osq_(?:lock|unlock)", _QUEUE),
    (r"(?:__)?percpu_counter_\w+", _COUNTER),
    (r"errseq_\w+", _ERROR),
    (r"rb_(?:insert_color|erase|next|prev|first|last)|__rb_\w+", _TREE),
)
_SOURCES: dict[str, Objects] = {
    "rbtree.h": _TREE, "rbtree_augmented.h": _TREE, "rbtree.c": _TREE,
    "list.h": _LIST, "list_bl.h": _LIST,
    "atomic64_64.h": _LONG_ATOMIC, "atomic64_32.h": _LONG_ATOMIC, "atomic-long.h": _LONG_ATOMIC,
    "atomic.h": _ATOMIC, "atomic-instrumented.h": _ATOMIC, "atomic-arch-fallback.h": _ATOMIC,
    "refcount.h": _COUNT, "osq_lock.c": _QUEUE, "percpu_counter.c": _COUNTER, "percpu_counter.h": _COUNTER,
    "errseq.c": _ERROR, "xarray.c": _ARRAY,
}  # fmt: skip
"""Files of Linux, by their last name, as profilers print them."""
_LIBRARY: tuple[tuple[str, Objects], ...] = (
    (
        r"(?:__)?pthread_mutex_(?:lock|unlock|trylock)\w*|__lll_lock_\w+",
        Objects(frozenset({"pthread_mutex_t"})),
    ),
    (r"(?:__)?pthread_rwlock_\w*lock\w*", Objects(frozenset({"pthread_rwlock_t"}))),
    (r"(?:__)?pthread_spin_\w*lock\w*", Objects(frozenset({"pthread_spinlock_t"}))),
)
_SUFFIX = re.compile(r"(?:\.(?:constprop|isra|part|cold|llvm)(?:\.\d+)*|@\S+)+$")


def expected_objects(code: Code) -> tuple[Objects, ...]:
    """Return what code accesses: by its function, and by its file. None are returned for code in no table."""
    symbol = _SUFFIX.sub("", code.symbol.strip())
    functions = _KERNEL if code.is_kernel else _LIBRARY
    by_name = [objects for pattern, objects in functions if re.fullmatch(pattern, symbol)]
    by_file = _SOURCES.get(code.source.partition(":")[0]) if code.is_kernel else None
    return tuple(dict.fromkeys((*by_name, *((by_file,) if by_file else ()))))


def parts_of(field: Field, objects: Objects) -> tuple[Field, ...] | None:
    """Return the members of a field that code accesses, the field itself for all; None for another type."""
    if not any(bare_name(ctype) in objects.types for ctype in (field.type, *field.underlying_types)):
        return None
    named = tuple(member for member in field.members if member.name in objects.members)
    return named or (field,)


_QUALIFIERS = re.compile(r"^(?:(?:const|volatile|struct|union|_Atomic) )+")


def bare_name(ctype: CType) -> str:
    """Return the name of a type without `struct` and qualifiers; the spelling of a pointer is no name."""
    return _QUALIFIERS.sub("", ctype.left)
