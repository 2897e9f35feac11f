"""Where addresses of a struct go in Linux: no use that is none, and the same as elsewhere for programs in its tree."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from layoutlint import api
from layoutlint.model.reading import ReadOptions
from layoutlint.sources.bodies import flows
from layoutlint.sources.order_uses import find_order_uses, sources_that_name
from tests.suggestion import programs
from tests.suggestion.constructs import STRUCTS
from tests.suggestion.test_constructs import TABLE

pytestmark = [pytest.mark.real, pytest.mark.exhaustive]

LIBRARY = re.compile(
    r"\b(?:printf|snprintf|tmpfile|rewind|fread|fwrite|pipe|read|write|memcpy|memset|memcmp|memchr|memmove|strcpy|strncpy|strlen|malloc|free|qsort|bsearch|SHOW)\b"
)
"""What the programs have of the C library."""
ALONE = [each for each in TABLE if each.dependent and not LIBRARY.search(each.dependent)][:150]


@pytest.mark.long
@pytest.mark.parametrize("name", ["address_space", "anon_vma"])
def test_nothing_depends_on_the_order(source: Path, headers: Path, name):
    """Read by hand: pointers with marks, callbacks, maps of bits, error pointers and per-CPU data, and no dependence."""
    flags = (f"O={headers}",)
    struct = next(layout.struct for layout in api.read(str(headers), flags=()) if layout.struct.name == name)
    own, names, others = sources_that_name(struct, [str(source / "mm")])
    found = flows.read(own, names, ReadOptions(cache=False, flags=flags), others)
    assert len(found.walked) > 50
    uses = find_order_uses(struct, [str(source / "mm")], flows=found).uses
    assert [use for use in uses if not use.is_note and use.kind != "randomised"] == []


@pytest.fixture(scope="module")
def tree(headers: Path, tmp_path_factory) -> Path:
    """A kernel's source with the real headers, and one folder of drivers."""
    makefile = (headers / "Makefile").read_text()
    common = re.search(r"(/\S+-common)\b", makefile)
    if common is None:
        pytest.skip("these headers do not name their common part")
    top = tmp_path_factory.mktemp("linux")
    for entry in Path(common[1]).iterdir():
        if entry.name != "drivers":
            (top / entry.name).symlink_to(entry)
    (top / "drivers").mkdir()
    (top / "drivers/Makefile").write_text("obj-y += thing/\n")
    return top


@pytest.mark.usefixtures("reads_here")
@pytest.mark.parametrize("construct", ALONE, ids=[each.name for each in ALONE])
def test_a_program_in_the_tree_of_a_kernel(tree: Path, headers: Path, tmp_path, construct):
    members = STRUCTS[construct.struct]
    files = programs.program_files(construct.dependent, construct.struct, members)
    folder = tree / "drivers/thing"
    for path in folder.glob("*"):
        path.unlink()
    objects = " ".join(f"{name[:-2]}.o" for name in files if name.endswith(".c"))
    programs.write(folder, {**files, "Makefile": f"obj-y += {objects}\n"})
    found = (
        programs.search(tmp_path, files),
        programs.find(str(folder / "a.c"), str(folder), (f"O={headers}",)),
    )
    allowed = [[programs.is_allowed(each, members, order) for order in programs.ORDERS] for each in found]
    assert not any("libclang" in sentence for sentence in found[1].not_looked_at)
    assert allowed[0] == allowed[1]
