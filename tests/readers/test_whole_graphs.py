"""What readers of DWARF and BTF say of whole files with types that a generator makes: laid out well, in circles, and as deep as is read."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from layoutlint.model.reading import ReadOptions
from layoutlint.model.wanted import Wanted
from layoutlint.readers import inputs
from tests.harness.whole import whole_lines
from tests.readers.test_whole_readings import EVERYTHING
from tools.fuzz import graphs
from tools.fuzz.graphs import Graph, Member, Node

SOME = Wanted(frozenset(("ring", "s3")), patterns=("*_t", "u*"))
RING = Wanted(frozenset(("ring",)))
OPTIONS = ReadOptions(cache=False, jobs=1)
FORMATS: dict[str, Callable[[Graph], bytes]] = {"dwarf": graphs.as_dwarf, "btf": graphs.as_btf}
SHOWN, WIDTH = 4, 180


def read(content: bytes, wanted: Wanted) -> list[str]:
    Path("input").write_bytes(content)
    return list(whole_lines(inputs.read(("input",), wanted, OPTIONS)))


def outcome(graph: Graph, kind: str, requests: tuple[Wanted, ...] = (EVERYTHING, SOME)) -> Iterator[str]:
    """Yield a checksum of all that is read, and the first lines: of those that say why something is not read, if there are any."""
    lines = [line for wanted in requests for line in read(FORMATS[kind](graph), wanted)]
    yield f"{kind} {len(lines)} {hashlib.sha256(''.join(lines).encode()).hexdigest()[:8]}"
    reasons = [line for line in lines if "reason=" in line or "problem=" in line]
    yield from (f"  {line.strip()[:WIDTH]}" for line in list(dict.fromkeys(reasons))[:SHOWN])


Sizes = list[tuple[int, int] | None]
"""Of each type its size and its alignment in bytes; None for functions, and types that stand for one."""


def laid_out_graph(rng: random.Random) -> Graph:
    """Types whose members stand where a compiler for x86-64 puts them."""
    graph = [Node("base", name, size=size) for name, size in (("char", 1), ("short", 2), ("int", 4), ("long", 8), ("__int128", 16))]
    sizes: Sizes = [(node.size, node.size) for node in graph]
    for number in range(len(graph), rng.choice((12, 20, 40))):
        add_type(rng, number, graph, sizes)
    node = Node("struct", "ring")
    node.size, _ = add_members(rng, node, sizes)
    return [*graph, node]


def add_type(rng: random.Random, number: int, graph: Graph, sizes: Sizes) -> None:
    kind, of = rng.choice(("struct", "struct", "struct", "union", "typedef", "const", "volatile", "pointer", "array", "enum", "function")), rng.randrange(number)
    name = {"typedef": f"t{number}_t", "enum": f"e{number}", "struct": rng.choice((f"s{number}", "")), "union": rng.choice((f"u{number}", ""))}.get(kind, "")
    node, own = Node(kind, name, of), sizes[of]
    if kind == "pointer":
        own = 8, 8
    elif kind == "enum":
        own = 4, 4
        node.members = [Member(f"E{number}_{value}", -1, value) for value in range(rng.randrange(3))]
    elif kind == "function":
        own = None
        node.members = [Member("", rng.choice([at for at, each in enumerate(sizes) if each]), 0) for _ in range(rng.randrange(3))]
    elif kind in ("struct", "union"):
        own = add_members(rng, node, sizes)
    elif kind == "array" and own is not None:
        node.count = rng.choice((0, 1, 2, 3, 7))
        own = own[0] * node.count, own[1]
    elif kind == "array":
        return add_type(rng, number, graph, sizes)
    node.size = own[0] if own else 0
    graph.append(node)
    sizes.append(own)
    return None


def add_members(rng: random.Random, node: Node, sizes: Sizes) -> tuple[int, int]:
    """Add members of any of the types, and return the size and the alignment of the struct."""
    end, largest, most = 0, 1, 0
    for number in range(rng.choice((1, 2, 3, 8))):
        of, (size, align) = rng.choice([(of, own) for of, own in enumerate(sizes) if own])
        bits = rng.randrange(1, 8 * size + 1) if of < 4 and rng.random() < 0.3 else 0
        at = 0 if node.kind == "union" else end
        if not bits or at // (8 * align) != (at + bits - 1) // (8 * align):
            at = -(-at // (8 * align)) * 8 * align
        node.members.append(Member(f"m{number}", of, at, bits))
        end, largest = at + (bits or 8 * size), max(largest, align)
        most = max(most, end)
    return -(-most // (8 * largest)) * largest, largest


@pytest.mark.parametrize("kind", FORMATS)
def test_laid_out_graphs(kind, tmp_path, monkeypatch, golden_row):
    """Named structs have the members of the graph at its places; all else that is read is in the golden text."""
    monkeypatch.chdir(tmp_path)
    texts = []
    for seed in range(24):
        graph = laid_out_graph(random.Random(seed))
        texts += outcome(graph, kind)
        assert read_places() == graph_places(graph)
    golden_row("\n".join(texts))


Places = dict[str, tuple[int | None, list[tuple[str | None, int, int]]]]
"""Sizes in bits of structs and unions by their names, and names, offsets and bits of their members; 0 if it is no bit-field."""


def graph_places(graph: Graph) -> Places:
    named = [node for node in graph if node.kind in ("struct", "union") and node.name]
    return {node.name: (8 * node.size, [(each.name, each.bit_offset, each.bits) for each in node.members]) for node in named}


def read_places() -> Places:
    (reading,), unread = inputs.read(("input",), Wanted(everything=True), OPTIONS)
    assert unread == []
    named = [struct for struct in reading.structs if struct.is_tagged]
    return {each.name: (each.bit_size, [(one.name, one.bit_offset, (one.bit_size or 0) * one.is_bitfield) for one in each.fields]) for each in named}


ALIKE = {
    # members of two structs: type (0 char, 1 int), name, bit offset, bits
    "bits": ((1, "m", 0, 3), (1, "m", 0, 5)),
    "a bit-field": ((1, "m", 0, 32), (1, "m", 0, 0)),
    "offsets": ((1, "m", 0, 0), (1, "m", 32, 0)),
    "offsets of bits": ((1, "m", 0, 3), (1, "m", 1, 3)),
    "names": ((1, "m", 0, 0), (1, "n", 0, 0)),
    "types": ((1, "m", 0, 0), (0, "m", 0, 0)),
}


@pytest.mark.parametrize("difference", ALIKE)
@pytest.mark.parametrize("kind", FORMATS)
def test_structs_that_differ_in_one_thing(kind, difference, tmp_path, monkeypatch):
    """Readers keep equal members once; these are not equal."""
    monkeypatch.chdir(tmp_path)
    structs = [Node("struct", f"s{at}", size=8, members=[Member(name, of, place, bits)]) for at, (of, name, place, bits) in enumerate(ALIKE[difference])]
    graph = [Node("base", "char", size=1), Node("base", "int", size=4), *structs]
    Path("input").write_bytes(FORMATS[kind](graph))
    assert read_places() == graph_places(graph)
    (reading,), _ = inputs.read(("input",), Wanted(everything=True), OPTIONS)
    assert [str(struct.fields[0].type) for struct in reading.structs] == [graph[of].name for of, *_ in ALIKE[difference]]


def chain(kind: str, length: int, last: int) -> Graph:
    """`struct ring` with a member whose type is a chain, which ends in an integer or in one of its own types."""
    nodes = [Node(kind, "t", number + 1, 8, 1, [Member("m", number + 1, 0)]) for number in range(1, length)]
    end = Node("base", "long", size=8) if last == 0 else Node(kind, "t", last, 8, 1, [Member("m", last, 0)])
    return [Node("struct", "ring", size=8, members=[Member("head", 1, 0)]), *nodes, end]


LONG = (98, 99, 100, 101, 102)
"""Around the greatest depth that readers follow."""
KINDS = ("typedef", "const", "array", "pointer", "struct", "union", "function")


@pytest.mark.parametrize("kind", KINDS)
def test_chains(kind, tmp_path, monkeypatch, golden_row):
    """Circles are refused, and chains that are longer than any that people write."""
    monkeypatch.chdir(tmp_path)
    rows = [(length, 0) for length in (1, 2, 3, *LONG)] + [(1, 1), (2, 1), (2, 2), (40, 1), (40, 20)]
    texts = []
    for length, last in rows:
        texts.append(f"== {length} {f'to {last}' if last else ''}")
        texts += (line for each in FORMATS for line in outcome(chain(kind, length, last), each, (RING,)))
    golden_row("\n".join(texts))


@pytest.mark.parametrize("shape", [graphs.any_graph, graphs.array_graph], ids=lambda shape: shape.__name__)
def test_any_graphs(shape, tmp_path, monkeypatch, golden_row):
    monkeypatch.chdir(tmp_path)
    texts = [line for seed in range(20) for kind in FORMATS for line in outcome(shape(random.Random(seed)), kind)]
    golden_row("\n".join(texts))


CALLS = {
    # the type of a member, from the outside to the inside; whether it calls a function
    "pointer function": True, "pointer typedef function": True, "pointer typedef typedef function": True, "typedef pointer function": True,
    "const pointer function": True, "volatile typedef pointer function": True, "typedef const pointer typedef function": True, "array pointer function": True,
    "pointer const typedef function": True, "pointer pointer function": False, "pointer typedef pointer function": False, "pointer base": False,
    "pointer array pointer function": False, "pointer struct": False, "pointer const base": False, "typedef base": False, "pointer": False, "const pointer": False,
}  # fmt: skip


@pytest.mark.parametrize("words", CALLS)
@pytest.mark.parametrize("kind", FORMATS)
def test_pointers_to_functions(kind, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kinds = words.split()
    types = [Node(each, "t" if each in ("typedef", "base", "struct") else "", at + 2 if at + 1 < len(kinds) else -1, 8, 1) for at, each in enumerate(kinds)]
    Path("input").write_bytes(FORMATS[kind]([Node("struct", "ring", size=8, members=[Member("m", 1, 0)]), *types]))
    (reading,), _ = inputs.read(("input",), RING, OPTIONS)
    assert [field.is_function_pointer for field in reading.structs[0].fields] == [CALLS[words]]
