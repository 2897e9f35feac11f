"""The functions of Linux's memory management are all read: what they use, and where addresses of a struct go."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutlint.model.reading import ReadOptions
from layoutlint.model.uses import Effect
from layoutlint.sources import bodies
from layoutlint.sources.bodies import flows

pytestmark = pytest.mark.real

SOURCES = [
    # source, at least how many functions it defines, a struct, a field of it that the text assigns
    ("compaction", 70, "compact_control@mm/internal.h", "migrate_pfn"),
    ("memcontrol", 240, "mem_cgroup@include/linux/memcontrol.h", "thresholds.spare"),
    ("mmap", 95, "vm_area_struct@include/linux/mm_types.h", "vm_pgoff"),
    ("page_alloc", 260, "zone@include/linux/mmzone.h", "pageset_high"),
    ("rmap", 50, "anon_vma@include/linux/rmap.h", "num_children"),
    ("shmem", 110, "shmem_inode_info@include/linux/shmem_fs.h", "swapped"),
    ("slab_common", 50, "kmem_cache@include/linux/slub_def.h", "refcount"),
    ("vmscan", 170, "scan_control@mm/vmscan.c", "nr_scanned"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "functions", "struct", "field"), SOURCES, ids=[each[0] for each in SOURCES])
def test_all_is_read(source: Path, headers: Path, name, functions, struct, field):
    path = str(source / f"mm/{name}.c")
    options = ReadOptions(flags=(f"O={headers}",), cache=False, jobs=1)
    read = bodies.read((path,), options)
    own = [each for each in read.functions if each.file.endswith(f"mm/{name}.c")]
    assert (read.unread, len(own) >= functions) == ((), True)
    assert (struct, field, Effect.WRITE) in {(use.spot.root, use.spot.path, use.effect) for each in own for use in each.uses}
    followed = flows.read((path,), (struct.partition("@")[0],), options)
    assert followed.notes == []
    assert len(followed.moves) > functions
