"""The slab caches of a kernel: from /sys and /proc below a folder of its own, and from files that people saved."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from layoutlint.errors import ReadError
from layoutlint.readers.linux import slabs
from tests.harness.slab_files import cache, document, write, write_sysfs

USUAL = {
    "object_size": 616, "slab_size": 624, "align": 8, "order": 1, "objs_per_slab": 13, "hwcache_align": 0, "red_zone": 0,
    "store_user": 0, "poison": 0, "destroy_by_rcu": 0, "cache_dma": 0, "usersize": 0, "ctor": "init_once+0x0/0x10",
    "objects": "5824 N0=5824",
}  # fmt: skip
INODES = cache("inode_cache", size=616, stride=624, order=1)


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setattr(slabs, "ROOT", str(tmp_path))
    return tmp_path


class TestTheRunningKernel:
    def test_each_cache_is_read_once_with_all_its_names(self, root):
        merged = USUAL | {"object_size": 64, "slab_size": 64, "objs_per_slab": 64, "order": 0, "red_zone": 1, "ctor": ""}
        write_sysfs(root, {"inode_cache": USUAL, ":0000064": merged}, {"pid": ":0000064", "vmap_area": ":0000064"})
        read = slabs.read_live()
        assert (read.release, read.origin) == ("6.12.5-test", "sysfs")
        found = {each.names: (each.object_size, each.slab_size, each.red_zone, each.ctor, each.objects) for each in read.caches}
        assert found == {("inode_cache",): (616, 624, False, "init_once", 5824), ("pid", "vmap_area"): (64, 64, True, None, 5824)}

    def test_what_a_kernel_does_not_show_is_unknown(self, root):
        """Old kernels have no `usersize`; without CONFIG_SLUB_DEBUG there is no `red_zone`."""
        write_sysfs(root, {"a": {key: USUAL[key] for key in ("object_size", "slab_size", "align", "order", "objs_per_slab")}}, {})
        (read,) = slabs.read_live().caches
        assert (read.usersize, read.red_zone, read.objects, read.ctor) == (None, None, None, None)

    def test_a_cache_that_is_gone_meanwhile_is_left_out(self, root):
        write_sysfs(root, {"inode_cache": USUAL, "gone": {"object_size": 8}}, {})
        assert [each.names for each in slabs.read_live().caches] == [("inode_cache",)]

    def test_slabinfo_is_read_where_only_that_is_there(self, root):
        write_sysfs(root, {}, {})
        (root / "proc/slabinfo").write_text(
            "slabinfo - version: 2.1\n# name            <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab> : tunables\n"
            "ext4_inode_cache    100    117   1040   15    4 : tunables    0    0    0 : slabdata      1      1      0\n"
        )
        read = slabs.read_live()
        (inodes,) = read.caches
        assert (read.origin, inodes.names, inodes.object_size, inodes.slab_size) == ("slabinfo", ("ext4_inode_cache",), None, 1040)
        assert (inodes.order, inodes.objs_per_slab, inodes.objects) == (2, 15, 100)

    def test_files_for_root_only_are_named(self, root, monkeypatch):
        write_sysfs(root, {"inode_cache": USUAL}, {})

        def refuse(path, most):
            raise PermissionError(13, "Permission denied", path)

        monkeypatch.setattr(slabs.files, "read_start", refuse)
        with pytest.raises(ReadError, match=r"only root can read .*inode_cache/object_size.* and \d+ more: run `layoutlint slabs"):
            slabs.read_live()

    def test_a_kernel_without_either_is_refused(self, root):
        with pytest.raises(ReadError, match="does not show its slab caches"):
            slabs.read_live()


def test_a_file_is_read_as_it_was_written(tmp_path):
    read = slabs.read_file(str(write(tmp_path / "s.json", INODES)))
    assert (read.release, read.target_name, read.caches[0].names, read.caches[0].slab_size) == ("6.12.5-test", "x86_64", ("inode_cache",), 624)


@pytest.mark.parametrize(("text", "reason"), [
    ("", "is not what `layoutlint slabs` writes"),
    (json.dumps(document(INODES))[:-40], "is not what `layoutlint slabs` writes"),
    ("[" * 100_000, "is not what `layoutlint slabs` writes"),
    ("\xff\xfe", "is not what `layoutlint slabs` writes"),
    (json.dumps({"schema": "layoutlint/report/1"}), "is not what `layoutlint slabs` writes"),
    ("slabinfo - version: 2.1\n", "is a copy of /proc/slabinfo, which states no release and no page size: run `layoutlint slabs`"),
    *((json.dumps(document(INODES | wrong)), reason) for wrong, reason in (
        ({"slab_size": 600}, "contradicts itself: cache inode_cache: `slab_size` is less than `object_size`"),
        ({"objs_per_slab": 14}, "a slab does not hold `objs_per_slab` objects"),
        ({"objs_per_slab": 0}, "is not what"), ({"slab_size": 1 << 70}, "is not what"), ({"order": 1 << 30}, "is not what"),
        ({"align": 12}, "`align` is no power of two"), ({"align": 64}, "`align` is no power of two, or does not divide"),
        ({"names": []}, "is not what"), ({"names": ["a", "a"]}, "it has a name twice"), ({"slab_size": "624"}, "is not what"),
        ({"unknown": 1}, "is not what"),
    )),
    (json.dumps(document(INODES, INODES)), "cache inode_cache: there are two of this name"),
    (json.dumps(document(INODES, page_size=5000)), "a page has 5,000 bytes"),
    (json.dumps(document(INODES, line_size=48)), "a line has 48 bytes"),
])  # fmt: skip
def test_damaged_files_are_refused_with_the_reason(tmp_path, text, reason):
    (tmp_path / "s.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(ReadError) as refused:
        slabs.read_file(str(tmp_path / "s.json"))
    assert reason in str(refused.value)


_MEASURED = """
import sys, time
from layoutlint.geometry.slab_caches import SlabCaches
from layoutlint.readers.linux import slabs
start = time.process_time()
caches = SlabCaches("s", slabs.read_file(sys.argv[1]))
caches._fill()
print(time.process_time() - start, next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def test_100_000_caches_take_little(tmp_path):
    """At most 2 seconds and 100 MB, with Python itself."""
    path = write(tmp_path / "s.json", *(cache(f"cache_{at}", size=64, stride=64) for at in range(100_000)))
    ended = subprocess.run([sys.executable, "-c", _MEASURED, path], capture_output=True, text=True, check=True)
    seconds, kilobytes = map(float, ended.stdout.split())
    assert seconds < 2
    assert kilobytes < 100_000
