"""The slab caches of a running Linux kernel, as `layoutlint slabs` writes them."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from layoutlint.model.json_object import JsonObject
from layoutlint.model.target import UNAMES

Name = Annotated[str, Meta(min_length=1, max_length=256)]
Bytes = Annotated[int, Meta(ge=1, le=1 << 32)]
Count = Annotated[int, Meta(ge=0, le=1 << 62)]


class Document(JsonObject, frozen=True, tag_field="schema", tag="layoutlint/slabs/1"):
    """The slab caches of a running Linux kernel.

    Sizes are in bytes. An unknown value is null.
    """

    release: Name
    """The release of the kernel, as `uname -r` prints it."""
    machine: Name
    """The machine, as `uname -m` prints it."""
    page_size: Bytes
    """The size of a page."""
    line_size: Annotated[int, Meta(ge=1, le=1 << 16)] | None
    """The size of a cache line."""
    origin: Literal["sysfs", "slabinfo"]
    """Where the caches are from: `/sys/kernel/slab`, or `/proc/slabinfo`, which states less."""
    caches: tuple[CacheJson, ...]
    """The caches, by their first name. Caches that the kernel merged are one."""

    @property
    def target_name(self) -> str:
        """The name of the machine in TARGETS."""
        return UNAMES.get(self.machine, self.machine)


class CacheJson(JsonObject, frozen=True):
    """A slab cache."""

    names: Annotated[tuple[Name, ...], Meta(min_length=1)]
    """Its name, or the names of the caches that the kernel merged into it, sorted."""
    object_size: Bytes | None
    """The size of an object; of merged caches, the largest. Null from `/proc/slabinfo`."""
    slab_size: Bytes
    """The number of bytes from one object to the next."""
    align: Bytes | None
    """The alignment of objects. Null from `/proc/slabinfo`."""
    order: Annotated[int, Meta(ge=0, le=20)]
    """The pages of a slab are two to the power of this."""
    objs_per_slab: Bytes
    """The number of objects in a slab."""
    hwcache_align: bool | None
    """True for SLAB_HWCACHE_ALIGN. Null from `/proc/slabinfo`."""
    red_zone: bool | None
    """True if a red zone precedes and follows each object. Null from `/proc/slabinfo`."""
    store_user: bool | None
    """True if the last users follow each object. Null from `/proc/slabinfo`."""
    poison: bool | None
    """True if free objects are poisoned. Null from `/proc/slabinfo`."""
    usersize: Count | None
    """The bytes of an object that can be copied to user space. Null if it is not stated."""
    destroy_by_rcu: bool | None
    """True for SLAB_TYPESAFE_BY_RCU. Null from `/proc/slabinfo`."""
    ctor: Annotated[str, Meta(max_length=256)] | None
    """The constructor. Null if there is none, or it is not stated."""
    cache_dma: bool | None
    """True for SLAB_CACHE_DMA. Null if it is not stated."""
    objects: Count | None
    """The number of objects in use."""
