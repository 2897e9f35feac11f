"""Rules on what stands around an embedded struct: against addresses of real objects, and word for word."""

from __future__ import annotations

import json
import subprocess

import pytest

from layoutlint.intent.toml import rule_file
from layoutlint.judgement.verdict import Outcome
from layoutlint.lint.options import Options
from layoutlint.lint.run import check
from tests.harness.command import run
from tests.harness.pace import limit_time
from tests.oracles import address_oracle, around_oracle
from tests.oracles.c_probe import need

pytestmark = pytest.mark.usefixtures("whole_runs")

RULES = """
[[rule]]
id = "read"
struct = "sem"
kind = "separate"
around = true
fields = [["owner"], ["@hot-read"]]
why = "a test"

[[rule]]
id = "anything"
struct = "sem"
kind = "isolated"
around = true
fields = ["owner"]
why = "a test"
"""


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(12))
def test_verdicts_are_what_real_addresses_say(tmp_path, seed):
    need("gcc")
    made = address_oracle.records(seed)
    expected = address_oracle.sharing_bases(made, tmp_path)
    assert expected
    (tmp_path / "a.c").write_text(address_oracle.source(made))
    subprocess.run(["gcc", "-w", "-g", "-c", "-o", tmp_path / "a.o", tmp_path / "a.c"], check=True)
    pack = rule_file.parse(address_oracle.rules(made) + RULES, "r.toml")
    report = check((str(tmp_path / "a.o"),), (pack,), (), Options())
    by_rule = {rule: {} for rule in ("read", "anything")}
    for finding in (*report.findings, *report.kept_findings):
        if finding.around is None:  # nothing is declared anywhere
            continue
        assert finding.verdict.outcome is not Outcome.UNKNOWN, finding.verdict.message
        assert finding.verdict.total == 8
        path = "".join(part.partition("[")[0] + "." for part in finding.around.path.split("."))[:-1]
        by_rule[finding.rule.id][finding.struct.name, path] = frozenset(finding.verdict.bases)
    assert by_rule["anything"] == {way: anything for way, (_, anything) in expected.items()}
    output = by_rule["read"]
    assert {way: output.get(way, frozenset()) for way in expected} == {way: read for way, (read, _) in expected.items()}


def test_the_addresses_say_something(tmp_path):
    """Some ways share at no base, some at a few, some at all."""
    need("gcc")
    output = [bases for seed in range(1) for pair in address_oracle.sharing_bases(address_oracle.records(seed), tmp_path).values()
            for bases in pair]  # fmt: skip
    assert {0, 8} < {len(bases) for bases in output}


HELD = "struct sem { long count, owner; };\n"
OWNER = '"owner"'


class Judged:
    """`check` of some C text by rules on `sem`."""

    def __init__(self, folder, code: str, rules: str, *options: str) -> None:
        (folder / "a.c").write_text(HELD + code)
        (folder / "r.toml").write_text(rules)
        self.done = run("check", folder / "a.c", "--rules", folder / "r.toml", "--format", "json", *options)
        self.report = json.loads(self.done.stdout) if self.done.stdout else {}

    @property
    def rows(self) -> list[tuple[str, str, str, list[int]]]:
        return sorted(
            (f["struct"], (f["around"] or {}).get("path", ""), f["outcome"], f["placements"]["bases"])
            for f in (*self.report["findings"], *self.report["kept"])
        )


def rule(kind: str, **keys: str) -> str:
    more = "".join(f"{key} = {value}\n" for key, value in keys.items())
    return f'[[rule]]\nid = "r"\nstruct = "sem"\nkind = "{kind}"\naround = true\nwhy = "a test"\n{more}'


def table(name: str, placement: str = "", **accesses: str) -> str:
    placed = f'placement = "{placement}"\n' if placement else ""
    fields = "".join(f'{path.replace("__", ".").join(chr(34) * 2)} = {{ access = "{a}" }}\n' for path, a in accesses.items())
    return f"[struct.{name}]\n{placed}[struct.{name}.fields]\n{fields}"


APART = rule("separate", fields='[["owner"], ["@hot-read"]]')
INODE = "struct inode { long op; struct sem sem; long flags; };\nstruct inode inode;\n"
EVERY8 = list(range(0, 64, 8))

