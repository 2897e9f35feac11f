"""Rule files: what a right one says, and every message of a wrong one, with its line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutlint.commands.rules import case_file as casefile
from layoutlint.errors import RuleFileError, UsageError
from layoutlint.intent.toml import rule_file, shipped_rules
from layoutlint.intent.toml.rule_tables import WHEN_KEYS
from layoutlint.judgement.condition import Versions, When
from layoutlint.judgement.context import Access
from layoutlint.judgement.rule import Severity, Source, StructIntent
from layoutlint.kinds.separate import Separate
from layoutlint.model.storage import WORDS, Allocator, Storage
from tests.harness.command import ROOT, run
from tests.harness.outside_words import toml_words

RULE = '[[rule]]\nid = "r"\nstruct = "s"\nkind = "separate"\nfields = [["a"], ["b"]]\nwhy = "because"\n'

FULL = """\
[pack]
name = "db/locks"
description = "what the lock manager needs"
for = "linux"
accesses = ["scanned"]

[struct.lock]
header = "storage/lock.h"
placement = "line"
[struct.lock.fields]
tag = { access = "scanned" }
"mutex.owner" = { access = "hot-write", contended = true }

[struct."*_slot"]

[[rule]]
id = "lock/tag.apart"
struct = "lock"
kind = "separate"
fields = [
  ["tag"],
  ["mutex.*", "ring[2].head"],
]
severity = "warning"
why = "tag is scanned while mutex changes"
evidence = ["pgbench +3 %"]
when = { config = ["SMP", "!PREEMPT_RT"], arch = ["x86_64", "arm*"], kernel = ">=6.1, <6.12.9" }
tolerate = 0.125
"""


def mistakes(text: str) -> list[str]:
    with pytest.raises(RuleFileError) as caught:
        rule_file.parse(text, "my.toml")
    return list(caught.value.messages)


def test_everything_that_a_rule_file_can_say():
    pack = rule_file.parse(FULL, "my.toml")
    assert (pack.name, pack.path, pack.description) == ("db/locks", "my.toml", "what the lock manager needs")
    assert (pack.kernel, pack.shipped) == (True, False)
    assert pack.structs == (
        StructIntent(
            "lock", Source("my.toml", 7), "storage/lock.h",
            (
                Access("tag", "scanned", False, Source("my.toml", 11)),
                Access("mutex.owner", "hot-write", True, Source("my.toml", 12)),
            ),
            Storage("line", Source("my.toml", 9)),
        ),
        StructIntent("*_slot", Source("my.toml", 14)),
    )  # fmt: skip
    (rule,) = pack.rules
    assert rule.kind == Separate((("tag",), ("mutex.*", "ring[2].head")))
    assert (rule.id, rule.struct, rule.severity) == ("lock/tag.apart", "lock", Severity.WARNING)
    assert (rule.why, rule.evidence) == ("tag is scanned while mutex changes", ("pgbench +3 %",))
    assert rule.when == When(("SMP", "!PREEMPT_RT"), ("x86_64", "arm*"), Versions((6, 1), (6, 12, 9)))
    assert (rule.tolerate, rule.pack, rule.source) == (0.125, "db/locks", Source("my.toml", 16))


def test_what_may_be_left_out():
    pack = rule_file.parse(RULE, "some/where.toml")
    (rule,) = pack.rules
    assert (pack.name, pack.kernel, pack.structs) == ("where", False, ())
    assert (rule.severity, rule.when, rule.tolerate, rule.evidence) == (Severity.ERROR, When(), 0.0, ())


@pytest.mark.parametrize("struct", ["*_ring", "ring?", "[a-z]*_lock", "ring_t"])
def test_a_rule_on_a_pattern(struct):
    (rule,) = rule_file.parse(RULE.replace('"s"', f'"{struct}"'), "my.toml").rules
    assert rule.struct == struct


def test_a_shipped_pack_marks_its_rules():
    pack = rule_file.parse(RULE, "p.toml", shipped=True)
    assert (pack.shipped, pack.rules[0].shipped) == (True, True)


@pytest.mark.parametrize(("text_message", "storage"), [
    ('placement = "slab"', ("slab", None, None, None)),
    ('placement = "slab:64"\nstride = 1088', ("slab", 64, 1088, None)),
    ('placement = "aligned:16"', ("aligned", 16, None, None)),
    ('placement = "static:32"\narray = 8', ("static", 32, None, 8)),
    ('placement = "kmalloc"\narray = true', ("kmalloc", None, None, 0)),
    ("array = 4", (None, None, None, 4)),
    ('placement = "slab"\nconstructor = true', ("slab", None, None, None, True)),
    ('placement = "slab"\nconstructor = false', ("slab", None, None, None, False)),
    ('placement = "slab"\nstride = 256\nred_zone = true', ("slab", None, 256, None, False, True)),
    ('placement = "slab"\nred_zone = false', ("slab", None, None, None, False, False)),
    ('placement = "embedded"', ("embedded", None, None, None)),
])  # fmt: skip
def test_where_objects_of_a_struct_start(text_message, storage):
    (intent,) = rule_file.parse(f"[struct.s]\n{text_message}\n", "my.toml").structs
    assert intent.placement == Storage(storage[0], Source("my.toml", 2), *storage[1:])


VERSIONS = """\
[[struct.vma]]
header = "linux/mm_types.h"
placement = "line"
when = { kernel = ">=6.15" }
[struct.vma.fields]
vm_refcnt = { access = "hot-write" }

