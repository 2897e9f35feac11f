"""Rules with `line_pairs`: fields that an adjacent-line prefetcher brings together, against addresses of objects."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterable

import pytest

from layoutlint.errors import RuleFileError
from layoutlint.geometry import placement
from layoutlint.intent.toml import rule_file
from layoutlint.kinds import KINDS, names_of_pairable_kinds
from layoutlint.lint.judge import judge_input
from layoutlint.lint.judged_input import JudgedInput
from layoutlint.lint.options import Options
from layoutlint.model.reading import Reading
from layoutlint.model.target import TARGETS, target_named
from tests.geometry.test_allocators import MEMORY, pad
from tests.harness.build import X86_64, member, struct
from tests.harness.command import run
from tests.harness.facts import facts
from tests.oracles.c_probe import need

WORDS = "struct s {{ long a; char more[{gap}]; long b; char rest[{rest}]; }} {attribute};\n"
RULE = """\
{about}
[[rule]]
id = "r"
struct = "{struct}"
kind = "{kind}"
{keys}
line_pairs = true
why = "one of the two is written"
"""
SEPARATE = 'fields = [["a"], ["b"]]'


def judge(tmp_path, code: str, *options: str, about: str = "", kind: str = "separate", keys: str = SEPARATE, of: str = "s"):
    """The outcome, the placements and the message of the rule on a header."""
    header, rules = tmp_path / "s.h", tmp_path / "my.toml"
    header.write_text(code)
    rules.write_text(RULE.format(about=about, kind=kind, keys=keys, struct=of))
    done = run("check", str(header), "--rules", str(rules), "--format", "json", *options, "--", "--target=x86_64-linux-gnu")
    report = json.loads(done.stdout)
    (finding,) = report["findings"] or [None]
    if finding is None:
        assert done.returncode == 0, done.stderr
        return "kept", None, ""
    return finding["outcome"], finding["placements"], finding["message"]


def failures(addresses: Iterable[int], gap: int, pair: int) -> set[int]:
    """The bases, modulo a pair, of objects whose `a` and `b` are on one pair by their addresses."""
    return {at % pair for at in addresses if (at + 7) // pair == (at + 8 + gap) // pair}


SIZES = (80, 96, 104, 136, 176, 192, 200, 256, 320, 328)
GAPS = (48, 56, 64)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("text_message", "addresses"), [
    ("kmalloc", lambda size: MEMORY.kmalloc(size)),
    ("slab", lambda size: MEMORY.slab(pad(size, 8))),
    ("slab:64", lambda size: MEMORY.slab(pad(size, 64))),
    ("slab:128", lambda size: MEMORY.slab(pad(size, 128))),
    ("percpu:32", lambda size: MEMORY.variables(32)),
    ("static:64", lambda size: MEMORY.variables(64)),
    ("line", lambda size: MEMORY.variables(64)),
])  # fmt: skip
def test_is_what_the_addresses_of_objects_say(text_message, addresses, size, gap):
    held = struct("s", size, member("a", 0, 8), member("b", 8 + gap, 8))
    about = f'[struct.s]\nplacement = "{text_message}"'
    pack = rule_file.parse(RULE.format(about=about, kind="separate", keys=SEPARATE, struct="s"), "my.toml")
    (finding,) = judge_input(JudgedInput(Reading("s.o", "dwarf", X86_64, (held,)), (pack,)), Options())
    every = {at % 128 for at in addresses(size)}
    wrong = failures(addresses(size), gap, 128)
    verdict = finding.verdict
    assert verdict.outcome.value == ("kept" if not wrong else "broken" if wrong == every else "at-risk")
    assert (verdict.line_size, verdict.in_pairs, verdict.total) == (128, True, len(every))
    assert set(verdict.bases) == wrong
    assert "pair of lines" in verdict.message


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("align", "offset", "outcome", "bases"), [
    # the struct of two words 64 bytes apart, inside of a container: its place is the container's plus the offset
    (128, 0, "broken", [0]),
    (128, 64, "kept", None),
    (64, 0, "at-risk", [0]),
    (64, 64, "at-risk", [0]),
    (8, 0, "at-risk", [0, 8, 16, 24, 32, 40, 48, 56]),
])  # fmt: skip
def test_in_a_container(tmp_path, align, offset, outcome, bases):
    before = f"char before[{offset}];" if offset else ""
    code = (
        WORDS.format(gap=56, rest=48, attribute="")
        + f"struct outer {{ {before} struct s x; }} __attribute__((aligned({align})));\n"
    )
    found = judge(tmp_path, code, about='[struct.s]\nplacement = "embedded"')
    assert (found[0], found[1] and found[1]["bases"]) == (outcome, bases)


KIND_CASES = [
    ("separate", SEPARATE, "struct s { long a; char x[56]; long b; } __attribute__((aligned(128)));",
     "`a` at 0..7 shares a pair of lines with `b` at 64..71 in its only placement"),
    ("isolated", 'fields = ["a"]', "struct s { long a; char x[56]; long b; } __attribute__((aligned(128)));",
     "`a` at 0..7 shares a pair of lines with `x` at 8..63 in its only placement; "
     "`a` at 0..7 shares a pair of lines with `b` at 64..71 in its only placement"),
    ("access", "", "struct s { long a; char x[56]; long b; } __attribute__((aligned(128)));",
     "`b` (hot-read) at 64..71 shares a pair of lines with `a` (hot-write) at 0..7 in its only placement"),
    ("guards", 'lock = "a"\ndata = ["b"]\ncontended = true',
     "struct s { long a; char x[56]; long b; } __attribute__((aligned(128)));",
     "contended: `a` at 0..7 shares a pair of lines with `b` at 64..71 in its only placement: "
     "each CPU that tries the lock takes the data's line from the one that holds it"),
    ("stride", 'array = "ring"', "struct s { struct { long a; char x[56]; } ring[4]; } __attribute__((aligned(128)));",
     "element k's `a` at 0..7 of `ring` shares a pair of lines with element k+1's `a` at 0..7 (64 bytes on) "
     "in its only placement; and 3 more pairs"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "keys", "code", "message"), KIND_CASES, ids=[case[0] for case in KIND_CASES])
def test_every_kind_says_so(tmp_path, kind, keys, code, message):
    about = '[struct.s.fields]\na = { access = "hot-write" }\nb = { access = "hot-read" }' if kind == "access" else ""
    outcome, found, text_message = judge(tmp_path, code, about=about, kind=kind, keys=keys)
    assert (outcome, found["line_size"], facts(text_message)) == ("broken", 128, facts(message))


def test_around(tmp_path):
    code = "struct lock { long count; }; struct s { struct lock l; char x[56]; long b; } __attribute__((aligned(128)));"
    about = '[struct.lock.fields]\ncount = { access = "hot-write" }\n[struct.s.fields]\nb = { access = "hot-read" }'
    keys = 'fields = [["count"], ["@hot-read"]]\naround = true'
    outcome, _, message = judge(tmp_path, code, about=about, keys=keys, of="lock")
    assert (outcome, facts(message)) == ("broken", ("`l.count`", "0..7", "`b`", "64..71"))


@pytest.mark.parametrize(("line", "target", "pair"), [
    (None, "x86_64", 128), (None, "aarch64", 128), (None, "powerpc64le", 256), (None, "s390x", 512),
    (64, "x86_64", 128), (32, "x86_64", 64), (128, "x86_64", 128), (256, "x86_64", 256),
    (128, "powerpc64le", 256), (64, "s390x", 128),
])  # fmt: skip
def test_the_size_of_a_pair(line, target, pair):
    assert placement.pair_size(line, target_named(target)) == pair


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_a_pair_is_two_lines_of_every_target(target):
    assert placement.pair_size(None, target) == 2 * target.line_size


@pytest.mark.parametrize(("line", "size", "outcome"), [
    ("32", 64, "kept"), ("64", 128, "broken"), ("128", 128, "broken"), ("256", 256, "broken"),
])  # fmt: skip
def test_with_line_size(tmp_path, line, size, outcome):
    code = WORDS.format(gap=56, rest=184, attribute="__attribute__((aligned(256)))")
    found = judge(tmp_path, code, "--line-size", line)
    assert (found[0], found[1] and found[1]["line_size"]) == (outcome, None if outcome == "kept" else size)


def test_with_a_matrix(tmp_path):
    (tmp_path / "s.h").write_text(WORDS.format(gap=56, rest=112, attribute="__attribute__((aligned(128)))"))
    (tmp_path / "my.toml").write_text(RULE.format(about="", kind="separate", keys=SEPARATE, struct="s"))
    (tmp_path / "matrix.toml").write_text(
        '[defaults]\ninput = "s.h"\ntarget = "x86_64"\n'
        "[axis.line.small]\nline_size = 32\n[axis.line.usual]\nline_size = 64\n"
    )
    command = ("check", "--matrix", str(tmp_path / "matrix.toml"), "--rules", str(tmp_path / "my.toml"), "--format", "json")
    done = run(*command)
    (finding,) = json.loads(done.stdout)["findings"]
    builds = {name: (b["outcome"], b["placements"]["line_size"]) for name, b in finding["builds"].items()}
    assert builds["usual"] == ("broken", 128)
    assert builds["small"] == ("kept", 64)


def test_text_and_sarif_say_pairs(tmp_path):
    (tmp_path / "s.h").write_text(WORDS.format(gap=56, rest=112, attribute="__attribute__((aligned(128)))"))
    (tmp_path / "my.toml").write_text(RULE.format(about="", kind="separate", keys=SEPARATE, struct="s"))
    command = ("check", str(tmp_path / "s.h"), "--rules", str(tmp_path / "my.toml"))
    assert "`a` and `b` share a pair of lines [r]" in run(*command).stdout
    assert "an object at byte 0 of a pair of lines of 128 bytes" in run(*command, "-v").stdout
    (result,) = json.loads(run(*command, "--format", "sarif").stdout)["runs"][0]["results"]
    assert (result["properties"]["lineSize"], result["properties"]["linePairs"]) == (128, True)
    explained = run("explain", "r", "--rules", str(tmp_path / "my.toml")).stdout
    assert "aligned pairs of cache lines" in explained


KEYS = {
    "together": 'fields = ["a", "b"]', "adjacent": 'fields = ["a", "b"]', "order": 'fields = ["a", "b"]',
    "line-start": 'fields = ["a"]', "no-straddle": 'fields = ["a"]', "distance": 'fields = ["a", "b"]\nmin = 8',
    "offset": 'fields = ["a"]\nat = 0', "size": "max = 8", "lines": 'fields = ["a"]\nmax = 1', "holes": "max = 0",
    "allocation": "max_class = 64", "group": "", "complete": "", "one-layout": "",
    "guards": 'lock = "a"\ndata = ["b"]\ncontended = false',
}  # fmt: skip


@pytest.mark.parametrize("kind", sorted(KEYS))
def test_kinds_that_keep_nothing_apart_refuse_it(kind):
    with pytest.raises(RuleFileError) as caught:
        rule_file.parse(RULE.format(about="", kind=kind, keys=KEYS[kind], struct="s"), "my.toml")
    assert any("`line_pairs` is for kinds that keep fields apart" in message for message in caught.value.messages)


def test_every_kind_is_in_one_of_the_tables():
    assert {*KEYS, *names_of_pairable_kinds()} == set(KINDS)


VARIABLES = "long packets __attribute__((aligned(128))) = 1; char between[56] = {1}; long limit = 1; int main(void) { return 0; }\n"
OF_VARIABLES = """\
[variables]
packets = { access = "hot-write" }
limit = { access = "hot-read" }
[[rule]]
id = "r"
kind = "neighbours"
why = "every packet writes one of the two"
line_pairs = %s
"""


@pytest.mark.parametrize(("pairs", "status"), [("true", 1), ("false", 0)])
def test_variables(tmp_path, pairs, status):
    """Addresses of a linked program: `packets` at a multiple of 128, `limit` on the line behind it or further."""
    need("gcc", "nm")
    program, rules = tmp_path / "program", tmp_path / "my.toml"
    rules.write_text(OF_VARIABLES % pairs)
    command = ["gcc", "-x", "c", "-", "-g", "-O0", "-fno-toplevel-reorder", "-o", str(program)]
    subprocess.run(command, input=VARIABLES, text=True, check=True)
    listed = subprocess.run(["nm", str(program)], capture_output=True, text=True, check=True).stdout
    at = {name: int(address, 16) for address, name in re.findall(r"^([0-9a-f]+) \w (packets|limit)$", listed, re.M)}
    assert at["packets"] // 128 == at["limit"] // 128
    assert at["packets"] // 64 != at["limit"] // 64
    done = run("check", str(program), "--rules", str(rules), "--format", "json")
    report = json.loads(done.stdout)
    assert done.returncode == status
    for finding in report["findings"]:
        assert "pair of lines" in finding["message"]
        assert finding["placements"]["line_size"] == 128


def test_every_order_of_a_shuffled_struct(tmp_path):
    """Two words and 14 others, in a struct that starts on a pair and fills one: in every order the two are on it."""
    others = " ".join(f"long w{k};" for k in range(14))
    code = f"struct s {{ long a; long b; {others} }} __attribute__((randomize_layout)) __attribute__((aligned(128)));\n"
    (tmp_path / "s.h").write_text(code)
    (tmp_path / "my.toml").write_text(RULE.format(about="", kind="separate", keys=SEPARATE, struct="s"))
    done = run(
        "check", str(tmp_path / "s.h"), "--rules", str(tmp_path / "my.toml"), "--format", "json",
        "--randstruct", "gcc-full", "--randomized", "s", "--", "--target=x86_64-linux-gnu",
    )  # fmt: skip
    (finding,) = json.loads(done.stdout)["findings"]
    assert (finding["outcome"], finding["placements"]["line_size"], finding["placements"]["total"]) == ("broken", 128, 1)
    assert "pair of lines" in finding["message"]
