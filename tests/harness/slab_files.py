"""Slab caches for tests: as a file of `layoutlint slabs`, and as a kernel shows them below /sys."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_FLAGS = ("hwcache_align", "red_zone", "store_user", "poison", "destroy_by_rcu", "cache_dma")


def cache(*names: str, size: int | None, stride: int, align: int | None = 8, order: int = 0, **more: Any) -> dict[str, Any]:
    """One cache of a file; `more` replaces usual values. Its slab is full."""
    return {
        "names": list(names), "object_size": size, "slab_size": stride, "align": align, "order": order,
        "objs_per_slab": (4096 << order) // stride, **dict.fromkeys(_FLAGS, False), "usersize": 0, "ctor": None, "objects": 7,
    } | more  # fmt: skip


def document(*caches: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """All of a file."""
    return {
        "schema": "layoutlint/slabs/1", "release": "6.12.5-test", "machine": "x86_64", "page_size": 4096, "line_size": 64,
        "origin": "sysfs", "caches": list(caches),
    } | more  # fmt: skip


def write(path: Path, *caches: Mapping[str, Any], **more: Any) -> Path:
    """Write a file, and return its path."""
    path.write_text(json.dumps(document(*caches, **more)))
    return path


def write_sysfs(root: Path, caches: Mapping[str, Mapping[str, object]], links: Mapping[str, str]) -> None:
    """Write what a kernel shows below a folder: the files of each cache, and the links of merged ones."""
    (root / "proc/sys/kernel").mkdir(parents=True)
    (root / "proc/sys/kernel/osrelease").write_text("6.12.5-test\n")
    for name, facts in caches.items():
        folder = root / "sys/kernel/slab" / name
        folder.mkdir(parents=True)
        for key, value in facts.items():
            (folder / key).write_text(f"{value}\n")
    for name, target in links.items():
        (root / "sys/kernel/slab" / name).symlink_to(target)
