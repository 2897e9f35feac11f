"""`dataclasses.dataclass`, for frozen classes with slots in a quarter of the time.

The standard library's compiles six functions for such a class, half a millisecond in Python 3.11; a run needs
fifty classes, and reads a small file in less. Here only `__init__` is compiled, and sets the slots directly,
which also makes instances sooner; the other methods are shared. What it makes is a dataclass to `replace`,
`fields`, pickle, copy and match; `tests/test_frozen.py` holds it against the standard library's.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

T = TypeVar("T")
_Fields = tuple[dataclasses.Field[Any], ...]
_ORDER = {"__lt__": operator.lt, "__le__": operator.le, "__gt__": operator.gt, "__ge__": operator.ge}

if TYPE_CHECKING:  # so that type checkers know what they know of the standard library's
    from dataclasses import dataclass as dataclass
else:

    def dataclass(
        *, frozen: bool = False, slots: bool = False, eq: bool = True, order: bool = False
    ) -> Callable[[type[T]], type[T]]:
        """What `dataclasses.dataclass` gives; other classes than frozen ones with slots are left to it."""
        if frozen and slots:
            return lambda cls: _made(cls, eq, order)
        return dataclasses.dataclass(frozen=frozen, slots=slots, eq=eq, order=order)


def _made(cls: type[T], eq: bool, order: bool) -> type[T]:
    own = set(vars(cls))
    made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True)(cls)
    fields = dataclasses.fields(made)
    if not all(f.init and f.repr and f.compare and f.hash is None and not f.kw_only for f in fields):
        raise TypeError(f"{cls.__name__} asks for more than layoutlint.frozen knows: use dataclasses")
    methods: dict[str, Any] = {"__init__": _init(made, fields), "__repr__": _repr}
    if eq:
        methods.update(_comparing(tuple(f.name for f in fields), order))
    methods.update(
        __setattr__=_refuse_to_set, __delattr__=_refuse_to_delete, __getstate__=_state, __setstate__=_restore
    )
    for name, method in methods.items():
        if name not in own:
            setattr(made, name, method)
    result: type[T] = made
    return result


def _init(made: Any, fields: _Fields) -> Callable[..., None]:
    """A function that sets each slot; its names of ours are no identifiers that a field is likely to have."""
    names: dict[str, Any] = {"_NONE_": dataclasses.MISSING}
    parameters, lines = [], []
    for number, field in enumerate(fields):
        name = value = field.name
        names[f"_set_{number}_"] = getattr(made, name).__set__
        if field.default is not dataclasses.MISSING:
            names[f"_default_{number}_"] = field.default
            parameters.append(f"{name}=_default_{number}_")
        elif field.default_factory is not dataclasses.MISSING:
            names[f"_make_{number}_"] = field.default_factory
            parameters.append(f"{name}=_NONE_")
            value = f"_make_{number}_() if {name} is _NONE_ else {name}"
        else:
            parameters.append(name)
        lines.append(f" _set_{number}_(self, {value})\n")
    if hasattr(made, "__post_init__"):
        lines.append(" self.__post_init__()\n")
    exec(f"def __init__({', '.join(('self', *parameters))}):\n{''.join(lines) or ' pass'}", names)
    init: Callable[..., None] = names["__init__"]
    init.__qualname__ = f"{made.__qualname__}.__init__"
    init.__annotations__ = {**{field.name: field.type for field in fields}, "return": None}
    return init


def _comparing(names: tuple[str, ...], order: bool) -> dict[str, Any]:
    values = _values(names)

    def comparison(compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        def method(self: Any, other: Any) -> Any:
            if other.__class__ is self.__class__:
                return compare(values(self), values(other))
            return NotImplemented

        return method

    def hash_of(self: Any) -> int:
        return hash(values(self))

    orders = {name: comparison(compare) for name, compare in _ORDER.items()} if order else {}
    return {"__eq__": comparison(operator.eq), "__hash__": hash_of, **orders}


def _values(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    if len(names) > 1:
        return operator.attrgetter(*names)
    return lambda instance: tuple(getattr(instance, name) for name in names)


def _refuse_to_set(self: Any, name: str, value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: Any, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _repr(self: Any) -> str:
    values = (f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self))
    return f"{type(self).__qualname__}({', '.join(values)})"


def _state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _restore(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
