"""Random structs with rules of all kinds that orders are searched for, as C: `#if`, bit-fields, nested structs."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from tests.suggestion.move_oracle import LINE, Layout, Member, Nest, Problem, Rule, Unit, move

PRELUDE = """\
#define ON 1
struct list_head { struct list_head *next, *prev; };
struct odd { int a; char b; short c; int d; };
"""
_PLAIN = (
    ("char @", 1, 1), ("short @", 2, 2), ("int @", 4, 4), ("unsigned int @", 4, 4), ("long @", 8, 8), ("void *@", 8, 8), ("char *@", 8, 8),
    ("struct list_head @", 16, 8), ("char @[5]", 5, 1), ("int @[3]", 12, 4), ("long @[2]", 16, 8),
)  # fmt: skip
_RARE = (
    ("char @[120]", 120, 1), ("long @[9]", 72, 8), ("int @ __attribute__((aligned(16)))", 4, 16), ("short @ __attribute__((aligned(8)))", 2, 8),
    ("long double @", 16, 16), ("long @ __attribute__((aligned(64)))", 8, 64),
)  # fmt: skip
_BITS = (("unsigned int", 32), ("unsigned char", 8), ("long", 64), ("short", 16))
_DIRECTIVES = (
    ("#ifdef ON", "#endif"), ("#ifndef OFF", "#endif"), ("#ifdef OFF\n\tlong gone{0};\n#else", "#endif"),
    ("#if defined(ON) && !defined(OFF)", "#else\n\tchar gone{0}[3];\n#endif"),
)  # fmt: skip


class Drawer:
    """Draws structs, and rules on them."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self._count, self._needs_size = 0, False
        self._directives: list[tuple[str, str]] = []

    def problem(self, count: int, is_kept: bool) -> Problem:
        """A struct of so many members, or a few more, with rules: all kept, or at least one broken."""
        placement = self.chance.choice(("", "", "", "line", "kmalloc", "slab"))
        self._needs_size = placement in ("kmalloc", "slab")
        while True:
            self._count, self._directives = 0, []
            nodes = list(self._nodes(count))
            bare = Problem(nodes, (), placement, self._directives)
            drawn = [self.rule(bare) for _ in range(24)]
            drawn = [rule for number, rule in enumerate(drawn) if rule.kind not in {each.kind for each in drawn[:number]} & {"access"}]
            if len({rule.keys.get("tolerate") for rule in drawn}) < 2:
                continue
            broken = Problem(nodes, drawn, placement, self._directives).broken(bare.declared)
            kept = [rule for rule in drawn if rule not in broken][: self.chance.choice((1, 2, 4))]
            rules = kept + ([] if is_kept else broken[: self.chance.choice((1, 1, 2))])
            if (is_kept and kept) or (not is_kept and broken):
                return Problem(nodes, rules, placement, self._directives)

    # -- members

    def _name(self) -> str:
        self._count += 1
        return f"m{self._count - 1}"

    def _nodes(self, count: int) -> Iterator[Unit | Nest]:
        chance, has_bits = self.chance, False
        while self._count < count:
            roll = chance.random()
            if roll < 0.06:
                block = len(self._directives)
                self._directives.append(tuple(each.format(block) for each in chance.choice(_DIRECTIVES)))  # type: ignore[arg-type]
                yield from (self._unit(False, block) for _ in range(chance.choice((1, 1, 2, 3))))
                # one behind another is one in its text
                yield self._unit(False)
            elif roll < 0.1:
                yield Nest(tuple(self._unit(False) for _ in range(chance.choice((2, 3, 5)))))
            elif roll < 0.15 and not has_bits:
                yield self._run()
                has_bits = True
                continue
            else:
                yield self._unit(True)
            has_bits = False
        if chance.random() < 0.1 and not self._needs_size:
            yield Unit((Member("tail", 0, 1),), "\tchar tail[];\n", is_last=True)

    def _unit(self, is_wide: bool, block: int = -1) -> Unit:
        chance, roll = self.chance, self.chance.random()
        if roll < 0.05:
            a, b = self._name(), self._name()
            return Unit((Member(a, 64, 8), Member(b, 64, 8)), f"\tlong {a}, *{b};\n", 1, block)
        name = self._name()
        if roll < 0.09:
            parts = ((f"{name}.x", 0, 32), (f"{name}.y", 64, 64), (f"{name}.z", 128, 8))
            return Unit((Member(name, 192, 8, parts),), f"\tstruct {{ int x; long y; char z; }} {name};\n", 1, block)
        if roll < 0.12:
            parts = ((f"{name}a", 0, 64), (f"{name}b", 0, 88))
            return Unit((Member(f"{name}a", 128, 8, parts, is_alone=False),), f"\tunion {{ long {name}a; char {name}b[11]; }};\n", 1, block)
        shape, size, align = chance.choice(_RARE if roll < 0.17 and is_wide else _PLAIN)
        gone = f"#ifdef OFF\n\tint gone_{name};\n#endif\n" if is_wide and roll > 0.97 else ""
        return Unit((Member(name, 8 * size, align),), f"\t{shape.replace('@', name)};\n{gone}", 1, block)

    def _run(self) -> Unit:
        chance, members, text = self.chance, list[Member](), ""
        for at in range(chance.choice((1, 2, 3, 4))):
            of, width = chance.choice(_BITS)
            bits = chance.randint(1, width)
            name = "" if at and chance.random() < 0.15 else self._name()
            bits = bits if name or chance.random() < 0.7 else 0
            members.append(Member(name, bits, width // 8, is_bit_field=True))
            text += f"\t{of} {name} : {bits};\n"
        return Unit(tuple(members), text, len(members))

    # -- rules

    def rule(self, problem: Problem) -> Rule:
        """Draw a rule."""
        chance = self.chance
        is_open = any(unit is not None and unit.is_last for unit in problem.units)
        alone = ("isolated", "adjacent", "holes", "size") if not is_open else ()
        alone += ("allocation",) if alone and problem.placement in ("", "kmalloc") else ()
        kind = chance.choice(
            ("separate", "separate", "separate", "access", "guards", "together", "no-straddle", "line-start", "lines", "offset",
             "order", "order", "distance", *alone)
        )  # fmt: skip
        keys: dict[str, int | float | bool] = {}
        if kind in ("separate", "access"):
            some = self._choose_fields(problem, chance.choice((2, 2, 3, 4)))
            half = len(some) // 2
            if kind == "separate" and problem.placement in ("kmalloc", "slab") and chance.random() < 0.3:
                keys["neighbours"] = True
            return Rule(kind, (tuple(some[:half]), tuple(some[half:])), keys)
        if kind == "guards":
            lock, *data = self._choose_fields(problem, chance.choice((2, 3)))
            is_contended = chance.random() < 0.6
            keys = {"contended": is_contended} | ({} if is_contended else _tolerance(problem, [lock, *data], 1))
            return Rule(kind, ((lock,), tuple(data)), keys)
        if kind in ("together", "no-straddle", "lines"):
            some, most = self._choose_fields(problem, {"together": 2, "no-straddle": 1}.get(kind, 3)), chance.choice((1, 2))
            keys = {"max": most} if kind == "lines" else {}
            return Rule(kind, (tuple(some),), keys | _tolerance(problem, some, most if keys else 1))
        if kind == "line-start":
            keys = {} if _has_one_base(problem) else {"tolerate": 0.9}
            return Rule(kind, (tuple(self._choose_fields(problem, 1)),), keys)
        return self._rule_on_offsets(kind, problem, keys)

    def _rule_on_offsets(self, kind: str, problem: Problem, keys: dict[str, int | float | bool]) -> Rule:
        chance, size = self.chance, problem.begins(problem.declared)[1] // 8
        least = sum(one.bits for unit in problem.units if unit for one in unit.members) // 8
        if kind == "offset":
            if chance.random() < 0.4:
                return self._rule_on_bits(problem)
            keys = {"at": chance.choice((0, 0, 8, 16, 64))} if chance.random() < 0.5 else {"line": chance.choice((0, 1, 2)), "tolerate": 0.5}
        elif kind == "distance":
            keys = {"min": chance.choice((32, 64, 128))} if chance.random() < 0.6 else {"max": chance.choice((24, 48, 96))}
        elif kind == "isolated":
            own = self._choose_fields(problem, 1, is_plain=True)
            wide = [path for path, (*_, bits) in problem.where.items() if bits >= 8 * 72 and path not in own]
            return Rule(kind, (tuple(own), tuple(wide)) if wide else (tuple(own),), {"tolerate": 0.5 if len(wide) > 1 else 0.8})
        elif kind == "adjacent":
            keys = {"max_gap": chance.choice((0, 4, 16))} if chance.random() < 0.5 else {}
            return Rule(kind, (tuple(self._choose_fields(problem, 2, is_plain=True)),), keys)
        elif kind == "holes":
            return Rule(kind, (), {"max": chance.choice((0, 8, 24, 60)) + (size - least) // 2})
        elif kind == "size":
            step = problem.align
            whole = -(-size // step) * step
            keys = chance.choice(({"max": max(whole - step, least + 3 * step)}, {"max": whole}, {"multiple_of": 2 * step}, {"max_lines": size // 64 + 1}))
            return Rule(kind, (), dict(keys))
        elif kind == "allocation":
            return Rule(kind, (), {"max_class": 1 << (least + 16).bit_length()})
        return Rule(kind, (tuple(self._choose_fields(problem, 1 if kind == "offset" else 2)),), keys)

    def _rule_on_bits(self, problem: Problem) -> Rule:
        """A rule on the first bits of two fields, as they are in an order with one move."""
        some, first = self._choose_fields(problem, 2), self.chance.choice(list(problem.runs))
        place = self.chance.choice(problem.places(first, 0, len(problem.units)) or [first])
        layout = Layout(problem, move(0, len(problem.units), [(place, problem.runs[first], (problem.runs[first],))]))
        return Rule("offset", (tuple(some),), bits=tuple(layout.spot(path)[0] for path in some))

    def _choose_fields(self, problem: Problem, count: int, is_plain: bool = False) -> list[str]:
        """Fields of different units that are near one another."""
        own = [at for at in range(len(problem.units)) if self._paths(problem, at, is_plain)]
        low = self.chance.randrange(max(1, len(own) - 9))
        return [self.chance.choice(self._paths(problem, at, is_plain)) for at in self.chance.sample(own[low : low + 9], count)]

    def _paths(self, problem: Problem, at: int, is_plain: bool) -> list[str]:
        unit = problem.units[at]
        every = [path for path, (own, *_) in problem.where.items() if own == at and unit and not unit.is_last]
        if is_plain:
            plain = [one.name for one in (unit.members if unit else ()) if one.is_alone and not one.is_bit_field]
            return [path for path in every if path in plain]
        return every


def _tolerance(problem: Problem, paths: Sequence[str], most: int) -> dict[str, int | float | bool]:
    """The share of placements in which some fields in a row, and a few bytes, are on more lines than `most`."""
    count = sum(-(-problem.where[path][3] // 64) for path in paths) + 2 - 8 * (most - 1)
    return {} if _has_one_base(problem) or count < 2 else {"tolerate": min(0.9, count / 8)}


def _has_one_base(problem: Problem) -> bool:
    return problem.align >= LINE or problem.placement == "line"


def undo(problem: Problem, chance: random.Random, moves: int) -> tuple[Problem, int]:
    """A struct that some moves of top-level members made of one whose rules are kept, and what they weigh."""
    nodes = list(problem.nodes)
    weight = 0
    for _ in range(moves):
        named = [at for at, node in enumerate(nodes) if _has_named(node, problem.rules)] or [0]
        node = nodes.pop(chance.choice(named))
        nodes.insert(chance.randrange(len(nodes) + 1), node)
        weight += node.weight if isinstance(node, Unit) else 1
    return Problem(nodes, problem.rules, problem.placement, problem.directives), weight


def _has_named(node: Unit | Nest, rules: Sequence[Rule]) -> bool:
    units = (node,) if isinstance(node, Unit) else node.nodes
    own = {path for unit in units for one in unit.members for path in (one.name, *(part[0] for part in one.parts))}
    return any(path in own for rule in rules for path in rule.named)


def toml(problem: Problem) -> str:
    """The rules as a rule file."""
    text = f'[struct.q]\nplacement = "{problem.placement}"\n' if problem.placement else ""
    accesses = [(path, word) for rule in problem.rules if rule.kind == "access" for own, word in zip(rule.fields, ("hot-read", "hot-write"), strict=True) for path in own]
    text += "".join(["[struct.q.fields]\n", *(f'"{path}" = {{ access = "{word}" }}\n' for path, word in accesses)]) if accesses else ""
    return text + "".join(_toml_rule(number, rule) for number, rule in enumerate(problem.rules))


def _toml_rule(number: int, rule: Rule) -> str:
    keys = {key: str(value).lower() for key, value in rule.keys.items()}
    if rule.kind == "separate":
        keys["fields"] = f"[{', '.join(map(_list, rule.fields))}]"
    elif rule.kind == "guards":
        keys |= {"lock": f'"{rule.fields[0][0]}"', "data": _list(rule.fields[1])}
    elif rule.kind == "isolated":
        keys |= {"fields": _list(rule.fields[0])} | ({"except": _list(rule.fields[1])} if len(rule.fields) > 1 else {})
    elif rule.bits:
        rows = (f'"{path}" = "{bit // 8}:{bit % 8}"' for path, bit in zip(rule.named, rule.bits, strict=True))
        keys["at"] = f"{{ {', '.join(rows)} }}"
    elif rule.fields and rule.kind != "access":
        keys["fields"] = _list(rule.fields[0])
    lines = "".join(f"{key} = {value}\n" for key, value in keys.items())
    return f'[[rule]]\nid = "r{number}"\nstruct = "q"\nkind = "{rule.kind}"\nwhy = "w"\n{lines}'


def _list(paths: Sequence[str]) -> str:
    return "[" + ", ".join(f'"{path}"' for path in paths) + "]"
