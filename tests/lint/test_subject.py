"""What `measure` measures: the struct of each input, and the sides of a rule on it, or named fields."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from layoutlint.errors import ReadError, UsageError
from layoutlint.intent.toml import rule_file
from layoutlint.lint.options import Options
from layoutlint.lint.subject import Request, Source, Subjects, find_subjects
from layoutlint.measurement.arrange import Uses
from layoutlint.model.reading import ReadOptions

RULES = """
[struct.s.fields]
hits = { access = "hot-write" }
limit = { access = "hot-read" }
[struct.el]
placement = "kmalloc"
[struct.inner]
placement = "embedded"
""" + "".join(
    f'[[rule]]\nid = "{name}"\nstruct = "{struct}"\nwhy = "w"\n{rest}\n'
    for name, struct, rest in (
        ("apart", "s", 'kind = "access"'),
        ("paired", "s", 'kind = "access"\nline_pairs = true'),
        ("pair", "s", 'kind = "together"\nfields = ["pair", "rare"]'),
        ("small", "s", 'kind = "size"\nmax = 8'),
        ("around", "s", 'kind = "isolated"\nfields = ["hits"]\naround = true'),
        ("newer", "s", 'kind = "together"\nfields = ["hits", "limit"]\nwhen = { arch = ["aarch64"] }'),
        ("only", "el", 'kind = "separate"\nfields = [["tx"], ["rx"]]'),
        ("cut", "inner", 'kind = "together"\nfields = ["a", "b"]'),
        ("sized", "plain", 'kind = "size"\nmax = 8'),
    )
)  # fmt: skip
STRUCTS = """
struct s { long hits, limit, rare; struct { int on, off; } pair; };
struct el { long tx; char gap[56]; long rx; struct s in; };
struct plain { long a, b, c; };
struct none;
struct inner { long a, b; };
struct first { struct inner in; long more[6]; } __attribute__((aligned(64)));
struct second { long more[7]; struct inner in; } __attribute__((aligned(64)));
"""
WIDE = "struct s { long hits; char gap[64]; long limit, rare; struct { int on, off; } pair; };\n"


@pytest.fixture
def find(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.h").write_text(STRUCTS)
    (tmp_path / "wide.h").write_text(WIDE)
    (tmp_path / "two.c").write_text("struct s { long hits; };\n")
    (tmp_path / "wrong.h").write_text("struct s { gone a; long b; };\n")
    packs = (rule_file.parse(RULES, "r.toml"),)
    options = Options(read=ReadOptions(flags=("--target=x86_64-linux-gnu",)))

    def find_in(paths: str, struct: str, rule: str | None, uses: Uses, line_size: int = 64) -> Subjects:
        sources = [Source(path, path) for path in paths.split()]
        return find_subjects(sources, Request(struct, rule, uses, line_size), packs, (), options)

    return find_in


BASES8 = tuple(range(0, 64, 8))
TABLE = [
    # inputs, struct, rule, uses; the rule, how it arranges fields, the sides with their uses, the bases of each input
    ("s.h", "s", "apart", Uses(), "apart", "apart", [("write", "hits"), ("read", "limit")], [BASES8]),
    ("s.h wide.h", "s", "apart", Uses(), "apart", "apart", [("write", "hits"), ("read", "limit")], [BASES8, BASES8]),
    ("s.h", "s", "paired", Uses(), "paired", "apart", [("write", "hits"), ("read", "limit")], [tuple(range(0, 128, 8))]),
    ("s.h", "s", "pair", Uses(), "pair", "together", [(None, "pair rare")], [BASES8]),
    ("s.h", "s", "pair", Uses(writes=("pair.on",)), "pair", "together", [(None, "pair.on rare")], [BASES8]),
    ("s.h", "el", None, Uses(), "only", "apart", [(None, "tx"), (None, "rx")], [(0,)]),
    ("s.h", "el", None, Uses(reads=("gap",), writes=("rx",)), None, "apart", [(None, "rx"), (None, "gap")], [(0,)]),
    ("s.h", "plain", None, Uses(writes=("a", "b"), reads=("c",)), None, "apart", [(None, "a b"), (None, "c")], [BASES8]),
    ("s.h", "plain", None, Uses(locks=("c", "a")), None, "apart", [(None, "c"), (None, "a")], [BASES8]),
]


@pytest.mark.parametrize(("paths", "struct", "rule", "uses", "found_rule", "arranges", "sides", "bases"), TABLE)
def test_subjects(paths, struct, rule, uses, found_rule, arranges, sides, bases, find):
    found = find(paths, struct, rule, uses)
    assert (found.rule and found.rule.id, found.arranges, found.notes) == (found_rule, arranges, ())
    assert [subject.origin for subject in found.subjects] == paths.split()
    for subject, own_bases in zip(found.subjects, bases, strict=True):
        assert [(side.use, " ".join(place.path for place in side.places)) for side in subject.sides] == sides
        assert subject.context.placements.bases == own_bases
        assert (subject.verdict is None) == (found_rule is None)


REFUSALS = [
    ("s.h", "s", None, Uses(), 64, UsageError, "struct s: choose a rule by --rule: apart, paired, pair; or name fields with --write, --read, --lock"),
    ("s.h", "plain", None, Uses(), 64, UsageError, "struct plain: no rule on it can be measured; or name fields"),
    ("s.h", "s", "apar", Uses(), 64, UsageError, "no rule is called 'apar' (did you mean `apart`?)"),
    ("s.h", "s", "only", Uses(), 64, UsageError, "the rule only is about struct el, and not struct s"),
    ("s.h", "s", "small", Uses(), 64, UsageError, "the rule small cannot be measured: rules of the kind size do not say which fields are accessed; "),
    ("s.h", "s", "around", Uses(), 64, UsageError, "it is about the surroundings of the struct, and objects of the struct alone are measured"),
    ("s.h", "s", "newer", Uses(), 64, UsageError, "the rule newer cannot be measured: it does not apply: "),
    ("s.h", "s", "pair", Uses(reads=("hits",)), 64, UsageError, "`hits` is not a field of the rule; without --rule, fields are measured as named"),
    ("s.h", "none", None, Uses(reads=("a",)), 64, ReadError, "struct none is declared but not defined"),
    ("s.h", "plaint", None, Uses(reads=("a",)), 64, ReadError, "no struct plaint (did you mean `plain`?)"),
    ("wrong.h", "s", None, Uses(reads=("b",)), 64, ReadError, "unknown type name 'gone'"),
    ("missing.h", "s", None, Uses(reads=("a",)), 64, ReadError, "missing.h"),
    ("s.h two.c", "s", "pair", Uses(), 64, ReadError, "two.c"),
    ("s.h", "s", "apart", Uses(), 128, ReadError, "its objects are judged on lines of 64 bytes, and the lines of this machine have 128; "),
    ("s.h", "s", "paired", Uses(), 128, ReadError, "its objects are judged on lines of 128 bytes, and the lines of this machine have 128; "),
]


@pytest.mark.parametrize(("paths", "struct", "rule", "uses", "line_size", "error", "message"), REFUSALS)
def test_refusals(paths, struct, rule, uses, line_size, error, message, find):
    with pytest.raises(error, match=re.escape(message)):
        find(paths, struct, rule, uses, line_size)


def test_the_places_where_a_rule_fails(find):
    (subject,) = find("s.h", "inner", "cut", Uses()).subjects
    assert subject.why == "fails in 1 of 2 places: at 56 of second, which is aligned to 64 (stated by the input)"