[[struct.vma]]
placement = "slab"
"""


def test_a_struct_that_differs_between_versions():
    newer, older = rule_file.parse(VERSIONS, "my.toml").structs
    assert (newer.placement, newer.when) == (Storage("line", Source("my.toml", 3)), When(kernel=Versions((6, 15))))
    assert newer.accesses == (Access("vm_refcnt", "hot-write", False, Source("my.toml", 6)),)
    assert (older.placement, older.when, older.source) == (
        Storage("slab", Source("my.toml", 9)), When(), Source("my.toml", 8),
    )  # fmt: skip


@pytest.mark.parametrize(("text", "message"), [
    ("[[struct.s]]\nplacement = 'line'\n[[struct.s]]\nplacement = 'slab'\n",
     "my.toml:1: [[struct.s]] has no `when`, so the tables after it are never used"),
    ("[[struct.s]]\nplacement = 'line'\nwhen = { kernal = '>=6.1' }\n[[struct.s]]\nplace = 'slab'\n",
     "my.toml:5: unknown key `place` in [struct.s] (did you mean `placement`?)"),
    ("struct.s = [1]\n", "my.toml:1: `s`[0] must be a table, not an integer"),
])  # fmt: skip
def test_mistakes_in_alternatives(text, message):
    assert message in mistakes(text)


SIDED = """\
[pack]
sides = ["tx", "rx"]
[struct.s]
optional_fields = true
[struct.s.fields]
a = { tx = "read-mostly", rx = "hot-write" }
b = { access = "cold", rx = "hot-read", contended = true }
c = {}
"""


def test_the_accesses_of_sides():
    (intent,) = rule_file.parse(SIDED, "my.toml").structs
    assert [(a.path, a.access, a.side, a.contended, a.is_optional) for a in intent.accesses] == [
        ("a", "read-mostly", "tx", False, True),
        ("a", "hot-write", "rx", False, True),
        ("b", "cold", "", True, True),
        ("b", "hot-read", "rx", True, True),
        ("c", "", "", False, True),
    ]


@pytest.mark.parametrize(
    ("text", "text_message"),
    [
        ("[struct.s.fields]\na = { tx = \"cold\" }\n", ["my.toml:2: field `a` has no `access`", "my.toml:2: unknown key `tx` in field `a` (known: access, contended)"]),
        ("[struct.s.fields]\na = {}\n", ["my.toml:2: field `a` has no `access`"]),
        (SIDED.replace('"cold"', '"cool"'), ["my.toml:7: `access` cannot be `cool` (did you mean `cold`?)"]),
        (SIDED.replace('rx = "hot-write"', 'rx = "read_mostly"'), ["my.toml:6: `rx` cannot be `read_mostly` (did you mean `read-mostly`?)"]),
        (SIDED.replace("true", '"yes"', 1), ["my.toml:4: `optional_fields` must be true or false, not a string"]),
        ('[pack]\nsides = ["access"]\n', ["my.toml:2: `sides`[0] cannot be `access`, which has a meaning already"]),
        ('[pack]\nsides = ["any"]\n', ["my.toml:2: `sides`[0] cannot be `any`, which has a meaning already"]),
        ('[pack]\nsides = ["T X"]\n', ["my.toml:2: `sides`[0] cannot be `T X`: small letters, digits and `-`"]),
    ],
)  # fmt: skip
def test_mistakes_about_sides(text, text_message):
    assert mistakes(text) == text_message


TEN_MISTAKES = """\
[pack]
nmae = "mine"