VERDICTS = [
    # what it shows, the containers, the rules, (container, place, outcome, bases)
    ("at every base of an object aligned to 8", INODE, APART + table("inode", op="hot-read"),
     [("inode", "sem", "at-risk", [b for b in EVERY8 if b not in (48, 56)])]),
    ("on its own line", INODE, APART + table("inode", "line", op="hot-read"), [("inode", "sem", "broken", [0])]),
    ("a pattern of accesses", INODE, rule("separate", fields='[["owner"], ["@hot-*"]]') + table("inode", "line", op="hot-write"),
     [("inode", "sem", "broken", [0])]),
    ("one of two accesses is enough", INODE, rule("separate", fields='[["owner"], ["@cold", "@hot-read"]]')
     + table("inode", "line", op="hot-read"), [("inode", "sem", "broken", [0])]),
    ("a container of which nothing is declared is passed over", INODE + "struct page { struct sem sem; } page;",
     APART + table("inode", "line", op="hot-read"), [("inode", "sem", "broken", [0])]),
    ("what a neighbour's own table declares", "struct map { long host, ops; }; struct inode { struct map map; struct sem sem; } i;",
     APART + table("inode", "line") + table("map", ops="hot-read"), [("inode", "sem", "broken", [0])]),
    ("the container's word goes before a neighbour's", "struct map { long host, ops; }; struct inode { struct map map; struct sem sem; } i;",
     APART + table("inode", "line", map__ops="cold", map__host="hot-read") + table("map", ops="hot-read"),
     [("inode", "sem", "broken", [0])]),
    ("the outer container brings its own fields", INODE + "struct ext { struct inode inode; long after; } ext;",
     APART + table("ext", "line", after="hot-read"), [("ext", "inode.sem", "broken", [0])]),
    ("a container that is only embedded", INODE + "struct ext { long a[2]; struct inode inode; } ext;",
     APART + table("ext", "line") + table("inode", "embedded", op="hot-read"), [("inode", "sem", "broken", [16])]),
    ("the lock beside it", "struct two { struct sem a, b; } two;", rule("access") + table("two", "line")
     + table("sem", owner="hot-write", count="hot-read"), [("two", "a", "broken", [0]), ("two", "b", "broken", [0])]),
    ("read inside and written beside", INODE, rule("access") + table("inode", "line", op="hot-write") + table("sem", count="hot-read"),
     [("inode", "sem", "broken", [0])]),
    ("written inside and beside is no conflict", INODE, rule("access") + table("inode", "line", op="hot-write") + table("sem", count="hot-write"),
     []),
    ("only some of the fields inside", INODE, rule("access", fields='["owner"]') + table("inode", "line", op="hot-write")
     + table("sem", count="hot-read", owner="read-mostly"), [("inode", "sem", "broken", [0])]),
    ("alone but for what may be there", INODE, rule("isolated", fields='["*"]', **{"except": '["@cold"]'})
     + table("inode", "line", op="cold", flags="cold"), [("inode", "sem", "kept", [])]),
    ("an exception that means nothing", INODE, rule("isolated", fields='["*"]', **{"except": '["@cold"]'}) + table("inode", "line"),
     [("inode", "sem", "broken", [0])]),
    ("elements that fail at other bases", "struct many { long first; struct sem sem[6]; long last; } many;",
     APART + table("many", first="hot-read", last="hot-read"), [("many", "sem[6]", "broken", EVERY8)]),
    ("elements of an array", "struct many { struct sem sem[40]; } many;", rule("isolated", fields='["owner"]'),
     [("many", "sem[40]", "broken", EVERY8)]),
    ("members of a union beside it", "union u { struct sem sem; struct { long a[30]; } other; } u;",
     rule("isolated", fields='["owner"]'), [("u", "sem", "kept", [])]),
    ("elements a line apart", "struct one { struct sem sem; char rest[112]; }; struct many { struct one one[40]; } many;",
     rule("isolated", fields='["owner"]') + table("many", "line") + table("one", "embedded"),
     [("many", "one[40].sem", "kept", []), ("one", "sem", "broken", [0])]),
    ("elements of a flexible array", "struct many { long n; struct sem sem[]; } many;", rule("isolated", fields='["owner"]')
     + table("many", "line"), [("many", "sem[]", "broken", [0])]),
    ("in which containers a field lies well", INODE + "struct late { long a[7]; struct sem sem; } late;",
     rule("together", fields='["count", "owner"]') + table("inode", "line") + table("late", "line"),
     [("inode", "sem", "kept", []), ("late", "sem", "broken", [0])]),
    ("the next object of a row", "struct inode { long op, a[6]; struct sem sem; } i[4];", APART.replace('"a test"', '"a test"\nneighbours = true')
     + "[struct.inode]\nplacement = \"slab\"\n[struct.inode.fields]\nop = { access = \"hot-read\" }\n", [("inode", "sem", "broken", EVERY8)]),
    ("a pointer holds nothing", "struct b; struct a { struct b *b; struct sem sem; }; struct b { struct a *a; struct sem sem; } b; struct a a;",
     APART + table("a", "line", b="hot-read"), [("a", "sem", "broken", [0])]),
]  # fmt: skip


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("code", "rules", "found"), [case[1:] for case in VERDICTS], ids=[case[0] for case in VERDICTS])
def test_verdicts(tmp_path, code, rules, found):
    judged = Judged(tmp_path, code, rules)
    if found:
        assert judged.rows == found
    else:
        assert [f["outcome"] for f in judged.report["findings"]] == ["unknown"]


