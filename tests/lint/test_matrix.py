"""Many builds, one verdict: against compilers for every build, and what the command says of missing ones."""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import product
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from layoutlint.errors import UsageError
from layoutlint.intent.toml import matrix_file, rule_file
from layoutlint.lint import matrix
from layoutlint.lint.options import Options
from layoutlint.readers.clang import parallel
from layoutlint.readers.clang.parse import Unit
from tests.harness.command import ROOT, run
from tests.harness.damaged import compile_object
from tests.harness.tools import fault
from tests.oracles.c_probe import compile_c
from tests.readers.clang.test_inputs import CONFIGURED, KERNEL, lay

pytestmark = pytest.mark.usefixtures("whole_runs")

FOLDER = ROOT / "fixtures/matrix"
MATRIX, RULES = FOLDER / "matrix.toml", FOLDER / "rules.toml"

MACHINES = {
    # machine: clang's triple, gcc for it, bytes in a line (of the kernel's ports: asm/cache.h)
    "x86_64": ("x86_64-linux-gnu", ("gcc",), 64),
    "aarch64": ("aarch64-linux-gnu", ("aarch64-linux-gnu-gcc",), 64),
    "arm": ("arm-linux-gnueabihf", ("arm-linux-gnueabihf-gcc",), 64),
    "s390x": ("s390x-linux-gnu", ("s390x-linux-gnu-gcc",), 256),
    "powerpc64": ("powerpc64-linux-gnu", ("powerpc64-linux-gnu-gcc",), 128),
    "riscv64": ("riscv64-linux-gnu", ("riscv64-linux-gnu-gcc",), 64),
    "i386": ("i386-linux-gnu", ("gcc", "-m32"), 64),
}
CONFIGS = {"smp": ("-DCONFIG_SMP=1",), "up": (), "plain": (), "lockdep": ("-DCONFIG_LOCKDEP=1",)}
BUILDS = ["-".join(values) for values in product(MACHINES, ("smp", "up"), ("plain", "lockdep"))]
ASKED = {
    # what compilers are asked of: struct, fields
    "struct ring": ("head", "cached_tail", "produced", "tail", "cached_head", "consumed"),
    "struct rw_semaphore": ("count", "owner"),
    "struct mapping": ("tree", "tree_lock", "invalidate_lock"),
    "struct percpu_counter": (),
    "spinlock_t": (),
    "struct request": ("deadline", "references", "lock"),
}
SMALLEST = 8
"""Of an allocated object, in bytes: the alignment of `unsigned long long` (include/linux/slab.h)."""


