"""The slab caches of the running kernel, and files that have those of another one."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from typing import Literal

import msgspec

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.model.slabs import CacheJson, Document

ROOT = ""
"""The folder in which the kernel shows itself; empty for `/`."""
FOLDER, _TABLE = "/sys/kernel/slab", "/proc/slabinfo"
_LINE_SIZE = "/sys/devices/system/cpu/cpu0/cache/index0/coherency_line_size"
_LARGEST = 1 << 26
"""The most bytes of a file; a kernel has 400 caches, each of 400 bytes."""
_LARGEST_FACT = 1 << 13
_MOST_NAMED = 3
# `cache_name tunables`: Documentation/filesystems/proc.rst; the version is 2.1 since Linux 2.6.10.
_ROW = re.compile(r"^(\S.*?) +(\d+) +(\d+) +(\d+) +(\d+) +(\d+) : tunables ", re.MULTILINE)
_VERSION = "slabinfo - version: 2."
_NEEDED = ("object_size", "slab_size", "align", "order", "objs_per_slab")
_FLAGS = ("hwcache_align", "red_zone", "store_user", "poison", "destroy_by_rcu", "cache_dma")
_OTHERS = ("usersize", "objects", "ctor")


def read_live() -> Document:
    """Return the caches of the running kernel. Raises ReadError, also if files need root."""
    caches: tuple[CacheJson, ...]
    if files.is_folder(f"{ROOT}{FOLDER}"):
        origin: Literal["sysfs", "slabinfo"] = "sysfs"
        caches = _caches_of_folder(f"{ROOT}{FOLDER}")
    else:
        origin, caches = "slabinfo", _caches_of_table(f"{ROOT}{_TABLE}")
    return Document(
        release=_content(f"{ROOT}/proc/sys/kernel/osrelease") or os.uname().release,
        machine=os.uname().machine,
        page_size=os.sysconf("SC_PAGE_SIZE"),
        line_size=_number(_content(f"{ROOT}{_LINE_SIZE}")),
        origin=origin,
        caches=tuple(sorted(caches, key=lambda cache: cache.names)),
    )


def _caches_of_folder(folder: str) -> tuple[CacheJson, ...]:
    """Return the caches below /sys/kernel/slab (Documentation/ABI/testing/sysfs-kernel-slab)."""
    names: dict[str, list[str]] = {}
    for name in files.names_in(folder):
        root = os.path.basename(files.real_path(f"{folder}/{name}"))
        names.setdefault(root, []).extend([] if name == root and name.startswith(":") else [name])
    secret: list[str] = []
    caches = []
    for root, own in names.items():
        cache = _cache_of_folder(f"{folder}/{root}", sorted(set(own)) or [root], secret)
        caches += [] if cache is None else [cache]
    if secret:
        raise _needs_root(secret)
    return tuple(caches)


def _cache_of_folder(folder: str, names: list[str], secret: list[str]) -> CacheJson | None:
    """Return a cache; None for one that is gone since the folder was read, or that needs root."""

    texts = {name: _content(f"{folder}/{name}", secret) for name in (*_NEEDED, *_FLAGS, *_OTHERS)}
    numbers = {name: number for name, text in texts.items() if (number := _number(text)) is not None}
    if any(name not in numbers for name in _NEEDED):
        return None
    flags = {name: bool(numbers[name]) if name in numbers else None for name in _FLAGS}
    ctor = (texts["ctor"] or "").partition("+")[0] or None
    others = {"usersize": numbers.get("usersize"), "objects": numbers.get("objects"), "ctor": ctor}
    return msgspec.convert({"names": names, **numbers, **flags, **others}, CacheJson)


def _caches_of_table(path: str) -> tuple[CacheJson, ...]:
    """Return the caches of /proc/slabinfo, which names merged caches once."""
    secret: list[str] = []
    text = _content(path, secret, _LARGEST)
    if secret:
        raise _needs_root(secret)
    if text is None or not text.startswith(_VERSION):
        reason = "the kernel does not show its slab caches, here or in /proc/slabinfo"
        raise ReadError(f"{ROOT}{FOLDER}", reason)
    return tuple(_caches_of_rows(text))


def _caches_of_rows(text: str) -> Iterator[CacheJson]:
    for name, active, _, size, number, pages in _ROW.findall(text):
        yield CacheJson(
            names=(name,), object_size=None, slab_size=int(size), align=None,
            order=(int(pages) - 1).bit_length(), objs_per_slab=int(number), hwcache_align=None, red_zone=None,
            store_user=None, poison=None, usersize=None, destroy_by_rcu=None, ctor=None, cache_dma=None,
            objects=int(active),
        )  # fmt: skip


def _needs_root(paths: list[str]) -> ReadError:
    names = ", ".join(paths[:_MOST_NAMED])
    more = f" and {len(paths) - _MOST_NAMED:,} more" if len(paths) > _MOST_NAMED else ""
    remedy = "run `layoutlint slabs --output slabs.json` as root, and give `--slabs slabs.json`"
    return ReadError(f"{ROOT}{FOLDER}", f"only root can read {names}{more}: {remedy}")


def _content(path: str, secret: list[str] | None = None, most: int = _LARGEST_FACT) -> str | None:
    """Return the text of a small file; None if it cannot be read. Adds a file that needs root to `secret`."""
    try:
        return files.read_start(path, most).decode(errors="replace").strip()
    except PermissionError:
        if secret is not None:
            secret.append(path)
    except OSError:
        pass
    return None


def _number(text: str | None) -> int | None:
    """Return the number that a text begins with: of all nodes, which follow; None if there is none."""
    word = (text or "").partition(" ")[0]
    return int(word) if word.isascii() and word.isdecimal() and len(word) < 16 else None


def read_file(path: str) -> Document:
    """Return the caches that `layoutlint slabs` wrote to a file. Raises ReadError."""
    try:
        data = files.read_all(path, _LARGEST)
    except OSError as error:
        raise ReadError(path, files.error_reason(error)) from None
    if data.startswith(_VERSION.encode()):
        reason = "is a copy of /proc/slabinfo, which states no release and no page size"
        raise ReadError(path, f"{reason}: run `layoutlint slabs` on that machine")
    try:
        document = msgspec.json.decode(data, type=Document)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ReadError(path, f"is not what `layoutlint slabs` writes: {error}") from None
    problem = _problem(document)
    if problem is not None:
        raise ReadError(path, f"contradicts itself: {problem}")
    return document


def _problem(document: Document) -> str | None:
    """Return which number cannot be; None if all can."""
    for name, size, least in (("page", document.page_size, 4096), ("line", document.line_size or 64, 16)):
        if size & (size - 1) or not least <= size <= 1 << 20:
            return f"a {name} has {size:,} bytes"
    seen: set[str] = set()
    for cache in document.caches:
        mistake = next((text for is_wrong, text in _MISTAKES if is_wrong(cache, document.page_size)), None)
        if mistake is None and not seen.isdisjoint(cache.names):
            mistake = "there are two of this name"
        if mistake is not None:
            return f"cache {cache.names[0]}: {mistake}"
        seen.update(cache.names)
    return None


def _exceeds_slab(cache: CacheJson, page: int) -> bool:
    return cache.slab_size * cache.objs_per_slab > page << cache.order


def _is_misaligned(cache: CacheJson, page: int) -> bool:
    align = cache.align or 1
    return bool(align & (align - 1) or cache.slab_size % align)


_MISTAKES: tuple[tuple[Callable[[CacheJson, int], bool], str], ...] = (
    (lambda cache, _: cache.slab_size < (cache.object_size or 0), "`slab_size` is less than `object_size`"),
    (_exceeds_slab, "a slab does not hold `objs_per_slab` objects of `slab_size`"),
    (_is_misaligned, "`align` is no power of two, or does not divide `slab_size`"),
    (lambda cache, _: len(set(cache.names)) < len(cache.names), "it has a name twice"),
)
"""What can be wrong with a cache, given the size of a page."""
