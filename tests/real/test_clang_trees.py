"""Configured header trees of real kernels, read without a compiler, and how long that takes beside libclang's own parse."""

from __future__ import annotations

import json

import pytest

from layoutlint.geometry.layout import Layout
from layoutlint.model.reading import ReadOptions
from layoutlint.model.record import replace
from layoutlint.model.wanted import Wanted
from layoutlint.readers.clang.kernel import tree as trees
from layoutlint.readers.clang.kernel.makefile import Makefiles
from layoutlint.readers.dispatch import read
from tests.harness.command import run
from tests.harness.effort import row

pytestmark = pytest.mark.real

NAMED = Wanted(
    frozenset(["address_space", "rw_semaphore", "pcpu_chunk"]),
    headers=(("address_space", "linux/fs.h"), ("rw_semaphore", "linux/rwsem.h"), ("pcpu_chunk", "mm/percpu-internal.h")),
)
TREES = [
    # tree, vmlinux of the same configuration or None
    ("headers", None),
    ("next-headers", "next"),
    ("newest-headers", "newest"),
]


@pytest.mark.parametrize(("tree", "vmlinux"), TREES, ids=[tree for tree, _ in TREES])
def test_structs_of_a_header_tree(kernel, tree, vmlinux):
    reading = read(str(kernel(tree)), NAMED, ReadOptions())
    structs = {s.name: s for s in reading.structs}
    assert {name: s.problem for name, s in structs.items()} == {"address_space": None, "rw_semaphore": None}
    assert (reading.unread, reading.is_kernel, reading.target.name) == ((), True, "x86_64")
    assert reading.notes == ("struct pcpu_chunk is defined in mm/percpu-internal.h, and this tree has no mm/",)
    assert {"SMP", "X86_64", "RWSEM_SPIN_ON_OWNER"} <= (reading.config or set())
    if vmlinux is not None:
        built = read(str(kernel(vmlinux)), Wanted(frozenset(structs)), ReadOptions(reader="btf"))
        offsets = {s.name: [(p.path, p.bit_offset, p.bit_size) for p in Layout(s).walk_fields()] for s in built.structs}
        assert {n: [(p.path, p.bit_offset, p.bit_size) for p in Layout(s).walk_fields()] for n, s in structs.items()} == offsets


@pytest.mark.parametrize(("tree", "vmlinux"), [("headers", "cloud"), ("next-headers", "next"), ("newest-headers", "newest")])
def test_a_struct_of_several_headers_is_that_of_the_configuration(kernel, tree, vmlinux):
    """Linux 6.1 has a kmem_cache for SLAB and one for SLUB; all of Debian's kernels have SLUB."""
    wanted = Wanted(frozenset(["kmem_cache", "saved_context", "srcu_struct", "user_regs_struct"]))
    built = {s.name: {p.path for p in Layout(s).places} for s in read(str(kernel(vmlinux)), wanted, ReadOptions()).structs}
    found = read(str(kernel(tree)), wanted, ReadOptions()).structs
    names = [struct.name for struct in found if struct.bit_size]
    assert len(names) == len(set(names))
    for struct in found:
        if struct.bit_size and struct.name in built:
            # the configurations differ in a few options
            own = {place.path for place in Layout(struct).places}
            assert len(own & built[struct.name]) >= 0.8 * max(len(own), len(built[struct.name])), struct.name


@pytest.mark.parametrize("tree", [row("headers")])
def test_everything_has_the_definitions_of_the_configuration(kernel, tree):
    """tests/readers/clang/test_includes.py has small trees with both."""
    (found,) = (s for s in read(str(kernel(tree)), Wanted(everything=True), ReadOptions()).structs if s.name == "kmem_cache")
    assert found.source is not None
    assert found.source.file == "include/linux/slub_def.h"


PCPU_CHUNK = {"base_addr": (56, 8), "free_bytes": (16, 4), "chunk_md": (20, 32)}


