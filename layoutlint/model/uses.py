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
    VOLATILE_STORE = "volatile store"
    """A write of a field that is declared volatile, in a program: a flag of a signal handler, or one that
    threads hand to one another."""
    ATOMIC = "atomic"
    """A read-modify-write that is atomic."""
    LOCK = "lock"
    """Taking or releasing a lock, which writes it."""
    ADDRESS = "address"
    """The address goes where the body does not show what is done with it."""

    @property
    def writes(self) -> bool:
        """Whether the line of the field must be owned by the processor."""
        return self not in (Effect.READ, Effect.ADDRESS)


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
    r"rte_eal_(?:mp_)?remote_launch|rte_ctrl_thread_create|rte_thread_create\w*|g_thread_pool_new\w*|"
    r"GOMP_parallel"
)
"""The functions that start a thread, with the address of what it runs."""
THREAD_GROUPS = re.compile(r"rte_eal_mp_remote_launch|g_thread_pool_new\w*|GOMP_parallel")
"""Those that start several."""
_FUNCTION_FIRST = re.compile(r"g_thread_create|g_thread_pool_new\w*|rte_eal_\w+|GOMP_parallel")
_FUNCTION_SECOND = re.compile(r"thrd_create|g_thread_(?:try_)?new|uv_thread_create")
THREAD_OBJECTS = frozenset(("pthread_getspecific", "tss_get", "g_private_get", "uv_key_get"))
"""The functions that return an object of the thread."""


def started_at(starter: str) -> int:
    """Return the position of the function that one of `THREAD_STARTERS` starts; its argument is behind it."""
    if _FUNCTION_FIRST.fullmatch(starter):
        return 0
    return 1 if _FUNCTION_SECOND.fullmatch(starter) else 3 if starter == "rte_ctrl_thread_create" else 2


def words_of(name: str) -> str:
    """Return the words of a name in lower case, with underscores between them."""
    return name if name.islower() else _HUMP.sub("_", name).lower()


GLOBAL_POINTER, THREAD_VARIABLE, PARAMETER, VARIABLE = "*", "%", "#", "&"
"""How the maker of an object begins if it is no function: a variable that points to it, a variable of the
thread, a parameter that points to it, or a variable that is the object or has it in an array."""
ELEMENT = "[]"
"""How the maker ends if the object is an element of a variable."""
FUNCTION, LOCAL = "=", "$"
"""How what an argument points to begins, apart from these: a function, or what a variable of the caller is or
points to, by a number."""


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
    moment: int = 0
    """How many calls the function has made before the last such place; for a program."""


class Argument(NamedTuple):
    """What is known of a pointer that a call in a program gets."""

    position: int
    object: str
    """What it points to: `=key` a function, `&name` a variable or a member of it, `*name` what a variable
    points to, `#position` what a parameter does, `$number` an object of the caller. It ends with `[]` if each
    round of a loop gives another one. Empty if that is not known."""
    through: Spot | None
    """The field, or variable (an empty root and its name), whose value it is."""

    @property
    def is_parameter(self) -> bool:
        """Whether it is that of a parameter."""
        return self.object[:1] == PARAMETER and self.object[1:].isdecimal()


class Call(NamedTuple):
    """A call in a function."""

    callee: str
    """The key of a function; empty for a call through a pointer."""
    through: Spot | None
    """The field whose value is called, or the variable (an empty root and its name); None for a function, or
    an unknown pointer."""
    weight: float
    arguments: tuple[tuple[int, Spot, str], ...]
    """The positions of arguments that are addresses of known places, the place, and its maker."""
    locks: tuple[Lock, ...] = ()
    """The locks that are held there, as for uses."""
    makers: tuple[tuple[int, str], ...] = ()
    """The positions of arguments that are pointers from variables or parameters, and these makers."""
    pointers: tuple[Argument, ...] = ()
    """What is known of its pointers; for a program."""

    def pointer(self, position: int) -> Argument | None:
        """Return what is known of a pointer that it gets."""
        return next((each for each in self.pointers if each.position == position), None)


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
    kept_parameters: tuple[tuple[int, Spot], ...] = ()
    """The positions of parameters that it stores in fields, and the fields; for a program."""

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
    pointers = tuple(_rename_pointer(each, keys) for each in call.pointers)
    return call._replace(callee=callee, arguments=arguments, locks=locks, pointers=pointers)


def _rename_pointer(pointer: Argument, keys: Mapping[str, str]) -> Argument:
    is_function = pointer.object.startswith(FUNCTION)
    key = pointer.object[1:]
    return pointer._replace(object=f"{FUNCTION}{keys.get(key, key)}") if is_function else pointer


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
