"""`neighbours`: against the addresses that running programs print, and word for word."""

from __future__ import annotations

import json
import random
import re
import subprocess
from itertools import pairwise, product
from pathlib import Path

import pytest

from layoutlint.errors import RuleFileError
from layoutlint.geometry.spans import Spans
from layoutlint.intent.toml import rule_file
from layoutlint.judgement import line_sharing
from layoutlint.judgement.finding import Report
from layoutlint.judgement.verdict import Outcome
from layoutlint.kinds import neighbours
from layoutlint.kinds.neighbours import Neighbours
from layoutlint.lint.options import Options
from layoutlint.lint.run import check
from layoutlint.model.record import replace
from tests.harness.built import built_once
from tests.harness.command import run
from tests.harness.facts import has_facts
from tests.harness.run_options import run_options
from tests.kinds.cases import Refusal, assert_refused, table
from tests.oracles.c_probe import compile_c, need

RULE = '[[rule]]\nid = "r"\nkind = "neighbours"\nwhy = "a test"\n'
LINE = 64


@built_once
def build(folder: Path, code: str, *flags: str) -> Path:
    """What gcc makes of some C: a program, or with `-c` an object file."""
    need("gcc")
    (folder / "a.c").write_text(code)
    subprocess.run(["gcc", "-w", "-g", "-O0", *flags, "-o", folder / "a", folder / "a.c"], check=True)
    return folder / "a"


def judge(made: Path, rules: str, **options: object) -> Report:
    return check([str(made)], (rule_file.parse(rules, "r.toml"),), (), run_options(**options))


SORTS = ("long {}", "char {}[{n}]", "int {}", "struct {{ long head; char rest[{n}]; }} {}")


def program(seed: int) -> tuple[str, dict[str, str]]:
    """Variables of all sorts, with their accesses; run, it prints where each one is, and its size."""
    chance = random.Random(seed)
    words = {f"v{number}": chance.choice(["hot-read", "hot-write", "read-mostly", "cold"]) for number in range(40)}
    lines = ["#include <stdio.h>"]
    for name in words:
        declared = chance.choice(SORTS).format(name, n=chance.randint(1, 90))
        static = chance.choice(["", "static "])
        attribute = chance.choice(["", "", "", " __attribute__((aligned(64)))", ' __attribute__((section(".data.quiet")))'])
        value = " = { 1 }" if chance.random() < 0.6 or "section" in attribute else ""
        lines.append(f"{static}{declared}{attribute}{value};")
    says = "".join(f'printf("{name} %lu %lu\\n", (unsigned long)&{name}, sizeof {name});' for name in words)
    return "\n".join([*lines, f"int main(void) {{ {says} return 0; }}\n"]), words


