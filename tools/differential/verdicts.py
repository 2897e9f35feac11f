"""What layoutlint says of a compiled unit, and whether it contradicts the truth."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.differential.structs import Record, Unit
from tools.differential.truth import (
    Bytes,
    Facts,
    Stand,
    bases,
    bases_inside,
    sharing_bases,
    spread,
    straddles,
    ways,
)

ROOT = Path(__file__).resolve().parent.parent.parent
SECONDS = 600
_PLACES = ("", "", "static", "array", "static:16", "embedded", "embedded")
_MOST_WAYS = 200


@dataclass(frozen=True, slots=True)
class Placing:
    """Where objects of one record are, as the rule file says it."""

    word: str = ""
    array: int | None = None

    def keys(self) -> str:
        message = f'placement = "{self.word}"\n' if self.word else ""
        return message + (
            f"array = {'true' if self.array == 0 else self.array}\n" if self.array is not None else ""
        )


@dataclass(frozen=True, slots=True)
class Question:
    """One rule."""

    id: str
    record: Record
    kind: str
    paths: tuple[str, ...]

    def text(self) -> str:
        groups = [[path] for path in self.paths] if self.kind == "separate" else list(self.paths)
        head = f'[[rule]]\nid = "{self.id}"\nstruct = "{self.record.name}"\nkind = "{self.kind}"\n'
        return f'{head}fields = {json.dumps(groups)}\nwhy = "a test"\n'


@dataclass(slots=True)
class Exam:
    """The rules on one unit, and the options that they are judged with."""

    unit: Unit
    facts: dict[str, Facts]
    line: int
    min_align: int
    places: dict[str, Placing] = field(default_factory=dict)
    questions: list[Question] = field(default_factory=list)

    @classmethod
    def set(cls, unit: Unit, facts: dict[str, Facts], seed: int) -> Exam:
        """Random rules on random fields."""
        chance = random.Random(seed)
        exam = cls(unit, facts, chance.choice((64, 64, 64, 32, 128)), chance.choice((1, 1, 1, 4, 8)))
        known = [one for one in unit.records if one.name in facts]
        embedded = {held.inner for one in known for held in one.held}
        again = {one.of for one in known}  # what has typedefs is placed by its own table, or by theirs
        for one in known:
            word = chance.choice(_PLACES)
            is_shared = bool(one.of) or one.c_name in again
            if (word == "embedded" and one.c_name not in embedded) or is_shared:
                word = ""
            array = (
                chance.choice((0, 2, 3, 5))
                if word == "array" or (word and word != "embedded" and chance.random() < 0.3)
                else None
            )
            if word.startswith("static:") and facts[one.name].align > 16:
                word = "static"
            if one.is_open or not facts[one.name].size:
                array = None
            word = "" if word == "array" else word
            # Where nothing is stated, what the input shows counts as well (places.py), also of packed members.
            is_held = (one.of or one.c_name) in embedded
            is_shown = not word and (is_held or facts[one.name].align < exam.min_align)
            if is_shown and not is_shared:
                word = f"aligned:{max(exam.min_align, facts[one.name].align)}"
            exam.places[one.name] = Placing(word, array)
            if not (is_shown and is_shared):
                exam.questions += exam._ask(one, chance)
        return exam

    def _ask(self, one: Record, chance: random.Random) -> Iterator[Question]:
        spots = [path for path, (_, size) in self.facts[one.name].spots.items() if size]
        for n, path in enumerate(chance.sample(spots, min(3, len(spots)))):
            yield Question(f"{one.name}-{n}", one, "no-straddle", (path,))
        for n in range(2 if len(spots) > 1 else 0):
            a, b = chance.sample(spots, 2)
            if not a.startswith(f"{b}.") and not b.startswith(f"{a}."):
                yield Question(f"{one.name}-pair-{n}", one, "separate", (a, b))
        if spots:
            yield Question(f"{one.name}-start", one, "line-start", (chance.choice(spots),))

    def rules(self) -> str:
        """The rule file."""
        tables = [
            f"[struct.{name}]\n{place.keys()}" for name, place in self.places.items() if place != Placing()
        ]
        return "\n".join((*tables, *(question.text() for question in self.questions)))

    def stands(self, one: Record) -> list[Stand] | None:
        """Where objects of a record stand; None where that is not to be asked."""
        place = self.places[one.name]
        if place.word != "embedded":
            return [self._alone(one)]
        found: list[Stand] = []
        for container, offset, arrays in ways(one.name, self.unit, self.facts):
            if self.places[container.name].word != "embedded":
                outer = self._alone(container)
                behind = spread(arrays)
                found.append(Stand(outer.step, tuple(a + offset + b for a in outer.behind for b in behind)))
            if len(found) > _MOST_WAYS:
                return None
        return found or None

    def _alone(self, one: Record) -> Stand:
        facts, place = self.facts[one.name], self.places[one.name]
        step = max(facts.align, 1 if place.word else self.min_align)
        if ":" in place.word:
            step = max(step, int(place.word.partition(":")[2]))
        if place.array is None:
            return Stand(step)
        return Stand(step, spread([(place.array or 2 * self.line, facts.size)]))


@dataclass(slots=True)
class Tally:
    """What came of the verdicts."""

    verdicts: int = 0
    unknown: int = 0
    aligns: int = 0
    several: int = 0
    """Structs of which several alignments are possible."""
    refused: int = 0
    """Units that were not read."""
    left: int = 0
    """Rules of which nothing was said."""
    wrong: list[tuple[str, str]] = field(default_factory=list)
    """(Name of the struct, contradiction)."""

    def add(self, other: Tally) -> None:
        self.verdicts += other.verdicts
        self.unknown += other.unknown
        self.aligns += other.aligns
        self.several += other.several
        self.left += other.left
        self.refused += other.refused
        self.wrong += other.wrong


class Failed(Exception):
    """layoutlint ended in a way that it must not."""


class Refused(Exception):
    """layoutlint does not read the file: gcc 12 and 13 write damaged BTF of some units."""


def ask(exam: Exam, path: Path, rules: Path, words: Sequence[str]) -> Tally:
    """What layoutlint says of a file, held against the truth. Raises Failed."""
    tally = Tally()
    options, flags = _cut(words)
    common = ("--line-size", str(exam.line), "--min-align", str(exam.min_align))
    report = _run("check", str(path), "--rules", str(rules), "--no-packs", *common, *options, flags=flags)
    message: dict[str, list[dict[str, Any]]] = {}
    for finding in (*report["findings"], *report["kept"]):
        message.setdefault(finding["rule"], []).append(finding)
    for question in exam.questions:
        verdicts = message.get(question.id, [])
        tally.left += not verdicts
        for verdict in verdicts:
            tally.verdicts += 1
            # Containers can be in what the report says that it has not read.
            is_partial = report["unread"] and exam.places[question.record.name].word == "embedded"
            if verdict["outcome"] == "unknown" or is_partial:
                tally.unknown += 1
            elif (why := _against(exam, question, verdict)) is not None:
                tally.wrong.append(
                    (question.record.name, f"{question.id} {question.kind} {question.paths}: {why}")
                )
    _sizes(exam, _run("show", str(path), *exam.facts, *options, flags=flags), tally)
    return tally


def _cut(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Options, and flags of the compiler behind `--`."""
    words = list(words)
    return (words[: words.index("--")], words[words.index("--") :]) if "--" in words else (words, [])