@pytest.mark.parametrize("build", ["header package", "folder of make O="])
def test_a_private_struct_from_sources_alone(source, headers, tmp_path, build):
    """mm/percpu-internal.h is in no header package; its sources, with the package as build folder, need no build."""
    if build == "header package":
        command = ("check", str(source), "--", f"O={headers}")
    else:
        # what `make O=` leaves: a link to the sources, a Makefile, the configuration and what is generated from it
        (tmp_path / "source").symlink_to(source)
        (tmp_path / "Makefile").write_text(f"include {source}/Makefile\n")
        for part in ("include", "arch", ".config"):
            (tmp_path / part).symlink_to(headers / part)
        command = ("check", str(tmp_path))
    done = run(command[0], command[1], "--struct", "pcpu_chunk", "--format", "json", *command[2:], seconds=120)
    report = json.loads(done.stdout)
    assert (done.returncode, report["unread"], report["coverage"]["unresolved"]) == (1, [], [])
    [finding] = report["findings"]
    assert (finding["struct"], finding["outcome"]) == ("pcpu_chunk", "broken")
    assert {f["path"]: (f["offset"], f["size"]) for f in finding["fields"]} == PCPU_CHUNK
    assert finding["definition"]["file"].endswith("mm/percpu-internal.h")


TYPEDEFS = [
    # typedef name in a header tree, the struct that it stands for, its size in bytes
    ("release_pages_arg", "release_pages_arg", 8),
    ("spinlock_t", "spinlock", 4),
    ("arch_spinlock_t", "qspinlock", 4),
    ("seqcount_spinlock_t", "seqcount_spinlock", 4),
    ("wait_queue_head_t", "wait_queue_head", 24),
    ("atomic_long_t", "atomic_long_t", 8),
    ("pgprot_t", "pgprot", 8),
    ("pte_t", "pte_t", 8),
    ("sigset_t", "sigset_t", 8),
]


def test_typedef_names_of_a_header_tree(next_headers):
    reading = read(str(next_headers), Wanted(frozenset(name for name, _, _ in TYPEDEFS)), ReadOptions())
    sizes = {(alias, s.name): s.bit_size for s in reading.structs for alias in s.aliases or (s.name,)}
    assert sizes == {(name, tag): size * 8 for name, tag, size in TYPEDEFS}
    assert {s.name: s.source.file for s in reading.structs}["pte_t"] == "arch/x86/include/asm/pgtable_64_types.h"


@pytest.mark.parametrize("tree", [tree for tree, _ in TREES])
def test_no_line_of_a_real_makefile_makes_layouts_unknown(kernel, tree):
    """For none of the architectures whose makefiles a header package has."""
    found = trees.find(str(kernel(tree)))
    assert found is not None
    own = found.config - {"X86_64", "X86", "64BIT"}
    for options, arch, triple in trees._ARCHITECTURES:
        other = replace(found, config=own.union(options), arch=arch, triple=triple)
        added = Makefiles(other).of_tree
        assert (added.problem, added.doubts) == (None, ()), arch


@pytest.mark.parametrize(("line", "status"), [("", 0), ("KBUILD_CFLAGS += -fpack-struct=1\n", 3)])
def test_a_flag_in_the_makefile_of_a_real_tree(next_headers, tmp_path, line, status):
    found = trees.find(str(next_headers))
    for name in ("arch", "include", "scripts", "tools"):
        (tmp_path / name).symlink_to(f"{found.source}/{name}")
    (tmp_path / "Makefile").write_text(found.makefile + line)
    done = run("check", str(tmp_path), "--struct", "net_device*", "--format", "json", "--", f"O={next_headers}", seconds=120)
    report = json.loads(done.stdout)
    causes = {finding["message"] for finding in report["findings"] if finding["outcome"] == "unknown"}
    assert (done.returncode, bool(causes)) == (status, status == 3)
    assert all(f"adds {line[17:-1]} to KBUILD_CFLAGS" in cause for cause in causes)