@pytest.mark.one_in(2)
@pytest.mark.parametrize("flags", [(), ("-no-pie",), ("-gdwarf-4",), ("-g0",)], ids=lambda flags: " ".join(flags) or "pie")
@pytest.mark.parametrize("seed", range(3))
def test_it_says_what_a_running_program_says(tmp_path, seed, flags):
    code, words = program(seed)
    made = build(tmp_path, code, *flags)
    output = [line.split() for line in subprocess.run([made], capture_output=True, text=True, check=True).stdout.splitlines()]
    lines = {name: range(int(at) // LINE, (int(at) + int(size) - 1) // LINE + 1) for name, at, size in output}
    shared = {
        (a, b) for a, b in product(words, words)
        if words[a] in ("hot-read", "read-mostly") and words[b] == "hot-write" and set(lines[a]) & set(lines[b])
    }  # fmt: skip
    declared = "[variables]\n" + "".join(f'{name} = {{ access = "{word}" }}\n' for name, word in words.items())
    report = judge(made, declared + RULE)
    found = {place.path for finding in report.findings for place in finding.verdict.evidence}
    assert shared
    assert found == {name for pair in shared for name in pair}
    assert {finding.verdict.outcome for finding in report.findings} == {Outcome.BROKEN}
    for name in ("v3", "v7"):
        alone = judge(made, f'{RULE}variables = ["{name}"]\nalone = true\n')
        company = {p.path for f in alone.findings for p in f.verdict.evidence} - {name}
        assert company & words.keys() == {other for other in words if other != name and set(lines[name]) & set(lines[other])}


CODE = """\
long limit = 1;
long packets = 1;
struct { long a, b; } pair __attribute__((aligned(64))) = { 1, 1 };
long last[6] __attribute__((aligned(16))) = { 1 };
static long quiet __attribute__((section("read_mostly"), aligned(64))) = 1;
long loud __attribute__((section("read_mostly"))) = 1;
extern long other __attribute__((alias("packets")));
int main(void) { static long count = 1; return (quiet + count++) * 0; }
"""
READ, WRITTEN = '{ access = "hot-read" }', '{ access = "hot-write" }'
VERDICTS = [
    # what it shows, [variables], the keys of the rule, outcomes, what the message has
    ("read beside written", f"limit = {READ}\npackets = {WRITTEN}\n", "", ["broken"], "`limit` (hot-read) at 0x"),
    ("the section says that it is read", f"loud = {WRITTEN}\n", "", ["broken"], "`quiet` (read-mostly) at 0x"),
    ("both written", f"limit = {WRITTEN}\npackets = {WRITTEN}\n", 'variables = ["limit", "packets"]', ["kept"], "2 variables share"),
    ("a written one by its name", f"limit = {READ}\npackets = {WRITTEN}\n", 'variables = ["packets"]', ["broken"], "`limit` (hot-read) at"),
    ("by an access", f"limit = {READ}\npackets = {WRITTEN}\n", 'variables = ["@hot-write"]', ["broken"], "`limit` (hot-read) at"),
    ("a pattern", f"limit = {READ}\npackets = {WRITTEN}\n", 'variables = ["pack*"]', ["broken"], "`limit` (hot-read) at"),
    ("a part is written", f'limit = {READ}\n"pair.b" = {WRITTEN}\nlast = {READ}\n', "", ["broken"], "with `pair.b` (hot-write)"),
    ("the other part is not", f'"pair.a" = {WRITTEN}\n"pair.b" = {READ}\n', 'variables = ["pair"]', ["kept"], "1 variable shares"),
    ("two parts of one", f'"pair.a" = {WRITTEN}\n"pair.b" = {READ}\n', "", ["broken"], "with `pair.a` (hot-write)"),
    ("two parts, asked for one", f'"pair.a" = {READ}\n"pair.b" = {WRITTEN}\n', 'variables = ["pair.a"]', ["broken"], "with `pair.b`"),
    ("a part of a declared whole", f"pair = {READ}\nlast = {WRITTEN}\n", 'variables = ["pair.b"]', ["broken"], "with `last` (hot-write)"),
    ("a whole and its part", f'pair = {READ}\n"pair.b" = {WRITTEN}\n', "", ["kept"], ""),
    ("alone", "", 'variables = ["pair"]\nalone = true', ["broken"], "shares a line with `last`"),
    ("alone, both", "", 'variables = ["pair", "last"]\nalone = true', ["broken"], "shares a line with `last`"),
    ("alone, both by a pattern", "", 'variables = ["?a*"]\nalone = true', ["broken"], "shares a line with `last`"),
    ("alone, by an access, as a group", f"pair = {READ}\nlast = {READ}\n", 'variables = ["@hot-read"]\nalone = true', ["kept"], "2 variables share"),
    ("alone, and one by an access", f"pair = {READ}\nlast = {READ}\n", 'variables = ["last", "@hot-read"]\nalone = true', ["broken"], "with `pair`"),
    ("alone, and allowed", "", 'variables = ["pair", "last"]\nalone = true\nexcept = ["pair", "last"]', ["kept"], "2 variables share"),
    ("alone but for some", "", 'variables = ["pair"]\nalone = true\nexcept = ["last"]', ["kept"], "1 variable shares"),
    ("two names for one place", f"other = {WRITTEN}\npackets = {READ}\n", "", ["kept"], ""),
    ("a part that it has not", "", 'variables = ["pair.c"]\nalone = true', ["unknown"], "no part `pair.c`"),
    ("a declared part that it has not", f'"pair.c" = {WRITTEN}\nlimit = {READ}\n', "", ["unknown"], "no part `pair.c`"),
    ("a name that nothing has", "", 'variables = ["limt"]\nalone = true', ["unknown"], "no variable is called `limt` (did you mean `limit`?)"),
    ("nothing is declared", "", 'variables = ["@hot-write"]', ["unknown"], "it has no variable that the rule is about"),
]  # fmt: skip


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("declared", "keys", "outcomes", "message"), [c[1:] for c in VERDICTS], ids=[c[0] for c in VERDICTS])
def test_verdicts(tmp_path, declared, keys, outcomes, message):
    report = judge(build(tmp_path, CODE), f"[variables]\n{declared}{RULE}{keys}\n")
    every = [f for f in (*report.findings, *report.kept_findings) if "quiet" not in f.verdict.message or "section" in message or "quiet" in message]
    assert has_facts(" ".join(f.verdict.message for f in every), message)
    assert sorted({f.verdict.outcome.value for f in every}) == outcomes


def test_a_variable_has_the_accesses_of_all_sides(tmp_path):
    sides = '[pack]\nsides = ["tx", "rx"]\n[variables]\n'
    both = '{ tx = "hot-read", rx = "hot-write" }'
    report = judge(build(tmp_path, CODE), f"{sides}limit = {both}\npackets = {both}\n{RULE}")
    messages = " ".join(finding.verdict.message for finding in report.findings)
    assert all(words in messages for words in ("`limit` (hot-read", "`packets` (hot-read", "hot-write"))


def test_a_part_of_what_is_not_known_is_unknown(tmp_path):
    made = build(tmp_path, CODE, "-g0")
    report = judge(made, RULE + 'variables = ["pair.b"]\nalone = true\n')
    assert [f.verdict.message for f in report.findings] == ["the type of `pair` is unknown"]
    report = judge(made, f'[variables]\n"pair.b" = {WRITTEN}\nlimit = {READ}\n{RULE}')
    assert {f.verdict.message for f in report.findings} == {"the type of `pair` is unknown"}


def test_the_examples_of_the_manual(tmp_path):
    declared = f"[variables]\nlimit = {READ}\npackets = {WRITTEN}\n"
    for example in (Neighbours.manual.breaks, Neighbours.manual.keeps):
        report = judge(build(tmp_path, example.code, "-c"), declared + RULE)
        (verdict,) = [f.verdict for f in (*report.findings, *report.kept_findings)]
        assert (verdict.outcome, verdict.message) == (example.outcome, example.message)


@pytest.mark.parametrize("name", ["a.h", "blob.btf"])
def test_an_input_without_symbols_is_unknown(tmp_path, name):
    if name == "a.h":
        (tmp_path / name).write_text("struct s { long a; };\n")
    else:
        need("pahole")
        made = build(tmp_path, CODE, "-c")
        subprocess.run(["pahole", "-J", made], check=True)
        subprocess.run(["objcopy", "-O", "binary", "--only-section=.BTF", "--set-section-flags", ".BTF=alloc", made, tmp_path / name],
                       check=True)  # fmt: skip
    (tmp_path / "r.toml").write_text(RULE + 'variables = ["limit"]\nalone = true\n')
    done = run("check", tmp_path / name, "--rules", tmp_path / "r.toml", "--format", "json")
    (finding,) = json.loads(done.stdout)["findings"]
    assert finding["message"] == f"{tmp_path / name}: it has no symbol table, so the addresses of variables are not known"
    assert done.returncode == 3


def test_a_stripped_program_with_a_debug_file_is_not(tmp_path):
    made = build(tmp_path, CODE)
    subprocess.run(["objcopy", "--only-keep-debug", made, tmp_path / "a.debug"], check=True)
    subprocess.run(["strip", made], check=True)
    subprocess.run(["objcopy", "--add-gnu-debuglink", tmp_path / "a.debug", made], check=True)
    report = judge(made, f"[variables]\nlimit = {READ}\npackets = {WRITTEN}\n{RULE}")
    assert [(f.verdict.outcome, f.input) for f in report.findings] == [(Outcome.BROKEN, str(made))]
    assert report.findings[0].place.line == 1


def test_a_stripped_program_is_unknown(tmp_path):
    made = build(tmp_path, CODE)
    subprocess.run(["strip", made], check=True)
    report = judge(made, RULE + 'variables = ["limit"]\nalone = true\n')
    assert [f.verdict.message.partition(": ")[2][:27] for f in report.findings] == ["it has no symbol table, so "]
    assert report.exit_status == 3


def test_the_text_shows_the_lines(tmp_path):
    made = build.__wrapped__(tmp_path, CODE)  # it prints the path of the source
    (tmp_path / "r.toml").write_text(f"[variables]\nlimit = {READ}\npackets = {WRITTEN}\n{RULE}")
    done = run("check", made, "--rules", tmp_path / "r.toml", "-v")
    assert done.returncode == 1
    assert re.search(r": error: data in .data(, read_mostly)?: `limit` and `packets` share a line", done.stdout, re.M)
    assert re.search(r"^  lines of 64 bytes, from 0x[0-9a-f]+ on", done.stdout, re.M)
    assert re.search(r"^  A +\d+ +8  limit\s+a.c:1$", done.stdout.replace(f"{tmp_path}/", ""), re.M)
    advice = "give `packets` a line of its own (`_Alignas(64)` at it and at what follows it)"
    assert advice in " ".join(done.stdout.split())


def test_a_folder_of_modules_is_judged_file_by_file(tmp_path):
    folder = tmp_path / "modules"
    folder.mkdir()
    for name, code in (("a.ko", "long limit = 1, packets = 1;"), ("b.ko", "long limit = 1;"), ("c.ko", "long other = 1;")):
        build(tmp_path, code, "-c").rename(folder / name)
    report = judge(folder, f'[variables]\npackets = {WRITTEN}\nlimit = {READ}\ngone = {READ}\n{RULE}variables = ["limit"]\n')
    assert [Path(f.input).name for f in report.findings] == ["a.ko"]
    assert [Path(f.input).name for f in report.kept_findings] == ["b.ko"]
    report = judge(folder, RULE + 'variables = ["gone"]\nalone = true\n')
    assert [f.verdict.message.rpartition(": ")[2] for f in report.findings] == ["no variable is called `gone`"]


ELSEWHERE = [
    # the rule's variables, the inputs, and what is said of variables that one of them lacks
    ("limit", ("has.o", "uses.o"), []),
    ("limit", ("uses.o", "has.o"), []),
    ("limit", ("uses.o",), ["`limit` (it is defined elsewhere: give the linked program)"]),
    ("limit", ("common.o",), ["`limit` (it is a common symbol, which the linker places: give the linked program)"]),
    ("limit", ("common.o", "has.o"), []),
    ("gone", ("uses.o", "has.o"), ["`gone`", "`gone`"]),
    ('limit", "used', ("has.o", "second.o"), ["`used`", "`limit`"]),
    ("limit", ("has.o", "writes.o"), ["`packets`", "`limit`"]),
    ("limit", ("has", "uses"), ["`limit`"]),
]


@pytest.mark.parametrize(("variable", "inputs", "lacking"), ELSEWHERE)
def test_a_variable_that_another_input_has_is_not_missing(tmp_path, variable, inputs, lacking):
    texts = {"has": "long limit = 1;", "uses": "extern long limit; long *used = &limit;", "common": "long limit;", "second": "long used = 1;", "writes": "long packets = 1;"}
    for name in inputs:
        words = ("-c",) if name.endswith(".o") else ("-shared", "-fPIC")
        compile_c("gcc", texts[name.removesuffix(".o")], tmp_path / name, *words, "-g", "-fcommon")
    declared = '[variables]\npackets = { access = "hot-write" }\n' if "writes.o" in inputs else ""
    (tmp_path / "r.toml").write_text(f'{declared}[[rule]]\nid = "r"\nwhy = "w"\nkind = "neighbours"\nvariables = ["{variable}"]\nalone = true\n')
    found = json.loads(run("check", *inputs, "--rules", "r.toml", "--format", "json", cwd=tmp_path).stdout)["findings"]
    messages = [each["message"].partition(": no variable is called ") for each in found]
    assert [rest for _, is_missing, rest in messages if is_missing] == lacking


def test_lines_longer_than_what_is_read_are_unknown(tmp_path):
    report = judge(build(tmp_path, CODE), RULE + 'variables = ["limit"]\nalone = true\n', line_size=1024)
    assert [f.verdict.outcome for f in report.findings] == [Outcome.UNKNOWN]


MISTAKES = [
    (RULE + 'struct = "s"\n', "r.toml:5: kind `neighbours` is about variables, and takes no `struct`"),
    (RULE + 'variables = ["@hot-raed"]\n', "`variables` cannot have `@hot-raed` (did you mean `hot-read`?)"),
    ("[variables]\nlimit = { access = \"hot\" }\n" + RULE, "`access` cannot be `hot`"),
    (RULE + "around = true\n", "`around` is for the kinds"),
]  # fmt: skip


@pytest.mark.parametrize(("rules", "message"), MISTAKES, ids=[message[:30] for _, message in MISTAKES])
def test_mistakes_of_the_rule_file(rules, message):
    with pytest.raises(rule_file.RuleFileError) as caught:
        rule_file.parse(rules, "r.toml")
    assert any(message in output for output in caught.value.messages)


REFUSALS = [
    Refusal("except without alone", {"variables": ("a",), "except_": ("b",)},
            "`except` needs `alone`: it lists what may be beside the variable"),
    Refusal("no readers", {"readers": ()}, "`readers` needs at least one access"),
]  # fmt: skip


@table(REFUSALS)
def test_parameters_that_make_no_sense(case):
    assert_refused(Neighbours, case)


def test_a_shipped_rule_passes_over_what_an_input_lacks(tmp_path):
    pack = rule_file.parse(RULE + 'variables = ["gone"]\nalone = true\n', "r.toml")
    shipped = replace(pack, shipped=True, rules=tuple(replace(rule, shipped=True) for rule in pack.rules))
    (tmp_path / "a.h").write_text("struct s { long a; };\n")
    for made in (build(tmp_path, CODE), tmp_path / "a.h"):
        report = check([str(made)], (shipped,), (), Options())
        assert (report.findings, report.kept_findings) == ((), ())


BUFFERS = """\
long lone __attribute__((aligned(64))) = 1;
__asm__(".data\\n.balign 64\\n.globl rx_buf, tx_buf, hole, seen\\n"
        "rx_buf: .zero 24\\n.type tx_buf, @object\\n.size tx_buf, 8\\ntx_buf: .zero 8\\n.zero 32\\n"
        ".type hole, @object\\nhole: .zero 60\\nbehind: .zero 4\\n"
        ".balign 64\\n.type seen, @object\\n.size seen, 56\\nseen: .zero 56\\nlabel:\\n.zero 8\\n");
struct { long a[8]; } line __attribute__((aligned(64))) = { { 1 } };
long last __attribute__((aligned(64))) = 1;
int main(void) { return 0; }
"""
SIZES = [
    # what it shows, the variables, the outcome in the program and in the object file, what the messages have
    ("one alone", '"tx_buf"', "unknown", "unknown", "states no size of `rx_buf`: broken if each reaches to the next, kept if they are small"),
    ("one without a size, which has a byte", '"rx_buf"', "broken", "broken", "`rx_buf` at"),
    ("both", '"rx_buf", "tx_buf"', "broken", "broken", "shares a line with `tx_buf`"),
    ("by a pattern", '"*_buf"', "broken", "broken", "shares a line with `tx_buf`"),
    ("an object without a size", '"behind"', "broken", "broken", "`hole` at"),
    ("a label", '"seen"', "unknown", "unknown", "states no size of `label`"),
    ("a whole line", '"line"', "kept", "kept", "1 variable shares"),
    ("two on lines of their own", '"lone", "line"', "kept", "kept", "2 variables share"),
    ("the last of a section", '"last"', "broken", "unknown", "`last`"),
]  # fmt: skip


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("names", "of_program", "of_object", "message"), [c[1:] for c in SIZES], ids=[c[0] for c in SIZES])
def test_sizes_and_ends_that_are_not_stated(tmp_path, names, of_program, of_object, message):
    for flags, outcome in (((), of_program), (("-c",), of_object)):
        made = build(tmp_path, BUFFERS + "char next;\n", "-fno-toplevel-reorder", *flags)
        report = judge(made, f"{RULE}variables = [{names}]\nalone = true\n")
        (found,) = (*report.findings, *report.kept_findings)
        assert (found.verdict.outcome.value, has_facts(found.verdict.message, message)) == (outcome, True)
    if outcome == "unknown" and of_program == "broken":
        assert found.verdict.message == (
            "a line of `last` extends beyond .data of this object, and the linker can put data of other objects there: "
            "give the linked program"
        )


