"""Text for XML, with visible characters only: control characters are not allowed in XML at all."""

from __future__ import annotations

from layoutlint import escapes

_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}


def escape(text: str) -> str:
    """Return text for an element or an attribute; surrogates, for bytes that are no UTF-8, are shown."""
    shown = escapes.inline(text)
    for letter, entity in _ENTITIES.items():
        shown = shown.replace(letter, entity)
    return shown


def attributes(**values: str) -> str:
    """Return attributes in the given order, each after a space."""
    return "".join(f' {name}="{escape(value)}"' for name, value in values.items())