UNKNOWN = [
    ("embedded nowhere", "struct sem sem;", APART, "nothing in the inputs embeds struct sem"),
    ("by a pointer alone", "struct inode { struct sem *sem; } inode;", APART, "nothing in the inputs embeds struct sem"),
    ("nothing declared", INODE, APART, "no field beside struct sem is declared with an access that the rule is about, in its only place"),
    ("nothing declared in two", INODE + "struct page { struct sem sem; } page;", APART + table("inode", op="cold"),
     "no field beside struct sem is declared with an access that the rule is about, in none of its 2 places"),
    ("declared in another member of a union", "union u { struct sem sem; long op; } u;", APART + table("u", op="hot-read"),
     "no field beside struct sem is declared with an access that the rule is about, in its only place"),
    ("a field that it has not", INODE, rule("isolated", fields='["ownr"]'), "struct sem has no field `ownr` (did you mean `owner`?)"),
    ("a field that the container has not", INODE, APART + table("inode", opp="hot-read"),
     "struct inode has no field `opp` (did you mean `op`?)"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "rules", "message"), [case[1:] for case in UNKNOWN], ids=[case[0] for case in UNKNOWN])
def test_unknown(tmp_path, code, rules, message):
    judged = Judged(tmp_path, code, rules)
    assert [(f["outcome"], f["message"]) for f in judged.report["findings"]] == [("unknown", message)]
    assert judged.done.returncode == 3


MISTAKES = [
    (rule("size", max_lines="2"), "`around` is for the kinds separate, together, isolated, line-start, no-straddle, access, not for size"),
    (rule("separate", fields='[["owner"], ["@hot-raed"]]'), "`fields` cannot have `@hot-raed` (did you mean `hot-read`?)"),
    (rule("separate", fields='[["owner"], ["@"]]'), "cannot be `@`: after `@` comes an access, `@hot-read`, or a pattern, `@hot-*`"),
    (rule("together", fields='["owner", "@hot-read"]'),
     "`fields` cannot have `@hot-read`: with `around`, it selects fields beside the struct, only for separate, isolated, access"),
    (APART.replace("true", '"yes"'), "`around` must be true or false, not a string"),
    (table("inode", "aligned:4", op="hot-read") + APART, "`placement` `aligned:4` contradicts struct inode, which is aligned to 8"),
]  # fmt: skip


@pytest.mark.parametrize(("rules", "message"), MISTAKES, ids=[message[:40] for _, message in MISTAKES])
def test_mistakes_of_the_rule_file(tmp_path, rules, message):
    judged = Judged(tmp_path, INODE, rules)
    assert message in judged.done.stderr
    assert f"{tmp_path / 'r.toml'}:" in judged.done.stderr
    assert judged.done.returncode == 2


def test_a_finding_points_at_the_field_beside(tmp_path):
    (finding,) = Judged(tmp_path, INODE, APART + table("inode", "line", op="hot-read")).report["findings"]
    assert finding["message"] == "`sem.owner` at 16..23 shares a line with `op` at 0..7 in its only placement"
    assert [(f["path"], f["offset"], f["line"]) for f in finding["fields"]] == [("op", 0, 2), ("sem.owner", 16, 1)]
    around = {"struct": "sem", "path": "sem", "offset": 8, "file": str(tmp_path / "a.c"), "line": 2, "places": 1, "judged": 1}
    assert finding["around"] == around


def test_the_text_shows_three_and_counts_the_others(tmp_path):
    code = "".join(f"struct c{n} {{ long op; struct sem sem; }} c{n};\n" for n in range(20))
    (tmp_path / "a.c").write_text(HELD + code + "struct quiet { struct sem sem; } quiet;\n")
    (tmp_path / "r.toml").write_text(APART + table('"c*"', "line", op="hot-read"))
    done = run("check", tmp_path / "a.c", "--rules", tmp_path / "r.toml", "-v")
    words = " ".join(done.stdout.split())
    assert done.stdout.count("rule: r (separate)") == 3
    assert "17 more places of struct sem: struct c3 around sem broken; struct c4 around sem broken" in words
    assert "and 9 more, which `--format json` has" in words
    assert "error r struct sem in 20 of its 21 places: 20 broken" in words
    assert "r: judged at 20 of the 21 places of struct sem in other structs" in words


