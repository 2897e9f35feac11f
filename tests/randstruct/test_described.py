"""What GCC describes after its plugin moved members, in objects that were compiled with it."""

from __future__ import annotations

import pytest

from tests.randstruct import described, golden

MARKED = (golden.FOLDER / "described.marked").read_text().split()
OTHER = "1" + described.SEED[1:]


@pytest.mark.parametrize("mode", ["gcc-full", "gcc-performance"])
def test_layouts_are_those_of_the_compiler(mode):
    path = golden.FOLDER / f"described-{mode}.o"
    true = described.truth(path)
    ours = described.layouts(path, mode, MARKED)
    assert {tag: ours[tag] for tag in true} == true
    assert any(tag.startswith("list") for tag in true)


def test_another_seed_is_no_other_layout():
    """What was described as it was shuffled contradicts it, and so does what contains a struct that shrank."""
    path = golden.FOLDER / "described-gcc-full.o"
    true, ours = described.truth(path), described.layouts(path, "gcc-full", MARKED, OTHER)
    lists = {tag: ours[tag] for tag in true if tag.startswith("list")}
    assert {tag for tag, layout in lists.items() if layout not in (None, true[tag])} == set()
    assert None in lists.values()


def test_without_the_options_they_are_not_judged(tmp_path):
    """An overlap shows that the plugin moved members inside; it is no damage of the file."""
    path = golden.FOLDER / "described-gcc-full.o"
    (tmp_path / "r.toml").write_text(
        '[pack]\nname = "p"\n[[rule]]\nid = "r"\nstruct = "container*"\nkind = "size"\nmax = 100000\nwhy = "tries"\n'
    )
    done = described.run("check", str(path), "--rules", "r.toml", "--format", "concise", cwd=tmp_path)
    assert done.returncode == 3
    assert "ends behind" not in done.stdout
    assert "outside" not in done.stdout + done.stderr
    assert "its debug information has the declared one: give --randstruct gcc-full" in done.stdout
