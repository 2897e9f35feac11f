"""Classes of kmalloc, and objects and orders of slabs, in `show` and `diff`; by SLUB's rules written out again."""

from __future__ import annotations

import json

import pytest

from tests.harness.command import run

CALLS = {
    "kmalloc": "void *f(void) { struct s *p = kmalloc(sizeof(struct s), 0); return p; }",
    "slab": 'void *f(void) { return kmem_cache_create("s", sizeof(struct s), 0, 0, 0); }',
    "nothing": "struct s s;",
    "malloc": "void *f(void) { struct s *p = malloc(sizeof(struct s)); return p; }",
}
HEAD = (
    "typedef unsigned long size_t; void *kmalloc(size_t, int); void *malloc(size_t);\n"
    "void *kmem_cache_create(const char *, size_t, size_t, int, void *);\n"
)


def source(folder, name: str, size: int, call: str) -> str:
    (folder / name).write_text(f"{HEAD}struct s {{ long a[{size // 8}]; }};\n{CALLS[call]}\n")
    return name


def slab(size: int, cpus: int) -> tuple[int, int]:
    """Order and objects: calculate_order() of mm/slub.c, Linux 6.12, with min_objects = 4 * (fls(nr_cpu_ids) + 1)."""
    min_objects = min(4 * (cpus.bit_length() + 1), max((4096 << 3) // size, 1))
    min_order = next(order for order in range(11) if 4096 << order >= min_objects * size)
    for fraction in (16, 8, 4, 2):
        for order in range(min_order, 4):
            if (4096 << order) % size <= (4096 << order) // fraction:
                return order, (4096 << order) // size
    order = next(order for order in range(11) if 4096 << order >= size)
    return order, (4096 << order) // size


KMALLOC = {
    # sizes before and now: classes, and what is left now
    (160, 168): ((192, 192), 24), (96, 104): ((96, 128), 24), (192, 200): ((192, 256), 56), (1024, 1016): ((1024, 1024), 8),
    (8, 16): ((8, 16), 0),
}  # fmt: skip


@pytest.mark.one_in(4)
@pytest.mark.parametrize("sizes", KMALLOC)
def test_classes_of_kmalloc(tmp_path, sizes):
    classes, left = KMALLOC[sizes]
    old, new = (source(tmp_path, f"{size}.c", size, "kmalloc") for size in sizes)
    found = json.loads(run("diff", old, new, "--format", "json", cwd=tmp_path).stdout)
    (room,) = found["structs"][0]["allocations"]
    assert (room["allocator"], room["is_assumed"], tuple(room["class"]), room["slack"][1]) == ("kmalloc", False, classes, left)
    (shown,) = json.loads(run("show", new, "s", "--format", "json", cwd=tmp_path).stdout)["structs"]
    assert [(each["class"], each["slack"]) for each in shown["allocations"]] == [(classes[1], left)]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("sizes", [(160, 168), (192, 200), (632, 640), (2048, 2056), (96, 88)])
def test_objects_and_orders_of_slabs(tmp_path, sizes):
    old, new = (source(tmp_path, f"{size}.c", size, "slab") for size in sizes)
    found = json.loads(run("diff", old, new, "--format", "json", cwd=tmp_path).stdout)
    (room,) = found["structs"][0]["allocations"]
    assert room["slabs"][0]["cpus"][0] == 1
    assert room["slabs"][-1]["cpus"][1] == 8192
    for row in room["slabs"]:
        for cpus in row["cpus"]:
            expected = [slab(size, cpus) for size in sizes]
            assert [*zip(row["order"], row["objects"], strict=True)] == expected, cpus
        grown = [slab(sizes[1] + growth, row["cpus"][0]) for growth in (row["room"], row["room"] + 8)]
        order, objects = slab(sizes[1], row["cpus"][0])
        assert grown[0][0] <= order
        assert grown[0][1] >= objects
        assert grown[1][0] > order or grown[1][1] < objects


@pytest.mark.one_in(2)
@pytest.mark.parametrize("call", ["nothing", "malloc"])
def test_no_class_for_what_never_comes_from_there(tmp_path, call):
    old, new = (source(tmp_path, f"{size}.c", size, call) for size in (160, 168))
    found = json.loads(run("diff", old, new, "--format", "json", cwd=tmp_path).stdout)
    assert found["structs"][0]["allocations"] == []
    assert "kmalloc" not in run("diff", old, new, cwd=tmp_path).stdout


def test_a_rule_file_states_the_allocator(tmp_path):
    old, new = (source(tmp_path, f"{size}.c", size, "nothing") for size in (160, 168))
    (tmp_path / "rules.toml").write_text('[struct.s]\nplacement = "slab"\n')
    text = run("diff", old, new, "--rules", "rules.toml", cwd=tmp_path).stdout
    assert "with up to 31 CPUs 25 -> 24 objects per 4 KiB slab" in " ".join(text.split())
    shown = " ".join(run("show", new, "s", "--rules", "rules.toml", cwd=tmp_path).stdout.split())
    assert "with up to 31 CPUs 24 objects per 4 KiB slab (order 0), 0 bytes left" in shown
    (tmp_path / "rules.toml").write_text('[struct.s]\nplacement = "embedded"\n')
    assert "slab" not in run("diff", old, new, "--rules", "rules.toml", cwd=tmp_path).stdout
