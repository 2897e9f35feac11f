"""All orders of the members of structs, laid out by a compiler and judged by the rules themselves."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, permutations, product
from operator import itemgetter
from pathlib import Path
from struct import unpack

from layoutlint.geometry.layout import Layout
from layoutlint.judgement.context import CannotTell
from layoutlint.judgement.rule import Rule
from layoutlint.judgement.verdict import Outcome
from layoutlint.lint.judge import judge_placements
from layoutlint.lint.placing import RulePlacements
from layoutlint.model.record import replace
from layoutlint.model.structs import Field, Struct
from tests.suggestion.specimens import PRELUDE, Declaration, Group, Specimen, Unit

Order = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Compiled:
    """A layout as compiled code has it: bits of each named member, in the order of the units."""

    offsets: tuple[tuple[int, ...], ...]
    """By position in the order, those of the unit's named members."""
    size: int
    """In bytes."""
    align: int


Layouts = dict[tuple[str, ...], Compiled]
"""The layouts of a struct, by the shapes of its orders."""
_AT_ONCE = 5000
"""The orders in one C file: gcc gets slow with more."""


@dataclass(frozen=True, slots=True)
class _Ordered:
    """An order that is compiled."""

    specimen: Specimen
    order: Order
    shape: tuple[str, ...]


def orders(specimen: Specimen) -> Iterator[Order]:
    """Yield the orders of the units; a flexible array stays last, and an array without a length before others."""
    count = len(specimen.units)
    named = [at for at, unit in enumerate(specimen.units) if any(one.name for one in unit)]
    empty = {at for at in named if "[0]" in [one for one in specimen.units[at] if one.name][-1].shape}
    for order in group_orders(specimen.top):
        if specimen.is_open:
            if order[-1] == count - 1:
                yield order
        elif max(named, key=order.index) not in empty or len(empty) == len(named):
            yield order


def group_orders(group: Group) -> Iterator[Order]:
    """Yield the orders of the units of a struct, or of one without a name: those of each group stay together."""
    inside = [list(group_orders(node)) if isinstance(node, Group) else [(node,)] for node in group.nodes]
    for places in permutations(range(len(inside))):
        for parts in product(*(inside[at] for at in places)):
            yield tuple(chain.from_iterable(parts))


def shapes(specimen: Specimen, order: Order) -> tuple[str, ...]:
    """Return an order without the names: orders of one shape have one layout."""
    return tuple(one.shape if isinstance(one, Declaration) else one for one in specimen.pieces(order))


def compile_orders(specimens: Iterable[Specimen], folder: Path) -> dict[str, Layouts]:
    """Return the layout of every order of structs, as their compilers lay them out, by name and shape."""
    layouts: dict[str, Layouts] = {}
    waiting: dict[tuple[str, int], list[_Ordered]] = {}
    for one in specimens:
        layouts[one.name] = {}
        for shape, order in {shapes(one, order): order for order in orders(one)}.items():
            some = waiting.setdefault((one.compiler, one.bits), [])
            some.append(_Ordered(one, order, shape))
            if len(some) == _AT_ONCE:
                _compile(waiting.pop((one.compiler, one.bits)), folder, layouts)
    for some in waiting.values():
        _compile(some, folder, layouts)
    return layouts


def _compile(some: Sequence[_Ordered], folder: Path, layouts: dict[str, Layouts]) -> None:
    """Compile some orders, and add their layouts."""
    text, values = [PRELUDE], list[str]()
    for number, each in enumerate(some):
        text += _probe(each.specimen, each.order, f"o{number}", values)
    text.append(f"const unsigned short values[] = {{ {','.join(values)} }};")
    source, target = folder / "orders.c", folder / "orders.o"
    source.write_text("\n".join(text))
    compiler, bits = some[0].specimen.compiler, f"-m{some[0].specimen.bits}"
    quiet = ["-w", *(["-Wno-packed-bitfield-compat"] if compiler == "gcc" else [])]
    subprocess.run([compiler, bits, *quiet, "-c", source, "-o", target], check=True)
    data = _symbols(target)
    numbers = iter(unpack(f"<{len(values)}H", data("values")))
    for number, each in enumerate(some):
        layouts[each.specimen.name][each.shape] = _compile_object(each.specimen, each.order, f"o{number}", numbers, data)


def _probe(specimen: Specimen, order: Order, name: str, values: list[str]) -> Iterator[str]:
    """Yield the definition of a struct, and data that shows its bit-fields; add expressions of its numbers."""
    yield specimen.text(order, name)
    bits = []
    for at in order:
        for one in specimen.units[at]:
            if one.name and one.bits is None:
                values.append(f"__builtin_offsetof(struct {name},{one.name})")
            elif one.name:
                bits.append(f"{{.{one.name}=-1}}")
    values += (f"sizeof(struct {name})", f"_Alignof(struct {name})")
    if bits:
        yield f"const struct {name} p_{name}[] = {{ {','.join(bits)} }};"


def _symbols(target: Path) -> Callable[[str], bytes]:
    """Return a function for the bytes from a symbol on to the end of the constants."""
    listing = subprocess.run(["nm", target], check=True, capture_output=True, text=True).stdout
    places = {name: int(address, 16) for address, _, name in map(str.split, listing.splitlines())}
    raw = target.with_suffix(".bin")
    subprocess.run(["objcopy", "-O", "binary", "-j", ".rodata", target, raw], check=True)
    data = memoryview(raw.read_bytes())
    ends = dict(zip(sorted(places.values()), [*sorted(places.values())[1:], len(data)], strict=True))
    return lambda name: bytes(data[places[name] : ends[places[name]]])


