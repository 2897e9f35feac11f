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
from tests.fuzz import graphs
from tests.fuzz.graphs import Graph, Member, Node
from tests.harness.whole import whole_lines
from tests.readers.test_whole_readings import EVERYTHING

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


def laid_out_graph(rng: random.Random) -> Graph:
    """Types whose members stand where a compiler for x86-64 puts them."""
    graph: Graph = []
    sizes: list[tuple[int, int]] = []
    for name, size in (("char", 1), ("short", 2), ("int", 4), ("long", 8), ("__int128", 16)):
        graph.append(Node("base", name, size=size))
        sizes.append((size, size))
    for number in range(len(graph), rng.choice((12, 20, 40))):
        kind, of = rng.choice(("struct", "struct", "struct", "union", "typedef", "const", "volatile", "pointer", "array", "enum")), rng.randrange(number)
        size, align = sizes[of]
        if kind == "pointer":
            size = align = 8
        elif kind == "enum":
            size = align = 4
        node = Node(kind, {"typedef": f"t{number}_t", "enum": f"e{number}", "struct": rng.choice((f"s{number}", "")), "union": rng.choice((f"u{number}", ""))}.get(kind, ""), of, size)
        if kind == "array":
            node.count = rng.choice((0, 1, 2, 3, 7))
            size *= node.count
        elif kind == "enum":
            node.members = [Member(f"E{number}_{value}", -1, value) for value in range(rng.randrange(3))]
        elif kind in ("struct", "union"):
            size, align = add_members(rng, node, sizes)
        node.size = size
        graph.append(node)
        sizes.append((size, align))
    graph.append(Node("struct", "ring", size=sum(size for size, _ in sizes)))
    graph[-1].size, _ = add_members(rng, graph[-1], sizes)
    return graph


def add_members(rng: random.Random, node: Node, sizes: list[tuple[int, int]]) -> tuple[int, int]:
    """Add members of any of the types, and return the size and the alignment of the struct."""
    end, largest, most = 0, 1, 0
    for number in range(rng.choice((1, 2, 3, 8))):
        of = rng.randrange(len(sizes))
        size, align = sizes[of]
        bits = rng.randrange(1, 8 * size + 1) if of < 4 and rng.random() < 0.3 else 0
        at = 0 if node.kind == "union" else end
        if (bits and at // (8 * align) != (at + bits - 1) // (8 * align)) or not bits:
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
        (reading,), unread = inputs.read(("input",), Wanted(everything=True), OPTIONS)
        named = {node.name: node for node in graph if node.kind in ("struct", "union") and node.name}
        assert unread == []
        assert {struct.name: (struct.bit_size, places(struct.fields)) for struct in reading.structs if struct.name in named} == {
            name: (8 * node.size, [(member.name, member.bit_offset) for member in node.members]) for name, node in named.items()
        }  # fmt: skip
    golden_row("\n".join(texts))


def places(fields: tuple) -> list[tuple[str | None, int]]:
    return [(field.name, field.bit_offset) for field in fields]


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