LOCKS = """\
typedef union { struct { int lock, count; void *owner; } data; char size[40]; } lock_t;
struct slot { long head, tail; };
lock_t locks[20];
lock_t grid[3][2] __attribute__((aligned(64)));
struct { long a, b, c; } triple __attribute__((aligned(64))) = { 1, 1, 1 };
struct slot slots[9] __attribute__((aligned(64)));
struct { long size; lock_t locks[4]; } pool __attribute__((aligned(64)));
struct wide { long head; } __attribute__((aligned(64))) wides[4];
long table[16] __attribute__((aligned(64)));
long end __attribute__((aligned(64)));
typedef int count_t;
struct page { char before[64]; count_t users; char behind[132]; } pages[4] __attribute__((aligned(64)));
typedef union { int whole; struct { char low, high; } part; char room[40]; } word_t;
word_t words[4] __attribute__((aligned(64)));
int main(void) { return 0; }
"""
ALONE = [
    # what it shows, the variables, what else is in the rule, the outcome, what the message has
    ("an array of locks", "locks", "", "broken", "`locks[0]` at"),
    ("an array of arrays of locks", "grid", "", "broken", "shares a line with `grid[0][1]` at"),
    ("an array of locks, whose elements may share", "grid", 'except = ["grid"]', "kept", "1 variable shares"),
    ("one of them", "locks[3]", "", "broken", "`locks[3]` at"),
    ("a part", "triple.b", "", "broken", "shares a line with `triple.a` at"),
    ("a part, beside what may be there", "triple.b", 'except = ["triple.a", "triple.c"]', "kept", "1 variable shares"),
    ("a part, in a variable that may be there", "triple.b", 'except = ["triple"]', "kept", "1 variable shares"),
    ("two parts of three, as a group", "triple.a\", \"triple.b", "", "broken", "shares a line with `triple.c` at"),
    ("all parts, as a group", "triple.a\", \"triple.b\", \"triple.c", "", "kept", "1 variable shares"),
    ("a whole and its part", "triple\", \"triple.b", "", "kept", "1 variable shares"),
    ("an array in a variable", "pool.locks", "", "broken", "shares a line with `pool.size` at"),
    ("elements of whole lines", "wides", "", "kept", "1 variable shares"),
    ("an array of words", "table", "", "kept", "the elements of `table` may share lines with one another"),
]  # fmt: skip


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("names", "keys", "outcome", "message"), [c[1:] for c in ALONE], ids=[c[0] for c in ALONE])
def test_alone(tmp_path, names, keys, outcome, message):
    report = judge(build(tmp_path, LOCKS), f'{RULE}variables = ["{names}"]\nalone = true\n{keys}\n')
    (found,) = (*report.findings, *report.kept_findings)
    assert found.verdict.outcome.value == outcome
    assert has_facts(found.verdict.message, message)


