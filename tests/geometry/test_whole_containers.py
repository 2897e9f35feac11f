"""All containers and neighbours of every struct of some inputs: C text, and the seeds of the fuzzer.

The text in `golden/` is for review: `pytest --rewrite-goldens` writes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from layoutlint.geometry.containers import Container, Index
from layoutlint.geometry.layout import Layout
from layoutlint.geometry.siblings import (
    next_elements,
    places_in_differing_elements,
    places_in_elements,
    spots,
    spots_in,
)
from layoutlint.model.reading import ReadOptions
from layoutlint.model.structs import Struct
from layoutlint.model.wanted import Wanted
from layoutlint.readers import inputs
from layoutlint.readers.dispatch import read
from tests.geometry import test_containers, test_spots
from tests.harness.whole import inline
from tools.fuzz import command
from tools.fuzz.seeds import seeds

SEEDS = ("gcc-dwarf4", "gcc-dwarf5", "clang-dwarf4", "clang-dwarf5", "gcc-strict", "btf-elf")


def describe(places: Iterable) -> str:
    return ", ".join(f"{place.path} {place.bit_offset}+{place.bit_size}" for place in places)


def spot_lines(container: Container, struct: Struct) -> Iterator[str]:
    every = list(spots(container, struct, 64))
    for spot in every[:3] + every[-2:]:
        low, high = spot.bit_offset - 192, spot.bit_offset + (struct.bit_size or 0) + 192
        yield f"    {spot.path} at {spot.bit_offset}, {spot.source}: {describe(spot.own_siblings(low, high))}"
    size = container.struct.bit_size or 0
    for low, high in ((0, 64), (size // 2, size // 2 + 64), (size - 64, size)):
        found = list(spots_in(container, struct, low, high))
        yield f"    in {low}..{high}: {', '.join(f'{spot.path} {spot.bit_offset}' for spot in found[:6])} of {len(found)}"


def element_lines(struct: Struct) -> Iterator[str]:
    layout = Layout(struct)
    for place in layout.walk_fields():
        if "[" in place.path:
            differing = places_in_differing_elements(struct, place, 64)
            yield f"  {place.path}: {describe(differing[:4])} of {len(differing)}; {describe(places_in_elements(struct, place, 64, 256))}"
            yield f"    next {describe(next_elements(layout, place.path, place.path.partition('[')[0], 16))}"


def index_lines(structs: tuple[Struct, ...]) -> Iterator[str]:
    index = Index(structs)
    for name in index.names:
        for number, struct in enumerate(index.definitions(name)):
            merged = index.merged_definition(struct)
            yield f"{name} {number}: {struct.bit_size} bits, {struct.aggregate}, {len(merged.fields)} fields"
            yield f"  typedefs {sorted(index.ambiguous_typedefs(name))}, without type {index.field_without_type(name, struct)}"
            direct = index.containers(name, struct, True)
            for each in index.containers(name, struct):
                own = f"{each.struct.name} {each.written} = {each.path} at {each.offset}, {each.count}, {each.definition}"
                yield f"  in {own} through {each.through}{'' if each in direct else ', further in'}: {inline(each.arrays)}"
                if all(array.bit_stride for array in each.arrays):
                    yield from spot_lines(each, struct)
            yield from element_lines(struct)


def test_every_container(tmp_path, monkeypatch, golden):
    given = {"containers": test_containers.SOURCE, "spots": test_spots.SOURCE}
    structs = {}
    monkeypatch.chdir(tmp_path)
    for name, text in given.items():
        (tmp_path / f"{name}.h").write_text(text)
        structs[name] = read(f"{name}.h", Wanted(patterns=("*",)), ReadOptions(flags=("--target=x86_64-linux-gnu",))).structs
    for seed in seeds():
        if seed.name in SEEDS:
            (folder := tmp_path / seed.name).mkdir()
            command.put(folder, dict(seed.files))
            monkeypatch.chdir(folder)
            read_now, _ = inputs.read((seed.files[0][0],), Wanted(everything=True), ReadOptions())
            structs[seed.name] = tuple(struct for reading in read_now for struct in reading.structs)
    text = "".join(f"== {name}\n" + "".join(f"{line}\n" for line in index_lines(own)) for name, own in structs.items())
    golden("containers.txt", text)
