"""Hold containers of all forms against a program that prints where they hold a struct.

    python -m tools.differential.containers --cases 1000 --seed 1

A case is a struct with a rule that two of its fields are on one line, and the containers that embed it: with and without a
tag, behind typedefs, in functions and parameter lists, in unions and arrays, and in a unit in C++. Every reader judges it.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.harness.command import run
from tools.differential import options

FILE, LOCAL, PARAMETER, CPP = "file", "local", "parameter", "C++"
FORMS = {
    # where it is, the declaration around the members BODY, and the type of the container; K is its number
    "tag": (FILE, "struct cK { BODY }; struct cK vK;", "vK"),
    "no tag": (FILE, "static struct { BODY } vK;", "vK"),
    "no tag, aligned": (FILE, "struct { BODY } __attribute__((aligned(64))) vK;", "vK"),
    "typedef": (FILE, "typedef struct { BODY } tK; tK vK;", "vK"),
    "typedef of an array": (FILE, "typedef struct { BODY } tK[3]; tK vK;", "vK[0]"),
    "array": (FILE, "struct { BODY } vK[3];", "vK[0]"),
    "pointer": (FILE, "struct { BODY } *vK;", "vK[0]"),
    "function pointer": (FILE, "struct { BODY } *(*vK)(void);", "vK()[0]"),
    "union": (FILE, "union { struct { BODY }; long w; } vK;", "vK"),
    "in a member": (FILE, "struct cK { long x; struct { BODY } in; } vK;", "vK"),
    "two": (FILE, "static struct { int z; struct { BODY } in[2]; } vK;", "vK"),
    "local": (LOCAL, "volatile struct cK { BODY } vK;", "vK"),
    "local, no tag": (LOCAL, "static struct { BODY } vK;", "vK"),
    "local typedef": (LOCAL, "typedef struct { BODY } tK; static tK vK;", "vK"),
    "in a block": (LOCAL, "for (int i = 0; i < n; i++) { static struct { BODY } vK; use(&vK); }", ""),
    "parameter": (PARAMETER, "struct pK { BODY } *vK", "vK[0]"),
    "class": (CPP, "class xK { public: BODY } vK;", "xK"),
    "namespace": (CPP, "namespace nK { struct yK { BODY } vK; }", "yK"),
    "base class": (CPP, "struct dK : NAME { int z; } vK;", "dK"),
    "no tag in C++": (CPP, "static struct { BODY } vK; void *fK() { return &vK; }", "a struct without a name"),
    "nested class": (CPP, "struct oK { struct iK { BODY } in; } vK;", "iK"),
}
_PATHS = {"in a member": "in.", "two": "in[0]."}
FLAGS = {"gcc": ("gcc", "-g"), "gcc-4": ("gcc", "-g", "-gdwarf-4", "-O2"), "gcc-types": ("gcc", "-g", "-fdebug-types-section"), "clang": ("clang", "-g")}
_LINE, _LEAST = 64, 8


@dataclass(frozen=True, slots=True)
class Place:
    """One container of a case."""

    form: str
    number: int
    body: str
    count: int
    """How many of the struct it has side by side."""

    @property
    def where(self) -> str:
        return FORMS[self.form][0]

    def text(self, name: str) -> str:
        text = FORMS[self.form][1].replace("BODY", self.body).replace("NAME", name)
        return text.replace("K", str(self.number))

    def probe(self, case: int) -> str:
        """A statement that prints the place of the first struct in its container, in the scope of that."""
        of = FORMS[self.form][2].replace("K", str(self.number))
        path = _PATHS.get(self.form, "") + ("q[0]" if self.count > 1 else "q")
        steps = 2 if self.form == "two" else 1
        facts = f"__builtin_offsetof(__typeof__({of}), {path}), _Alignof(__typeof__({of}))"
        step = f"sizeof((({'__typeof__(' + of + ') *)0'})->in[0])" if steps > 1 else "0ul"
        return f'printf("{case} {self.number} %zu %zu %d %zu %d\\n", {facts}, {self.count}, {step}, {steps});'


@dataclass(slots=True)
class Case:
    number: int
    text: str
    """The definition of the struct."""
    places: list[Place] = field(default_factory=list)
    facts: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """By place: offset, alignment, how many side by side, the step of an outer array, its length."""
    fields: tuple[int, int, int] = (0, 0, 0)
    """The first and last byte of its fields, and its size."""

    @property
    def name(self) -> str:
        return f"lq{self.number}"

    def bases(self, wheres: frozenset[str]) -> set[int]:
        """The bytes of a line at which the struct can start in its containers of some kinds."""
        found = set[int]()
        for place in self.places:
            if place.where not in wheres or place.number not in self.facts:
                continue
            offset, align, count, step, steps = self.facts[place.number]
            firsts = {offset + outer * step + inner * self.fields[2] for outer in range(steps) for inner in range(count)}
            found |= {(base + first) % _LINE for first in firsts for base in range(0, _LINE, max(align, _LEAST))}
        return found

    def outcome(self, wheres: frozenset[str]) -> str:
        bases, (first, last, _) = self.bases(wheres), self.fields
        failing = [base for base in bases if (base + first) // _LINE != (base + last) // _LINE]
        if not bases:
            return "unknown"
        return "kept" if not failing else "broken" if len(failing) == len(bases) else "at-risk"


def make(chance: random.Random, number: int, first: int) -> Case:
    """A random case; the numbers of its places start at `first`."""
    align = chance.choice(("", "", " __attribute__((aligned(16)))"))
    between = f" char r[{chance.randint(1, 40)}];" if chance.random() < 0.4 else ""
    text = f"struct lq{number} {{ int a;{between} int b; }}{align};"
    case = Case(number, text)
    for place in range(first, first + chance.randint(1, 4)):
        form = chance.choice(list(FORMS))
        count = chance.choice((1, 1, 1, 3)) if form not in ("base class",) else 1
        member = f"struct lq{number} q[{count}];" if count > 1 else f"struct lq{number} q;"
        pad = chance.choice(("", "int z;", "long z;", f"char z[{chance.randint(1, 90)}];"))
        body = f"{pad} {member}"
        if any(other.body == body and "in a member" in (other.form, form) for other in case.places):
            body = f"char z[{91 + place}]; {member}"  # pahole makes one type of both, and BTF has it only in the member
        case.places.append(Place(form, place, body, count))
    return case


def sources(cases: Sequence[Case]) -> tuple[str, str, str]:
    """The header with the structs, the unit in C that prints the facts, and that in C++."""
    header = "".join(f"{case.text}\n" for case in cases)
    lines, bodies, calls, cpp = ['#include <stdio.h>\n#include "lq.h"\nvoid use(volatile void *p) { (void)p; }'], [], [], ['#include "lq.h"']
    for case in cases:
        own = f"struct lq{case.number}"
        calls.append(
            f'printf("{case.number} -1 %zu %zu %zu\\n", __builtin_offsetof({own}, a), __builtin_offsetof({own}, b) + 3, sizeof({own}));'
        )
        for place in case.places:
            text = place.text(case.name)
            if place.where == CPP:
                cpp.append(text)
            elif place.where == FILE:
                lines.append(text)
                calls.append(f"use(&v{place.number}); {place.probe(case.number)}")
            elif place.where == PARAMETER:
                bodies.append(f"void f{place.number}({text}) {{ use(v{place.number}); {place.probe(case.number)} }}")
                calls.append(f"f{place.number}(0);")
            elif place.form == "in a block":
                probe = place.probe(case.number).replace("__typeof__()", f"__typeof__(v{place.number})")
                bodies.append(f"void f{place.number}(int n) {{ {text.replace('use(', probe + ' use(')} }}")
                calls.append(f"f{place.number}(1);")
            else:
                bodies.append(f"void f{place.number}(void) {{ {text} use(&v{place.number}); {place.probe(case.number)} }}")
                calls.append(f"f{place.number}();")
    main = "int main(void) { " + "\n".join(calls) + " return 0; }\n"
    return header, "\n".join((*lines, *bodies, main)), "\n".join((*cpp, ""))


def read_facts(cases: Sequence[Case], printed: str) -> None:
    """Take the facts of cases from what their program printed."""
    by_number = {case.number: case for case in cases}
    for line in printed.splitlines():
        number, place, *facts = map(int, line.split())
        if place < 0:
            by_number[number].fields = (facts[0], facts[1], facts[2])
        else:
            by_number[number].facts[place] = tuple(facts)


def rules(cases: Sequence[Case], by_pattern: bool) -> str:
    texts = ['[struct."lq*"]\nplacement = "embedded"\n'] if by_pattern else []
    for case in cases:
        texts += [] if by_pattern else [f'[struct.{case.name}]\nplacement = "embedded"\n']
        texts.append(
            f'[[rule]]\nid = "r{case.number}"\nstruct = "{case.name}"\nkind = "together"\nfields = ["a", "b"]\nwhy = "a test"\n'
        )
    return "\n".join(texts)


@dataclass(frozen=True, slots=True)
class Reader:
    """An input, and which containers its reader sees."""

    name: str
    words: tuple[str, ...]
    seen: frozenset[str]
    reported: frozenset[str]
    """The containers that it only reports."""
    doubt: str = ""
    """What it may say of a struct whose layout or alignment its input leaves open."""


DOUBTS = Counter[str]()
"""By reader, how many verdicts are unknown though the facts decide them: the input leaves alignments open."""
EVERY = frozenset((FILE, LOCAL, PARAMETER))
_ALIGNMENT = "The alignment of what embeds"
_ANY = " "
_MERGED = "type units"
"""gcc merges structs without a tag that have the same members, of variables and of fields, of C and of C++."""


def readers(folder: Path) -> Iterator[Reader]:
    """Compile the unit in a folder in every way; yield what is made, and the source."""
    for name, words in FLAGS.items():
        if shutil.which(words[0]) is None or shutil.which("g++") is None:
            continue
        _call(folder, *words, "-c", "-w", "unit.c", "-o", f"{name}-c.o")
        _call(folder, "g++", *words[1:], "-c", "-w", "unit.cc", "-o", "cpp.o")
        _call(folder, "ld", "-r", f"{name}-c.o", "cpp.o", "-o", f"{name}.o")
        doubt = _ALIGNMENT if name in ("clang", "gcc-4") else _MERGED if name == "gcc-types" else ""
        yield Reader(f"dwarf of {name}", (f"{name}.o",), EVERY, frozenset((CPP,)), doubt)
    if shutil.which("pahole") and (folder / "gcc-c.o").exists():
        shutil.copy(folder / "gcc-c.o", folder / "pahole.o")
        _call(folder, "pahole", "-J", "pahole.o")
        yield Reader("pahole", ("pahole.o", "--reader", "btf"), EVERY, frozenset(), _ALIGNMENT)
    if not subprocess.run(("gcc", "-gbtf", "-c", "-w", "unit.c", "-o", "btf.o"), cwd=folder, capture_output=True).returncode:
        yield Reader("gcc -gbtf", ("btf.o",), frozenset((FILE,)), frozenset((LOCAL, PARAMETER)), _ANY)
    yield Reader("source", ("unit.c",), frozenset((FILE,)), frozenset((LOCAL, PARAMETER)))


def _call(folder: Path, *words: str) -> None:
    subprocess.run(words, cwd=folder, check=True, capture_output=True, timeout=120)


def wrong(reader: Reader, cases: Sequence[Case], folder: Path, more: tuple[str, ...] = ()) -> list[str]:
    """What layoutlint says of cases that contradicts the facts, with the exit status."""
    flags = ("--target=x86_64-linux-gnu",) if reader.name == "source" else ()
    done = run("check", *reader.words, "--rules", "rules.toml", "--no-packs", "--format", "json", *more, *(("--", *flags) if flags else ()), cwd=folder)
    try:
        report = json.loads(done.stdout)
    except ValueError:
        return [f"{reader.name}: status {done.returncode}: {done.stderr[:300]}"]
    judged = {each["struct"]: each for each in (*report["findings"], *report["kept"])}
    gaps = [part for part in report["coverage"]["not_covered"] if part["rules"]]
    found, states = list[str](), set[str]()
    for case in cases:
        expected, finding = case.outcome(reader.seen), judged.get(case.name, {"outcome": "unknown", "message": ""})
        said = finding["outcome"]
        possible = {expected}
        if reader.name == "gcc -gbtf":  # it has the parameters of functions that other files can call
            possible.add(case.outcome(reader.seen | {PARAMETER}))
        is_doubt = said == "unknown" and bool(reader.doubt) and reader.doubt in finding["message"]
        is_doubt = is_doubt or any(_MERGED in part["reason"] for part in gaps)
        if said not in possible and not is_doubt:
            found.append(f"{reader.name}: {case.name} is {said}, not {expected}: {[place.form for place in case.places]}: {finding['message']}")
        unseen = {place.where for place in case.places} & reader.reported
        is_reported = any(case.name in (part["structs"] or ()) for part in gaps)
        is_merged = reader.doubt == _MERGED and (is_reported or "no tag in C++" in (place.form for place in case.places))
        if bool(unseen) != is_reported and not is_merged and not (reader.doubt == _ANY and is_reported):
            found.append(f"{reader.name}: {case.name} {'is' if is_reported else 'is not'} reported: {[place.form for place in case.places]}")
        states |= {said, *(("unknown",) if is_reported else ())}
        DOUBTS[reader.name] += said == "unknown" and expected != "unknown"
    status = 1 if states & {"broken", "at-risk"} else 3 if "unknown" in states else 0
    if done.returncode != status:
        found.append(f"{reader.name}: status {done.returncode}, not {status}: {[case.name for case in cases]}")
    return found


def wrong_listing(reader: Reader, case: Case, folder: Path) -> list[str]:
    """What `containers` says of a case that contradicts the facts, with the exit status."""
    words = ("--", "--target=x86_64-linux-gnu") if reader.name == "source" else ()
    done = run("containers", *reader.words[:1], case.name, "--format", "json", *reader.words[1:], *words, cwd=folder)
    wheres = {place.where for place in case.places}
    if reader.doubt in (_ANY, _MERGED) or not wheres & reader.seen:
        return []
    # Compilers and pahole merge structs without a tag that have the same members.
    listed = sorted({each["offset"] for one in json.loads(done.stdout)["structs"] for each in one["containers"]})
    expected = sorted({case.facts[place.number][0] for place in case.places if place.where in reader.seen})
    if listed == expected and done.returncode == (3 if wheres & reader.reported else 0):
        return []
    return [f"containers, {reader.name}: {case.name} at {listed}, not {expected}, status {done.returncode}: {[place.form for place in case.places]}"]


def examine(cases: Sequence[Case], folder: Path, chance: random.Random) -> tuple[Counter[str], list[str]]:
    """Compile cases, and ask every reader for all of them, and one for each; count what the facts say."""
    for name, text in zip(("lq.h", "unit.c", "unit.cc"), sources(cases), strict=True):
        (folder / name).write_text(text)
    (folder / "rules.toml").write_text(rules(cases, chance.random() < 0.3))
    _call(folder, "gcc", "-w", "unit.c", "-o", "truth")
    read_facts(cases, subprocess.run([folder / "truth"], check=True, capture_output=True, text=True, timeout=60).stdout)
    counts, found = Counter(case.outcome(EVERY) for case in cases), list[str]()
    every = list(readers(folder))
    for reader in every:
        found += wrong(reader, cases, folder)
    for case in cases:
        found += wrong(chance.choice(every), [case], folder, ("--struct", case.name))
        found += wrong_listing(chance.choice(every), case, folder)
    return counts, found


def contradictions(count: int, seed: int, per_unit: int = 10) -> tuple[Counter[str], list[str]]:
    """Counts of the outcomes of random cases, and what contradicts them."""
    chance, counts, found = random.Random(seed), Counter[str](), list[str]()
    for first in range(0, count, per_unit):
        cases, number = [], 0
        for index in range(first, min(first + per_unit, count)):
            cases.append(make(chance, index, number))
            number += len(cases[-1].places)
        with TemporaryDirectory() as folder:
            more, wrong_ones = examine(cases, Path(folder), chance)
        counts += more
        found += [f"seed {seed}, unit {first // per_unit}: {text}" for text in wrong_ones]
    return counts, found


def main(words: Sequence[str] | None = None) -> int:
    """Print the counts, and what contradicts; 1 if anything does."""
    given = options.parse("containers", __doc__, words)
    counts, found = contradictions(given.cases, given.seed)
    print("\n".join(found))
    print(f"{given.cases} cases, seed {given.seed}: {dict(counts)}, {len(found)} contradictions; unknown: {dict(DOUBTS)}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