def test_elements_may_share_lines_where_nothing_is_alone(tmp_path):
    declared = f'[variables]\ntable = {WRITTEN}\nend = {READ}\n'
    report = judge(build(tmp_path, LOCKS), f'{declared}{RULE}variables = ["table"]\n')
    messages = [found.verdict.message for found in (*report.findings, *report.kept_findings)]
    assert messages == ["1 variable shares no line with those that disturb it"]


def test_only_the_parts_that_are_excepted_may_be_there(tmp_path):
    code = "long lone __attribute__((aligned(64))) = 1;\nstruct { long a, b[6]; } pair = { 1, { 1 } };\nint main(void) { return 0; }\n"
    made = build(tmp_path, code, "-c", "-fno-toplevel-reorder")
    for excepted, outcome in (("pair.a", Outcome.BROKEN), ('pair.a", "pair.b', Outcome.KEPT), ("pair", Outcome.KEPT)):
        report = judge(made, f'{RULE}variables = ["lone"]\nalone = true\nexcept = ["{excepted}"]\n')
        assert [f.verdict.outcome for f in (*report.findings, *report.kept_findings)] == [outcome]


IN_ELEMENTS = [
    # [variables], the keys of the rule, the outcome
    (f'"slots.head" = {WRITTEN}\n"slots.tail" = {READ}\n', "", "broken"),
    (f'"slots[0].head" = {WRITTEN}\n"slots[1].tail" = {READ}\n', "", "broken"),
    (f'"slots[0].head" = {WRITTEN}\n"slots[7].tail" = {READ}\n', "", "kept"),
    (f'slots = {READ}\n"slots.head" = {WRITTEN}\n', "", "broken"),  # its own part, in the next element
    (f'"slots.head" = {WRITTEN}\n', 'readers = ["hot-write"]', "broken"),
    (f'"wides.head" = {WRITTEN}\n', 'readers = ["hot-write"]', "kept"),
]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("declared", "keys", "outcome"), IN_ELEMENTS)
def test_parts_in_elements_of_arrays(tmp_path, declared, keys, outcome):
    report = judge(build(tmp_path, LOCKS), f"[variables]\n{declared}{RULE}{keys}\n")
    assert [f.verdict.outcome.value for f in (*report.findings, *report.kept_findings)] == [outcome]
    report = judge(build(tmp_path, LOCKS, "-c"), f"[variables]\n{declared}{RULE}{keys}\n")
    assert [f.verdict.outcome.value for f in (*report.findings, *report.kept_findings)] == [outcome]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("flags", [(), ("-no-pie",)], ids=["pie", "no-pie"])
