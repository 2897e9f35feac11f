"""Slab caches of a kernel, as JSON outputs have them."""

from __future__ import annotations

from collections.abc import Sequence

from layoutlint.model.json_object import JsonObject, Natural, Positive
from layoutlint.model.storage import CacheSlab


class CacheJson(JsonObject, frozen=True):
    """A slab cache."""

    name: str
    """Its name."""
    stride: Positive
    """The number of bytes from one object to the next."""
    objects: Natural
    """The number of objects in a slab."""
    in_use: Natural | None
    """The number of objects in use; of merged caches, of all together."""


def cache_rows(caches: Sequence[CacheSlab]) -> list[CacheJson]:
    """Return the values of some caches."""
    return [
        CacheJson(name=cache.name, stride=cache.stride, objects=cache.objects, in_use=cache.in_use)
        for cache in caches
    ]