def test_several_inputs_count_each_container_once(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.c").write_text(f'#include "i.h"\nstruct inode {name};\n')
    (tmp_path / "i.h").write_text(HELD + INODE)
    (tmp_path / "r.toml").write_text(APART + table("inode", "line", op="hot-read"))
    done = run("check", tmp_path / "a.c", tmp_path / "b.c", "--rules", tmp_path / "r.toml", "--format", "json")
    (finding,) = json.loads(done.stdout)["findings"]
    assert (finding["input"], finding["also"]) == (str(tmp_path / "a.c"), [str(tmp_path / "b.c")])


def test_builds_tell_the_places_of_a_container_apart(tmp_path):
    (tmp_path / "a.c").write_text(HELD + "struct two { struct sem a; char rest[200]; struct sem b; long op; } two;\n")
    (tmp_path / "b.toml").write_text('build.one = { input = "a.c" }\nbuild.two = { input = "a.c", target = "aarch64" }\n')
    (tmp_path / "r.toml").write_text(APART + table("two", "line", op="hot-read"))
    done = run("check", "--matrix", tmp_path / "b.toml", "--rules", tmp_path / "r.toml", "--format", "json")
    report = json.loads(done.stdout)
    (broken,), (kept,) = report["findings"], report["kept"]
    assert (broken["around"]["path"], list(broken["builds"])) == ("b", ["one", "two"])
    assert (kept["around"]["path"], list(kept["builds"])) == ("a", ["one", "two"])


def test_a_container_of_one_input_is_told_of_that_input(tmp_path):
    (tmp_path / "i.h").write_text(HELD)
    (tmp_path / "a.c").write_text('#include "i.h"\nstruct sem a;\n')
    (tmp_path / "b.c").write_text('#include "i.h"\n' + INODE)
    (tmp_path / "r.toml").write_text(APART + table("inode", "line", op="hot-read"))
    for path in ("a", "b"):
        subprocess.run(["gcc", "-g", "-c", f"{path}.c"], cwd=tmp_path, check=True)
    done = run("check", tmp_path / "a.o", tmp_path / "b.o", "--rules", tmp_path / "r.toml", "--format", "json")
    (finding,) = json.loads(done.stdout)["findings"]
    assert (finding["input"], finding["also"]) == (str(tmp_path / "b.o"), [])


def test_of_long_arrays_only_what_is_near_is_looked_at(tmp_path):
    code = "struct c { struct sem a[300000]; long op; struct sem b[64][64][64]; } *c; int f(void) { return sizeof(*c); }\n"
    (tmp_path / "a.c").write_text(HELD + code)
    subprocess.run([need("gcc"), "-g", "-c", "-o", tmp_path / "a.o", tmp_path / "a.c"], check=True, timeout=60)
    rules = rule_file.parse(table("c", "slab", op="cold") + rule("isolated", fields=f"[{OWNER}]", neighbours="true"), "r.toml")
    with limit_time(5):
        report = check((str(tmp_path / "a.o"),), (rules,), (), Options())
    assert {finding.verdict.outcome for finding in report.findings} == {Outcome.BROKEN}


def test_what_a_long_element_ends_with_is_beside_what_the_next_begins_with(tmp_path):
    code = "struct inode { long first; char rest[4096]; struct sem sem; } inode;\n"
    rules = "[struct.inode]\narray = true\n[struct.inode.fields]\nfirst = { access = \"cold\" }\n" + rule("isolated", fields=f"[{OWNER}]")
    (finding,) = Judged(tmp_path, code, rules).report["findings"]
    assert "`sem.owner` at 4112..4119 shares a line with `first` at 0..7 of the next element, 4120 bytes on" in finding["message"]


SEM = "struct sem sem;"
STAT = "struct stat { long a, b; };\n"
BESIDE = [
    # what it shows, the containers, the rules, (container, place, outcome)
    ("a whole array", "struct many { struct sem h[4]; } many;", APART + table("many", "line", h="hot-read"),
     [("many", "h[4]", "broken")]),
    ("a whole array of whole lines", "struct many { struct sem h[4]; long last; } many;", APART.replace("fields", 'tolerate = 0.0\nfields')
     + table("many", "line", last="cold", h="hot-read"), [("many", "h[4]", "broken")]),
    ("an array of arrays", "struct many { struct sem h[2][3]; } many;", APART + table("many", "line", h="hot-read"),
     [("many", "h[2][3]", "broken")]),
    ("one of its rows, a line away", "struct row { struct sem h[4]; } ; struct many { struct row r[2]; char rest[64]; } many;",
     APART + table("many", "line", r="hot-read"), [("many", "r[2].h[4]", "broken")]),
    ("elements a line apart", "struct one { struct sem sem; char rest[112]; }; struct many { struct one one[4]; } many;",
     APART + table("many", "line", one="hot-read"), [("many", "one[4].sem", "broken")]),
    ("the rest of what holds it", "struct many { struct { long op; struct sem sem; } in; } many;", APART + table("many", "line", **{"in": "hot-read"}),
     [("many", "in.sem", "broken")]),
    ("nothing is left of what holds it", "struct many { struct { struct sem sem; } in; long last[9]; } many;",
     APART + table("many", "line", **{"in": "hot-read", "last": "hot-read"}), [("many", "in.sem", "broken")]),
    ("the other members of a union are never there with it", "struct many { union { long op; struct sem sem; } in; char rest[112]; long last; } many;",
     APART + table("many", "line", **{"in": "hot-read", "last": "hot-read"}), [("many", "in.sem", "kept")]),
    ("a table of another struct, near", STAT + "struct many { struct sem sem; struct stat st; } many;",
     APART + table("many", "line") + table("stat", a="hot-read"), [("many", "sem", "broken")]),
    ("a table of another struct, far", STAT + "struct many { struct sem sem; char rest[128]; struct stat st; } many;",
     APART + table("many", "line") + table("stat", a="hot-read"), [("many", "sem", "kept")]),
    ("a table of another struct, far before it", STAT + "struct many { struct stat st[2]; char rest[128]; struct sem sem; } many;",
     APART + table("many", "line") + table("stat", a="hot-read"), [("many", "sem", "kept")]),
    ("an array of the container's own, far", STAT + "struct many { struct sem sem; char rest[128]; struct stat st[3]; } many;",
     APART + table("many", "line", st__a="hot-read"), [("many", "sem", "kept")]),
    ("far in the object, near in the next", STAT + "struct many { struct stat st; char rest[128]; struct sem sem; } many[2];",
     APART + "[struct.many]\narray = true\n" + table("stat", a="hot-read"), [("many", "sem", "broken")]),
    ("a whole array that may be there, and all of the lock", "struct many { struct sem h[4]; } many;",
     rule("isolated", fields='["*"]', **{"except": '["@cold"]'}) + table("many", "line", h="cold"), [("many", "h[4]", "kept")]),
]  # fmt: skip


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("code", "rules", "found"), [case[1:] for case in BESIDE], ids=[case[0] for case in BESIDE])
def test_what_stands_beside(tmp_path, code, rules, found):
    judged = Judged(tmp_path, code, rules)
    assert [each[:3] for each in judged.rows] == found
    assert judged.done.returncode == (0 if {outcome for *_, outcome in found} == {"kept"} else 1)