class Layout:
    """A struct as a compiler lays it out, and objects of it at every address where one can be."""

    def __init__(self, numbers: list[int], fields: tuple[str, ...], line: int) -> None:
        self.size, self.align, *rest = numbers
        self.bytes = {
            field: range(at, at + size) for field, at, size in zip(fields, rest[::2], rest[1::2], strict=True)
        }
        self.line = line
        step = max(self.align, SMALLEST)
        self.bases = sorted({address % line for address in range(0, line * step, step)})

    def add_places(self, container: Layout, *fields: str) -> None:
        """Add the addresses of the members of a container that are such objects."""
        places = {(base + container.bytes[field].start) % self.line for base in container.bases for field in fields}
        self.bases = sorted({*self.bases, *places})

    def lines(self, field: str, base: int) -> set[int]:
        return {(base + byte) // self.line for byte in self.bytes[field]}

    def share(self, one: tuple[str, ...], other: tuple[str, ...]) -> list[int]:
        pairs = list(product(one, other))
        return [base for base in self.bases if any(self.lines(a, base) & self.lines(b, base) for a, b in pairs)]

    def spread(self, *fields: str) -> list[int]:
        return [base for base in self.bases if len(set().union(*(self.lines(field, base) for field in fields))) > 1]


def expectation(structs: dict[str, Layout], is_smp: bool) -> dict[str, tuple[str, list[int]] | None]:
    """For each rule of fixtures/matrix its outcome and the bases at which it fails; None where it is not asked."""
    ring, lock, mapping, request = (structs[f"struct {name}"] for name in ("ring", "rw_semaphore", "mapping", "request"))
    lock.add_places(mapping, "tree_lock", "invalidate_lock")

    def place(layout: Layout, failing: list[int]) -> tuple[str, list[int]]:
        return ("kept" if not failing else "broken" if failing == layout.bases else "at-risk"), failing

    def settle(holds: bool) -> tuple[str, list[int]]:
        return ("kept" if holds else "broken"), []

    sides = ("head", "cached_tail", "produced"), ("tail", "cached_head", "consumed")
    ends = request.bytes["references"], request.bytes["lock"]
    gap = max(ends[1].start - ends[0].stop, ends[0].start - ends[1].stop)
    return {
        "ring-sides-apart": place(ring, ring.share(*sides)) if is_smp else None,
        "ring-sides-apart-everywhere": place(ring, ring.share(("head",), ("tail",))),
        "rwsem-count-with-owner": place(lock, lock.spread("count", "owner")),
        "mapping-tree-apart-from-lock": place(mapping, mapping.share(("tree",), ("tree_lock",))),
        "mapping-in-four-lines": settle(mapping.size <= 256),
        "counter-small": settle(structs["struct percpu_counter"].size <= 40),
        "lock-is-a-word": settle(structs["spinlock_t"].size <= 4),
        "request-deadline-whole": place(request, request.spread("deadline")),
        "request-lock-near-references": settle(gap <= 24),
        "semaphore-starts-with-count": settle(lock.bytes["count"].start == 0),
    }


def ask(folder: Path, compiler: tuple[str, ...], build: str) -> dict[str, Layout]:
    """Every struct as a compiler lays it out for a build."""
    machine, *config = build.split("-")
    numbers = [
        word
        for struct, fields in ASKED.items()
        for word in (
            f"sizeof({struct})", f"_Alignof({struct})",
            *(w for f in fields for w in (f"offsetof({struct}, {f})", f"sizeof((({struct} *)0)->{f})")),
        )
    ]  # fmt: skip
    text = f'#include "all.h"\nuint64_t facts[] = {{ {", ".join(numbers)} }};\n'
    words = (*compiler[1:], *(word for one in config for word in CONFIGS[one]))
    built = compile_c(compiler[0], text, folder / "facts.o", "-c", "-ffreestanding", f"-I{FOLDER}/include", *words)
    with open(built, "rb") as file:
        elf = ELFFile(file)
        [symbol] = elf.get_section_by_name(".symtab").get_symbol_by_name("facts")
        data = elf.get_section(symbol["st_shndx"]).data()[symbol["st_value"] :]
        order = "little" if elf.little_endian else "big"
    values = [int.from_bytes(data[at * 8 : at * 8 + 8], order) for at in range(len(numbers))]
    found = {}
    for struct, fields in ASKED.items():
        count = 2 + 2 * len(fields)
        found[struct] = Layout(values[:count], fields, MACHINES[machine][2])
        values = values[count:]
    return found


@pytest.fixture(scope="module")
def report():
    done = run("check", "--matrix", MATRIX, "--rules", RULES, "--format", "json")
    assert (done.returncode, done.stderr) == (1, "")
    return json.loads(done.stdout)


def compilers(machine: str) -> list[tuple[str, ...]]:
    triple, gcc, _ = MACHINES[machine]
    found = [("clang", f"--target={triple}"), gcc]
    return [words for words in found if fault(words[0], (*words[1:], "-c")) is None]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("build", BUILDS)
def test_every_verdict_is_that_of_compilers_and_of_objects_at_every_address(report, tmp_path, build):
    machine, cpus, _ = build.split("-")
    judged = {finding["rule"]: finding["builds"].get(build) for finding in (*report["findings"], *report["kept"])}
    output = {rule: found and (found["outcome"], found["placements"]["bases"]) for rule, found in judged.items()}
    known = compilers(machine) or pytest.skip(f"no compiler for {machine}")
    for compiler in known:
        assert output == expectation(ask(tmp_path, compiler, build), cpus == "smp"), compiler


def test_the_report_is_about_every_build_once(report):
    assert [build["name"] for build in report["builds"]] == BUILDS
    assert [build["target"] for build in report["builds"]] == [build.split("-")[0] for build in BUILDS]
    findings = [*report["findings"], *report["kept"]]
    assert len(findings) == len({finding["rule"] for finding in findings}) == len(rule_file.load([str(RULES)])[0].rules)
    assert {finding["rule"]: finding["outcome"] for finding in findings} == {
        "counter-small": "broken", "ring-sides-apart-everywhere": "at-risk", "request-deadline-whole": "at-risk",
        "mapping-in-four-lines": "broken", "mapping-tree-apart-from-lock": "at-risk", "rwsem-count-with-owner": "at-risk",
        "lock-is-a-word": "broken", "ring-sides-apart": "kept", "request-lock-near-references": "kept",
        "semaphore-starts-with-count": "kept",
    }  # fmt: skip
    assert report["coverage"]["skipped"] == [
        f"ring-sides-apart: for a configuration with SMP, which {FOLDER.relative_to(ROOT)}/include/all.h has not (in *-up-* (14))"
        .replace(str(FOLDER.relative_to(ROOT)), str(FOLDER))
    ]  # fmt: skip


@pytest.mark.exhaustive
def test_the_same_bytes_for_any_number_of_processes(tmp_path):
    """In each format; one run writes them all."""
    written = []
    for name, jobs in (("default", ()), ("one", ("--jobs", "1")), ("several", ("--jobs", "4"))):
        files = [tmp_path / f"{name}.{format_}" for format_ in ("json", "sarif", "github")]
        outputs = [word for file in files for word in ("--output", f"{file.suffix[1:]}={file}")]
        done = run("check", "--matrix", "fixtures/matrix/matrix.toml", "--rules", RULES, *outputs, *jobs)
        written.append([done.stdout, *(file.read_bytes() for file in files)])
    assert all(written[0])
    assert written[1:] == written[:-1]


def test_the_text_is_short_and_says_where(golden):
    output = run("check", "--matrix", "fixtures/matrix/matrix.toml", "--rules", "fixtures/matrix/rules.toml").stdout
    # what is said of inputs depends on the headers that the machine has
    before, _, behind = output.partition("\ninputs:")
    after = behind.partition("\ncoverage:")[2]
    golden("matrix.txt", f"{before}\ninputs: ...\ncoverage:{after}")
    assert len(output.splitlines()) < 200


def test_every_build_is_parsed_once(monkeypatch):
    """A second time only where a lock is aligned to 4, and its containers can show other places than those of allocators."""
    parsed: list[Unit] = []
    of_units = parallel.run
    monkeypatch.setattr(parallel, "run", lambda some, wanted, options: parsed.extend(some) or of_units(some, wanted, options))
    builds = matrix_file.load(str(MATRIX))
    matrix.check(builds, rule_file.load([str(RULES)]), (), Options())
    again = Counter(parsed) - Counter(set(parsed))
    assert len(set(parsed)) == len(builds) == 28
    assert set(again.values()) == {1}
    assert {flag for unit in again for flag in unit.flags if flag.startswith("--target=")} == {"--target=arm-linux-gnueabihf", "--target=i386-linux-gnu"}


RING = """
[[rule]]
id = "apart"
struct = "ring"
kind = "separate"
fields = [["head"], ["tail"]]
why = "a test"
"""
KEEPS = "struct ring { long head __attribute__((aligned(64))); long tail __attribute__((aligned(64))); };\n"
BREAKS = "struct ring { long head, tail; } __attribute__((aligned(64)));\n"
RISKS = "struct ring { long head, gap[5], tail; };\n"
UNKNOWN = "struct ring { long head, taill; };\n"


@pytest.fixture
def project(tmp_path):
    for name, text in (("keeps.h", KEEPS), ("breaks.h", BREAKS), ("risks.h", RISKS), ("unknown.h", UNKNOWN)):
        (tmp_path / name).write_text(text)
    (tmp_path / "rules.toml").write_text(RING)
    return tmp_path


def check(folder: Path, inputs: list[str], *more: str, rules: str = "rules.toml"):
    """The report on builds called after their inputs, and the exit status."""
    (folder / "matrix.toml").write_text("".join(f'[build."{name}"]\ninput = "{name}"\n' for name in inputs))
    done = run("check", "--matrix", "matrix.toml", "--rules", rules, "--format", "json", *more, cwd=folder)
    return done.returncode, json.loads(done.stdout)


STATUS = [
    # inputs of the builds, options, exit status, outcome, its message
    (["keeps.h"], (), 0, "kept", "kept in keeps.h: `head` at 0..7 and `tail` at 64..71 share no line in any placement"),
    (["keeps.h", "breaks.h"], (), 1, "broken", "broken in breaks.h; kept in 1 other: *(build breaks.h)"),
    (["keeps.h", "risks.h"], (), 1, "at-risk", "at-risk (2 of 8) in risks.h; kept in 1 other: *"),
    (["keeps.h", "risks.h"], ("--fail-on", "broken"), 0, "at-risk", "*"),
    (["risks.h", "breaks.h", "unknown.h"], (), 1, "broken", "broken in breaks.h; at-risk (2 of 8) in risks.h; unknown in unknown.h: *"),
    (["keeps.h", "unknown.h"], (), 3, "unknown", "unknown in unknown.h; kept in 1 other: struct ring has no field `tail` *"),
    (["risks.h", "unknown.h"], ("--fail-on", "broken"), 3, "at-risk", "at-risk (2 of 8) in risks.h; unknown in unknown.h: *"),
    (["keeps.h", "unknown.h"], ("--allow-unknown",), 0, "unknown", "*"),
    (["keeps.h", "none.h"], (), 3, "kept", "kept in keeps.h; not judged in 1: *"),
    (["keeps.h", "none.h"], ("--allow-unknown",), 0, "kept", "*"),
    (["breaks.h", "none.h"], (), 1, "broken", "broken in breaks.h; not judged in 1: *"),
]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("inputs", "options", "status", "outcome", "message"), STATUS)
def test_status(project, inputs, options, status, outcome, message):
    found, report = check(project, inputs, *options)
    [finding] = (*report["findings"], *report["kept"])
    start, star, end = message.partition("*")
    assert (found, report["exit"], finding["outcome"]) == (status, status, outcome)
    assert finding["message"].startswith(start)
    assert finding["message"].endswith(end)
    assert star or finding["message"] == message
    assert len(finding["builds"]) == len(inputs) - ("none.h" in inputs)


