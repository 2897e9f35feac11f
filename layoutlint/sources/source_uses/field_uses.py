"""The functions of C sources that use a field, and whether all code that uses one field uses another."""

from __future__ import annotations

import re
from collections.abc import Iterator

from layoutlint.model.record import Record
from layoutlint.sources.source_uses.functions import Function, SourceFunctions

_MOST_FUNCTIONS = 200
"""The most functions that use a field; a name in more tells nothing."""
_NO_CALLS = frozenset(("if", "while", "for", "switch", "return", "sizeof"))
_NO_TYPES = frozenset(("return", "else", "goto", "case", "sizeof"))
_READS = re.compile("read|load|get|peek|is_", re.IGNORECASE)
_WRITES = re.compile("lock|add|inc|dec|sub|set|xchg|exchange|swap|cas|put", re.IGNORECASE)
"""In the names of functions that change what they read: `atomicGetIncr`, `rte_rwlock_read_lock`."""


class FieldName(Record, frozen=True):
    """A field by its name."""

    name: str
    structs: tuple[str, ...] = ()
    """The tag and typedefs of its struct."""
    is_unique: bool = True
    """Whether no other struct has a field of this name."""


class FieldUses:
    """The functions that change fields, by the names of the fields."""

    def __init__(self, sources: SourceFunctions) -> None:
        self._sources = sources

    def is_always_with(self, field: FieldName, other: FieldName) -> bool:
        """Return whether all code that changes a field changes another as well; false if none changes it.

        Code does if a function changes both, or if the functions that call it change the other.
        """
        users = self._changing_functions(field, is_certain=False)
        others = self._changing_functions(other, is_certain=True) if users else set()
        return bool(others) and all(user in others or self._is_called_by(user, others) for user in users)

    def _is_called_by(self, function: Function, some: set[Function]) -> bool:
        """Return whether only some functions call a function, and no table contains it."""
        callers = self._sources.callers(function)
        return bool(callers) and callers <= some and not self._sources.is_value(function.name)

    def _changing_functions(self, field: FieldName, is_certain: bool) -> set[Function]:
        """Return the functions that change a field; in place of those that only do that, their callers.

        If other structs have a field of the name, and the text does not show of which struct it is, it counts
        unless `is_certain`. The result is empty if too many functions change it.
        """
        users = [f for f in self._sources.functions_with_word(field.name) if _changes(f, field, is_certain)]
        if len(users) > _MOST_FUNCTIONS:
            return set()
        changing = set[Function]()
        for user in users:
            changing |= (self._sources.callers(user) if user.is_accessor else set()) or {user}
        return changing

_BEFORE = re.compile(
    r"(?:(?<!\w)|(?!\w))(?:(?P<call>\w++)\s*+\(\s*+&?\(*+|(?P<sign>\+\+|--|&))?\s*+(?P<receiver>\w++)?\)*+"
    r"(?:\[[^\]\n]*+\]\s*+)?(?:(?:->|\.)\s*+\w++\s*+(?:\[[^\]\n]*+\]\s*+)?)*+\s*+\Z"
)
"""The text before `->field`, from the call that it is an argument of, or from an operator."""
_FAR = 120
"""The number of characters before a field that can be of its expression."""


def _receivers_of_changes(body: str, field: str) -> Iterator[str | None]:
    """Yield the receiver of each change of a field: `q` in `q->count++` and `lock(&q->count)`."""
    for use in re.finditer(rf"(?:->|\.)\s*{field}\b\s*([-+*/%&|^]?=(?!=)|\+\+|--|<<=|>>=)?", body):
        before = _BEFORE.search(body, max(0, use.start() - _FAR), use.start())
        if before is not None and (use[1] or before["sign"] or _is_change(before["call"])):
            yield before["receiver"]


def _is_change(call: str | None) -> bool:
    """Return whether a function changes what is handed to it, by its name."""
    if not call or call in _NO_CALLS:
        return False
    return _READS.search(call) is None or _WRITES.search(call) is not None


def _changes(function: Function, field: FieldName, is_certain: bool) -> bool:
    """Return whether a function changes a field, as far as its declarations show of which struct it is."""
    for receiver in _receivers_of_changes(function.text, field.name):
        if field.is_unique:
            return True
        structs = declared_types(function.text, receiver)
        if structs & set(field.structs) or not (structs or is_certain):
            return True
    return False


def declared_types(text: str, name: str | None) -> set[str]:
    """Return the type with which a function declares a name, as a set; an empty one if it does not."""
    if name is None:
        return set()
    for match in re.finditer(rf"\b(\w++)(?:\s*\*+\s*(?:\w+\s+)?|\s+){name}\s*[=;,)\[]", text):
        return set() if match[1] in _NO_TYPES else {match[1]}
    return set()