AROUND_KINDS = {"separate": APART, "access": rule("access")}


def agrees_with_bytes(seed: int, one: around_oracle.Made, folder) -> None:
    """Verdicts in a container made at random are what its bytes say, in every place and at every base."""
    (folder / "a.c").write_text(around_oracle.source(one))
    subprocess.run(["gcc", "-g", "-w", "-c", "-o", folder / "a.o", folder / "a.c"], check=True)
    for kind, text in AROUND_KINDS.items():
        pack = rule_file.parse(around_oracle.rules(one) + text, "r.toml")
        report = check((str(folder / "a.o"),), (pack,), (), Options())
        output = {
            ".".join(part.partition("[")[0] for part in found.around.path.split(".")): frozenset(found.verdict.bases)
            for found in (*report.findings, *report.kept_findings) if found.around is not None
        }  # fmt: skip
        expected = around_oracle.failures(one, kind)
        assert output == {path: bases for path, bases in expected.items() if bases is not None}, (seed, kind)


@pytest.mark.parametrize("seeds", [range(10), pytest.param(range(10, 300), marks=pytest.mark.exhaustive)], ids=["few", "many"])
def test_verdicts_beside_arrays_and_in_rows(tmp_path, seeds):
    need("gcc")
    for seed, one in zip(seeds, around_oracle.make(seeds, tmp_path), strict=True):
        agrees_with_bytes(seed, one, tmp_path)