[struct.node]
placement = "slap"
[struct.node.fields]
cpu = { access = "hot-raed" }

[[rule]]
id = "node-cpu"
struct = "node"
kind = "seperate"
fields = [["cpu"], ["next"]]
why = "x"

[[rule]]
id = "node-cpu"
struct = "node"
kind = "separate"
fields = [["cpu"], ["next..prev"]]
severity = "eror"
why = ""
when = { arch = ["x86-64"] }
tolerate = 12
"""


TEN_MESSAGES = [
    "my.toml:2: unknown key `nmae` in [pack] (did you mean `name`?)",
    "my.toml:5: `placement` cannot be `slap` (did you mean `slab`?)",
    "my.toml:7: `access` cannot be `hot-raed` (did you mean `hot-read`?)",
    "my.toml:12: `kind` cannot be `seperate` (did you mean `separate`?)",
    "my.toml:17: `id` `node-cpu` is already used by the rule at my.toml:9",
    "my.toml:20: `fields`[1][0] cannot be `next..prev`: not a field path (a name is missing before or after a `.`)",
    "my.toml:21: `severity` cannot be `eror` (did you mean `error`?)",
    "my.toml:22: `why` is empty",
    "my.toml:23: `arch`[0] cannot be `x86-64` (it is called `x86_64` here)",
    "my.toml:24: `tolerate` must be from 0 to 1 (a share of the placements), not 12",
]


def test_ten_mistakes_are_reported_at_once():
    assert mistakes(TEN_MISTAKES) == TEN_MESSAGES


@pytest.mark.parametrize("command", [["rules", "check"], ["check", "s.h", "--rules"]], ids=" ".join)
def test_ten_mistakes_on_the_command_line(tmp_path, command):
    write(tmp_path, "my.toml", TEN_MISTAKES)
    write(tmp_path, "s.h", "struct node { int cpu, *next; };")
    done = run(*command, "my.toml", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert [line for line in done.stderr.splitlines() if line.startswith("my.toml:")] == TEN_MESSAGES


OPEN_STRING, NO_VALUE, NO_EQUALS = "[pack]\nname = 'x\n", "[pack]\nname = ", "[pack]\nname\n"
TABLE_TWICE, PACK_TWICE, KEY_TWICE = '[struct."a.b"]\n[struct."a.b"]\n', "[pack]\n[pack]\n", RULE + 'id = "q"\n'
AT = RULE.replace('kind = "separate"', 'kind = "offset"').replace('fields = [["a"], ["b"]]\n', "at = {}\n")
assert AT.count("at = {}") == AT.count("offset") == 1
MISTAKES = [
    # id, text, messages without the file
    ("syntax", OPEN_STRING, [f"2: not TOML: {toml_words(OPEN_STRING)}"]),
    ("syntax at the end", NO_VALUE, [f"2: not TOML: {toml_words(NO_VALUE)}"]),
    ("no value", NO_EQUALS, [f"2: not TOML: {toml_words(NO_EQUALS)}"]),
    ("table twice", TABLE_TWICE, [f"2: not TOML: {toml_words(TABLE_TWICE, '[struct.a.b]')}"]),
    ("tables of one name", PACK_TWICE, [f"2: not TOML: {toml_words(PACK_TWICE, '[pack]')}"]),
    ("key twice", KEY_TWICE, [f"7: not TOML: {toml_words(KEY_TWICE)} (a table has each key once)"]),
    ("a number no int holds", "[pack]\nx = " + "9" * 5000, ["2: not TOML: a number is too long"]),
    ("brackets without end", "x = " + "[" * 9999, ["1: nested more than 50 deep"]),
    ("dots without end", ".".join("a" * 9999) + " = 1", ["1: nested more than 50 deep"]),
    ("outsized", "#" * (1 << 20) + "\n", ["1: longer than 1048576 characters, the limit"]),
    ("unknown table", "[packs]\n", ["1: unknown key `packs` in a rule file (did you mean `pack`?)"]),
    ("rules", "[[rules]]\n", ["1: unknown key `rules` in a rule file (rules are `[[rule]]`)"]),
    ("pack is no table", "pack = 3\n", ["1: `pack` must be a table, not an integer (write `[pack]`)"]),
    ("struct is no table", "struct = 2026-01-01\n", ["1: `struct` must be a table, not a date or time (write `[struct]`)"]),
    ("rule is one table", "[rule]\nid = 'x'\n", ["1: `rule` must be a list of tables, each under `[[rule]]`, not a table"]),
    ("rules are no tables", "rule = [\n3]\n", ["2: `rule`[0] must be a table, not an integer"]),
    ("empty rule", "\n[[rule]]\n", [f"2: this rule has no `{key}`" for key in ("id", "kind", "struct", "why")]),
    ("no fields", RULE.replace('fields = [["a"], ["b"]]\n', ""), ["1: rule `r` has no `fields`"]),
    *((f"at {at}", AT.replace("{}", at), [message]) for at, message in (
        ("{}", "5: `at` is empty: give fields with their offsets"),
        ('{ a = 0, flags = "14:64" }', "5: `at`.flags cannot be `14:64`: the bits of a byte are 0 to 7 (write `22:0`)"),
        ('{ a = "14:" }', "5: `at`.a cannot be `14:`: an offset in bytes, 14, or a bit as `show` prints it, `14:3`"),
        ('{ a = "x" }', "5: `at`.a cannot be `x`: an offset in bytes, 14, or a bit as `show` prints it, `14:3`"),
        ("{ a = true }", "5: `at`.a must be an integer, not a boolean"),
        ("{ a.b = 8 }", '5: `at`.a must be an offset, not a table (quote a dotted path: "a.b")'),
        ('{ "a->b" = 8 }', "5: `at`.a->b cannot be `a->b`: not a field path (write `.` for `->`)"),
        ('{ "a*" = 8 }', "1: rule `r`: `at` cannot name `a*`: a pattern has no offset"),
        ("{ a = -8 }", "1: rule `r`: `at` is -8, and must be at least 0"),
        ('{ a = 0 }\nfields = ["a"]', "1: rule `r`: `at` names its fields itself: leave `fields` out"),
        ("0", "1: rule `r`: `fields` needs exactly one field, and no pattern"),
    )),
    ("empty fields", RULE.replace('[["a"], ["b"]]', "[]"), ["5: `fields` is empty: give lists of field paths"]),
    ("empty group", RULE.replace('["b"]', "[]"), ["5: `fields`[1] is empty: give field paths"]),
    ("one group", RULE.replace(', ["b"]', ""), ["1: rule `r`: `fields` needs at least two groups to keep apart"]),
    ("paths for groups", RULE.replace('["b"]', '"b"'), ['5: `fields`[1] must be a list of field paths, not a string (write ["b"])']),
    ("element's own line", RULE.replace('["b"]', '["b",\n 7]'), ["6: `fields`[1][1] must be a string, not an integer"]),
    ("a word of a list", "[[rule]]\nid = 'x'\nstruct = 's'\nkind = 'holes'\ncount = ['holes', 'tails']\nwhy = 'y'\n",
     ["5: `count`[1] cannot be `tails` (did you mean `tail`?)"]),
    ("arrow", RULE.replace('"b"', '"b->c"'), ["5: `fields`[1][0] cannot be `b->c`: not a field path (write `.` for `->`)"]),
    ("open bracket", RULE.replace('"b"', '"b[a-"'),
     ["5: `fields`[1][0] cannot be `b[a-`: not a field path (a `[` or `]` has no partner)"]),
    ("blank in a path", RULE.replace('"b"', '"b c"'),
     ["5: `fields`[1][0] cannot be `b c`: not a field path (a path has names, `.`, `[2]` and the wildcards `*`, `?`, `[a-z]`)"]),
    ("no type", RULE.replace('"b"', '"@type:"'),
     ["5: `fields`[1][0] cannot be `@type:`: after `@type:` comes a type or a pattern, `@type:struct *_ops [*]`"]),
    ("a declaration", RULE.replace('"b"', '"@type:int x;"'),
     ["5: `fields`[1][0] cannot be `@type:int x;`: after `@type:` comes a type or a pattern, `@type:struct *_ops [*]`"]),
    ("another word before a colon", RULE.replace('"b"', '"@kind:int"'),
     ["5: `fields`[1][0] cannot be `@kind:int`: only `@type` can come before `:`"]),
    ("type of what is around", RULE.replace('"b"', '"@type:int"') + "around = true\n",
     ["5: `fields` cannot have `@type:int`: `around` does not support field types"]),
    ("type of variables", RULE.replace('struct = "s"\n', "").replace("separate", "neighbours").replace('fields = [["a"], ["b"]]', 'variables = ["@type:int"]'),
     ["1: rule `r`: `@type:int`: name variables, not types"]),
    ("an access of a type of variables", '[variables]\n"@type:int" = { access = "cold" }\n',
     ["2: `@type:int`: variables are matched by name, not by type"]),
    ("an access of no type", '[struct.s.fields]\n"@type:" = { access = "cold" }\n',
     ["2: the name of a field cannot be `@type:`: after `@type:` comes a type or a pattern, `@type:struct *_ops [*]`"]),
    ("an access of an access", '[struct.s.fields]\n"@cold" = { access = "cold" }\n',
     ["2: the name of a field cannot be `@cold`: not a field path (a path has names, `.`, `[2]` and the wildcards `*`, `?`, `[a-z]`)"]),
    ("tag with struct", RULE.replace('"s"', '"struct s"'), ["3: `struct` cannot be `struct s`: write the tag alone, `s`"]),
    ("tag with dot", RULE.replace('"s"', '"s.t"'),
     ["3: `struct` cannot be `s.t`: a tag, a typedef, or a pattern of them with `*`, `?`, `[a-z]`"]),
    ("blank in an id", RULE.replace('"r"', '"r s"'),
     ["2: `id` cannot be `r s`: letters, digits, `-`, `_`, `.` and `/`, without spaces, first no sign but `_`"]),
    ("a sign before an id", RULE.replace('"r"', '"-r"'),
     ["2: `id` cannot be `-r`: letters, digits, `-`, `_`, `.` and `/`, without spaces, first no sign but `_`"]),
    ("unknown key", RULE + "feilds = 1\n", ["7: unknown key `feilds` in rule `r` (did you mean `fields`?)"]),
    ("unknown kind", RULE.replace("separate", "qqq").replace("fields", "field"),
     ["4: `kind` cannot be `qqq` (known: …)", "5: unknown key `field` in rule `r` (did you mean `fields`?)"]),
    ("not finite", RULE + "tolerate = nan\n", ["7: `tolerate` must be a finite number, not nan"]),
    ("true is no number", RULE + "tolerate = true\n", ["7: `tolerate` must be a number, not a boolean"]),
    ("evidence", RULE + 'evidence = "mail"\n', ['7: `evidence` must be a list of strings, not a string (write ["mail"])']),
    ("when", RULE + "when = { confg = [] }\n", ["7: unknown key `confg` in `when` (did you mean `config`?)"]),
    ("options", RULE + 'when = { config = "SMP" }\n', ['7: `config` must be a list of kernel options, not a string (write ["SMP"])']),
    ("CONFIG_", RULE + 'when = { config = ["!CONFIG_SMP"] }\n', ["7: `config`[0] cannot be `!CONFIG_SMP`: write `!SMP`"]),
    ("no option", RULE + 'when = { config = ["A=y"] }\n',
     ["7: `config`[0] cannot be `A=y`: a kernel option, or `!` and an option that is off"]),
    ("on and off", RULE + 'when = { config = ["!A", "B", "A"] }\n', ["7: `config` cannot hold: `A` is wanted on and off"]),
    ("no version", RULE + 'when = { kernel = ">=6.8, <6.8" }\n', ["7: `kernel` cannot hold: no version is in `>=6.8, <6.8`"]),
    ("nor between these", RULE + 'when = { kernel = ">=6.8, <6.8.0" }\n', ["7: `kernel` cannot hold: no version is in `>=6.8, <6.8.0`"]),
    ("no range", RULE + 'when = { kernel = "6.8" }\n', ["7: `kernel` cannot be `6.8`: write `>=6.8`, `<6.12` or `>=6.8, <6.12`"]),
    *((f"arch {arch}", RULE + f'when = {{ arch = ["{arch}"] }}\n', [f"7: `arch`[0] cannot be `{arch}` ({hint})"]) for arch, hint in (
        ("arm64", "it is called `aarch64` here"),
        ("amd64", "it is called `x86_64` here"),
        ("x86", "it is called `x86_64` or `i386` here"),
        ("i686", "it is called `i386` here"),
        ("riscv", "it is called `riscv64` or `riscv32` here"),
        ("ppc64el", "it is called `powerpc64le` here"),
        ("s390", "it is called `s390x` here"),
        ("aarch46", "did you mean `aarch64`?"),
    )),
    *((f"end {end}", RULE + f'when = {{ kernel = "{end}6.8" }}\n',
       [f"7: `kernel` cannot be `{end}6.8`: write `>=6.8`, `<6.12` or `>=6.8, <6.12`"]) for end in (">", "<=", "=", "==", "~")),
    ("kernel is true", RULE + "when = { kernel = true }\n",
     ["7: `kernel` must be a range of versions (`>=6.8`), or false for programs other than Linux"]),
    ("options of what is no kernel", RULE + 'when = { kernel = false, config = ["SMP"] }\n',
     ["7: `config` needs a Linux kernel, and `kernel = false` leaves kernels out"]),
    ("no argument", "[allocators.zmalloc]\nsize = 0\n", ["2: `size` must be at least 1, not 0"]),
    ("a far argument", "[allocators.zmalloc]\nsize = 101\n", ["2: `size` must be at most 100, not 101: the number of an argument"]),
    ("a key of no allocator", "[allocators.zmalloc]\nsise = 1\n",
     ["2: unknown key `sise` in [allocators.zmalloc] (did you mean `size`?)"]),
    ("no function", '[allocators."a-b"]\n', ["1: the name of a function cannot be `a-b`"]),
    ("no table", "[allocators]\nzmalloc = 1\n", ["2: `zmalloc` must be a table, not an integer (write `[allocators.zmalloc]`)"]),
    ("type and size", "[allocators.new]\ntype = 1\nsize = 2\n",
     ["2: `type` goes without `size` and `align`: the argument names the type"]),
    ("two alignments", '[allocators.new]\nalign = 1\nplacement = "line"\n',
     ["3: `placement` has no effect with `align`, the argument that decides"]),
    ("embedded blocks", '[allocators.new]\nplacement = "embedded"\n',
     ["2: `placement` cannot be `embedded`: a call allocates objects of their own"]),
    ("two ends", RULE + 'when = { kernel = "<6.8, <6.9" }\n',
     ["7: `kernel` cannot be `<6.8, <6.9`: write `>=6.8`, `<6.12` or `>=6.8, <6.12`"]),
    ("case", "[[case]]\n", ["1: unknown key `case` in a rule file (cases go to a separate file, `*.cases.toml`)"]),
    ("for", '[pack]\nfor = "bsd"\n', ["2: `for` cannot be `bsd` (known: linux)"]),
    ("accesses", '[pack]\naccesses = ["Hot Read"]\n', ["2: `accesses`[0] cannot be `Hot Read`: small letters, digits and `-`"]),
    ("struct's key", '[struct.s]\nheaders = "x.h"\n', ["2: unknown key `headers` in [struct.s] (did you mean `header`?)"]),
    ("struct's name", '[struct."struct s"]\n', ["1: the name of a struct cannot be `struct s`: write the tag alone, `s`"]),
    ("placement", '[struct.s]\nplacement = "lines"\n', ["2: `placement` cannot be `lines` (did you mean `line`?)"]),
    ("placement's number", '[struct.s]\nplacement = "aligned:12"\n',
     ["2: `placement` cannot be `aligned:12`: 12 is not a power of two"]),
    ("number misspelt", '[struct.s]\nplacement = "slab:0x40"\n',
     ["2: `placement` cannot be `slab:0x40`: 0x40 is not a power of two"]),
    ("number left out", '[struct.s]\nplacement = "slab:"\n', ["2: `placement` cannot be `slab:`: nothing is not a power of two"]),
    ("number too much", '[struct.s]\nplacement = "malloc:16"\n',
     ["2: `placement` cannot be `malloc:16`: an alignment can only follow slab, percpu, static, aligned"]),
    ("word before a number", '[struct.s]\nplacement = "alinged:16"\n',
     ["2: `placement` cannot be `alinged:16` (did you mean `aligned`?)"]),
    ("aligned to what", '[struct.s]\nplacement = "aligned"\n',
     ["2: `placement` `aligned` needs an alignment in bytes: `aligned:16`"]),
    ("no word", "[struct.s]\nplacement = 16\n", ["2: `placement` must be a string, not an integer"]),
    ("stride alone", "[struct.s]\nstride = 64\n", ["2: `stride` is only for `slab`: the distance between objects of a cache"]),
    ("constructor elsewhere", '[struct.s]\nplacement = "kmalloc"\nconstructor = true\n',
     ["3: `constructor` is only for `slab`: whether the cache has one"]),
    ("constructor and stride", '[struct.s]\nplacement = "slab"\nstride = 64\nconstructor = true\n',
     ["4: `constructor` has no effect with `stride`, which includes everything"]),
    ("stride beside an alignment", '[struct.s]\nplacement = "slab:64"\nstride = 72\n',
     ["3: `stride` 72 contradicts `slab:64`: it is not a multiple of 64"]),
    ("red zone elsewhere", '[struct.s]\nplacement = "line"\nred_zone = true\n',
     ["3: `red_zone` is only for `slab`: whether each object has one before it"]),
    ("red zone without stride", '[struct.s]\nplacement = "slab"\nred_zone = true\n',
     ["3: `red_zone` needs `stride`: debugging also adds bytes after each object"]),
    ("red zone of bytes", '[struct.s]\nplacement = "slab"\nstride = 64\nred_zone = 8\n',
     ["4: `red_zone` must be true or false, not an integer"]),
    ("stride elsewhere", '[struct.s]\nplacement = "kmalloc"\nstride = 64\n',
     ["3: `stride` is only for `slab`: the distance between objects of a cache"]),
    ("stride", '[struct.s]\nplacement = "slab"\nstride = 0\n', ["3: `stride` must be at least 1, not 0"]),
    ("array", "[struct.s]\narray = false\n", ["2: `array` must be a number of elements, or true for any number"]),
    ("array of none", "[struct.s]\narray = 0\n", ["2: `array` must be at least 1, not 0"]),
    ("embedded array", '[struct.s]\nplacement = "embedded"\narray = 4\n',
     ["3: `array` cannot be combined with `embedded`: the containers determine the arrays"]),
    ("access alone", '[struct.s.fields]\na = "hot-read"\n', ['2: `a` must be a table, not a string (write `a = { access = "hot-read" }`)']),
    ("no access", "[struct.s.fields]\na = { contended = 1 }\n",
     ["2: `contended` must be true or false, not an integer", "2: field `a` has no `access`"]),
    ("field's name", '[struct.s.fields]\n"a.." = { access = "cold" }\n',
     ["2: the name of a field cannot be `a..`: not a field path (a name is missing before or after a `.`)"]),
    ("dotted path", '[struct.s.fields]\na.b = { access = "cold" }\n',
     ['2: field `a` has no `access`', '2: unknown key `b` in field `a` (quote a dotted path: "a.b")']),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), [case[1:] for case in MISTAKES], ids=[case[0] for case in MISTAKES])
def test_mistakes(text, expected):
    found = [message.partition(" (known: separate")[0] for message in mistakes(text)]
    assert found == [f"my.toml:{message}".replace(" (known: …)", "") for message in expected]


def test_a_key_of_another_kind_is_said_to_be_that():
    (message,) = mistakes(RULE + "max_gap = 3\n")
    assert message == "my.toml:7: unknown key `max_gap` in rule `r` (a key of adjacent)"


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_other_editors_files_are_read(newline, mark):
    assert rule_file.parse(mark + FULL.replace("\n", newline), "my.toml") == rule_file.parse(FULL, "my.toml")


def mistakes_of(text: str) -> tuple[str, ...] | None:
    """The mistakes of a text, None when it is a pack."""
    try:
        rule_file.parse(text, "my.toml")
    except RuleFileError as error:
        return error.messages
    return None


@given(st.text(st.sampled_from("[]{}=.,\"'\\\n #arule1")))
def test_any_text_is_a_pack_or_a_list_of_mistakes(text):
    messages = mistakes_of(text)
    assert messages is None or (messages and all(message.startswith("my.toml:") for message in messages))


def write(folder: Path, name: str, text: str | bytes) -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def test_a_folder_is_read_to_the_bottom_in_order(tmp_path):
    for name in ("b.toml", "a/z.toml", "notes.txt"):
        write(tmp_path, name, RULE.replace('"r"', f'"{name}"'))
    packs = rule_file.load([str(tmp_path)])
    assert [pack.path for pack in packs] == [str(tmp_path / "a/z.toml"), str(tmp_path / "b.toml")]


def test_a_file_that_is_named_twice_is_read_once(tmp_path):
    path = write(tmp_path, "a.toml", RULE)
    assert len(rule_file.load([path, str(tmp_path), path])) == 1


def test_the_mistakes_of_all_files_come_together(tmp_path):
    one = write(tmp_path, "1.toml", RULE)
    two = write(tmp_path, "2.toml", "\n" + RULE)
    three = write(tmp_path, "3.toml", b"# caf\xe9\n")
    four = write(tmp_path, "4.toml", "x = 1")
    five = str(tmp_path / "none.toml")
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(RuleFileError) as caught:
        rule_file.load([one, two, three, four, five, str(empty)])
    assert caught.value.messages == (
        f"{three}:1: not UTF-8 (byte 0xe9)",
        f"{four}:1: unknown key `x` in a rule file (known: pack, struct, variables, allocators, functions, entries, rule, override, compile_commands, settings)",
        f"{five}: no such file or directory",
        f"{empty}: there is no *.toml in this folder",
        f"{two}:2: `id` `r` is already used by the rule at {one}:1",
    )


def test_packs_that_are_used_together_give_an_id_once():
    one, two = rule_file.parse(RULE, "1.toml"), rule_file.parse("\n" + RULE, "2.toml")
    rule_file.refuse_same_ids([one, one])
    with pytest.raises(RuleFileError) as caught:
        rule_file.refuse_same_ids([one, two])
    assert caught.value.messages == ("2.toml:2: `id` `r` is already used by the rule at 1.toml:1",)


def test_whether_a_pack_uses_a_shipped_name_is_known_without_parsing_the_shipped_packs():
    names = [name for pack in shipped_rules.shipped_packs() for name in (pack.name, *(rule.id for rule in pack.rules))]
    free = rule_file.parse(RULE, "mine.toml")
    assert not shipped_rules.uses_shipped_names([free])
    for name in names:
        text = f'[pack]\nname = "{name}"\n{RULE}' if "/" in name else RULE.replace('id = "r"', f'id = "{name}"')
        assert name in text
        assert shipped_rules.uses_shipped_names([free, rule_file.parse(text, "mine.toml")]), name
    override = '[override."x"]\nenabled = false\nwhy = "measured"\n'
    assert shipped_rules.uses_shipped_names([rule_file.parse(override + RULE, "mine.toml")])


def test_the_shipped_packs_load_and_are_called_as_their_files():
    packs = shipped_rules.shipped_packs()
    assert {"kernel/locking", "kernel/tp-futex"} <= {pack.name for pack in packs}
    assert all(pack.path == f"rules/{pack.name}.toml" for pack in packs)
    assert all(rule.shipped and rule.evidence for pack in packs for rule in pack.rules)
    assert all(pack.description for pack in packs)


def test_a_shipped_pack_by_name():
    assert shipped_rules.shipped_pack("kernel/locking").kernel
    assert not shipped_rules.shipped_pack("kernel/tp-futex").kernel
    with pytest.raises(UsageError, match=r"no shipped pack is called `kernel/tpfutex` \(did you mean `kernel/tp-futex`\?\)"):
        shipped_rules.shipped_pack("kernel/tpfutex")


DOCUMENT = (ROOT / "docs" / "rules.md").read_text()


def test_the_examples_of_the_manual_are_rule_files():
    examples = re.findall(r"^```toml\n(.*?)^```", DOCUMENT, re.M | re.S)
    packs = [rule_file.parse(example, "queue.toml") for example in examples if "[[case]]" not in example]
    assert [rule.id for pack in packs for rule in pack.rules] == [
        "ring-head-apart-from-tail", "ring-stays-small", "committed-as-apart-from-what-is-read",
        "lru-locks-on-lines-of-their-own", "long-atomics-stay-whole", "rwsem-owner-apart-from-what-is-read",
    ]  # fmt: skip
    (case_file,) = [example for example in examples if "[[case]]" in example]
    (case,) = casefile.parse(case_file, "queue.cases.toml", packs[0])
    assert [(e.rule.id, e.outcome.value) for e in case.expectations] == [("ring-head-apart-from-tail", "kept")]


@pytest.mark.parametrize(
    "keys", [rule_file.PACK_KEYS, rule_file.STRUCT_KEYS, rule_file.FIELD_KEYS, rule_file.RULE_KEYS], ids=lambda keys: keys[0]
)
def test_every_key_is_in_the_manual(keys):
    assert [key for key in keys if f"\n| `{key}` |" not in DOCUMENT] == []


@pytest.mark.parametrize("words", [WHEN_KEYS, rule_file.ACCESSES, WORDS], ids=lambda words: words[0])
def test_every_word_is_in_the_manual(words):
    assert [word for word in words if f"`{word}`" not in DOCUMENT and f'"{word}"' not in DOCUMENT] == []


def test_functions_that_allocate():
    text = "[allocators.zmalloc]\n[allocators.get]\ncount = 2\nsize = 3\nplacement = 'aligned:128'\n[allocators.new]\ntype = 1\n"
    assert rule_file.parse(text, "my.toml").allocators == (
        Allocator("zmalloc"),
        Allocator("get", 2, 1, word="aligned", align=128),
        Allocator("new", type_at=0),
    )


def test_for_what_is_no_kernel():
    (rule,) = rule_file.parse(RULE + "when = { kernel = false }\n", "my.toml").rules
    assert rule.when == When(outside_linux=True)
