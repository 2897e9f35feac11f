"""Rules that a seed makes, on structs that a seed makes: every verdict whole, and every refusal.

Compilers and slow models judge parts of it in the other tables. The texts in `golden/` are for review:
`pytest --rewrite-goldens` writes them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from random import Random
from textwrap import fill
from typing import Any

import pytest

from layoutlint.geometry.groups import find_groups
from layoutlint.geometry.layout import Layout
from layoutlint.geometry.placement import placements
from layoutlint.judgement.c_assertion import CannotAssert
from layoutlint.judgement.context import Access, CannotTell, Context
from layoutlint.judgement.position import Bit
from layoutlint.judgement.rule import Key, Kind
from layoutlint.judgement.verdict import Verdict
from layoutlint.kinds import KINDS, find_kind
from layoutlint.kinds.c_conditions import conditions
from layoutlint.model.aligner import PLAIN
from layoutlint.model.record import replace
from layoutlint.model.storage import ANY, MALLOCS, TAKE_ALIGNMENT, WORDS, Storage
from layoutlint.model.structs import Source, Struct
from tests.harness.facts import facts
from tests.harness.varied_structs import data_of_seed, struct_of_seed
from tests.kinds.test_whole_verdicts import IN_C

RULES, MOST = {"neighbours": 80, "stride": 60, "access": 40, "guards": 40, "complete": 40}, 400
"""Rules with verdicts for a kind, otherwise 25, and seeds that are tried for them."""
WORD = ("hot-read", "hot-write", "read-mostly", "cold", "own")
NUMBERS = {
    "max": (0, 1, 2, 7, 8, 64, 100, 300, -1), "min": (0, 1, 8, 64, -1), "max_gap": (0, 1, 8, 30, -1), "at": (0, 8, 64, -1), "line": (0, 1, 2, -1),
    "exact": (64, 128, 0), "multiple_of": (1, 8, 64, 0), "max_lines": (1, 2, 4, 6, 0), "max_class": (64, 192, 512, 8192, 100),
    "max_order": (0, 0, 1, -1), "min_per_slab": (1, 8, 16, 30, 90, 0), "cpus": (1, 8, 8192, 8193), "order": (0, 3, 10, 11),
    "page": (4096, 65536, 1024, 1000),
}  # fmt: skip
"""Numbers for the keys of rules; some are refused."""

OTHER_PATHS = ("*", "m?", "*.*", "m9", "@hot-read", "@hot-write", "@none", "@type:int", "@type:struct mutex", "@type:*", "m0..m1", "x[9]")


def chosen_paths(chance: Random, struct: Struct, least: int, most: int) -> tuple[str, ...]:
    names, in_arrays = paths_of(struct)
    arrays = [f"{path}[{chance.randint(0, 2)}]" for path in in_arrays]
    count = chance.randint(least, most)
    return tuple(chance.choice(chance.choice((names, names, names, arrays or names, OTHER_PATHS))) for _ in range(count))


@cache
def paths_of(struct: Struct) -> tuple[list[str], list[str]]:
    """Return the fields of a struct, and the arrays among them."""
    fields = [*Layout(struct).walk_fields()]
    return [place.path for place in fields], [place.path for place in fields if place.field.dims]


def value_of(chance: Random, struct: Struct, key: Key) -> Any:
    match key.type:
        case "paths":
            return chosen_paths(chance, struct, 0 if chance.random() < 0.1 else 1, 4)
        case "groups":
            return tuple(chosen_paths(chance, struct, 1, 3) for _ in range(chance.choice((1, 2, 2, 2, 3))))
        case "path":
            return chosen_paths(chance, struct, 1, 1)[0]
        case "integer" | "positions":
            return chance.choice(NUMBERS[key.name])
        case "boolean":
            return chance.random() < 0.6
        case "words":
            return tuple(chance.sample(key.choices or WORD, chance.choice((0, 1, 1, 2))))
        case _:
            return chance.choice(("r", "w", "tx", "rx"))


def parameters(chance: Random, kind: type[Kind], struct: Struct) -> dict[str, Any]:
    share = chance.choice((0.15, 0.3, 0.6))
    given = [key for key in kind.keys if key.required or (kind.name, key.name) == ("offset", "fields") or chance.random() < share]
    made = {key.parameter: value_of(chance, struct, key) for key in given}
    if kind.name != "offset":
        return made
    fields, own = made["fields"] if chance.random() < 0.1 else made["fields"][:1], Random(repr(made))
    if "at" not in made or own.random() < 0.4:
        return {**made, "fields": fields}
    numbers = (0, 8, 64, -1, Bit(0, 3), Bit(8, 0), Bit(16, 5))
    several = tuple((path, own.choice(numbers)) for path in made["fields"])
    rest = {key: value for key, value in made.items() if key not in ("fields", "at") or own.random() < 0.1}
    return {**rest, "at": several}


def storage(chance: Random) -> Storage | None:
    if chance.random() < 0.5:
        return None
    word = chance.choice([word for word in WORDS if word not in ("embedded", *MALLOCS[1:])])
    align = chance.choice((8, 64, 128)) if word in TAKE_ALIGNMENT else None
    return Storage(word, Source("r.toml", 1), align, array=chance.choice((None, None, 2, 5, ANY)))


def context(chance: Random, struct: Struct) -> Context:
    layout = Layout(struct)
    placed = storage(chance)
    where = placements(layout, chance.choice((None, None, 32, 128)), chance.choice((None, None, 16)), placed)
    if chance.random() < 0.2:
        where = replace(where, in_pairs=True, source_aligner=PLAIN)
    names, arrays = paths_of(struct)
    paths = [*names, *(f"{path}[{chance.randint(0, 2)}]" for path in arrays), "@type:int", "*", "m1*"]
    accesses = tuple(
        Access(chance.choice(paths), chance.choice(WORD), chance.random() < 0.3, Source("r.toml", 2), chance.choice(("", "", "tx", "rx")))
        for _ in range(chance.randint(0, 6))
    )
    return Context(layout, where, accesses, placed, is_one_of_many=chance.random() < 0.2)


def describe(verdict: Verdict, text: Callable[[str], str] = lambda message: " ".join(facts(message))) -> Iterator[str]:
    """Yield what a verdict has; of its sentences, what they name and count, or what `text` makes of them."""
    yield f"{verdict.outcome.value}: {text(verdict.message)}"
    yield f"[{', '.join(f'{each.path} {each.extent}' for each in verdict.evidence)}] at {verdict.bases} of {verdict.total}"
    yield f"line {verdict.line_size}, {verdict.in_pairs}, {verdict.in_other_elements}; advice: {text(verdict.advice)}"
    yield "; ".join(f"{each.first} + {each.second} + {each.distance} at {each.bases}" for each in verdict.shared[:6])


def in_c(kind: Kind, context: Context) -> Iterator[str]:
    """Yield the conditions in C for kinds that have some."""
    if kind.name in IN_C:
        try:
            yield f"in C: {' && '.join(conditions(kind, context))}"
        except (CannotAssert, CannotTell) as error:
            yield f"not in C: {error}"


@cache
def structs(name: str) -> tuple[Struct, ...]:
    """Return the structs for a kind; `group` needs some with groups."""
    if name == "neighbours":
        return tuple(map(data_of_seed, range(40)))
    made = [struct_of_seed(seed) for seed in range(600 if name == "group" else 60)]
    return tuple(struct for struct in made if name != "group" or find_groups(Layout(struct)).complete)


def shape(reason: str) -> str:
    """Return what refusals of one sort have in common."""
    return re.sub(r"`[^`]*`|\d+|struct|union", "", reason)


def judge(name: str) -> Iterator[str]:
    """Yield the rules of a kind with their verdicts, and the first of each sort of refusal."""
    kind = find_kind(name)
    assert kind is not None
    seen: set[str] = set()
    judged = 0
    for seed in range(MOST):
        chance = Random(f"{name} {seed}")
        struct = chance.choice(structs(name))
        given = parameters(chance, kind, struct)
        if "variables" in given:
            struct = chance.choice(structs("neighbours"))
            given["variables"] = chosen_paths(chance, struct, 1, 3)
        try:
            rule, place = kind(**given), context(chance, struct)
            lines = [*describe(rule.check(place)), *in_c(rule, place)]
            judged += 1
        except (ValueError, CannotTell) as error:
            lines = [f"{type(error).__name__}: {error}"] if shape(str(error)) not in seen else []
            seen.add(shape(str(error)))
        if lines:
            yield from (f"{seed}: {struct.name} {given}", *lines)
        if judged == RULES.get(name, 25):
            return


@pytest.mark.parametrize("name", KINDS)
def test_rules_of_seeds(name, golden):
    lines = (fill(line, 150, subsequent_indent="    ", break_on_hyphens=False) for line in judge(name) if line)
    golden(f"varied-{name}.txt", "".join(f"{line}\n" for line in lines))