def elf(folder: Path) -> None:
    compile_object(folder, "-g").rename(folder / "ring.elf")


BAD = [
    # id, the build, what is not read
    ("missing", 'input = "none.h"', "none.h: no such file or directory (in bad)"),
    ("folder", 'input = "folder"', "folder: holds no C headers or sources, no compile_commands.json, and is not a configured kernel tree (in bad)"),
    ("bytes", 'input = "bytes"', "bytes: neither ELF, BTF nor C text (it starts with the bytes 00 01 02 03) (in bad)"),
    ("other machine", 'input = "ring.elf"\ntarget = "s390x"', "ring.elf: is for x86_64, but s390x was requested (in bad)"),
    ("one of two", 'input = ["keeps.h", "none.h"]', "none.h: no such file or directory (in bad)"),
]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("build", "unread"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_a_build_that_cannot_be_read_is_named(project, build, unread):
    (project / "folder").mkdir()
    (project / "bytes").write_bytes(bytes(range(9)))
    if "elf" in build:
        elf(project)
    (project / "matrix.toml").write_text(f'[build.good]\ninput = "keeps.h"\n[build.bad]\n{build}\n')
    done = run("check", "--matrix", "matrix.toml", "--rules", "rules.toml", cwd=project)
    assert done.returncode == 3
    assert f"not read: {unread} " in " ".join(done.stdout.split())


def test_a_build_that_many_share_is_read_once_and_missed_once(project):
    (project / "matrix.toml").write_text(
        "".join(f'[build.b{line}]\ninput = "none.h"\nline_size = {line}\n' for line in (32, 64, 128, 256, 512))
    )
    done = run("check", "--matrix", "matrix.toml", "--rules", "rules.toml", cwd=project)
    assert done.returncode == 3
    assert "not read: none.h: no such file or directory (in b32, b64, b128 and 2 more)\n" in done.stdout


@pytest.mark.parametrize(("broken", "notes"), [("", 0), (" __attribute__((aligned(64)))", 1)], ids=["used in one", "used in none"])
def test_a_suppression_is_unused_that_no_build_uses(project, broken, notes):
    (project / "ring.h").write_text(
        "struct ring {\n\tlong head;\n\tlong tail ALIGNED; /* layoutlint: ignore[apart] a reason */\n} __attribute__((aligned(64)));\n"
    )
    (project / "matrix.toml").write_text(
        '[defaults]\ninput = "ring.h"\n[build.kept]\nflags = ["-DALIGNED=__attribute__((aligned(64)))"]\n'
        f"[build.other]\nflags = [\"-DALIGNED={broken}\"]\n"
    )
    done = run("check", "--matrix", "matrix.toml", "--rules", "rules.toml", "--format", "json", cwd=project)
    report = json.loads(done.stdout)
    assert len([f for f in report["findings"] if f["rule"].startswith("unused/")]) == notes
    assert report["coverage"]["applied"] == report["coverage"]["rules"] == 1


def test_line_sizes_and_alignments_are_the_builds_own(project):
    (project / "matrix.toml").write_text(
        '[defaults]\ninput = "risks.h"\n[axis.line.l64]\n[axis.line.l128]\nline_size = 128\n[axis.align.a8]\n[axis.align.a64]\nmin_align = 64\n'
    )
    done = run("check", "--matrix", "matrix.toml", "--rules", "rules.toml", "--format", "json", cwd=project)
    [finding] = json.loads(done.stdout)["findings"]
    found = {name: (of["placements"]["line_size"], of["placements"]["total"], of["placements"]["violating"]) for name, of in finding["builds"].items()}
    assert found == {"l64-a8": (64, 8, 2), "l64-a64": (64, 1, 1), "l128-a8": (128, 16, 10), "l128-a64": (128, 2, 2)}
    over = run("check", "--matrix", "matrix.toml", "--rules", "rules.toml", "--format", "json", "--line-size", "32", "--min-align", "8", cwd=project)
    [finding] = [*json.loads(over.stdout)["findings"], *json.loads(over.stdout)["kept"]]
    assert {(of["placements"]["line_size"], of["placements"]["total"]) for of in finding["builds"].values()} == {(32, 4)}


def test_a_struct_with_several_definitions_counts_with_the_worst(project):
    (project / "matrix.toml").write_text('[build.one]\ninput = ["keeps.h", "breaks.h"]\n[build.two]\ninput = "keeps.h"\n')
    done = run("check", "--matrix", "matrix.toml", "--rules", "rules.toml", "--format", "json", cwd=project)
    [finding] = json.loads(done.stdout)["findings"]
    assert [(name, of["outcome"], of["input"], of["definitions"]) for name, of in finding["builds"].items()] == [
        ("one", "broken", "breaks.h", 2), ("two", "kept", "keeps.h", 1),
    ]  # fmt: skip
    assert finding["message"].startswith("broken in one; kept in 1 other: ")


def test_a_pattern_is_a_finding_for_each_struct(project):
    (project / "two.h").write_text(BREAKS + BREAKS.replace("ring", "ring2"))
    (project / "pattern.toml").write_text(RING.replace('"ring"', '"ring*"'))
    _, report = check(project, ["two.h", "breaks.h"], rules="pattern.toml")
    assert [(finding["struct"], list(finding["builds"])) for finding in report["findings"]] == [
        ("ring", ["two.h", "breaks.h"]), ("ring2", ["two.h"]),
    ]  # fmt: skip


ELSEWHERE = [
    # `when` of the rule, exit status, whether something was not read
    ('{ arch = ["x86_64"] }', 0, False),
    ('{ arch = ["s390x"] }', 3, True),
]


@pytest.mark.parametrize(("when", "status", "is_unread"), ELSEWHERE)
def test_rules_that_are_for_some_builds(project, when, status, is_unread):
    (project / "rules.toml").write_text(f"{RING}when = {when}\n")
    (project / "matrix.toml").write_text('[defaults]\ninput = "keeps.h"\n[build.one]\ntarget = "x86_64"\n[build.two]\ntarget = "aarch64"\n')
    done = run("check", "--matrix", "matrix.toml", "--rules", "rules.toml", "--format", "json", cwd=project)
    report = json.loads(done.stdout)
    assert (done.returncode, bool(report["unread"])) == (status, is_unread)


def test_inputs_of_the_command_line(project):
    (project / "matrix.toml").write_text('[build.one]\n[build.two]\ninput = "keeps.h"\n')
    done = run("check", "breaks.h", "--matrix", "matrix.toml", "--rules", "rules.toml", "--format", "json", cwd=project)
    [finding] = json.loads(done.stdout)["findings"]
    assert {name: of["outcome"] for name, of in finding["builds"].items()} == {"one": "broken", "two": "kept"}


REFUSED = [
    # matrix, arguments, the last line on stderr
    ('[build.two]\ninput = "keeps.h"\n', ["breaks.h"], "Error: no build of matrix.toml reads breaks.h: every build names its own `input`"),
    ("[build.two]\n", [], "matrix.toml:1: build `two` has no `input`, and the command line names none"),
    ('[build.two]\ninput = "keeps.h"\n', ["--rules", "none.toml"], "none.toml: no such file or directory"),
]


@pytest.mark.parametrize(("text", "words", "text_message"), REFUSED, ids=[case[2] for case in REFUSED])
def test_usage(project, text, words, text_message):
    (project / "matrix.toml").write_text(text)
    done = run("check", "--matrix", "matrix.toml", "--rules", "rules.toml", *words, cwd=project)
    assert (done.returncode, done.stdout, done.stderr.splitlines()[-1]) == (2, "", text_message)


def test_a_matrix_without_rules(project):
    (project / "matrix.toml").write_text('[build.one]\ninput = "keeps.h"\n')
    with pytest.raises(UsageError, match="no rules apply to these builds"):
        matrix.check(matrix_file.load(str(project / "matrix.toml")), (), (), Options())


MARKS = """
struct ring {{
	char __cacheline_group_begin__ring_read_txrx[0]; long head; {more} char __cacheline_group_end__ring_read_txrx[0];
	char __cacheline_group_begin__ring_write_rx[0]; long tail; char __cacheline_group_end__ring_write_rx[0];
}} __attribute__((aligned(64)));
"""


def test_what_a_struct_says_itself_is_one_rule_wherever_it_stands(project):
    (project / "old.h").write_text(MARKS.format(more=""))
    (project / "new.h").write_text("\n" + MARKS.format(more="long mask[7];"))
    (project / "ring.toml").write_text("[struct.ring]\nannotated = true\n")
    status, report = check(project, ["old.h", "new.h"], rules="ring.toml")
    [finding] = report["findings"]
    assert (status, {name: of["outcome"] for name, of in finding["builds"].items()}) == (1, {"old.h": "broken", "new.h": "kept"})
    assert (finding["rule"], report["coverage"]["rules"], report["coverage"]["applied"]) == ("marks/ring", 1, 1)


TREES = [
    # keys of a build of a tree that is configured for x86_64 with SMP; why it is not read, or the struct's bytes
    ("", 8),
    ('target = "x86_64"\nconfig = ["SMP", "!LOCKDEP"]', 8),
    ('target = "aarch64"', "linux: is for x86_64, but aarch64 was requested (in one)"),
    ('config = ["!SMP"]', "linux: is configured with SMP, but `!SMP` was requested (in one)"),
    ('config = ["LOCKDEP"]', "linux: is configured without LOCKDEP, but `LOCKDEP` was requested (in one)"),
]


@pytest.mark.parametrize(("keys", "expected"), TREES, ids=[keys or "nothing said" for keys, _ in TREES])
def test_a_kernel_tree_is_what_it_is_configured_for(project, keys, expected):
    lay(project / "linux", KERNEL | CONFIGURED)
    (project / "s.toml").write_text('[[rule]]\nid = "s"\nstruct = "s"\nkind = "size"\nmax = 1\nwhy = "a test"\n')
    (project / "matrix.toml").write_text(f'[build.one]\ninput = "linux"\n{keys}\n')
    done = run("check", "--matrix", "matrix.toml", "--rules", "s.toml", "--no-packs", "--format", "json", cwd=project)
    report = json.loads(done.stdout)
    if isinstance(expected, int):
        assert [finding["message"] for finding in report["findings"]] == [
            f"broken in one: struct s has {expected} bytes, {expected - 1} more than 1"
        ]
    else:
        [unread] = report["unread"]
        assert f"{unread['origin']}: {unread['reason']} (in {', '.join(unread['builds'])})" == expected
        assert done.returncode == 3


def test_the_build_folder_that_a_tree_lacks_is_named_as_a_matrix_has_it(project):
    lay(project / "linux", KERNEL)
    lay(project / "out", CONFIGURED)
    (project / "s.toml").write_text('[[rule]]\nid = "s"\nstruct = "s"\nkind = "size"\nmax = 8\nwhy = "a test"\n')
    command = ("check", "--matrix", "matrix.toml", "--rules", "s.toml", "--no-packs")
    (project / "matrix.toml").write_text('[build.one]\ninput = "linux"\n')
    output = " ".join(run(*command, cwd=project).stdout.split())
    advice = re.search(r'in a matrix `(flags = \["O=FOLDER"\])`', output)
    assert advice is not None, output
    (project / "matrix.toml").write_text(f'[build.one]\ninput = "linux"\n{advice[1].replace("FOLDER", "out")}\n')
    assert run(*command, cwd=project).returncode == 0


MISPLACED = """\
[struct.slot]
placement = "slab"
stride = 68
[struct.other]
placement = "static:4"
"""


@pytest.mark.parametrize(("jobs", "builds", "mistakes"), [
    # of a struct of 68 bytes with pointers of 4, and of 136 with those of 8
    ("1", ("i386", "x86_64"), ["2: `stride` 68 contradicts struct slot: objects of 136 bytes do not fit (in x86_64)"]),
    ("2", ("i386", "x86_64"), ["2: `stride` 68 contradicts struct slot: objects of 136 bytes do not fit (in x86_64)"]),
    ("1", ("x86_64", "s390x"), ["2: `stride` 68 contradicts struct slot: objects of 136 bytes do not fit (in all 2 builds)",
                                "5: `placement` `static:4` contradicts struct other, which is aligned to 8 (in all 2 builds)"]),
    ("1", ("i386",), []),
])  # fmt: skip
def test_a_placement_that_some_builds_cannot_have_is_told_with_those(project, jobs, builds, mistakes):
    has_other = "s390x" in builds
    other = "struct other { long a; };\n" if has_other else "struct other { int a; };\n"
    (project / "slot.h").write_text(f"struct slot {{ void *p[17]; }};\n{other}")
    output = "".join(f'[build.{name}]\ninput = "slot.h"\ntarget = "{name}"\n' for name in builds)
    (project / "matrix.toml").write_text(output)
    rules = "".join(
        f'[[rule]]\nid = "{name}"\nstruct = "{name}"\nkind = "size"\nmax = 999\nwhy = "a test"\n' for name in ("slot", "other")
    )
    (project / "s.toml").write_text(MISPLACED + rules)
    done = run("check", "--matrix", "matrix.toml", "--rules", "s.toml", "--no-packs", "--jobs", jobs, cwd=project)
    assert done.stderr.splitlines()[: len(mistakes)] == [f"s.toml:{mistake}" for mistake in mistakes]
    assert done.returncode == (2 if mistakes else 0)
