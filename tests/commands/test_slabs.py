"""`layoutlint slabs` and `--slabs`, on the kernel that runs here; its files are read by a script that shares no code."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from layoutlint.geometry.layout import Layout
from layoutlint.geometry.placement import placements
from layoutlint.geometry.slab_caches import SlabCaches
from layoutlint.model.reading import ReadOptions
from layoutlint.model.wanted import Wanted
from layoutlint.readers import dispatch
from layoutlint.readers.linux import slabs
from tests.harness import json_schemas
from tests.harness.command import run
from tests.harness.slab_files import cache, write
from tests.harness.tools import need

SYS, BTF = Path("/sys/kernel/slab"), "/sys/kernel/btf/vmlinux"
needs_kernel = pytest.mark.skipif(
    not (os.access(SYS / "kmalloc-64/align", os.R_OK) and os.access(BTF, os.R_OK)),
    reason="the kernel shows its slab caches and its types to root only, or not at all",
)
RULES = """
[[rule]]
id = "inode-on-few-lines"
struct = "inode"
kind = "line-start"
fields = ["i_mode"]
why = "an inode starts on a line"
"""


def count_bases(name: str) -> set[int]:
    """The oracle: where the objects of a cache start, by the files of the kernel alone."""
    stride, number, order, align, red = (
        int((SYS / name / file).read_text()) for file in ("slab_size", "objs_per_slab", "order", "align", "red_zone")
    )
    assert stride * number <= os.sysconf("SC_PAGE_SIZE") << order
    before = align * -(-8 // align) if red else 0
    return {(before + at * stride) % 64 for at in range(number)}


@needs_kernel
def test_the_output_is_what_it_says():
    ended = run("slabs")
    assert ended.returncode == 0
    assert not json_schemas.mistakes(ended.stdout)
    document = json.loads(ended.stdout)
    assert document["release"] == os.uname().release
    names = [name for each in document["caches"] for name in each["names"]]
    assert sorted(names) == sorted({each.name for each in SYS.iterdir() if not each.name.startswith(":")} | {n for n in names if n[0] == ":"})


@needs_kernel
def test_every_struct_starts_where_its_cache_has_objects():
    """Names, sizes and bases agree with the files of the kernel for every struct that a cache holds."""
    caches = SlabCaches("live", slabs.read_live())
    found: dict[str, set[str]] = {}
    for struct in dispatch.read(BTF, Wanted(everything=True), ReadOptions()).structs:
        storage = caches.complete(struct, None)
        if storage is None:
            continue
        names = {each.name for each in storage.caches}
        expected = set().union(*map(count_bases, names))
        assert set(placements(Layout(struct), storage=storage).bases) == expected, struct.name
        sizes = {int((SYS / name / "object_size").read_text()) for name in names}
        assert max(sizes) >= (struct.bit_size or 0) // 8
        found.setdefault(struct.name, set()).update(names)
    assert found["inode"] == {"inode_cache"}
    assert {"dentry", "anon_vma", "vm_area_struct", "task_struct", "mm_struct", "socket_alloc", "file"} <= found.keys()


@needs_kernel
def test_every_cache_of_a_struct_is_found():
    """Each cache that is named like a struct of its size, as pahole prints it, and is not merged."""
    sizes = subprocess.run([need("pahole"), "--sizes", BTF], capture_output=True, text=True, check=True).stdout
    expected = {
        name for name, size, _ in (line.split("\t") for line in sizes.splitlines())
        if (SYS / name).is_dir() and not (SYS / name).is_symlink() and (SYS / name / "object_size").read_text() == f"{size}\n"
    }  # fmt: skip
    caches = SlabCaches("live", slabs.read_live())
    structs = dispatch.read(BTF, Wanted(frozenset(expected)), ReadOptions()).structs
    assert {struct.name for struct in structs if caches.complete(struct, None) is not None} == expected


@needs_kernel
def test_commands_take_the_kernel_or_a_file_of_it(tmp_path):
    (tmp_path / "r.toml").write_text(RULES)
    file = tmp_path / "slabs.json"
    assert run("slabs", "--output", file).returncode == 0
    bases = count_bases("inode_cache")
    for given in ("live", str(file)):
        options = ("--slabs", given)
        judged = run("check", BTF, "--rules", tmp_path / "r.toml", "--no-packs", "--format", "json", *options)
        (finding,) = json.loads(judged.stdout)["findings"]
        rows = {each["container"]: each for each in finding["placements"]["containers"]}
        assert set(rows[""]["bases"]) == bases  # objects of inode_cache; the others stand in inodes of filesystems
        assert [each["name"] for each in rows[""]["caches"]] == ["inode_cache"]
        holders = json.loads(run("containers", BTF, "inode", "--format", "json", *options).stdout)["structs"][0]["containers"]
        inside = [
            {(base + row["offset"]) % 64 for cache in row["caches"] for base in count_bases(cache["name"])} for row in holders if row["caches"]
        ]
        assert inside
        assert bases.union(*inside) <= {base for row in rows.values() for base in row["bases"]}
        assert finding["placements"]["total"] == len({base for row in rows.values() for base in row["bases"]})
        listed = json.loads(run("containers", BTF, "address_space", "--format", "json", *options).stdout)
        (row,) = (each for each in listed["structs"][0]["containers"] if each["name"] == "inode")
        assert {(base + row["offset"]) % 64 for base in bases} == set(row["bases"])
        assert [each["name"] for each in row["caches"]] == ["inode_cache"]
        assert "inode_cache" in run("show", BTF, "inode", *options).stdout
        text = run("suggest", BTF, "inode", "--rules", tmp_path / "r.toml", "--format", "json", *options).stdout
        assert f"in {len(bases) - 1} of {len(bases)} placements" in text
        assert run("diff", BTF, BTF, "--struct", "inode", "--rules", tmp_path / "r.toml", *options).returncode == 0


@pytest.mark.parametrize("command", [
    ("check", "{o}"), ("show", "{o}", "ring"), ("containers", "{o}", "ring"), ("suggest", "{o}", "ring"), ("diff", "{o}", "{o}"),
    ("measure", "{o}", "ring", "--write", "a", "--read", "b", "--dry-run"),
])  # fmt: skip
def test_another_input_than_a_kernel_is_named(tmp_path, command):
    (tmp_path / "ring.h").write_text("struct ring { long a, b; };\n")
    (tmp_path / "layoutlint.toml").write_text('[[rule]]\nid = "r"\nstruct = "ring"\nkind = "size"\nmax = 64\nwhy = "small"\n')
    file = write(tmp_path / "slabs.json", cache("ring", size=16, stride=16))
    words = (word.format(o="ring.h") for word in command)
    ended = run(*words, "--slabs", file, cwd=tmp_path)
    said = " ".join((ended.stdout + ended.stderr).split())
    assert "are not used: it is no Linux kernel" in said


def test_a_missing_file_is_named(tmp_path):
    ended = run("check", "ring.h", "--slabs", "none.json", cwd=tmp_path)
    assert (ended.returncode, "none.json: no such file" in ended.stderr.lower()) == (3, True)
