"""Whole reports on inputs and rules that a seed makes: findings, ranks, notes, coverage and exit status.

Other tables hold single verdicts against compilers and slow models. The texts in `golden/` are for review.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from textwrap import fill
from typing import Any

import pytest

from layoutlint.errors import LayoutlintError
from layoutlint.geometry.containers import Index
from layoutlint.intent.toml import shipped_rules
from layoutlint.judgement.condition import When
from layoutlint.judgement.context import Access
from layoutlint.judgement.finding import Finding, Report
from layoutlint.judgement.messages import finding_message
from layoutlint.judgement.rule import VARIABLES, Pack, Rule, Severity, StructIntent
from layoutlint.judgement.verdict import Outcome
from layoutlint.kinds import KINDS, find_kind
from layoutlint.lint import run
from layoutlint.lint.embedding import Surroundings
from layoutlint.lint.options import Mode, Options
from layoutlint.lint.reading import Inputs
from layoutlint.lint.sides import Compared
from layoutlint.model.ctype import CType
from layoutlint.model.reading import AllocatedArray, Reading, Unread
from layoutlint.model.record import replace
from layoutlint.model.storage import ANY, EMBEDDED, MALLOCS, TAKE_ALIGNMENT, WORDS, Storage
from layoutlint.model.structs import Field, Source, Struct
from tests.harness.build import X86_64
from tests.harness.run_options import run_options
from tests.harness.varied_structs import data_of_seed, struct_of_seed
from tests.harness.whole import inline
from tests.kinds.test_varied_rules import chosen_paths, parameters

PARTS, SEEDS = 8, 30
WORD = ("hot-read", "hot-write", "read-mostly", "cold")
TYPES = (("@type:int",), ("@type:spinlock_t", "@type:struct mutex"), ("@type:*",))
GENERIC = shipped_rules.shipped_pack("generic")
NAMES = ("inner", "outer", "other", "third")


def named_struct(chance: Random, name: str) -> Struct:
    made = replace(struct_of_seed(chance.randint(0, 400)), name=name, target=X86_64, source=Source(f"{name}.h", chance.randint(1, 9)))
    odds = chance.random()
    if odds < 0.08:
        return replace(made, problem="no header")
    if odds < 0.16:
        return replace(made, bit_size=None, align=None, fields=())
    return replace(made, aliases=(f"{name}_t",)) if odds < 0.3 else made


def embedding(chance: Random, name: str, inner: Struct) -> Struct:
    """A struct with another one in it, in an array, and behind a pointer."""
    size, align = inner.bit_size or 64, (inner.align or 8) * 8
    count = chance.choice((1, 1, 2, 3))
    at = -(-chance.choice((0, 64, 128, 512)) // align) * align
    spelling = f"{inner.aggregate} {inner.name}"
    own = Field("own", CType("long"), 0, 64, align=8)
    in_array = {"dims": (count,), "type": CType(spelling, f"[{count}]")} if count > 1 else {"type": CType(spelling)}
    held = Field("held", CType(""), at, size * count, aggregate=inner.aggregate, members=inner.fields, align=inner.align)
    held = replace(held, **in_array)  # type: ignore[arg-type]
    end = -(-(at + size * count) // 64) * 64
    to_inner = Field("to", CType(f"{spelling} *"), end, 64, align=8)
    size = -(-(end + 64) // max(align, 64)) * max(align, 64)
    fields = (*((own,) if at else ()), *((held,) if inner.bit_size and not inner.problem else ()), to_inner)
    return Struct(name, "struct", size, max(8, inner.align or 8), fields, X86_64, Source("outer.h", 4), "outer.c")


def storage(chance: Random) -> Storage:
    word = chance.choice((*(word for word in WORDS if word not in MALLOCS[1:]), EMBEDDED, EMBEDDED))
    align = chance.choice((8, 64, 128)) if word in TAKE_ALIGNMENT else None
    return Storage(word, Source("r.toml", 1), align, array=chance.choice((None, None, 2, ANY)) if word != EMBEDDED else None)


def reading(chance: Random, number: int) -> Reading:
    inner, third = named_struct(chance, "inner"), named_struct(chance, "third")
    structs = [inner, embedding(chance, "outer", inner), third]
    structs += [named_struct(chance, chance.choice(("inner", "third", "other"))) for _ in range(chance.randint(0, 2))]
    chance.shuffle(structs)
    data = tuple(data_of_seed(chance.randint(0, 40)) for _ in range(chance.randint(0, 2)))
    arrays = tuple(
        replace(each, problem=None if chance.random() < 0.9 else "no header", fields=(replace(field, bit_offset=0),), bit_size=field.bit_size, label=f"variable {field.name}")
        for each in data or map(data_of_seed, chance.sample(range(40), 3)) for section in each.fields for field in section.members if field.dims and field.bit_size is not None
    )  # fmt: skip
    allocated = tuple(AllocatedArray(each, storage(chance)) for each in structs if each.bit_size and not each.problem and chance.random() < 0.3)
    is_kernel = chance.random() < 0.3
    return Reading(
        f"input{number}.o", "dwarf" if data else chance.choice(("dwarf", "clang")), X86_64, tuple(structs), is_kernel=is_kernel, kernel=(6, 12) if is_kernel else None,
        config=chance.choice((None, frozenset({"SMP"}))), data=data or None, arrays=arrays,
        variables=tuple(field for each in arrays for field in each.fields), allocated=allocated,
    )  # fmt: skip


def rules(chance: Random, known: tuple[Struct, ...], variables: tuple[Struct, ...], is_guess: bool) -> Iterator[Rule]:
    for number in range(chance.randint(1, 7)):
        kind = find_kind(chance.choice(tuple(KINDS)))
        assert kind is not None
        about = chance.choice(known)
        given = parameters(chance, kind, about)
        is_of_variables = kind.traits.about == "variables" or "variables" in given
        if is_of_variables and variables:
            given["variables"] = chosen_paths(chance, chance.choice(variables), 1, 3)
        if "variables" in given and kind.traits.judges_arrays and chance.random() < 0.4:
            given = {"variables": chance.choice(TYPES)}
        try:
            own = kind(**given)
        except ValueError:
            continue
        name = chance.choice((about.name,) * 6 + (f"{about.name}_t", "in*", "*", "third", "gone", "inned"))
        yield Rule(
            f"{kind.name}{number}", VARIABLES if is_of_variables else name, own, chance.choice((*Severity, Severity.ERROR)), "why",
            Source("r.toml", number), when=chance.choice((When(), When(), When(), When(config=("SMP",)), When(arch=("arm*",)), When(outside_linux=True))),
            tolerate=chance.choice((0.0, 0.0, 0.5)), shipped=chance.random() < 0.15, guess=is_guess,
            around=own.traits.in_containers and not is_of_variables and chance.random() < 0.3,
            line_pairs=own.traits.line_pairs and chance.random() < 0.3,
        )  # fmt: skip


def pack(chance: Random, number: int, readings: list[Reading]) -> Pack:
    known = tuple(struct for each in readings for struct in each.structs if struct.bit_size is not None)
    variables = tuple(data for each in readings for data in (*(each.data or ()), *each.arrays))
    is_guess = chance.random() < 0.3
    intents = []
    for name in chance.sample((*NAMES, "in*", "iner", "gone"), chance.randint(0, 3)):
        about = next((struct for struct in known if struct.name == name), known[0])
        accesses = tuple(
            Access(path, chance.choice(WORD), chance.random() < 0.3, Source("r.toml", 30), chance.choice(("", "", "tx", "rx")), chance.random() < 0.2)
            for path in chosen_paths(chance, about, 1, 3) if path[0] != "@" or path.startswith("@type:")
        )
        when = chance.choice((When(), When(), When(config=("!SMP",))))
        intents.append(StructIntent(name, Source("r.toml", 20), None, accesses, chance.choice((None, storage(chance))), when=when))
    return Pack(f"pack{number}", f"pack{number}.toml", tuple(rules(chance, known, variables, is_guess)), tuple(intents), guesses=is_guess,
                shipped=is_guess or chance.random() < 0.1)  # fmt: skip


def options(chance: Random) -> dict[str, Any]:
    return {
        "finds_allocations": False, "only": chance.choice(((),) * 8 + (("inner",), ("in*",), ("gone",), ("third_t",))), "fail_on": chance.choice((Outcome.AT_RISK, Outcome.BROKEN)),
        "line_size": chance.choice((None,) * 6 + (32, 128, 256)), "min_align": chance.choice((None, None, 16)), "allow_unknown": chance.random() < 0.3,
        "ignore_missing": chance.random() < 0.2, "unused": chance.random() < 0.4, "guesses": chance.choice((1, 3, 10)), "build": chance.choice((None, None, "b")),
        "compares": chance.random() < 0.1,
    }  # fmt: skip


def findings(report: Report) -> Iterator[str]:
    for each in (*report.findings, *report.kept_findings):
        yield f"{each.rule.id} on {each.struct and each.struct.name}: {each.verdict.outcome.value}: {finding_message(each)}"
        yield f"  {'; '.join(more(each))}"


def more(each: Finding) -> Iterator[str]:
    verdict = each.verdict
    yield f"{each.input} {each.also} {each.place} at {len(verdict.bases)} of {verdict.total}, {[place.path for place in verdict.evidence]}"
    yield f"{verdict.basis} {verdict.advice}"
    others = {"around": each.around and each.around.path, "definition": each.definition, "to be certain": each.confirmation, "rank": each.rank,
              "lack": each.is_lack, "missing": verdict.is_missing_field, "unreliable": verdict.is_unreliable}  # fmt: skip
    yield from (f"{name} {inline(value)}" for name, value in others.items() if value)


def of_run(guesses: int, compares: bool, **others: Any) -> Options:
    return run_options(most=guesses, mode=Compared() if compares else Mode(), **others)


def lines(seed: int) -> Iterator[str]:
    chance = Random(f"run {seed}")
    readings = [reading(chance, number) for number in range(chance.choice((1, 1, 2)))]
    packs = tuple(pack(chance, number, readings) for number in range(chance.choice((1, 2))))
    packs += (GENERIC,) if chance.random() < 0.3 else ()
    unread = [Unread("gone.o", "no such file")] if chance.random() < 0.1 else []
    surroundings = Surroundings({X86_64: Index(tuple(struct for each in readings for struct in each.structs))})
    own = options(chance)
    yield f"== {seed}: {own}"
    try:
        report = run.report(Inputs(readings, unread, surroundings), packs, (), of_run(**own))
    except LayoutlintError as error:
        yield f"{type(error).__name__}: {error}"
        return
    yield f"exit {report.exit_status}: {inline(report.coverage)}"
    yield from map(str, report.unread)
    yield from (f"{each.path} {each.build}: {note}" for each in report.readings for note in each.notes)
    yield from findings(report)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("part", range(PARTS))
def test_reports_of_seeds(part, golden, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # guesses read the sources beside the structs: there are none
    every = (line for seed in range(part * SEEDS, (part + 1) * SEEDS) for line in lines(seed))
    wrapped = (fill(line, 150, subsequent_indent="    ", break_on_hyphens=False) for line in every)
    golden(f"runs-{part}.txt", "".join(f"{line}\n" for line in wrapped))