def _compile_object(
    specimen: Specimen, order: Order, name: str, numbers: Iterator[int], data: Callable[[str], bytes]
) -> Compiled:
    named = [[(at, one) for one in specimen.units[at] if one.name] for at in order]
    plain = {one.name: next(numbers) * 8 for unit in named for _, one in unit if one.bits is None}
    size, align = next(numbers), next(numbers)
    bits = [one.name for unit in named for _, one in unit if one.bits is not None]
    if bits:
        raw = data(f"p_{name}")
        for number, field in enumerate(bits):
            value = int.from_bytes(raw[number * size : (number + 1) * size], "little")
            plain[field] = (value & -value).bit_length() - 1
    return Compiled(tuple(tuple(plain[one.name] for _, one in unit) for unit in named), size, align)


def struct_in_order(struct: Struct, specimen: Specimen, order: Order, compiled: Compiled) -> Struct:
    """Return a struct as it was read, with the offsets of compiled code."""
    by_name = {
        field.name or (field.members[0].name or ""): field for field in flat_fields(struct.fields, specimen)
    }
    fields = [
        replace(by_name[one.name], bit_offset=offset)
        for at, offsets in zip(order, compiled.offsets, strict=True)
        for one, offset in zip((one for one in specimen.units[at] if one.name), offsets, strict=True)
    ]
    return replace(struct, fields=tuple(fields), bit_size=compiled.size * 8)


def flat_fields(fields: Iterable[Field], specimen: Specimen, start: int = 0) -> Iterator[Field]:
    """Yield fields with the members of groups in their place, from the start of the outermost struct."""
    names = {one.name for unit in specimen.units for one in unit}
    for field in fields:
        inner = [each.name for each in field.members]
        is_group = (
            field.name is None and field.aggregate == "struct" and (inner[1] is None or inner[1] in names)
        )
        if is_group:
            yield from flat_fields(field.members, specimen, start + field.bit_offset)
        else:
            yield replace(field, bit_offset=start + field.bit_offset)


class Judge:
    """Judges the orders of a struct; remembers verdicts of layouts that place what a rule names alike."""

    def __init__(self, specimen: Specimen, struct: Struct, layouts: Layouts) -> None:
        self.specimen, self.struct, self._layouts = specimen, struct, layouts
        self._verdicts: dict[tuple[object, ...], bool] = {}

    def lay_out(self, order: Order) -> Compiled:
        """Return the layout of an order."""
        return self._layouts[shapes(self.specimen, order)]

    def keeps(self, rule: Rule, where: RulePlacements, order: Order) -> bool:
        """Return whether a rule keeps an order."""
        compiled = self.lay_out(order)
        key = (rule.id, compiled.size, *self._key(rule, order, compiled))
        if key not in self._verdicts:
            self._verdicts[key] = self._is_kept(rule, where, order, compiled)
        return self._verdicts[key]

    def _key(self, rule: Rule, order: Order, compiled: Compiled) -> Iterator[object]:
        """Yield the offsets of the members on which a verdict can depend."""
        kind = rule.kind
        if kind.name in ("size", "allocation"):
            return
        paths = str(kind)
        whole = kind.name in ("isolated", "adjacent", "holes", "access")
        for at, offsets in sorted(zip(order, compiled.offsets, strict=True), key=itemgetter(0)):
            if whole or any(one.name and one.name in paths for one in self.specimen.units[at]):
                yield offsets

    def _is_kept(self, rule: Rule, where: RulePlacements, order: Order, compiled: Compiled) -> bool:
        layout = Layout(struct_in_order(self.struct, self.specimen, order, compiled))
        try:
            cases = where.cases(layout)
        except CannotTell:
            return False
        contexts = (where.context(layout, case.placements) for case in cases)
        return all(
            judge_placements(rule, rule.kind.check, context).outcome is Outcome.KEPT for context in contexts
        )


def count_moves(order: Order, specimen: Specimen) -> int:
    """Return the declarations that move, in the struct and in each of those without a name in it."""
    return _moves_in(specimen.top, order, weights(specimen.units))


def _moves_in(group: Group, order: Order, weights: tuple[int, ...]) -> int:
    own = [1 if isinstance(node, Group) else weights[node] for node in group.nodes]
    places = [group.nodes.index(node) for node in group.in_order(order)]
    inside = sum(_moves_in(node, order, weights) for node in group.nodes if isinstance(node, Group))
    return inside + moves(tuple(places), tuple(own))


def moves(order: Order, weights: tuple[int, ...]) -> int:
    """Return the declarations outside of a longest common subsequence of an order and the declared one."""
    best = [0] * len(weights)
    for number in order:
        best[number] = weights[number] + max(best[:number], default=0)
    return sum(weights) - max(best)


def holes(struct: Struct, unit_of: Sequence[int]) -> int:
    """Return the number of units with unused bytes before them; `unit_of` has the unit of each field."""
    count = end = 0
    previous = None
    for field, unit in zip(struct.fields, unit_of, strict=True):
        if unit != previous and field.bit_offset - (-(-end // 8) * 8) >= 8:
            count += 1
        previous, end = unit, max(end, field.bit_offset + (field.bit_size or 0))
    return count


def weights(units: Sequence[Unit]) -> tuple[int, ...]:
    """Return the declarations of each unit."""
    return tuple(map(len, units))
