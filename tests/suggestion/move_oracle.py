"""Orders with one or two moves in plain Python: every place is tried, and every rule is judged at every base.

It shares no code with the search. Structs are laid out as compilers for x86-64 do it (System V ABI), in bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, pairwise, product
from math import gcd

LINE = 64
_CLASSES = (8, 16, 32, 64, 96, 128, 192, *(1 << bit for bit in range(8, 20)))
"""The size classes of kmalloc, include/linux/slab.h; above 8192 whole pages."""


@dataclass(frozen=True)
class Member:
    """What one declarator declares: bits and alignment in bytes, and the fields that rules can name."""

    name: str
    bits: int
    align: int
    parts: tuple[tuple[str, int, int], ...] = ()
    """Paths of fields with the first bit and the bits of each; the member itself is none of them."""
    is_bit_field: bool = False
    is_alone: bool = True
    """Whether it is a field itself, and not an anonymous union."""


@dataclass(frozen=True)
class Unit:
    """What moves as one: a declaration, or bit-fields in a row; `text` is that of its lines."""

    members: tuple[Member, ...]
    text: str
    weight: int = 1
    block: int = -1
    """The `#if` around it, by its number; it moves only within, unless nothing else is there."""
    is_last: bool = False


@dataclass(frozen=True)
class Nest:
    """A struct without a name, whose units move within it; it moves as a whole."""

    nodes: tuple[Unit, ...]

    @property
    def align(self) -> int:
        """Its alignment in bytes."""
        return max(aligns(self.nodes))


@dataclass(frozen=True)
class Rule:
    """A rule: its kind, the paths that it names by their groups, and its keys."""

    kind: str
    fields: tuple[tuple[str, ...], ...] = ()
    keys: dict[str, int | float | bool] = field(default_factory=dict)
    bits: tuple[int, ...] = ()
    """Of `offset` with a table the first bit of each field."""

    @property
    def named(self) -> tuple[str, ...]:
        """The fields that it names."""
        return tuple(path for group in self.fields for path in group)


def aligns(units: Sequence[Unit]) -> list[int]:
    """The alignments of members; bit-fields without a name have none."""
    return [one.align for unit in units for one in unit.members if one.name] or [1]


Slice = tuple[int, int]
"""Tokens of the declared order, from one up to another."""
Slices = tuple[Slice, ...]
"""An order: slices of the declared one."""


class Problem:
    """A struct with rules. Tokens are units, and for each `Nest` one that opens it and one that closes it."""

    def __init__(
        self, nodes: Sequence[Unit | Nest], rules: Sequence[Rule], placement: str = "", directives: Sequence[tuple[str, str]] = ()
    ) -> None:
        self.nodes, self.rules, self.placement, self.directives = tuple(nodes), tuple(rules), placement, directives
        self.units: list[Unit | None] = []
        self._ends: list[int] = []
        """For each token the alignment in bits of a `Nest` that begins or ends there, or 0."""
        self._level: list[int] = []
        self.runs: dict[int, Slice] = {}
        """What moves, by its first token: its tokens."""
        for node in nodes:
            first = len(self.units)
            if isinstance(node, Unit):
                self._add(node, 0, -1)
                continue
            self._add(None, 8 * node.align, -1)
            for unit in node.nodes:
                self._add(unit, 0, first)
            self._add(None, 8 * node.align, first)
            self.runs[first] = (first, len(self.units))
        self.align = max(aligns([unit for unit in self.units if unit is not None]))
        self.where: dict[str, tuple[int, int, int, int]] = {}
        """For each path its token, its member, and its first bit and its bits there."""
        for at, unit in enumerate(self.units):
            for number, one in enumerate(unit.members if unit else ()):
                own = ((one.name, 0, one.bits),) if one.is_alone and one.name else ()
                for path, start, bits in (*own, *one.parts):
                    self.where[path] = (at, number, start, bits)
        self._ahead: dict[tuple[int, int], list[int]] = {}
        self._starts: dict[tuple[int, int], tuple[int, ...]] = {}
        self._period = 8 * max(self.align, *(one.align for unit in self.units if unit for one in unit.members))

    def _add(self, unit: Unit | None, align: int, level: int) -> None:
        if unit is not None:
            self.runs[len(self.units)] = (len(self.units), len(self.units) + 1)
        self.units.append(unit)
        self._ends.append(align)
        self._level.append(level)

    @property
    def declared(self) -> Slices:
        """The declared order."""
        return ((0, len(self.units)),)

    def text(self, slices: Slices, name: str = "q") -> str:
        """The struct in an order, as C."""
        lines, block, is_open = [f"struct {name} {{\n"], -1, False
        directives = [*self.directives, ("", "")]
        for at in (*tokens(slices), None):
            unit = None if at is None else self.units[at]
            now = -1 if unit is None else unit.block
            if now != block:
                lines += [f"{each}\n" for each in (directives[block][1], directives[now][0]) if each]
                block = now
            if unit is not None:
                lines.append(unit.text)
            elif at is not None:
                is_open = not is_open
                lines.append("\tstruct {\n" if is_open else "\t};\n")
        return "".join((*lines, "};\n"))

    # -- layouts

    def _place(self, at: int, end: int) -> tuple[tuple[int, ...], int]:
        """Where the members of a token begin behind those that end at some bit, and where the last ends."""
        unit = self.units[at]
        if unit is None:
            return (), -(-end // self._ends[at]) * self._ends[at]
        starts = []
        for one in unit.members:
            step = 8 * one.align
            if not one.is_bit_field or not one.bits or end % step + one.bits > step:
                end = -(-end // step) * step
            starts.append(end)
            end += one.bits
        return tuple(starts), end

    def ahead(self, first: int, residue: int) -> list[int]:
        """The bits from the end before a token to the end before each token from it on."""
        key = first, residue
        if key not in self._ahead:
            ends = [residue]
            for at in range(first, len(self.units)):
                ends.append(self._place(at, ends[-1])[1])
            self._ahead[key] = [end - residue for end in ends]
        return self._ahead[key]

    def begins(self, slices: Slices) -> tuple[list[int], int]:
        """Where each slice begins, and where the last ends."""
        end, found = 0, []
        for low, high in slices:
            found.append(end)
            end += self.ahead(low, end % self._period)[high - low]
        return found, end

    def starts(self, at: int, begin: int) -> tuple[int, ...]:
        """Where the members of a token begin."""
        residue = begin % self._period
        if (at, residue) not in self._starts:
            self._starts[at, residue] = tuple(each - residue for each in self._place(at, residue)[0])
        return tuple(begin + each for each in self._starts[at, residue])

    # -- what is allowed, and how much moves

    def is_allowed(self, slices: Slices) -> bool:
        """Whether what an `#if` is around stays together, and what must be last is."""
        order = [unit for at in tokens(slices) if (unit := self.units[at]) is not None]
        if any(unit.is_last for unit in order[:-1]):
            return False
        blocks = [unit.block for unit in order]
        return all(max(own) - min(own) < len(own) for block in set(blocks) - {-1} if (own := [at for at, each in enumerate(blocks) if each == block]))

    def weight(self, first: int) -> int:
        """The declarations that move with what begins at a token."""
        unit = self.units[first]
        return 1 if unit is None else unit.weight

    def count_moves(self, slices: Slices) -> int:
        """The fewest declarations that move to an order: all outside of the heaviest one that keeps its turn."""
        total = 0
        place = {at: number for number, at in enumerate(tokens(slices))}
        for level in {self._level[at] for at in self.runs}:
            nodes = sorted((at for at in self.runs if self._level[at] == level), key=place.__getitem__)
            best: list[int] = []
            for number, at in enumerate(nodes):
                best.append(self.weight(at) + max((best[each] for each in range(number) if nodes[each] < at), default=0))
            total += sum(map(self.weight, nodes)) - max(best)
        return total

    def slices_of(self, names: Sequence[str]) -> Slices:
        """The order in which members with some names stand."""
        owner = {one.name: at for at, unit in enumerate(self.units) for one in (unit.members if unit else ())}
        owner |= {path: at for path, (at, *_) in self.where.items()}
        units = list(dict.fromkeys(owner[name.strip("{}")] for name in names))
        order: dict[int, None] = {}
        for at in units:
            level = self._level[at]
            inside = (level, *(each for each in units if self._level[each] == level), self.runs[level][1] - 1) if level >= 0 else ()
            order |= dict.fromkeys(inside or (at,))
        return tuple((at, at + 1) for at in order)

    # -- moves

    def places(self, first: int, low: int, high: int) -> list[int]:
        """The tokens of a part before which what begins at a token may stand; not where it is."""
        level, (own, stop) = self._level[first], self.runs[first]
        found = [at for at in range(low, high) if self._level[at] == level and not own <= at <= stop]
        return [*found, high] if high == len(self.units) and level < 0 and high != stop else found

    def nodes_named(self, rules: Sequence[Rule]) -> list[int]:
        """What moves of the members that some rules name, and what is around them."""
        named = {self.where[path][0] for rule in rules for path in rule.named}
        return sorted(named | {self._level[at] for at in named} - {-1})

    # -- judgement

    def bases(self, size: int) -> range:
        """The places in a line at which an object can begin; the struct has some bytes."""
        return range(0, LINE, gcd(LINE, self._step(size)))

    def _step(self, size: int) -> int:
        """A number of bytes of which all addresses are multiples."""
        if self.placement == "line":
            return LINE
        if self.placement == "slab":
            return self.row(size)
        return self.row(size) if self.placement == "kmalloc" else max(self.align, 8)

    def row(self, size: int) -> int:
        """The bytes from one object to the next."""
        if self.placement == "kmalloc":
            return kmalloc_class(size)
        step = max(self.align, LINE if self.placement == "line" else 8)
        return -(-size // step) * step

    def broken(self, slices: Slices) -> list[Rule]:
        """The rules that an order breaks."""
        layout = Layout(self, slices)
        return [rule for rule in self.rules if not layout.keeps(rule)]


def tokens(slices: Slices) -> Iterator[int]:
    """The tokens of an order."""
    for low, high in slices:
        yield from range(low, high)


def kmalloc_class(size: int) -> int:
    """The size class of some bytes."""
    return next(each for each in _CLASSES if each >= size)


Spot = tuple[int, int]
"""The first and the last bit of a field."""


class Layout:
    """An order with where it puts fields."""

    def __init__(self, problem: Problem, slices: Slices) -> None:
        self.problem, self.slices = problem, slices
        self._begins, self._end = problem.begins(slices)

    @property
    def size(self) -> int:
        """The bytes of the struct."""
        step = 8 * self.problem.align
        return -(-self._end // step) * step // 8

    def spot(self, path: str) -> Spot:
        """Where a field is."""
        at, number, start, bits = self.problem.where[path]
        for (low, high), begin in zip(self.slices, self._begins, strict=True):
            if low <= at < high:
                before = begin + self.problem.ahead(low, begin % self.problem._period)[at - low]
                first = self.problem.starts(at, before)[number] + start
                return first, first + bits - 1
        raise KeyError(path)

    @cached_property
    def fields(self) -> dict[str, Spot]:
        """Where all fields are that are no part of others, in order."""
        units = [self.problem.units[at] for at in tokens(self.slices)]
        own = [one for unit in units if unit is not None for one in unit.members]
        paths = [(one.name,) if one.is_alone else [path for path, _, _ in one.parts] for one in own if one.name and one.bits]
        return {path: self.spot(path) for some in paths for path in some}

    def keeps(self, rule: Rule) -> bool:
        """Whether the order keeps a rule."""
        if rule.kind in _WITHOUT_BASES:
            return _WITHOUT_BASES[rule.kind](rule, self)
        holds = _AT_BASE[rule.kind](rule, self)
        bases = self.problem.bases(self.size)
        most = int(float(rule.keys.get("tolerate", 0)) * len(bases))
        for base in bases:
            most -= not holds(base)
            if most < 0:
                return False
        return True


def _lines(spot: Spot, base: int) -> range:
    return range((spot[0] // 8 + base) // LINE, (spot[1] // 8 + base) // LINE + 1)


def _share(a: Spot, b: Spot, base: int, step: int = 0) -> bool:
    """Whether two fields share a line; `b` is in the object some bytes behind."""
    ours, theirs = _lines(a, base), _lines((b[0] + 8 * step, b[1] + 8 * step), base)
    return ours.start < theirs.stop and theirs.start < ours.stop


AtBase = Callable[[int], bool]


def _judge_pairs(pairs: Sequence[tuple[str, str]], rule: Rule, layout: Layout) -> AtBase:
    spots = [(layout.spot(a), layout.spot(b)) for a, b in pairs]
    steps = (layout.problem.row(layout.size),) if rule.keys.get("neighbours") else ()

    def holds(base: int) -> bool:
        if any(_share(a, b, base) for a, b in spots):
            return False
        return not any(_share(a, b, base, step) or _share(b, a, base, step) for step in steps for a, b in spots)

    return holds


def _separate(rule: Rule, layout: Layout) -> AtBase:
    return _judge_pairs([pair for ours, theirs in combinations(rule.fields, 2) for pair in product(ours, theirs)], rule, layout)


def _guards(rule: Rule, layout: Layout) -> AtBase:
    (lock,), data = rule.fields
    if rule.keys["contended"]:
        return _judge_pairs([(lock, each) for each in data], rule, layout)
    own, spots = layout.spot(lock), [layout.spot(each) for each in data]
    return lambda base: all(len({*_lines(own, base), *_lines(spot, base)}) == 1 for spot in spots)


def _together(rule: Rule, layout: Layout) -> AtBase:
    spots = [layout.spot(path) for path in rule.named]
    return lambda base: len({line for spot in spots for line in _lines(spot, base)}) == 1


def _no_straddle(rule: Rule, layout: Layout) -> AtBase:
    spots = [layout.spot(path) for path in rule.named]
    return lambda base: all(len(_lines(spot, base)) == 1 for spot in spots)


def _line_start(rule: Rule, layout: Layout) -> AtBase:
    spots = [layout.spot(path) for path in rule.named]
    return lambda base: all((8 * base + spot[0]) % (8 * LINE) == 0 for spot in spots)


def _few_lines(rule: Rule, layout: Layout) -> AtBase:
    spots = [layout.spot(path) for path in rule.named]
    filled = len({byte for spot in spots for byte in range(spot[0] // 8, spot[1] // 8 + 1)})
    most = int(rule.keys.get("max", max(1, -(-filled // LINE))))
    return lambda base: len({line for spot in spots for line in _lines(spot, base)}) <= most


def _judge_isolation(rule: Rule, layout: Layout) -> AtBase:
    spots = [layout.spot(path) for path in rule.fields[0]]
    others = [spot for path, spot in layout.fields.items() if path not in rule.named]
    return lambda base: not any(_share(a, b, base) for a in spots for b in others)


def _offset(rule: Rule, layout: Layout) -> AtBase:
    if rule.bits:
        is_kept = tuple(layout.spot(path)[0] for path in rule.named) == rule.bits
        return lambda base: is_kept
    byte = layout.spot(rule.named[0])[0] // 8
    if "at" in rule.keys:
        return lambda base: byte == rule.keys["at"]
    return lambda base: (byte + base) // LINE == rule.keys["line"]


def _size(rule: Rule, layout: Layout) -> AtBase:
    size, keys = layout.size, rule.keys
    is_kept = size <= keys.get("max", size) and size == keys.get("exact", size) and size % keys.get("multiple_of", 1) == 0
    return lambda base: is_kept and len(_lines((0, 8 * size - 1), base)) <= keys.get("max_lines", size)


_AT_BASE = {
    "separate": _separate, "access": _separate, "guards": _guards, "together": _together, "no-straddle": _no_straddle,
    "line-start": _line_start, "lines": _few_lines, "isolated": _judge_isolation, "offset": _offset, "size": _size,
}  # fmt: skip


def _order(rule: Rule, layout: Layout) -> bool:
    return all(a[1] < b[0] for a, b in pairwise(map(layout.spot, rule.named)))


def _distance(rule: Rule, layout: Layout) -> bool:
    bytes_between = (abs(layout.spot(a)[0] // 8 - layout.spot(b)[0] // 8) for a, b in combinations(rule.named, 2))
    return all(rule.keys.get("min", 0) <= each <= rule.keys.get("max", each) for each in bytes_between)


def _adjacent(rule: Rule, layout: Layout) -> bool:
    spots = sorted((layout.spot(path), path) for path in rule.named)
    for (a, _), (b, path) in pairwise(spots):
        end, begin = a[1] // 8 + 1, b[0] // 8
        at, number, *_ = layout.problem.where[path]
        unit = layout.problem.units[at]
        assert unit is not None
        align = unit.members[number].align
        room = int(rule.keys.get("max_gap", -end % align))
        if begin - end > room:
            return False
        if any(a[1] < spot[0] < b[0] for other, spot in layout.fields.items() if other not in rule.named):
            return False
    return True


def _holes(rule: Rule, layout: Layout) -> bool:
    """Bytes of members; only of anonymous ones those inside of them."""
    used = {byte for spot in layout.fields.values() for byte in range(spot[0] // 8, spot[1] // 8 + 1)}
    return max(used) + 1 - len(used) <= rule.keys["max"]


def _allocation(rule: Rule, layout: Layout) -> bool:
    return kmalloc_class(layout.size) <= rule.keys["max_class"]


_WITHOUT_BASES = {"order": _order, "distance": _distance, "adjacent": _adjacent, "holes": _holes, "allocation": _allocation}
KINDS = (*_AT_BASE, *_WITHOUT_BASES)


def fewest_moves(problem: Problem) -> int | None:
    """The fewest declarations that move to an order which keeps all rules; None if none was found.

    One member goes anywhere, or two go anywhere that a broken rule names.
    """
    first = problem.broken(problem.declared)
    if not first:
        return 0
    slow = ("isolated", "adjacent", "holes")
    rules = sorted([*first, *(rule for rule in problem.rules if rule not in first)], key=lambda rule: rule.kind in slow)
    best: int | None = None
    for least, tries in ((1, _one(problem)), (2, _two(problem, problem.nodes_named(first)))):
        for weight, order in tries if best is None or best > least else ():
            if best is not None and weight >= best:
                continue
            layout = Layout(problem, order)
            if all(layout.keeps(rule) for rule in rules) and problem.is_allowed(order):
                best = weight
                if best == least:
                    break
    return best


_Tries = Iterator[tuple[int, Slices]]
"""Orders with the declarations that move."""


def _one(problem: Problem) -> _Tries:
    stop = len(problem.units)
    for first, run in problem.runs.items():
        for place in problem.places(first, 0, stop):
            yield problem.weight(first), move(0, stop, [(place, run, (run,))])


def _two(problem: Problem, named: Sequence[int]) -> _Tries:
    stop = len(problem.units)
    for a, b in combinations(named, 2):
        weight = problem.weight(a) + problem.weight(b)
        own, other = problem.runs[a], problem.runs[b]
        if own[0] <= b < own[1]:  # `b` is inside of `a`
            for at in problem.places(b, *own):
                run = move(*own, [(at, other, (other,))])
                yield from ((weight, move(0, stop, [(place, own, run)])) for place in problem.places(a, 0, stop))
            continue
        for place in problem.places(a, 0, stop):
            first = (place, own, (own,))
            for at in problem.places(b, 0, stop):
                if not other[0] < place < other[1] and not own[0] < at < own[1]:
                    yield weight, move(0, stop, [first, (at, other, (other,))])
                    if at == place:
                        yield weight, move(0, stop, [(at, other, (other,)), first])


def move(low: int, high: int, moves: Sequence[tuple[int, Slice, Slices]]) -> Slices:
    """A part of the declared order in which some slices are taken out, and stand before other tokens, as slices."""
    cuts = sorted({low, high, *(place for place, _, _ in moves), *(at for _, run, _ in moves for at in run)})
    gone = [run for _, run, _ in moves]
    found: list[Slice] = []
    for begin, end in (*pairwise(cuts), (high, high)):
        for place, _, slices in moves:
            if place == begin:
                found += slices
        if begin < end and not any(run[0] <= begin < run[1] for run in gone):
            found.append((begin, end))
    return tuple(found)
