"""What `suggest` finds for the structs that break shipped rules: `python -m tests.bench.suggestions [NAME...]`.

Each breaking case of a shipped pack is put into the order that keeps the rules of its pack, and compared with the
change of upstream: the case of the same struct that keeps the same rules, where its name begins with `after`. NAME
limits the table to structs. `seeds` adds the structs of real kernels that the first rules are about.

Declarations that upstream moved are those outside a longest common subsequence. A case leaves members out, and
states how many bytes they have (`OTHERS`): they count as members of 8 bytes each, or of up to 64 in large structs.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from layoutlint.intent.toml import case_file, rule_file
from layoutlint.judgement.case import Case
from layoutlint.judgement.rule import VARIABLES, Pack
from layoutlint.judgement.verdict import Outcome
from layoutlint.lint.cases import TARGET
from layoutlint.lint.options import Options
from layoutlint.lint.run import check
from layoutlint.lint.subject import InputStruct, Source, find_struct
from layoutlint.model.paths import is_pattern
from layoutlint.model.reading import ReadOptions
from layoutlint.model.record import replace
from layoutlint.model.structs import Struct
from layoutlint.randstruct import randomisation
from layoutlint.readers.order_uses import member_names
from layoutlint.reports.suggest import phrases
from layoutlint.suggestion.result import Suggestion
from tests.real import kernels

FAILING = (Outcome.BROKEN, Outcome.AT_RISK)
LEFT_OUT = "others_"
OTHERS = re.compile(r"OTHERS\((\d+), (\d+)\);")
WORD = 8
MOST_WORDS = 64
WHOLE = "the struct"
EFFORT = 4.0


@dataclass(frozen=True, slots=True)
class Change:
    """What upstream did to a struct."""

    moved: int
    aligned: tuple[str, ...]
    """Members that were given an alignment."""
    unaligned: tuple[str, ...]
    """Members that lost theirs."""
    added: tuple[str, ...]
    removed: tuple[str, ...]
    before: int
    after: int
    """Bytes of the struct."""
    broken: tuple[str, ...] = ()
    """Rules of the pack that it does not keep."""

    def __str__(self) -> str:
        parts = [f"{self.moved} moved"] if self.moved else []
        for word, names in (
            ("aligned", self.aligned), ("unaligned", self.unaligned), ("added", self.added), ("removed", self.removed),
        ):  # fmt: skip
            parts += [f"{word} {', '.join(f'`{name}`' for name in names)}"] if names else []
        rest = f"; breaks {', '.join(f'`{name}`' for name in self.broken)}" if self.broken else ""
        return f"{', '.join(parts) or 'other'}; {self.before} -> {self.after}{rest}"


@dataclass(frozen=True, slots=True)
class Row:
    """The result for one struct."""

    name: str
    case: str
    found: Suggestion
    upstream: Change | None

    @property
    def state(self) -> str:
        """`order`, `alignment`, `impossible`, `only judged`, or another status."""
        if self.found.status == "optimal":
            return "only judged" if self.found.not_kept else "order"
        if self.found.status == "infeasible":
            return "alignment" if self.found.alternatives else "impossible"
        return self.found.status

    @property
    def moves(self) -> int:
        """Declarations that move, for the order or the smallest alternative."""
        best = self.found.alternatives[0] if self.state == "alignment" else self.found
        return len(best.moves)

    def __str__(self) -> str:
        found = self.found
        failing = [f"`{one.rule.id}`" for one in found.rules if one.before.outcome in FAILING]
        change = "-" if self.upstream is None else str(self.upstream)
        return f"| `{self.name}`: {self.case} | {', '.join(failing)} | {self._result()} | {change} |"

    def _result(self) -> str:
        found = self.found
        if found.status in ("optimal", "feasible") and found.new is not None:
            moved = ", ".join(f"`{move.member}`" for move in found.moves)
            status = "only judged" if found.not_kept else found.status
            return (
                f"{status}: {len(found.moves)} moved ({moved}); {_bytes(found.struct)} -> {_bytes(found.new)}"
            )
        core = ", ".join(f"`{rule.id}`" for rule in found.core)
        text = f"{found.status}: {core or found.reason}"
        for each in found.alternatives[:1]:
            text += f"; {phrases.addition(each)}, {len(each.moves)} moved, {_bytes(found.struct)} -> {each.size}"
        return text


def _bytes(struct: Struct) -> int:
    return (struct.bit_size or 0) // 8


def words(struct: Struct) -> list[str]:
    """Return the members, with each word that the case leaves out on its own."""
    result = []
    for name, field in zip(member_names(struct), struct.fields, strict=True):
        if not name.startswith(LEFT_OUT):
            result.append(name)
            continue
        count, rest = divmod((field.bit_size or 0) // 8, WORD)
        result += [LEFT_OUT] * count + [f"{LEFT_OUT}{rest}"] * bool(rest)
    return result


def common(a: Sequence[str], b: Sequence[str]) -> Counter[str]:
    """Return a longest common subsequence, as counts of its members."""
    table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in reversed(range(len(a))):
        for j in reversed(range(len(b))):
            same = 1 + table[i + 1][j + 1] if a[i] == b[j] else 0
            table[i][j] = max(same, table[i + 1][j], table[i][j + 1])
    kept: Counter[str] = Counter()
    i = j = 0
    while i < len(a) and j < len(b):
        if a[i] == b[j] and table[i][j] == 1 + table[i + 1][j + 1]:
            kept[a[i]] += 1
            i, j = i + 1, j + 1
        elif table[i][j] == table[i + 1][j]:
            i += 1
        else:
            j += 1
    return kept


def change_of(before: InputStruct, after: InputStruct, broken: tuple[str, ...]) -> Change:
    """Return what was done to a struct, which still breaks some rules."""
    a, b = words(before.struct), words(after.struct)
    kept, both = common(a, b), Counter(a) & Counter(b)
    names = [set(words) for words in (a, b)]
    added, removed = (
        tuple(dict.fromkeys(name for name in own if name not in others and not name.startswith(LEFT_OUT)))
        for own, others in ((b, names[0]), (a, names[1]))
    )
    alignments = [dict(_alignments(found)) for found in (after, before)]
    aligned, unaligned = (
        tuple(name for name, bytes_ in own.items() if bytes_ > other.get(name, 1))
        for own, other in (alignments, alignments[::-1])
    )
    unaligned = tuple(name for name in unaligned if name != WHOLE)  # its members decide then
    moved = both - kept
    if Counter(a)[LEFT_OUT] != Counter(b)[LEFT_OUT]:  # a case leaves out more: what moved there is not known
        moved = Counter({name: count for name, count in moved.items() if not name.startswith(LEFT_OUT)})
    return Change(
        moved.total(), aligned, unaligned, added, removed, _bytes(before.struct), _bytes(after.struct), broken
    )


def _alignments(found: InputStruct) -> Iterator[tuple[str, int]]:
    """Yield the members with an alignment of their own, in bytes, and the struct if it has one."""
    names = member_names(found.struct)
    way = next(iter(randomisation.declared_ways(found.judged.reading, (), found.struct)))
    requested = [member.requested_align or 0 for member in way.members]
    for at, bytes_ in zip(way.fields, requested, strict=True):
        if bytes_ and at is not None:
            yield names[at], bytes_
    if (way.rules.stated or 0) > max(requested, default=0):
        yield WHOLE, way.rules.stated or 0


def options(flags: tuple[str, ...] = ()) -> Options:
    """Return the options for a case."""
    return Options(read=ReadOptions(flags=(TARGET, *flags), with_marks=True))


def rows(folder: Path, names: Sequence[str] = ()) -> Iterator[Row]:
    """Yield a row for each struct in a breaking case of the shipped packs; `names` limits the structs."""
    for pack, cases in case_file.load_all(rule_file.shipped_packs()):
        strict = replace(pack, guesses=False, rules=tuple(replace(rule, guess=False) for rule in pack.rules))
        for number, case in enumerate(cases):
            failing = [each for each in case.expectations if each.outcome in FAILING]
            wanted = [
                each.rule.struct
                for each in failing
                if is_pattern(each.rule.struct) or not names or each.rule.struct in names
            ]
            if wanted:
                path = _write(folder, f"{pack.name.replace('/', '-')}-{number}.c", case)
                yield from _case_rows(path, case, cases, strict, names)


def _write(folder: Path, name: str, case: Case) -> str:
    path = folder / name
    path.write_text(spelled_out(case.text))
    return str(path)


def spelled_out(text: str) -> str:
    """Return C text with a member for each word that it leaves out."""
    total = sum(int(end) - int(begin) for begin, end in OTHERS.findall(text))
    size = WORD
    while total > MOST_WORDS * size:
        size *= 2

    def members(match: re.Match[str]) -> str:
        begin, end = map(int, match.groups())
        return "\n".join(f"char {LEFT_OUT}{at}[{min(size, end - at)}];" for at in range(begin, end, size))

    return OTHERS.sub(members, text)


def _case_rows(
    path: str, case: Case, cases: tuple[Case, ...], pack: Pack, names: Sequence[str]
) -> Iterator[Row]:
    from layoutlint.lint.reordering import Request, suggest  # imports the solver

    failing = {each.rule.id for each in case.expectations if each.outcome in FAILING}
    report = check((path,), (pack,), (), options(case.flags))
    found = {
        each.struct.name: None
        for each in report.findings
        if each.rule.id in failing and each.struct is not None and each.rule.struct != VARIABLES
    }
    for name in found:
        if names and name not in names:
            continue
        request = Request(name, effort=EFFORT, is_forced=True)
        result = suggest(path, request, (pack,), (), options(case.flags))
        is_before = case.name.startswith("before")
        before = find_struct(Source("", path), name, (), (), options(case.flags))
        upstream = _upstream(before, failing, cases, pack, Path(path).parent) if is_before else None
        yield Row(name, case.name, result, upstream)


def _upstream(
    before: InputStruct, failing: set[str], cases: tuple[Case, ...], pack: Pack, folder: Path
) -> Change | None:
    """Return the change that made a struct keep what it breaks; None if no case has it."""
    for case in cases:
        kept = {each.rule.id for each in case.expectations if each.outcome is Outcome.KEPT}
        if case.name.startswith(("after", "as in")) and failing <= kept:
            path = _write(folder, "after.c", case)
            after = find_struct(Source("", path), before.struct.name, (), (), options(case.flags))
            report = check((path,), (pack,), (), options(case.flags))
            broken = (
                each.rule.id
                for each in report.findings
                if each.struct is not None and each.struct.name == before.struct.name
            )
            return change_of(before, after, tuple(dict.fromkeys(broken)))
    return None


@dataclass(frozen=True, slots=True)
class Seed:
    """A struct of a real kernel before the change that its rule comes from."""

    name: str
    kernel: str
    """A name in tests.real.kernels."""
    upstream: Change
    title: str


SEEDS = (
    Seed("address_space", "headers", Change(1, (), (), (), (), 192, 192), "fs/address_space: move i_mmap_rwsem to mitigate a false sharing with i_mmap"),
    Seed("pcpu_chunk", "cloud", Change(1, ("base_addr",), (), (), (), 136, 192), "percpu-internal/pcpu_chunk: re-layout pcpu_chunk structure to reduce false sharing"),
    Seed("optimistic_spin_node", "headers", Change(0, ("cpu",), (), (), (), 24, 128), "locking/osq_lock: Avoid false sharing in optimistic_spin_node"),
)  # fmt: skip


def seed_rows() -> Iterator[Row]:
    """Yield the rows of the structs in real kernels."""
    from layoutlint.lint.reordering import Request, suggest  # imports the solver

    packs = rule_file.kernel_packs_beside(())
    for seed in SEEDS:
        path = kernels.find_kernel(seed.kernel)
        if path is None:
            raise SystemExit(f"python -m tests.real.kernels fetch {seed.kernel}")
        request = Request(seed.name, effort=EFFORT)
        result = suggest(str(path), request, (), packs, Options(read=ReadOptions(jobs=os.cpu_count() or 1)))
        yield Row(
            seed.name,
            f"Linux {'.'.join(map(str, kernels.version(path)))}, {seed.title}",
            result,
            seed.upstream,
        )


def summary(every: Sequence[Row]) -> str:
    """Return the counts in a few lines."""
    states = Counter(row.state for row in every)
    parts = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
    compared: Counter[str] = Counter()
    for row in every:
        if row.upstream is not None and not row.upstream.broken and row.state in ("order", "alignment"):
            difference = row.moves - row.upstream.moved
            compared["fewer" if difference < 0 else "more" if difference else "as many"] += 1
    counts = ", ".join(f"{compared[word]} {word}" for word in ("fewer", "as many", "more"))
    return f"{len(every)} structs: {parts}; moves beside upstream's: {counts}"


def main() -> None:
    names = [name for name in sys.argv[1:] if name != "seeds"]
    print("| struct | rules not kept | suggest | upstream |\n|---|---|---|---|")
    every = []
    with tempfile.TemporaryDirectory() as folder:
        for row in rows(Path(folder), names):
            every.append(row)
            print(row, flush=True)
    if "seeds" in sys.argv[1:]:
        for row in seed_rows():
            every.append(row)
            print(row, flush=True)
    print(f"\n{summary(every)}")


if __name__ == "__main__":
    main()
