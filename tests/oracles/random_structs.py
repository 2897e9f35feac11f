"""Random structs for property tests: bit-fields, packing, arrays, nesting, unions, empty and flexible fields."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from layoutlint.model.ctype import CType
from layoutlint.model.structs import Field, Struct
from tests.harness.build import X86_64

_SCALARS = (1, 2, 4, 8, 16)


@dataclass
class _Draft:
    """Members placed one behind the other, in bits."""

    draw: st.DrawFn
    names: list[str]
    is_union: bool
    fields: list[Field]
    position: int = 0
    size: int = 0

    def put(self, name: str | None, size: int, align: int, **more: object) -> None:
        at = 0 if self.is_union else -(-self.position // (align * 8)) * align * 8
        self.fields.append(Field(name, CType("x"), at, size, align=align, **more))  # type: ignore[arg-type]
        self.position = at + size
        self.size = max(self.size, self.position)

    def name(self) -> str:
        self.names.append(f"f{len(self.names)}")
        return self.names[-1]

    def scalar(self) -> None:
        size = self.draw(st.sampled_from(_SCALARS))
        packed = self.draw(st.booleans())
        self.put(self.name(), size * 8, 1 if packed else size)

    def bits(self) -> None:
        at = 0 if self.is_union else self.position + self.draw(st.integers(0, 5))
        width = self.draw(st.integers(1, 40))
        self.fields.append(Field(self.name(), CType("unsigned int"), at, width, is_bitfield=True, align=4))
        self.position = at + width
        self.size = max(self.size, self.position)

    def array(self) -> None:
        count, size = self.draw(st.integers(1, 5)), self.draw(st.sampled_from((1, 4, 24)))
        self.put(self.name(), count * size * 8, min(size, 8), dims=(count,))

    def nest(self, depth: int) -> None:
        kind = self.draw(st.sampled_from(("struct", "union")))
        members, size = fields(self.draw, self.names, kind == "union", depth - 1)
        padded = -(-size // 64) * 64
        name = self.name() if self.draw(st.booleans()) else None
        count = self.draw(st.integers(1, 3)) if name is not None and padded else 1
        dims = (count,) if count > 1 else ()
        self.put(name, padded * count, 8, dims=dims, members=members, aggregate=kind)

    def nothing(self) -> None:
        if self.draw(st.booleans()):
            self.put(self.name(), 0, 1, aggregate="struct")
        else:
            self.put(self.name(), 0, 1, dims=(0,))


def fields(draw: st.DrawFn, names: list[str], is_union: bool, depth: int) -> tuple[tuple[Field, ...], int]:
    """Members and how many bits they take; names are used once in a struct, at all its depths."""
    draft = _Draft(draw, names, is_union, [])
    steps = [draft.scalar, draft.scalar, draft.bits, draft.array, draft.nothing]
    if depth:
        steps.append(lambda: draft.nest(depth))
    for step in draw(st.lists(st.sampled_from(steps), min_size=1, max_size=5)):
        step()
    return tuple(draft.fields), draft.size


@st.composite
def structs(draw: st.DrawFn) -> Struct:
    """A struct or union; the members' alignment is not held against the struct's, as packing allows."""
    names: list[str] = []
    kind = draw(st.sampled_from(("struct", "struct", "struct", "union")))
    members, size = fields(draw, names, kind == "union", 2)
    if kind == "struct" and draw(st.booleans()):
        at = -(-size // 64) * 64
        members = (*members, Field("tail", CType("long int", "[]"), at, 0, dims=(None,), align=8))
        size = at
    align = draw(st.sampled_from([1, 2, 4, 8, 16, 32, 64, 128]))
    padded = -(-size // (align * 8)) * align * 8
    return Struct("random", kind, padded, align, members, X86_64)
