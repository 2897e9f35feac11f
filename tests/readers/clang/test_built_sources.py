"""The sources that Makefiles of a kernel build: for each kind of line what it adds."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from layoutlint.readers.clang.kernel import built_sources

FILES = ("a.c", "b.c", "c.c", "d.c", "main.c", "deep/e.c", "deep/f.c", "deep/more/g.c", "other/h.c", "gone.h")
CASES = [
    # the Makefile, those below it by their folders, the sources
    ("obj-y := a.o b.o\n", {}, "a.c b.c"),
    ("obj-y += a.o\nobj-y += b.o a.o\n", {}, "a.c b.c"),
    ("obj-m = a.o # b.o\n", {}, "a.c"),
    ("obj-n += a.o\nobj- += b.o\n", {}, ""),
    ("obj-$(CONFIG_ON) += a.o\nobj-$(CONFIG_OFF) += b.o\n", {}, "a.c"),
    ("obj-$(subst m,y,$(CONFIG_ON)) += a.o\nobj-$(subst m,y,$(CONFIG_OFF)) += b.o\n", {}, "a.c"),
    ("lib-y += a.o\nextra-y += b.o\nobj-y += $(CORE) x.txt c.h\n", {}, "a.c"),
    ("obj-y += a.o \\\n\t b.o\n", {}, "a.c b.c"),
    ("obj-y += missing.o a.o\n", {}, "a.c"),
    ("obj-y += main.o\nmain-y := a.o b.o\nmain-objs := c.o\nmain-$(CONFIG_OFF) += d.o\n", {}, "a.c b.c c.c"),
    ("obj-y += main.o\nmain-y := main.o a.o\n", {}, "a.c main.c"),
    ("obj-y += main.o\nmain-y := a.c x.txt gone.h b.o deep/\n", {}, "b.c"),
    ("obj-y += main.o\nmain-y := part.o\npart-y := a.o main.o\n", {}, "a.c"),
    ("obj-y += main.o\nmain-y := $(addprefix deep/, e.o f.o) b.o\n", {}, "b.c deep/e.c deep/f.c"),
    ("obj-y += deep/ a.o\n", {"deep": "obj-y += e.o more/\n", "deep/more": "obj-$(CONFIG_ON) += g.o\n"}, "a.c deep/e.c deep/more/g.c"),
    ("obj-y += deep/ other/\n", {"deep": "obj-y := f.o ../other/\n"}, "deep/f.c"),
    ("obj-y += deep/\n", {"deep": "obj-y += ./ ../deep/ e.o\n"}, "deep/e.c"),
    ("\tobj-y := a.o\n", {}, "a.c"),
    ("mmu-y := a.o\nmmu-$(CONFIG_ON) := b.o\nobj-y := c.o $(mmu-y)\n", {}, "b.c c.c"),
    ("mmu-y := a.o\nmmu-$(CONFIG_OFF) := b.o\nobj-y := c.o $(mmu-y)\n", {}, "a.c c.c"),
    ("mmu-y := a.o\nmmu-y += b.o\nobj-y := $(mmu-y)\n", {}, "a.c b.c"),
    ("ifdef CONFIG_ON\nobj-y := a.o\nelse\nobj-y := b.o\nendif\n", {}, "a.c b.c"),
    ("obj-y := main.o\nmain-y := a.o $(more-m)\nmore-m := b.o $(more-m)\n", {}, "a.c b.c"),
    ("obj-y := $(none-y) a.o\n", {}, "a.c"),
    ("", {}, ""),
]  # fmt: skip


@pytest.fixture
def tree(tmp_path) -> SimpleNamespace:
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    return SimpleNamespace(source=str(tmp_path), config={"ON": "y"})


@pytest.mark.parametrize(("text", "below", "expected"), CASES)
def test_what_is_built(tree, tmp_path, text, below, expected):
    for folder, inner in {"": text, **below}.items():
        (tmp_path / folder / "Makefile").write_text(inner)
    assert built_sources.sources(tree, ".") == [str(tmp_path / name) for name in expected.split()]


def test_kbuild_comes_before_makefile(tree, tmp_path):
    (tmp_path / "Makefile").write_text("obj-y := a.o\n")
    (tmp_path / "Kbuild").write_text("obj-y := b.o\n")
    assert built_sources.sources(tree, "") == [str(tmp_path / "b.c")]
    (tmp_path / "Kbuild").write_text("")
    assert built_sources.sources(tree, "deep/..") == [str(tmp_path / "a.c")]
    assert built_sources.sources(tree, "missing") == []


def test_folders_and_objects_that_name_one_another(tree, tmp_path):
    """Each is read once: all paths through them would be 2 to the power of their depth."""
    (tmp_path / "deep/again").symlink_to(".")
    (tmp_path / "Makefile").write_text("obj-y := deep/ a.o\na-y := b.o c.o\nb-y := c.o a.o\nc-y := a.o b.o c.o\n")
    (tmp_path / "deep/Makefile").write_text("obj-y := ../ ./ ../deep/ again/ again/again/ e.o\n")
    assert built_sources.sources(tree, ".") == [str(tmp_path / name) for name in ("c.c", "deep/e.c")]