@pytest.mark.parametrize("seed", range(3))
def test_elements_are_where_a_running_program_has_them(tmp_path, seed, flags):
    """`alone` and kind `stride` on arrays, against the addresses of their elements and fields."""
    chance = random.Random(seed)
    lines, names, says = ["#include <stdio.h>"], [], []
    for number in range(12):
        size, count = chance.choice([0, 1, 8, 24, 40, 56, 100, 112]), chance.randint(2, 30)
        align = chance.choice(["", "", " __attribute__((aligned(64)))"])
        lines.append(f"struct s{number} {{ long head; char rest[{size}]; long tail; }}{align} v{number}[{count}];")
        lines.append(f"char gap{number} __attribute__((aligned(64)));")
        names.append(f"v{number}")
        says.append(f'for (int i = 0; i < {count}; i++) printf("v{number} %lu %lu %lu\\n", (unsigned long)&v{number}[i].head, '
                    f"(unsigned long)&v{number}[i].tail, sizeof v{number}[0]);")  # fmt: skip
    made = build(tmp_path, "\n".join([*lines, f"int main(void) {{ {''.join(says)} return 0; }}\n"]), *flags)
    printed = subprocess.run([made], capture_output=True, text=True, check=True).stdout.splitlines()
    at: dict[str, list[tuple[int, int, int]]] = {}
    for line in printed:
        name, *numbers = line.split()
        at.setdefault(name, []).append(tuple(map(int, numbers)))
    for name in names:
        wholes = [set(range(head // LINE, (head + size - 1) // LINE + 1)) for head, _, size in at[name]]
        meets = any(one & other for one, other in pairwise(wholes))
        ends = any(tail // LINE <= next_head // LINE <= (tail + 7) // LINE for (_, tail, _), (next_head, _, _) in pairwise(at[name]))
        own = judge(made, f'{RULE}variables = ["{name}"]\nalone = true\nexcept = ["gap*"]\n')
        stride = judge(made, f'{STRIDE}variables = ["{name}"]\nfields = ["tail"]\nagainst = ["head"]\n')
        assert [f.verdict.outcome is Outcome.KEPT for f in (*own.findings, *own.kept_findings)] == [not meets]
        assert [f.verdict.outcome is Outcome.KEPT for f in (*stride.findings, *stride.kept_findings)] == [not ends]


FULL = """\
struct lock { int word; char rest[36]; };
struct lock locks[8] __attribute__((aligned(64))) = { { 1 } };
struct lock one __attribute__((aligned(64))) = { 1 };
long after __attribute__((aligned(64))) = 1;
int main(void) { return 0; }
"""
ALONE = [
    # flags, the keys of the rule, the outcome, what the message has
    (("-g",), 'variables = ["locks"]', "broken", "`locks[0]` at"),
    (("-g0",), 'variables = ["locks"]', "unknown", "the type of its 320 bytes is unknown"),
    (("-g0",), 'variables = ["locks"]\nexcept = ["locks"]', "kept", "1 variable shares no line"),
    (("-g0",), 'variables = ["one"]', "kept", "1 variable shares no line"),
    (("-g",), 'variables = ["locks"]\nexcept = ["locks"]', "kept", "1 variable shares no line"),
]


@pytest.mark.parametrize(("flags", "keys", "outcome", "message"), ALONE, ids=[f"{c[0][0]} {c[1]}" for c in ALONE])
def test_an_array_of_locks_that_fills_its_lines(tmp_path, flags, keys, outcome, message):
    """Eight locks of 40 bytes: five lines, on which nothing else is, and of which each has parts of two locks."""
    report = judge(build(tmp_path, FULL, *flags), f"{RULE}{keys}\nalone = true\n")
    (found,) = (*report.findings, *report.kept_findings)
    assert (found.verdict.outcome.value, message in found.verdict.message) == (outcome, True)


STRIDE = '[[rule]]\nid = "r"\nkind = "stride"\nwhy = "a test"\n'
STRIDES = [
    # the keys of the rule, the outcome, what the message has
    ('variables = ["locks"]', "broken", "(40 bytes on) in its only placement"),
    ('variables = ["grid"]', "broken", "of `grid` shares a line with element k+1's"),
    ('variables = ["pool.locks"]', "broken", "of `pool.locks` shares"),
    ('variables = ["slots"]\nfields = ["head"]\nagainst = ["head"]', "broken", "element k's `head` at 0..7 of `slots`"),
    ('variables = ["wides"]', "kept", "elements of `wides` 64 bytes apart share no line"),
    ('variables = ["wid*", "en*"]', "kept", "elements of `wides` 64 bytes apart share no line"),
    ('variables = ["wides", "locks"]', "broken", "of `locks` shares"),
    ('variables = ["end"]', "unknown", "`end` at 0x"),
    ('variables = ["en*"]', "unknown", "no array is called `en*`"),
    ('variables = ["lokcs"]', "unknown", "no variable is called `lokcs` (did you mean `locks`?)"),
    ('variables = ["@type:count_t"]', "kept", "the chosen fields of elements of `pages` 200 bytes apart share no line"),
    ('variables = ["@type:word_t"]', "broken", "element k at 0..39 of `words` shares a line with element k+1 at 0..39"),
]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("keys", "outcome", "message"), STRIDES, ids=[case[0] for case in STRIDES])
def test_stride(tmp_path, keys, outcome, message):
    report = judge(build(tmp_path, LOCKS), f"{STRIDE}{keys}\n")
    (found,) = (*report.findings, *report.kept_findings)
    assert found.verdict.outcome.value == outcome
    assert message in found.verdict.message or outcome == "unknown"


def test_stride_without_types_is_unknown(tmp_path):
    report = judge(build(tmp_path, LOCKS, "-g0"), f'{STRIDE}variables = ["locks"]\n')
    assert [f.verdict.message for f in report.findings] == ["the type of `locks` is unknown"]


@pytest.mark.parametrize(("keys", "message"), [
    ('variables = ["locks"]\nstruct = "s"', "kind `stride` with `variables` is about variables, and takes no `struct`"),
    ('variables = ["locks"]\narray = "a"', "`variables` excludes `array` and `arrays`"),
    ('variables = ["@hot-write"]', "name variables or types here, not accesses"),
    ('variables = ["@type:lock_t", "locks"]', "`variables` has either names or types (`@type:`), not both"),
    ('variables = ["@type:lock_t"]\nfields = ["a"]', "`variables` with types excludes `fields` and `against`"),
    ("", "`struct`"),
])  # fmt: skip
def test_mistakes_of_stride(keys, message):
    with pytest.raises(RuleFileError) as error:
        rule_file.parse(f"{STRIDE}{keys}\n", "r.toml")
    assert message in "\n".join(error.value.messages)


def test_a_program_without_debug_information_is_judged_by_its_symbols(tmp_path):
    """The shipped packs name structs in Linux alone, and so ask for none of its debug information."""
    made = build(tmp_path, CODE)
    subprocess.run(["strip", "--strip-debug", made], check=True)
    (tmp_path / "r.toml").write_text(RULE + 'variables = ["limit"]\nalone = true\n')
    done = run("check", made, "--rules", tmp_path / "r.toml", "--format", "json")
    report = json.loads(done.stdout)
    assert (report["inputs"][0]["reader"], done.returncode) == ("symbols", 1), done.stderr


@pytest.mark.parametrize(("keys", "declared"), [
    ('variables = ["l*", "p*", "q*"]', ""),
    ('variables = ["@hot-*", "limit", "@read-mostly"]', f"limit = {READ}\npackets = {WRITTEN}\nquiet = {READ}\nlast = {READ}\n"),
])  # fmt: skip
def test_comparisons_with_patterns_are_bounded(tmp_path, monkeypatch, keys, declared):
    made = build(tmp_path, CODE)
    text = f"[variables]\n{declared}{RULE}{keys}\nalone = true\n"
    outcomes = []
    for most in (10_000, 5):
        monkeypatch.setattr(neighbours, "_MOST_MATCHES", most)
        report = judge(made, text)
        outcomes.append([finding.verdict.outcome for finding in report.findings])
    assert Outcome.UNKNOWN not in outcomes[0]
    assert outcomes[1] == [Outcome.UNKNOWN]
    assert "compares patterns with names more than 5 times" in report.findings[0].verdict.message


SPANS = [((0, 8), 1), ((0, 9), 2), ((4, 120), 3), ((7, 8), 1), ((60, 101), 1), ((108, 200), 0)]
"""A range, and how many of 0..8, 8..16 and 100..108 can overlap it."""


@pytest.mark.parametrize(("span", "count"), SPANS)
def test_candidates_are_counted_before_they_are_compared(span, count):
    ranges = Spans([(8, 16), (100, 108), (0, 8)])
    assert (ranges.count_candidates(*span), len(ranges.overlapping_indices(*span))) == (count, count)


@pytest.mark.parametrize(("most", "outcome", "message"), [
    (4, "broken", "shares a line with"),
    (3, "unknown", "the rule compares 4 pairs of variables, and at most 3 are compared; name fewer variables"),
])  # fmt: skip
def test_the_most_pairs(most, outcome, message, tmp_path, monkeypatch):
    """Each variable with both, as both can be on its line."""
    monkeypatch.setattr(line_sharing, "MOST_PAIRS", most)
    code = "struct { long a, b; } first __attribute__((aligned(64))) = { 1, 1 };\nlong c = 1;\nint main(void) { return 0; }\n"
    declared = f'[variables]\n"first.a" = {WRITTEN}\n"first.b" = {READ}\n'
    report = judge(build(tmp_path, code, "-c", "-fno-toplevel-reorder"), declared + RULE + 'variables = ["first.a", "first.b"]\n')
    (found,) = (*report.findings, *report.kept_findings)
    assert (found.verdict.outcome.value, has_facts(found.verdict.message, message)) == (outcome, True), found.verdict.message