def _run(*words: str, flags: Sequence[str]) -> Any:
    command = [sys.executable, "-m", "layoutlint", *words, "--format", "json", "--allow-unknown", *flags]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, stdin=subprocess.DEVNULL
    )
    if done.returncode == 3 and not done.stdout.strip():
        raise Refused(done.stderr)
    if done.returncode not in (0, 1) or "Traceback" in done.stderr:
        raise Failed(f"status {done.returncode} of {' '.join(words[:2])}: {done.stderr[-3000:]}")
    return json.loads(done.stdout)


def _against(exam: Exam, question: Question, verdict: dict[str, Any]) -> str | None:
    """How a verdict contradicts the truth; None where it does not."""
    stands = exam.stands(question.record)
    if stands is None:
        return None
    spots = exam.facts[question.record.name].spots
    a, *more = (Bytes.from_bits(*spots[path]) for path in question.paths)
    if question.kind == "separate":
        wrong = sharing_bases(a, more[0], stands, exam.line)
    else:
        wrong = (straddles if question.kind == "no-straddle" else bases_inside)(a, stands, exam.line)
    every = bases(stands, exam.line)
    truth = "kept" if not wrong else "broken" if wrong == every else "at-risk"
    message = verdict["outcome"]
    if message == truth or (
        truth == "broken" and message == "at-risk" and question.kind == "separate" and len(stands) > 1
    ):
        return None
    placed = verdict["placements"]
    ours = exam.facts[question.record.name]
    where = exam.places[question.record.name]
    return (
        f"{message} of {placed['total']} ({placed['basis']}), {truth} is true: fails at {sorted(wrong)} of {sorted(every)}; "
        f"size {ours.size}, aligned to {ours.align}, {where}, spots {[spots[path] for path in question.paths]}"
    )


def _sizes(exam: Exam, shown: dict[str, Any], tally: Tally) -> None:
    """Sizes and alignments."""
    for struct in shown["structs"]:
        for name in {struct["name"], *struct["aliases"]} & set(exam.facts):
            if (
                struct["size"] is None
                or struct["problem"]
                or (name != struct["name"] and _is_other(exam, struct["name"]))
            ):
                continue
            facts = exam.facts[name]
            tally.aligns += 1
            possible = struct.get("align_possible") or [struct["align"]]
            tally.several += struct["align"] is None
            if struct["size"] != facts.size:
                tally.wrong.append((name, f"size {struct['size']}, {facts.size} is true"))
            if facts.align not in possible:
                tally.wrong.append(
                    (name, f"align {possible} ({struct['align_basis']}), {facts.align} is true")
                )


def _is_other(exam: Exam, name: str) -> bool:
    """Whether a struct is in the exam under its own name, with its own alignment."""
    return name in exam.facts
