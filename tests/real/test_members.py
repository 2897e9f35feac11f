"""Random orders of the members of kernel structs, as text: libclang reads them back, and git applies the diffs."""

from __future__ import annotations

import random
import subprocess
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from layoutlint.model.reading import InputText, ReadOptions
from layoutlint.model.structs import Struct
from layoutlint.model.wanted import Wanted
from layoutlint.readers import clang
from layoutlint.readers.clang import text_search
from layoutlint.readers.clang.members import (
    CannotMove,
    reorder_members,
    restrictions,
    source_path,
    split_members,
    unified_diff,
    verify,
)
from tests.harness.effort import draws, row
from tests.readers.clang.orders import random_order

pytestmark = pytest.mark.real

COUNT = draws(100, 300)
REFUSED = {"the members of a union are all at its start", "is there: a macro can make it"}
"""Why structs of Linux are refused."""


def sample(tree: Path, seed: int) -> list[tuple[Struct, Path]]:
    """Structs of public headers, each with its file; none is read twice."""
    root = Path(source_of(tree))
    include = root / "include"
    names = sorted(text_search.names(text_search.files_below([str(include / "linux"), str(include / "net")], (".h",))))
    chosen = random.Random(seed).sample(names, 4 * COUNT)
    found = clang.read(str(tree), Wanted(frozenset(chosen)), ReadOptions()).structs
    numbers = Counter(struct.name for struct in found)
    sound = [each for each in found if each.problem is None and len(each.fields) > 2 and numbers[each.name] == 1]
    return [(each, root / each.source.file) for each in sound if (root / each.source.file).exists()]


def source_of(tree: Path) -> str:
    (struct,) = clang.read(str(tree), Wanted(frozenset(["list_head"])), ReadOptions()).structs
    path = source_path(str(tree), struct, ReadOptions())
    assert path is not None
    return path.removesuffix(struct.source.file)


@pytest.mark.parametrize("tree", ["headers", row("next-headers")])
def test_orders_are_read_back(kernel, tree, tmp_path):
    random_, refused = random.Random(tree), set[str]()
    orders: dict[Path, list[tuple[Struct, list[int]]]] = defaultdict(list)
    for struct, path in sample(kernel(tree), 1)[:COUNT]:
        text = path.read_bytes().decode()
        try:
            order = random_order(split_members(text, struct), restrictions(text, struct), random_)
        except CannotMove as refusal:
            refused.add(refusal.reason.partition("` ")[2] or refusal.reason)
            continue
        orders[path].append((struct, order))
    assert refused <= REFUSED
    old = {path: path.read_bytes().decode() for path in orders}
    new = dict(old)
    for path, changes in orders.items():
        for struct, order in sorted(changes, key=lambda change: -change[0].source.line):
            new[path] = reorder_members(new[path], struct, order)
            check_inverse(old[path], reorder_members(old[path], struct, order), struct, order)
    check_patches(tmp_path, old, new)
    replaced = tuple(InputText(str(path.resolve()), text) for path, text in new.items())
    wanted = Wanted(frozenset(struct.name for changes in orders.values() for struct, _ in changes))
    reread = {each.name: each for each in clang.read(str(kernel(tree)), wanted, ReadOptions(replaced=replaced)).structs}
    for changes in orders.values():
        for struct, order in changes:
            found = [(each.name, each.type) for each in reread[struct.name].fields]
            assert found == [(struct.fields[at].name, struct.fields[at].type) for at in order], struct.name


def check_inverse(old: str, new: str, struct: Struct, order: list[int]) -> None:
    """The lines of a text are those of the other, apart from blank ones."""
    assert sorted(filter(str.strip, new.split("\n"))) == sorted(filter(str.strip, old.split("\n"))), struct.name


def check_patches(folder: Path, old: dict[Path, str], new: dict[Path, str]) -> None:
    diffs = []
    for path in old:
        copy = folder / str(path)[1:]
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(old[path].encode())
        diffs.append(unified_diff(old[path], new[path], str(path)[1:]))
    subprocess.run(["git", "apply", "-"], input="".join(diffs).encode(), cwd=folder, check=True, capture_output=True)
    assert all((folder / str(path)[1:]).read_bytes() == new[path].encode() for path in old)


def test_one_struct_by_itself(kernel):
    tree = str(kernel("headers"))
    (struct,) = clang.read(tree, Wanted(frozenset(["address_space"])), ReadOptions()).structs
    path = source_path(tree, struct, ReadOptions())
    assert path is not None
    text = Path(path).read_text()
    order = [1, *range(2, len(struct.fields)), 0]
    reread = verify(tree, struct, path, reorder_members(text, struct, order), ReadOptions())
    assert [each.name for each in reread.fields] == [struct.fields[at].name for at in order]
