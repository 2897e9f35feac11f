"""The uses of struct fields in the bodies of functions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from layoutlint.model.record import Record, replace


class Effect(Enum):
    """The kind of a use of a field."""

    READ = "read"
    WRITE = "write"
    SHARED_STORE = "shared store"
    """A write that other threads may see: an atomic store, or one through a volatile pointer (WRITE_ONCE)."""
    ATOMIC = "atomic"
    """A read-modify-write that is atomic."""
    LOCK = "lock"
    """Taking or releasing a lock, which writes it."""
    ADDRESS = "address"
    """The address goes where the body does not show what is done with it."""

    @property
    def writes(self) -> bool:
        """Whether the line of the field must be owned by the processor."""
        return self in (Effect.WRITE, Effect.SHARED_STORE, Effect.ATOMIC, Effect.LOCK)


def struct_key(name: str, file: str) -> str:
    """Return what identifies a struct among several of one name: its name and the file that defines it."""
    return f"{name}@{file}"


def plain_name(key: str) -> str:
    """Return the name in the key of a struct or a function."""
    return key.partition("@")[0]


_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
"""Where a word begins in a name without underscores (`InitProcess`, `HTTPError`)."""


THREAD_STARTERS = re.compile(
    r"pthread_create|thrd_create|g_thread_(?:try_)?new|g_thread_create|uv_thread_create\w*|"
    r"rte_eal_(?:mp_)?remote_launch|rte_ctrl_thread_create|rte_thread_create\w*|g_thread_pool_new\w*"
)
"""The functions that start a thread, with the address of what it runs."""
THREAD_GROUPS = re.compile(r"rte_eal_mp_remote_launch|g_thread_pool_new\w*")
"""Those that start several."""
THREAD_OBJECTS = frozenset(("pthread_getspecific", "tss_get", "g_private_get", "uv_key_get"))
"""The functions that return an object of the thread."""


def words_of(name: str) -> str:
    """Return the words of a name in lower case, with underscores between them."""
    return name if name.islower() else _HUMP.sub("_", name).lower()


GLOBAL_POINTER, THREAD_VARIABLE, PARAMETER, VARIABLE = "*", "%", "#", "&"
"""How the maker of an object begins if it is no function: a variable that points to it, a variable of the
thread, a parameter that points to it, or a variable that is the object or has it in an array."""
ELEMENT = "[]"
"""How the maker ends if the object is an element of a variable."""


def is_variable(maker: str) -> bool:
    """Return whether the maker of an object is a variable or a parameter, and no function."""
    return maker[:1] in (GLOBAL_POINTER, THREAD_VARIABLE, PARAMETER, VARIABLE) and bool(maker)


class Spot(NamedTuple):
    """A field, or what a pointer parameter points to."""

    root: str | int
    """The key of a struct, or the position of a parameter (from 0)."""
    path: str
    """The path of the field in it, dotted and without indices; empty for all of it."""


class Lock(NamedTuple):
    """A lock that a function holds at some place."""

    taker: str
    """The key of the function that takes it."""
    spot: Spot
    """The lock. A variable has an empty root and its name as path; an unknown one has both empty."""


class Use(NamedTuple):
    """The uses of a field by a function, all places together."""

    spot: Spot
    effect: Effect
    weight: float
    """How often, for each call of the function: a branch counts half, a loop four times."""
    in_loop: bool
    maker: str
    """The function that returned the object; nobody else sees it yet if that is an allocator.

    `*name` if a variable outside of functions points to it, `%name` if each thread has that variable,
    `&name` for the variable itself, `&name[]` for an element of it, `#position` if a parameter points to it.
    """
    line: int
    """The line of the first such place."""
    locks: tuple[Lock, ...] = ()
    """The locks that the function has taken before each such place, and not released."""


class Call(NamedTuple):
    """A call in a function."""

    callee: str
    """The key of a function; empty for a call through a pointer."""
    through: Spot | None
    """The field whose value is called; None for a function, or an unknown pointer."""
    weight: float
    arguments: tuple[tuple[int, Spot, str], ...]
    """The positions of arguments that are addresses of known places, the place, and its maker."""
    locks: tuple[Lock, ...] = ()
    """The locks that are held there, as for uses."""
    makers: tuple[tuple[int, str], ...] = ()
    """The positions of arguments that are pointers from variables or parameters, and these makers."""


class Function(Record, frozen=True):
    """The uses and calls in the body of a function."""

    key: str
    """Its name; of a static function `name@file`."""
    file: str
    line: int
    uses: tuple[Use, ...]
    calls: tuple[Call, ...]
    targets: tuple[tuple[str, Spot | None], ...]
    """Functions whose address is taken, with the field that they are stored in (None: elsewhere)."""
    makers: tuple[str, ...] = ()
    """The functions that made what it returns, or the variables that point to it, as for uses."""
    locals: tuple[str, ...] = ()
    """The structs of its variables: objects on its stack."""
    made: tuple[tuple[str, str], ...] = ()
    """The structs that it gets pointers to from functions, with these functions."""
    static_structs: tuple[str, ...] = ()
    """The structs of its static variables, which all processors and threads share."""
    kept: tuple[Lock, ...] = ()
    """The locks that it has taken and holds where it returns."""

    @property
    def name(self) -> str:
        """The name as it is written."""
        return plain_name(self.key)


def rename(function: Function, keys: Mapping[str, str]) -> Function:
    """Return a function with other keys for it and for the functions that it names."""
    return replace(
        function,
        key=keys.get(function.key, function.key),
        uses=tuple(
            use._replace(maker=keys.get(use.maker, use.maker), locks=_renamed_locks(use.locks, keys))
            for use in function.uses
        ),
        kept=_renamed_locks(function.kept, keys),
        calls=tuple(_renamed_call(call, keys) for call in function.calls),
        targets=tuple((keys.get(key, key), spot) for key, spot in function.targets),
        makers=tuple(keys.get(key, key) for key in function.makers),
        made=tuple((keys.get(key, key), struct) for key, struct in function.made),
    )


def _renamed_call(call: Call, keys: Mapping[str, str]) -> Call:
    arguments = tuple((position, spot, keys.get(maker, maker)) for position, spot, maker in call.arguments)
    callee, locks = keys.get(call.callee, call.callee), _renamed_locks(call.locks, keys)
    return call._replace(callee=callee, arguments=arguments, locks=locks)


def _renamed_locks(locks: tuple[Lock, ...], keys: Mapping[str, str]) -> tuple[Lock, ...]:
    return tuple(lock._replace(taker=keys.get(lock.taker, lock.taker)) for lock in locks)


class FunctionEffect(Record, frozen=True):
    """The effects of a function on objects whose addresses it gets."""

    name: str
    """Its name, or a pattern (fnmatch)."""
    effect: Effect | None
    """None for setting up: nobody else sees the object yet."""
    arguments: tuple[int, ...] = (0,)
    """The positions of the addresses, from 0; none for all arguments."""
    is_thread: bool = False
    """Whether it returns what tells threads, processors or processes apart."""
