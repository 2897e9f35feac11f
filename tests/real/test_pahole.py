"""`show` against pahole, on every struct of whole kernels that both list."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.harness.command import run
from tests.harness.effort import row
from tests.oracles import pahole
from tests.oracles.pahole import Shape, Spot

pytestmark = pytest.mark.real

SECONDS = 600

KERNELS = [
    # kernel, at least so many structs, fields and bit-fields that both list
    row("cloud", 7_000, 45_000, 1_200, id="cloud"),
    row("next", 8_000, 50_000, 1_400, id="next"),
    row("next-arm64", 7_500, 50_000, 1_300, id="next-arm64"),
    ("armhf", 7_500, 50_000, 1_300),
    ("newest", 9_000, 55_000, 1_700),  # has units in Rust and in DWARF 4 among the others
]


NAMELESS = {
    # Structs with a member of a qualified struct without a tag (`const struct { u32 pxx; } bits;`), whose name pahole
    # up to 1.24 at least leaves out of its listing: see test_a_member_that_pahole_does_not_name.
    "armhf": {"imx_pgc_domain"},
}


@dataclass(frozen=True, slots=True)
class Shown:
    """One definition as `show --expand --format json` gives it."""

    aggregate: str
    size: int | None
    spots: dict[str, Spot]


@dataclass(slots=True)
class Count:
    """How much was compared, and what differs."""

    structs: int = 0
    fields: int = 0
    bitfields: int = 0
    different: dict[str, list[str]] = field(default_factory=dict)

    def add(self, shape: Shape, ours: list[Shown]) -> None:
        """Compare one struct with each of our definitions of that name; the nearest counts."""
        self.structs += 1
        self.fields += len(shape.spots)
        self.bitfields += sum(spot.is_bitfield for _, spot in shape.spots)
        nearest = min((list(differences(shape, struct)) for struct in ours), key=len)
        if nearest:
            self.different[shape.name] = nearest

    def __str__(self) -> str:
        return f"{self.structs} structs, {self.fields} fields, {self.bitfields} of them bit-fields: {len(self.different)} differ"


def differences(shape: Shape, struct: Shown) -> Iterator[str]:
    """What pahole says of a struct and the command does not, and otherwise."""
    theirs = dict(shape.spots)
    if struct.aggregate != shape.aggregate:
        yield f"{struct.aggregate}, pahole {shape.aggregate}"
    if shape.size not in (None, struct.size):
        yield f"size {struct.size}, pahole {shape.size}"
    for path, spot in theirs.items():
        if struct.spots.get(path) != spot:
            yield f"{path} {struct.spots.get(path)}, pahole {spot}"
    for path in struct.spots.keys() - theirs.keys():
        if "." not in path:
            yield f"{path} {struct.spots[path]}, which pahole has not"


def show(path: Path) -> dict[str, list[Shown]]:
    """Every definition that the command shows, by name and typedef."""
    done = run("show", path, "--all", "--expand", "--format", "json", seconds=SECONDS)
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, list[Shown]] = defaultdict(list)
    for struct in json.loads(done.stdout)["structs"]:
        made = shape_of(struct)
        for name in {struct["name"], *struct["aliases"]}:
            found[name].append(made)
    return found


def shape_of(struct: dict[str, Any]) -> Shown:
    """One of the `structs` of `show --format json`."""
    spots = {field["path"]: _spot(field) for field in struct["fields"]}
    return Shown(struct["aggregate"], struct["size"], spots)


def _spot(field: dict[str, Any]) -> Spot:
    if field["bit_size"] is not None:
        return Spot(field["bit_offset"], field["bit_size"], True)
    return Spot(field["offset"] * 8, field["size"] * 8, False)


@pytest.mark.parametrize(("name", "structs", "fields", "bitfields"), KERNELS)
def test_every_struct_as_pahole_has_it(kernel, name, structs, fields, bitfields):
    at = kernel(name)
    listed = pahole.list_output(at, "-F", "dwarf")
    ours = show(at)
    count = Count()
    for shape in listed:
        if shape.name in ours:
            count.add(shape, ours[shape.name])
    print(f"{name}: {count}; pahole alone lists {len({shape.name for shape in listed} - ours.keys())}")
    assert count.different.keys() == NAMELESS.get(name, set())
    assert count.structs >= structs
    assert count.fields >= fields
    assert count.bitfields >= bitfields
    assert {shape.name for shape in listed} <= ours.keys()
